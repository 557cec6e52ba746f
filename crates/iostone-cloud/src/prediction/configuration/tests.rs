//! Predictions from settled configurations, each with the figures of its plan.

use std::collections::BTreeMap;
use std::time::Duration;

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::{
    Burst, CommandWorkload, EmulatedInstance, Ext4, IoWorkload, Link, LocalMachine, MdArray, MdLevel, Rw,
};
use iostone_model::explanation::Flow;
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;

use super::*;
use crate::catalogue;
use crate::explain::{IoShape, RateShape, bounds_of_stack};

fn configuration(stack: Stack, workload: Workload, machine: MachineSpec) -> Configuration {
    Configuration { name: "one".to_owned(), levels: BTreeMap::new(), stack, workload, machine, price: None }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect(text)
}

/// gp2 of 220 GiB at 1/60, as a plan keeps it.
fn emulated() -> EmulatedVolume {
    let spec = "gp2:220GiB".parse().expect("a volume");
    let limits = catalogue().volumes().limits(&spec, "2017-07".parse().expect("a date")).expect("limits");
    limits.emulated(&spec, 60.0).expect("an emulated volume")
}

fn on_c4_large(stack: Stack, workload: &str) -> Configuration {
    let machine: EmulatedInstance = read("emulate = \"c4.large\"\nspeed = 60\ndate = \"2017-07\"");
    configuration(stack, read(workload), MachineSpec::Emulate(machine))
}

#[test]
fn dd_below_an_emulated_link_takes_a_sixtieth() {
    let mut stack = Stack::of(Volume::Emulated(emulated()));
    stack.link = Some(Link::of(ByteRate(62_500_000)));
    let configuration = on_c4_large(stack, "kind = \"dd\"\nsize = \"3692MiB\"");
    let prediction = predict_configuration(catalogue(), &configuration).expect("a prediction");
    let expected = 3692.0 * 1_048_576.0 / 62.5e6;
    assert!((prediction.seconds / expected - 1.0).abs() < 1e-9, "{prediction:?}");
    assert_eq!(prediction.binds, CeilingKind::Link);
    assert_eq!(
        (prediction.volumes.as_deref(), prediction.date.to_string().as_str()),
        (Some("gp2:220GiB"), "2017-07")
    );
    assert_eq!(prediction.page_cache, None);
}

#[test]
fn dd_ends_when_the_emulated_disk_is_full() {
    let mut stack = Stack::of(Volume::Emulated(emulated()));
    stack.link = Some(Link::of(ByteRate(62_500_000)));
    stack.filesystem = Filesystem::Ext4(Ext4::default());
    let configuration = on_c4_large(stack, "kind = \"dd\"\nsize = \"4GiB\"");
    let prediction = predict_configuration(catalogue(), &configuration).expect("a prediction");
    assert_eq!(prediction.warnings.first().map(|flag| flag.name.as_str()), Some("disk-full"));
    assert!(prediction.bytes < 220.0 / 60.0 * f64::from(1 << 30), "{prediction:?}");
}

#[test]
fn a_load_with_a_time_drains_the_bucket_that_its_volume_has() {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.iops = Some(300);
    volume.io_size = Some(Bytes(256 << 10));
    volume.burst = Some(Burst {
        iops: Some(3000),
        credits: Some(27_000),
        throughput: None,
        credit_bytes: None,
        start: None,
    });
    let io =
        "kind = \"io\"\nrw = \"randread\"\ndirect = true\niodepth = 32\nsize = \"512MiB\"\nruntime = \"20s\"";
    let stack = Stack::of(Volume::Emulated(volume));
    let local = MachineSpec::Local(LocalMachine::default());
    let prediction =
        predict_configuration(catalogue(), &configuration(stack, read(io), local)).expect("a prediction");
    let ends: Vec<f64> = prediction.timeline.iter().map(|phase| phase.to_seconds).collect();
    assert!((ends[0] - 10.0).abs() < 1e-9 && (ends[1] - 20.0).abs() < 1e-9, "{ends:?}");
    assert!((prediction.ios_per_second.expect("I/Os") - 1650.0).abs() < 1e-6);
}

#[test]
fn an_amount_that_outlasts_its_time_ends_with_it() {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.throughput = Some(ByteRate(10_000_000));
    let stack = || Stack::of(Volume::Emulated(volume.clone()));
    let predict = |io_size: &str| {
        let io = format!(
            "kind = \"io\"\nrw = \"write\"\ndirect = true\nbs = \"64KiB\"\nsize = \"1GiB\"\nio_size = \"{io_size}\"\nruntime = \"10s\""
        );
        let local = MachineSpec::Local(LocalMachine::default());
        predict_configuration(catalogue(), &configuration(stack(), read(&io), local)).expect("a prediction")
    };
    assert!((predict("50MB").seconds - 5.0).abs() < 1e-9);
    assert!((predict("500MB").seconds - 10.0).abs() < 1e-9);
}

#[test]
fn one_direct_request_at_a_time_waits_for_its_latency() {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.latency = Some(Span(Duration::from_millis(2)));
    let dd = "kind = \"dd\"\nsize = \"100MiB\"\nbs = \"1MiB\"\noflag = [\"direct\"]";
    let local = MachineSpec::Local(LocalMachine::default());
    let configuration = configuration(Stack::of(Volume::Emulated(volume)), read(dd), local);
    let prediction = predict_configuration(catalogue(), &configuration).expect("a prediction");
    assert_eq!(prediction.binds, CeilingKind::QueueDepth);
    assert!((prediction.seconds - 0.2).abs() < 1e-9, "{prediction:?}");
}

#[test]
fn a_real_machine_has_the_link_of_the_instance_it_is() {
    let machine: LocalMachine = read("instance = \"c4.large\"");
    let stack = Stack::of(Volume::Directory(read("path = \"/mnt\"")));
    let dd = read("kind = \"dd\"\nsize = \"1GB\"\nconv = []");
    let configuration = configuration(stack, dd, MachineSpec::Local(machine));
    let prediction = predict_configuration(catalogue(), &configuration).expect("a prediction");
    assert!((prediction.seconds - 16.0).abs() < 1e-9);
    // Nothing is flushed: all of it may still be in the memory of a c4.large, of which a fifth is 0.8 GB.
    assert!(prediction.page_cache.is_some() && prediction.seconds_interval[0] < 16.0, "{prediction:?}");
}

#[test]
fn both_directions_of_every_ceiling_are_told() {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.count = 2;
    volume.iops = Some(1000);
    volume.throughput = Some(ByteRate(40_000_000));
    let mut stack = Stack::of(Volume::Emulated(volume));
    stack.array =
        iostone_model::experiment::Array::Md(MdArray { level: MdLevel::Raid1, chunk: None, metadata: None });
    stack.link = Some(Link::of(ByteRate(62_500_000)));
    let local = MachineSpec::Local(LocalMachine::default());
    let io = "kind = \"io\"\nrw = \"randrw\"\ndirect = true\nsize = \"64MiB\"\nbs = \"4KiB\"";
    let configuration = configuration(stack, read(io), local);
    let io = Some(IoShape { bytes: 4096, sequential: false, request: None });
    let bounds = |flow: Flow, unit: Unit| {
        bounds_of_stack(catalogue(), &configuration, RateShape { flow, written: 0.5, io, unit }).0
    };
    let at_most = |flow: Flow, unit: Unit, name: &str| {
        bounds(flow, unit).iter().find(|bound| bound.name == name).map(|bound| bound.at_most)
    };
    let link = |flow: Flow| at_most(flow, Unit::BytesPerSecond, "the link of 62.5MB/s");
    assert_eq!([Flow::Read, Flow::Write].map(link), [Some(62.5e6), Some(31.25e6)]);
    // Control groups limit each direction apart, I/Os and bytes.
    let names: Vec<String> =
        bounds(Flow::Both, Unit::BytesPerSecond).into_iter().map(|bound| bound.name).collect();
    assert_eq!(
        names,
        [
            "reads at 1000 IOPS of each of 2 volumes",
            "writes at 1000 IOPS of each of 2 volumes",
            "reads at 40MB/s of each of 2 volumes",
            "writes at 40MB/s of each of 2 volumes",
            "the link of 62.5MB/s"
        ]
    );
    let ios = at_most(Flow::Read, Unit::PerSecond, "1000 IOPS of each of 2 volumes").expect("I/Os");
    assert!((ios - 2000.0).abs() < 1e-6, "{ios}");
}

#[test]
fn a_large_io_counts_as_several_and_small_ones_merge() {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.iops = Some(1000);
    let rate = |volume: &EmulatedVolume, bytes: u64, sequential: bool, request: Option<u64>| {
        let stack = Stack::of(Volume::Emulated(volume.clone()));
        let io = "kind = \"io\"\nrw = \"randread\"\ndirect = true\nsize = \"64MiB\"";
        let configuration = configuration(stack, read(io), MachineSpec::Local(LocalMachine::default()));
        let io = Some(IoShape { bytes, sequential, request });
        let rate = RateShape { flow: Flow::Read, written: 0.0, io, unit: Unit::PerSecond };
        let (bounds, uncounted) = bounds_of_stack(catalogue(), &configuration, rate);
        assert_eq!(uncounted, bounds.is_empty());
        bounds.first().map(|bound| bound.at_most.round())
    };
    assert_eq!(rate(&volume, 4096, false, None), Some(1000.0));
    // How the kernel split it is told by the device or not known.
    assert_eq!(rate(&volume, 1 << 20, false, None), None);
    assert_eq!(rate(&volume, 1 << 20, false, Some(510_000)), Some(500.0));
    (volume.io_size, volume.merge) = (Some(Bytes(16 << 10)), true);
    assert_eq!(rate(&volume, 64 << 10, false, None), Some(250.0));
    assert_eq!(rate(&volume, 4 << 10, true, None), Some(4000.0));
}

#[test]
fn workloads_of_which_nothing_is_known_say_why() {
    let command: CommandWorkload = read("argv = [\"make\"]");
    for (workload, reason) in [
        (Workload::Command(command), "it is a program that nothing is known of"),
        (read("kind = \"dbench\""), "page cache"),
        (read("kind = \"bonnie\""), "several tests"),
        (Workload::Io(Box::new(IoWorkload { fsync: 1, ..IoWorkload::new(Rw::Write) })), "flushes"),
        (Workload::Io(Box::new(IoWorkload::new(Rw::RandRead))), "past it"),
    ] {
        let error = work_of(&workload).expect_err(reason).to_string();
        assert!(error.contains(reason) && error.contains(workload.kind()), "{error}");
    }
}

#[test]
fn the_instance_below_a_loop_device_binds_where_it_gives_less() {
    let of = |own: &str| {
        let volume =
            format!("size = \"48MiB\"\nthroughput = \"{own}\"\ninstance = {{ throughput = \"20MB/s\" }}");
        limits_of_loop(&read::<LoopVolume>(&volume))
    };
    for (own, least, is_of_instance) in [("10MB/s", 10e6, false), ("40MB/s", 20e6, true)] {
        let (limits, instance) = of(own);
        let limits = limits.expect("limits");
        for quantity in [limits.throughput, limits.write_throughput] {
            assert!(quantity.is_some_and(|quantity| (quantity.base - least).abs() < 1.0), "{own}");
        }
        assert_eq!((limits.iops, instance), (None, is_of_instance));
    }
    let alone = read::<LoopVolume>("size = \"48MiB\"\ninstance = { write_iops = 100 }");
    let (limits, instance) = limits_of_loop(&alone);
    let limits = limits.expect("limits");
    assert!(limits.iops.is_none() && limits.write_iops.is_some() && instance);
    assert_eq!(limits_of_loop(&LoopVolume::new(Bytes(1 << 26))), (None, false));
}
