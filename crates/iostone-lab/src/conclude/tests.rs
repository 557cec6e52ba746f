//! Conclusions from made-up records: what is claimed, what is withheld, and in which words.

mod curves;
mod doubts;
mod sweeps;

use std::collections::BTreeMap;

use iostone_model::experiment::read;
use iostone_model::sample::DiskCounters;
use iostone_model::trial::{DeviceActivity, SignalSummary, TrialRecord, WorkloadReport};
use iostone_model::verdict::{Verdict, Verdicts};

use super::*;
use crate::journal::{BlockEnd, Entry, JournalEvent};
use crate::plan::{PlanOptions, make_plan};

const BARRIER: &str = include_str!("../../../../experiments/barrier.toml");

/// The barrier experiment with a fixed seed, its text changed at one place.
pub(crate) fn plan(from: &str, to: &str) -> Plan {
    let text = BARRIER.replace(from, to).replace("max = 40", "max = 12");
    assert!(from.is_empty() || text != BARRIER, "`{from}` stands in the experiment");
    make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap()
}

pub(crate) fn trial(
    number: u32,
    block: u32,
    position: u32,
    configuration: &str,
    iops: f64,
    flushes: u64,
) -> TrialRecord {
    let served = DiskCounters { flushes, written_bytes: 1 << 30, ..DiskCounters::default() };
    let device = DeviceActivity {
        name: "loop0".to_owned(),
        role: "stack".to_owned(),
        served,
        flushes_counted: true,
        volatile_cache: None,
    };
    TrialRecord {
        schema: String::new(),
        number,
        block,
        position,
        configuration: configuration.to_owned(),
        session: 0,
        started_at: String::new(),
        total_seconds: 1.0,
        phases: None,
        conditioned_seconds: None,
        metrics: BTreeMap::from([("iops".to_owned(), iops)]),
        ramp_seconds: 1.0,
        steady_state: None,
        taken: None,
        workload: WorkloadReport { kind: "io".to_owned(), ..WorkloadReport::default() },
        checks: Vec::new(),
        guest: None,
        container: None,
        space: None,
        governor: None,
        notes: Vec::new(),
        syncs_dropped_below: None,
        signals: SignalSummary { devices: vec![device], ..SignalSummary::default() },
        gates: Vec::new(),
        valid: true,
    }
}

pub(super) fn entry(event: JournalEvent) -> Entry {
    Entry { at: String::new(), event }
}

/// `blocks` counted blocks, then blocks discarded because of a level, in a random order of levels.
fn records(
    blocks: u32,
    on: (f64, u64),
    off: (f64, u64),
    discarded: &[&str],
) -> (Vec<TrialRecord>, Vec<Entry>) {
    let (mut trials, mut entries) = (Vec::new(), Vec::new());
    let all = blocks + u32::try_from(discarded.len()).unwrap();
    for block in 0..all {
        let order = iostone_stats::schedule::block_order(7, u64::from(block), 2);
        entries.push(entry(JournalEvent::BlockBegun { block, order: Vec::new() }));
        for (position, level) in order.into_iter().enumerate() {
            let (name, (iops, flushes)) = [("on", on), ("off", off)][level];
            let noise = 1.0 + 0.002 * f64::from((block * 7 + u32::try_from(level).unwrap() * 3) % 5);
            let number = u32::try_from(trials.len()).unwrap() + 1;
            let position = u32::try_from(position).unwrap();
            trials.push(trial(number, block, position, name, iops * noise, flushes));
        }
        let end = match block.checked_sub(blocks).and_then(|index| discarded.get(index as usize)) {
            None => BlockEnd::Counted,
            Some(level) => BlockEnd::Discarded {
                reason: format!("{level}: steal"),
                configurations: vec![(*level).to_owned()],
                workload_failed: false,
            },
        };
        entries.push(entry(JournalEvent::BlockEnded { block, end }));
    }
    (trials, entries)
}

fn concluded(plan: &Plan, (trials, entries): &(Vec<TrialRecord>, Vec<Entry>)) -> Verdicts {
    conclude(plan, trials, entries, &Environment::default(), false).unwrap()
}

fn has(verdicts: &Verdicts, name: &str) -> Option<String> {
    let of_comparisons = verdicts.comparisons.iter().flat_map(|comparison| &comparison.flags);
    verdicts
        .flags
        .iter()
        .chain(of_comparisons)
        .find(|flag| flag.name == name)
        .map(|flag| flag.message.clone())
}

#[test]
fn a_difference_that_flushes_explain_is_claimed_and_made_permanent() {
    let verdicts = concluded(&plan("", ""), &records(6, (1000.0, 500), (4000.0, 0), &[]));
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Faster));
    assert!(verdicts.headline.starts_with("off delivers 3.9"), "{}", verdicts.headline);
    assert!(
        verdicts.permanent.iter().any(|line| line.contains("noatime,barrier=0")),
        "{:?}",
        verdicts.permanent
    );
    assert!(
        verdicts.evidence[1].sentence.contains("flushes a trial: 0 (on: 500)"),
        "{:?}",
        verdicts.evidence
    );
}

#[test]
fn a_slower_level_is_told_with_its_interval_the_right_way_round() {
    let verdicts = concluded(&plan("", ""), &records(6, (4000.0, 500), (1000.0, 1), &[]));
    assert!(verdicts.headline.starts_with("off is slower: on delivers 3.9"), "{}", verdicts.headline);
    assert_eq!(verdicts.permanent, ["# nothing to change: no level is faster than on"]);
}

#[test]
fn without_a_flush_no_difference_is_claimed_whatever_the_figures_say() {
    let through = plan("write back", "write through");
    let verdicts = concluded(&through, &records(8, (1000.0, 0), (1500.0, 0), &[]));
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Undecided));
    assert!(has(&verdicts, "no-flush").unwrap().contains("write_cache is \"write through\""));
    assert!(has(&verdicts, "withheld").is_some());
    assert!(verdicts.headline.contains("the kernel sent no flush"), "{}", verdicts.headline);
    assert!(verdicts.permanent.is_empty());

    let unsynced = plan("fdatasync = 1", "fdatasync = 0");
    let verdicts = concluded(&unsynced, &records(8, (1000.0, 0), (1000.0, 0), &[]));
    assert!(has(&verdicts, "no-flush").unwrap().contains("because the workload never asks for one"));
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Equivalent));
}

#[test]
fn discards_that_fall_on_one_level_withhold_the_verdict() {
    let uneven = records(8, (1000.0, 500), (1000.0, 1), &["off"; 7]);
    let verdicts = concluded(&plan("", ""), &uneven);
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Undecided));
    assert!(has(&verdicts, "discard-imbalance").is_some() && has(&verdicts, "withheld").is_some());
    assert!(
        verdicts.headline.starts_with("No verdict between off and on after 8 blocks: "),
        "{}",
        verdicts.headline
    );

    let even = records(8, (1000.0, 500), (1000.0, 1), &["on", "off", "on", "off"]);
    assert_eq!(concluded(&plan("", ""), &even).comparisons[0].verdict, Some(Verdict::Equivalent));
}

#[test]
fn in_an_unfit_environment_all_blocks_count_up_to_the_budget() {
    let (trials, mut entries) = records(11, (1000.0, 500), (1010.0, 1), &["on", "off", "on"]);
    entries.push(entry(JournalEvent::Unfit { failed: 3, begun: 14 }));
    let verdicts = concluded(&plan("", ""), &(trials, entries));
    assert!(has(&verdicts, "environment-unfit").is_some());
    assert_eq!(has(&verdicts, "budget-exceeded"), None);
    assert_eq!(verdicts.comparisons[0].log_ratios.len(), 12);
}

/// Gives every trial of a configuration a series that falls by so much.
fn let_fall(records: &mut (Vec<TrialRecord>, Vec<Entry>), configuration: &str, share: f64, every: u32) {
    for trial in records.0.iter_mut().filter(|trial| trial.configuration == configuration) {
        let falls = trial.block.is_multiple_of(every);
        let rate = |i: u32| 1000.0 * (1.0 - if falls { share * f64::from(i) / 100.0 } else { 0.0 });
        trial.workload.measured_seconds = 10.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
        let series = (0..100).map(|i| rate(i) as u64).collect();
        trial.workload.operations_per_100ms = series;
        trial.steady_state = crate::steadiness::check(&trial.workload);
    }
}

#[test]
fn trials_that_are_not_steady_are_flagged_and_count() {
    let mut falling = records(8, (1000.0, 500), (4000.0, 0), &[]);
    let_fall(&mut falling, "on", 0.0, 1);
    let_fall(&mut falling, "off", 0.3, 1);
    let verdicts = concluded(&plan("", ""), &falling);
    let message = has(&verdicts, "not-steady").unwrap();
    assert!(message.contains("0 of 8 under `on`, 8 of 8 under `off` (it falls)"), "{message}");
    assert!(message.contains("the 10s after the ramp"), "{message}");
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Faster));
    assert_eq!((verdicts.comparisons[0].decided_at, verdicts.comparisons[0].blocks), (Some(6), 8));
}

#[test]
fn a_rate_of_nothing_is_the_worst_and_does_not_end_the_run() {
    let verdicts = concluded(&plan("", ""), &records(8, (1000.0, 500), (0.0, 1), &[]));
    assert_eq!(verdicts.comparisons[0].verdict, Some(Verdict::Slower));
    assert_eq!(verdicts.comparisons[0].ratio, None);
    let both = concluded(&plan("", ""), &records(8, (0.0, 500), (0.0, 1), &[]));
    assert_eq!(both.comparisons[0].verdict, Some(Verdict::Equivalent));
}

#[test]
fn a_level_that_the_source_limits_is_told() {
    let mut records = records(6, (1000.0, 500), (1000.0, 500), &[]);
    for trial in records.0.iter_mut().filter(|trial| trial.configuration == "off") {
        trial.metrics.insert("throughput".to_owned(), 95e6);
        trial.workload.facts.insert("source_bytes_per_second".to_owned(), "1e8".to_owned());
    }
    let message = has(&concluded(&plan("", ""), &records), "source-limited").unwrap();
    assert!(message.starts_with("throughput 95.0 MB/s is 95.0 % of the 100 MB/s"), "{message}");
}

#[test]
fn a_trial_in_five_that_is_not_steady_is_no_matter_for_the_run() {
    let mut records = records(8, (1000.0, 500), (4000.0, 0), &[]);
    let_fall(&mut records, "off", 0.3, 8);
    assert_eq!(has(&concluded(&plan("", ""), &records), "not-steady"), None);
}
