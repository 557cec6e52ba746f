//! The published figures, and made-up ones, held against ceilings.

use iostone_model::ceiling::HeldState;
use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::Basis;
use iostone_model::explanation::ExcessCause;

use super::*;
use crate::Catalogue;

fn figure(value: f64, seconds: f64, flow: Flow) -> Measured {
    let figure = "throughput".to_owned();
    Measured { figure, seconds: Some(seconds), flow: Some(flow), ..Measured::of(Unit::BytesPerSecond, value) }
}

fn bound(kind: CeilingKind, name: &str, at_most: f64) -> Ceiling {
    Ceiling::constant(Some(kind), name, at_most, Basis::Published, "")
}

/// A figure that moves one way, in bytes.
fn rate(flow: Flow) -> RateShape {
    RateShape { flow, written: 0.5, io: None, unit: Unit::BytesPerSecond }
}

fn report_4(instance: &str) -> Vec<Ceiling> {
    let known = Known {
        instance: Some(instance.to_owned()),
        instance_from: None,
        volumes: Some("gp2:220GiB".parse().unwrap()),
        date: Some("2017-07".parse().unwrap()),
    };
    let (bounds, notes) = bounds_of(&Catalogue::built_in(), &known, rate(Flow::Write));
    assert_eq!(notes, Vec::<String>::new());
    bounds
}

#[test]
fn report_4_is_at_98_8_percent_of_the_link() {
    let held = hold(&figure(232_303_771_648.0 / 3763.15, 3763.15, Flow::Write), report_4("c4.large"));
    assert_eq!(held.binds.as_deref(), Some("the link of c4.large"));
    assert!((held.binding().expect("it binds").share - 0.988).abs() < 1e-3);
    assert!(held.headroom.is_some_and(|headroom| headroom.times > 2.0));
}

#[test]
fn what_report_4_did_not_see_stayed_in_memory() {
    let mut measured = figure(232_303_767_552.0 / 1354.88, 1354.88, Flow::Write);
    measured.memory_bytes = Some((30u64 << 30) as f64);
    let held = hold(&measured, report_4("c4.4xlarge"));
    assert_eq!(held.excess.as_ref().map(|excess| excess.because), Some(ExcessCause::PageCache));
    let excess = held.excess.expect("it is above the volume");
    for words in ["4.99 GB of the 232 GB", "20 % of 30.0 GiB = 6.44 GB may"] {
        assert!(excess.words.contains(words), "{words}: {}", excess.words);
    }
    measured.memory_bytes = Some((4u64 << 30) as f64);
    let held = hold(&measured, report_4("c4.4xlarge"));
    assert_eq!(held.excess.map(|excess| excess.because), Some(ExcessCause::AboveEveryCeiling));
    assert_eq!(held.binds, None);
}

#[test]
fn of_2011_the_catalogue_has_no_link() {
    let known = Known {
        instance: Some("m1.large".to_owned()),
        date: Some("2011-10".parse().unwrap()),
        ..Known::default()
    };
    let (bounds, notes) = bounds_of(&Catalogue::built_in(), &known, rate(Flow::Read));
    assert!(bounds.is_empty());
    assert!(notes[0].contains("is of later than 2011-10"), "{notes:?}");
}

#[test]
fn a_bucket_explains_what_it_holds_and_no_more() {
    let bucket = |capacity: f64| {
        let link = bound(CeilingKind::Link, "the link", 100e6);
        vec![Ceiling { burst: Some(200e6), capacity: Some(capacity), start_known: true, ..link }]
    };
    let state = |value: f64, capacity: f64| {
        let held = hold(&figure(value, 100.0, Flow::Read), bucket(capacity));
        (held.ceilings[0].state, held.excess.map(|excess| excess.because))
    };
    assert_eq!(state(150e6, 20e9), (HeldState::OnCredits, Some(ExcessCause::BurstCredits)));
    assert_eq!(state(199e6, 20e9), (HeldState::BindsInBurst, Some(ExcessCause::BurstCredits)));
    assert_eq!(state(150e6, 5e9), (HeldState::BindsInBurst, Some(ExcessCause::BurstCredits)));
    assert_eq!(state(150e6, 1e9), (HeldState::Exceeded, Some(ExcessCause::AboveEveryCeiling)));
    // Of a bucket that is known not to be empty, what it gives in the long run holds nothing.
    assert_eq!(state(98e6, 1e9), (HeldState::Free, None));
    assert_eq!(state(98e6, 0.0), (HeldState::Binds, None));
    let held = hold(&figure(98e6, 100.0, Flow::Read), bucket(1e9));
    assert_eq!(held.binds, None);
    assert!(held.ceilings[0].binds_when_spent());
    assert_eq!(state(50e6, 1e9), (HeldState::Free, None));
}

#[test]
fn the_depth_holds_a_rate_only_where_no_device_does() {
    let mut measured = figure(10e6, 10.0, Flow::Read);
    measured.queue_depth = Some(QueueDepth { depth: 1, seconds: 0.001 });
    let link = |at_most: f64| vec![bound(CeilingKind::Link, "the link", at_most)];
    let free = hold(&measured, link(62.5e6));
    assert_eq!((free.binds.as_deref(), free.queue_depth), (Some("queue depth 1"), measured.queue_depth));
    assert_eq!(hold(&measured, Vec::new()).binds.as_deref(), Some("queue depth 1"));
    let bound = hold(&measured, link(10e6));
    assert_eq!((bound.binds.as_deref(), bound.queue_depth), (Some("the link"), None));
    // Above a ceiling the depth explains nothing.
    assert_eq!(hold(&measured, link(5e6)).queue_depth, None);
}

/// The ceilings of direct random I/Os on a volume behind an instance.
fn of_volume(instance: Option<&str>, spec: &str, unit: Unit, bytes: u64) -> Vec<Ceiling> {
    let known = Known {
        instance: instance.map(str::to_owned),
        volumes: Some(spec.parse().unwrap()),
        date: Some("2024".parse().unwrap()),
        ..Known::default()
    };
    let io = Some(IoShape { bytes, sequential: false, request: None });
    bounds_of(&Catalogue::built_in(), &known, RateShape { io, unit, ..rate(Flow::Read) }).0
}

#[test]
fn a_volume_at_its_baseline_for_two_hours_has_spent_its_credits_and_binds() {
    let hours = |value: f64, spec: &str| {
        let mut measured = figure(value, 7200.0, Flow::Read);
        (measured.figure, measured.unit) = ("iops".to_owned(), Unit::PerSecond);
        hold(&measured, of_volume(None, spec, Unit::PerSecond, 16_384))
    };
    let held = hours(300.0, "gp2:100GiB");
    assert_eq!(held.binds.as_deref(), Some("300 IOPS of gp2:100GiB"));
    assert_eq!(held.binding().map(|held| held.state), Some(HeldState::BindsInLongRun));
    // The next is counted from what it gives in the long run.
    let times = held.headroom.as_ref().map(|headroom| headroom.times);
    assert!(times.is_some_and(|times| (times - 128.0 * 64.0 / 300.0).abs() < 0.1), "{:?}", held.headroom);
    assert_eq!(hours(200.0, "gp2:100GiB").binds, None);
    // What another ceiling held says nothing of the credits of this one.
    let figure = figure(100e6, 100.0, Flow::Read);
    let link = bound(CeilingKind::Link, "the link", 101e6);
    let bucket = bound(CeilingKind::Volume, "the volume", 102e6);
    let bucket = Ceiling { burst: Some(500e6), capacity: Some(1e12), ..bucket };
    let states: Vec<HeldState> =
        hold(&figure, vec![link, bucket]).ceilings.iter().map(|held| held.state).collect();
    assert_eq!(states, [HeldState::Binds, HeldState::Free]);
    // Between the long run and the best it is on credits, and what binds more narrowly still comes first.
    assert_eq!(hours(600.0, "gp2:100GiB").binds, None);
    assert_eq!(hours(1050.0, "gp2:100GiB").binding().map(|held| held.state), Some(HeldState::BindsInBurst));
}

#[test]
fn a_volume_does_less_off_nitro_as_predictions_have_it() {
    let most = |instance: Option<&str>, spec: &str, unit: Unit, bytes: u64| {
        let found = of_volume(instance, spec, unit, bytes);
        let of_volume = found.iter().filter(|bound| bound.kind == Some(CeilingKind::Volume));
        of_volume.map(|bound| bound.at_most).fold(f64::INFINITY, f64::min)
    };
    let iops = |instance| most(Some(instance), "io2:4TiB:64000iops", Unit::PerSecond, 4096);
    assert_eq!((iops("r4.16xlarge"), iops("r5.24xlarge")), (32_000.0, 64_000.0));
    let rate = |instance| most(instance, "io1:4TiB:64000iops", Unit::BytesPerSecond, 1 << 20);
    let rates = [rate(Some("r4.16xlarge")), rate(Some("r5.24xlarge"))];
    assert_eq!(rates.map(|rate| rate / 1_048_576.0).map(f64::to_bits), [500.0, 1000.0].map(f64::to_bits));
    // Behind an instance that nobody knows the volume has its own limits.
    assert!(rate(Some("r4.unheard")).total_cmp(&rate(None)).is_eq());
}

#[test]
fn direct_io_above_a_ceiling_is_no_cache_and_reads_from_memory_are() {
    let mut measured = figure(80e6, 10.0, Flow::Read);
    let link = || vec![bound(CeilingKind::Link, "the link", 62.5e6)];
    measured.working_set_bytes = Some(1e9);
    measured.memory_bytes = Some(4e9);
    assert_eq!(hold(&measured, link()).excess.map(|excess| excess.because), Some(ExcessCause::PageCache));
    measured.reached_device = Some(true);
    assert_eq!(
        hold(&measured, link()).excess.map(|excess| excess.because),
        Some(ExcessCause::AboveEveryCeiling)
    );
    assert_eq!((hold(&measured, Vec::new()).binds, hold(&measured, Vec::new()).excess), (None, None));
}

#[test]
fn the_next_is_counted_from_the_one_that_binds() {
    let link = bound(CeilingKind::Link, "the link", 81.25e6);
    let link = Ceiling { burst: Some(593.75e6), capacity: Some(1e12), ..link };
    let bounds = vec![link, bound(CeilingKind::Volume, "125MiB/s", 131.072e6)];
    let held = hold(&figure(130e6, 10.0, Flow::Write), bounds);
    assert_eq!(held.binds.as_deref(), Some("125MiB/s"));
    let headroom = held.headroom.expect("the link lets more through");
    assert_eq!(headroom.next, "the link");
    assert!((headroom.times - 593.75 / 131.072).abs() < 1e-9, "{}", headroom.times);
}

#[test]
fn the_page_cache_below_a_file_is_found_by_the_disk_that_holds_it() {
    let link = || vec![bound(CeilingKind::Link, "the link", 62.5e6)];
    let mut measured = figure(9.14e9, 1.0, Flow::Read);
    measured.reached_device = Some(true);
    let below = |holders| Some(Below { device: "loop2".to_owned(), moved: 9.14e9, holders });
    measured.below = below(Some(("vda".to_owned(), 0.63e6)));
    let excess = hold(&measured, link()).excess.expect("it is exceeded");
    assert_eq!(excess.because, ExcessCause::PageCache);
    assert_eq!(
        excess.words,
        "the page cache below loop2 answered: of the 9.14 GB that loop2 moved, vda moved 630 kB"
    );
    measured.below = below(None);
    let excess = hold(&measured, link()).excess.expect("it is exceeded");
    assert!(excess.words.contains("no disk below it was watched"), "{}", excess.words);
    measured.below = below(Some(("vda".to_owned(), 9.14e9)));
    let excess = hold(&measured, link()).excess.expect("it is exceeded");
    assert!(excess.words.starts_with("every byte passed the devices"), "{}", excess.words);
    // What memory took in below leaves the link unbound as well.
    measured.flow = Some(Flow::Write);
    measured.below = below(Some(("vda".to_owned(), 0.0)));
    assert_eq!(hold(&measured, link()).binds, None);
}
