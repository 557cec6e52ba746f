//! Syncs that were dropped, and flushes that never came.

use iostone_model::experiment::Workload;
use iostone_model::trial::{ContainerFacts, MEMORY};

use super::*;

fn records(volatile: bool) -> (Vec<TrialRecord>, [BlockRecord; 1]) {
    let mut trials = vec![trial(1, 0, 0, "on", 1.0, 0), trial(2, 0, 1, "off", 1.0, 0)];
    for (trial, syncs) in trials.iter_mut().zip([1000, 16_000]) {
        trial.workload.sync_latency_histogram = vec![(1000, syncs)];
        trial.workload.measured_seconds = 2.0;
        let volatile = volatile && trial.configuration == "off";
        trial.container = Some(Box::new(ContainerFacts { volatile, ..ContainerFacts::default() }));
    }
    (trials, one_block())
}

/// The plan, its workload syncing or not.
fn syncing(fdatasync: u32) -> Plan {
    let mut plan = plan("", "");
    for configuration in &mut plan.experiment.configurations {
        if let Workload::Io(io) = &mut configuration.workload {
            (io.fdatasync, io.fsync) = (fdatasync, 0);
        }
    }
    plan
}

#[test]
fn a_volatile_layer_is_told_with_its_syncs() {
    let (trials, blocks) = records(true);
    assert_eq!(
        messages(&syncing(1), &trials, &blocks, "sync-dropped"),
        [
            "nothing that was synced is durable: every fsync is dropped by its container's layer, mounted volatile, at \
             8\u{202f}000 syncs a second"
        ]
    );
    let (trials, blocks) = records(false);
    assert!(messages(&syncing(1), &trials, &blocks, "sync-dropped").is_empty());
}

#[test]
fn a_volatile_cache_that_was_never_flushed_is_told_and_barriers_off_by_name() {
    let (mut trials, blocks) = records(false);
    for trial in &mut trials {
        trial.signals.devices[0].volatile_cache = Some(true);
    }
    let all = found(&syncing(1), &trials, &blocks, "sync-dropped");
    let [finding] = &all[..] else { panic!("one finding: {all:?}") };
    assert!(finding.message.contains("completed no flush"), "{}", finding.message);
    let of_off = finding.evidence.iter().find(|line| line.contains("barrier=off")).unwrap();
    assert!(of_off.contains("flushes are off by the mount option `barrier=0`"), "{of_off}");
    for trial in &mut trials {
        let facts = ContainerFacts { place: MEMORY.to_owned(), ..ContainerFacts::default() };
        trial.container = Some(Box::new(facts));
    }
    let told = messages(&syncing(1), &trials, &blocks, "sync-dropped");
    assert!(told.is_empty(), "no flush is due of what is memory");
    let told = messages(&syncing(1), &trials, &blocks, "in-memory");
    assert!(told[0].starts_with("under `on`, `off` the workload worked in memory"), "{told:?}");
}

#[test]
fn a_mount_below_all_volumes_is_told_once() {
    let (mut trials, blocks) = records(false);
    for trial in &mut trials {
        trial.syncs_dropped_below = Some(true);
    }
    let told = messages(&syncing(1), &trials, &blocks, "sync-dropped");
    assert!(told.len() == 1 && told[0].contains("dropped by the filesystem below its volume"), "{told:?}");
}

#[test]
fn a_workload_that_never_syncs_loses_nothing_by_it() {
    let (trials, blocks) = records(true);
    assert!(messages(&syncing(0), &trials, &blocks, "sync-dropped").is_empty());
}
