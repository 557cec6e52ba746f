//! What bound made-up trials of the striped volumes: the volume alone, then the link; and rates that memory answered.

use iostone_model::experiment::read;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::sample::DiskCounters;
use iostone_model::trial::{TrialRecord, WorkloadReport};

use super::*;
use crate::conclude::tests::trial;
use crate::plan::{PlanOptions, make_plan};

const STRIPES: &str = r#"
name = "stripes"
[stack]
volume = { kind = "emulated", size = "256MiB", throughput = "40MB/s" }
array = { kind = "md", level = "raid0" }
filesystem = { kind = "xfs" }
[[factor]]
name = "volumes"
levels = { one = { volume.count = 1 }, two = { volume.count = 2 } }
[workload]
kind = "io"
rw = "read"
bs = "1MiB"
size = "64MiB"
direct = true
runtime = "5s"
[decide]
metric = "throughput"
baseline = "one"
[machine]
kind = "guest"
kernel = "/vmlinuz"
link = "500Mbps"
"#;

fn plan(text: &str) -> Plan {
    make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap()
}

fn one_block() -> Vec<BlockRecord> {
    vec![BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None, loss: None }]
}

fn measured(configuration: &str, figures: &[(&str, f64)]) -> TrialRecord {
    let mut trial = trial(1, 0, 0, configuration, 1.0, 0);
    trial.metrics = figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    trial.workload =
        WorkloadReport { claimed_read_bytes: 1 << 30, measured_seconds: 5.0, ..WorkloadReport::default() };
    trial.signals.devices.clear();
    trial
}

#[test]
fn the_volume_binds_alone_and_the_link_binds_two() {
    let plan = plan(STRIPES);
    let trials = [measured("one", &[("throughput", 39.9e6)]), measured("two", &[("throughput", 62.4e6)])];
    let found = ceilings(&RunEvidence::of(&plan, &trials, &one_block()));
    let told: Vec<(&str, CeilingState)> = found.iter().map(|one| (one.limit.as_str(), one.state)).collect();
    assert_eq!(
        told,
        [("40MB/s of the volume", CeilingState::Binds), ("the link of 62.5MB/s", CeilingState::Binds)]
    );
    assert!((found[0].share - 0.9975).abs() < 1e-9);
    assert_eq!(found[1].limit, "the link of 62.5MB/s");
    assert_eq!(above_limits(&RunEvidence::of(&plan, &trials, &one_block())), Vec::new());
}

#[test]
fn what_stays_below_every_limit_is_said_to_be_bound_by_none() {
    let trials = [measured("two", &[("throughput", 31e6)])];
    let found = ceilings(&RunEvidence::of(&plan(STRIPES), &trials, &one_block()));
    assert_eq!((found[0].limit.as_str(), found[0].state), ("the link of 62.5MB/s", CeilingState::Free));
    let trials = [measured("two", &[("throughput", 80e6)])];
    let found = ceilings(&RunEvidence::of(&plan(STRIPES), &trials, &one_block()));
    assert_eq!(found[0].state, CeilingState::Exceeded);
}

#[test]
fn buffered_reads_above_the_link_are_the_page_cache() {
    let (head, rest) = STRIPES.split_once("[workload]").unwrap();
    let (_, decide) = rest.split_once("[decide]").unwrap();
    let bonnie = format!(
        "{head}[workload]\nkind = \"bonnie\"\nsize = \"64MiB\"\nmemory = \"16MiB\"\n[decide]{decide}"
    )
    .replace("\"throughput\"", "\"block_write\"");
    let plan = plan(&bonnie);
    let trials = [measured("two", &[("block_read", 512e6), ("block_write", 61.9e6)])];
    let flags = above_limits(&RunEvidence::of(&plan, &trials, &one_block()));
    let message = &flags[0].message;
    assert!(
        message.starts_with("under two: block_read of 512 MB/s is 8.19 times the link of 62.5MB/s: "),
        "{message}"
    );
    let found = ceilings(&RunEvidence::of(&plan, &trials, &one_block()));
    assert_eq!((found.len(), found[0].figure.as_str()), (1, "block_write"));
    assert_eq!(found[0].state, CeilingState::Binds);
}

#[test]
fn credits_are_told_from_the_long_run() {
    let burst = STRIPES.replace(
        "throughput = \"40MB/s\" }",
        "throughput = \"40MB/s\", burst = { throughput = \"50MB/s\", credit_bytes = \"1GiB\" } }",
    );
    let trials = [measured("one", &[("throughput", 49.8e6)])];
    let found = ceilings(&RunEvidence::of(&plan(&burst), &trials, &one_block()));
    assert_eq!((found[0].limit.as_str(), found[0].at_most), ("40MB/s of the volume", 50e6));
    assert_eq!((found[0].state, found[0].held), (CeilingState::Binds, Some(HeldState::BindsInBurst)));
}

/// A volume that 1000 I/Os of 16KiB a second fill before its 40 MB/s.
fn small_ios(bs: &str) -> Plan {
    let text = STRIPES
        .replace("throughput = \"40MB/s\" }", "throughput = \"40MB/s\", iops = 1000 }")
        .replace("rw = \"read\"", "rw = \"randread\"")
        .replace("bs = \"1MiB\"", &format!("bs = \"{bs}\""));
    plan(&text)
}

#[test]
fn iops_and_throughput_of_the_same_bytes_are_told_once() {
    let trials = [measured("one", &[("throughput", 16.3e6), ("iops", 995.0)])];
    let found = ceilings(&RunEvidence::of(&small_ios("16KiB"), &trials, &one_block()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].limit.as_str(), found[0].state), ("1000 IOPS of the volume", CeilingState::Binds));
    // 16 MB/s is far from 40, but nobody could have more of it.
    let trials = [measured("one", &[("throughput", 16.3e6)])];
    let found = ceilings(&RunEvidence::of(&small_ios("16KiB"), &trials, &one_block()));
    assert_eq!((found[0].limit.as_str(), found[0].state), ("1000 IOPS of the volume", CeilingState::Binds));
}

#[test]
fn how_the_kernel_split_large_ios_is_told_by_the_device_or_not_known() {
    let plan = small_ios("1MiB");
    let mut trial = measured("one", &[("throughput", 30e6), ("iops", 28.6)]);
    let found = ceilings(&RunEvidence::of(&plan, std::slice::from_ref(&trial), &one_block()));
    assert_eq!(found.iter().map(|ceiling| ceiling.state).collect::<Vec<_>>(), [CeilingState::Unknown]);
    let served = DiskCounters { reads: 5000, read_bytes: 5000 * 30_000, ..DiskCounters::default() };
    trial.signals.devices = vec![iostone_model::trial::DeviceActivity {
        name: "loop0".to_owned(),
        role: "stack".to_owned(),
        served,
        flushes_counted: true,
        volatile_cache: None,
    }];
    let found = ceilings(&RunEvidence::of(&plan, &[trial], &one_block()));
    assert_eq!((found[0].limit.as_str(), found[0].state), ("1000 IOPS of the volume", CeilingState::Binds));
}

#[test]
fn what_had_room_is_not_told_beside_what_binds() {
    let (head, rest) = STRIPES.split_once("[workload]").unwrap();
    let (_, decide) = rest.split_once("[decide]").unwrap();
    let bonnie = format!(
        "{head}[workload]\nkind = \"bonnie\"\nsize = \"64MiB\"\nmemory = \"16MiB\"\ndirect_read = \
         \"32MiB\"\n[decide]{decide}"
    )
    .replace("\"throughput\"", "\"block_write\"");
    let trials = [measured("one", &[("block_write", 1e6), ("direct_read_throughput", 39.8e6)])];
    let found = ceilings(&RunEvidence::of(&plan(&bonnie), &trials, &one_block()));
    let told: Vec<&str> = found.iter().map(|ceiling| ceiling.figure.as_str()).collect();
    assert_eq!(told, ["direct_read_throughput"]);
}
