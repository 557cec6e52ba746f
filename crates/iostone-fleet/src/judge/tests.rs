//! Fleets whose truth is known: how often intervals hold, who is named, what is refused.

use std::collections::BTreeMap;

use iostone_model::fleet::{FleetHost, HostState};
use iostone_model::summary::RunSummary;
use iostone_stats::schedule::SplitMix64;

use super::*;

const MANY_FLEETS: u32 = 1000;
const FLEETS: u32 = 500;

/// A fleet that varies as is said; log figures of two levels, `effect` apart.
struct Truth {
    hosts: usize,
    blocks: usize,
    effect: f64,
    /// Standard deviation of the effect between hosts, of hosts, of a trial.
    spreads: [f64; 3],
}

fn summary(values: &[Vec<f64>; 2]) -> RunSummary {
    let levels = ["on", "off"];
    let configurations: Vec<serde_json::Value> = levels
        .iter()
        .zip(values)
        .map(|(level, values)| {
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            serde_json::json!({
                "name": level, "levels": { "barrier": level }, "baseline": *level == "on", "trials": values.len(),
                "figures": { "iops": { "trials": values.len(), "median": sorted[sorted.len() / 2], "cv": 0.03,
                    "minimum": sorted[0], "maximum": sorted[sorted.len() - 1], "first": values[0], "last": values[0] } },
                "blocks": (0..values.len()).collect::<Vec<usize>>(), "values": { "iops": values },
            })
        })
        .collect();
    serde_json::from_value(serde_json::json!({
        "schema": "iostone/summary/1", "record_bytes": 0, "run_id": "a", "experiment": "barrier", "experiment_digest": "d",
        "state": "finished", "started_at": "2026-11-28T12:00:00Z", "iostone_version": "0.1.0",
        "machine": { "host": "h", "kernel": "6.1", "cpu": "x", "architecture": "x86_64", "logical_cpus": 2, "memory_bytes": 1 },
        "factors": [{ "name": "barrier", "levels": levels }], "trials": 12, "blocks": values[0].len(),
        "decided": { "metric": "iops", "margin": 0.03, "confidence": 0.95, "factor": "barrier", "baseline": "on" },
        "metrics": { "iops": { "unit": "per_second", "better": "higher", "title": "operations" } },
        "configurations": configurations,
    }))
    .unwrap()
}

/// Box and Muller's.
fn normal(generator: &mut SplitMix64) -> f64 {
    let radius = (-2.0 * (1.0 - generator.next_unit()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * generator.next_unit()).cos()
}

fn fleet_of(truth: &Truth, generator: &mut SplitMix64, shift: impl Fn(usize) -> f64) -> Vec<HostRun> {
    let [between, host, own] = truth.spreads;
    (0..truth.hosts)
        .map(|index| {
            let level = shift(index) + host * normal(generator);
            let effect = truth.effect + between * normal(generator);
            let mut values = [Vec::new(), Vec::new()];
            for _ in 0..truth.blocks {
                values[0].push(1000.0 * (level + own * normal(generator)).exp());
                values[1].push(1000.0 * (level + effect + own * normal(generator)).exp());
            }
            HostRun { name: format!("host{index}"), facts: BTreeMap::new(), summary: summary(&values) }
        })
        .collect()
}

fn judged(runs: Vec<HostRun>) -> FleetReport {
    let host =
        |run: &HostRun| FleetHost { name: run.name.clone(), state: HostState::Done, ..FleetHost::default() };
    let fleet = Fleet {
        schema: "iostone/fleet/1".to_owned(),
        fleet_id: "abcd1234".to_owned(),
        created_at: String::new(),
        iostone_version: "0.1.0".to_owned(),
        experiment: "barrier".to_owned(),
        question: String::new(),
        seed: 1,
        overrides: Vec::new(),
        quick: false,
        destroy: Vec::new(),
        inventory: String::new(),
        hosts: runs.iter().map(host).collect(),
    };
    judge_runs(Path::new("/nonexistent"), fleet, runs).unwrap()
}

#[test]
fn intervals_hold_the_truth_of_hosts_like_these_and_of_the_next_host() {
    let truth = Truth { hosts: 12, blocks: 6, effect: 0.1, spreads: [0.05, 0.05, 0.03] };
    let mut generator = SplitMix64::new(24);
    let (mut held, mut held_next) = (0, 0);
    for _ in 0..MANY_FLEETS {
        let report = judged(fleet_of(&truth, &mut generator, |_| 0.0));
        let found = &report.comparisons[0];
        let [Some(low), Some(high)] = found.like_these.interval else { panic!("{found:#?}") };
        held += u32::from((low..=high).contains(&truth.effect.exp()));
        let [low, high] = found.next_host.unwrap();
        // The next host's own typical ratio, measured in as many blocks.
        let next = fleet_of(&Truth { hosts: 1, ..truth }, &mut generator, |_| 0.0);
        let ratio = judged(next).hosts[0].ratios[0].unwrap();
        held_next += u32::from((low..=high).contains(&ratio));
    }
    let share = |held: u32| 100.0 * f64::from(held) / f64::from(MANY_FLEETS);
    eprintln!("hosts like these {:.1} %, next host {:.1} %", share(held), share(held_next));
    // The signed rank's levels are steps: 95.2 % is the nearest from above that 12 hosts have.
    assert!((93.5..=96.7).contains(&share(held)), "{}", share(held));
    assert!((93.5..=96.5).contains(&share(held_next)), "{}", share(held_next));
}

#[test]
fn a_slow_host_is_named_and_healthy_fleets_name_nobody() {
    let truth = Truth { hosts: 50, blocks: 6, effect: 0.1, spreads: [0.01, 0.03, 0.03] };
    let mut generator = SplitMix64::new(50);
    let (mut named, mut false_names) = (0, 0);
    for _ in 0..FLEETS {
        let slow =
            judged(fleet_of(&truth, &mut generator, |host| if host == 7 { 0.8_f64.ln() } else { 0.0 }));
        named += u32::from(slow.odd.first().is_some_and(|odd| odd.name == "host7"));
        false_names += u32::from(!judged(fleet_of(&truth, &mut generator, |_| 0.0)).odd.is_empty());
    }
    eprintln!("named in {named}, a healthy fleet names somebody in {false_names} of {FLEETS}");
    assert!(named * 100 >= 95 * FLEETS, "{named}");
    assert!(false_names * 100 <= 5 * FLEETS, "{false_names}");
}

#[test]
fn too_few_hosts_and_types_get_no_verdict_and_say_how_many_would() {
    let truth = Truth { hosts: 4, blocks: 6, effect: 0.3, spreads: [0.01, 0.01, 0.01] };
    let mut runs = fleet_of(&truth, &mut SplitMix64::new(1), |_| 0.0);
    for (index, run) in runs.iter_mut().enumerate() {
        run.facts.insert(TYPE.to_owned(), if index == 0 { "c5.large" } else { "m5.large" }.to_owned());
        run.facts.insert("kernel".to_owned(), format!("6.{}", index / 2));
    }
    let report = judged(runs);
    let found = &report.comparisons[0];
    assert_eq!((found.these.verdict, found.like_these.verdict), (Some(Verdict::Faster), None));
    assert_eq!(found.hosts_more, Some(2));
    let between = &report.between[0];
    assert_eq!(
        (between.baseline.as_str(), between.level.as_str(), between.hosts),
        ("m5.large", "c5.large", [3, 1])
    );
    let reason = between.claim.reason.as_deref().unwrap();
    assert!(reason.starts_with("no verdict on the instance type"), "{reason}");
    assert!(report.flags.iter().any(|flag| flag.message.starts_with("hosts differ in kernel")));
}

#[test]
fn enough_hosts_of_two_types_get_a_verdict() {
    let truth = Truth { hosts: 12, blocks: 6, effect: 0.3, spreads: [0.01, 0.02, 0.02] };
    let mut runs = fleet_of(&truth, &mut SplitMix64::new(2), |host| if host % 2 == 0 { 0.2 } else { 0.0 });
    for (index, run) in runs.iter_mut().enumerate() {
        run.facts.insert(TYPE.to_owned(), if index % 2 == 0 { "m5.large" } else { "c5.large" }.to_owned());
    }
    let report = judged(runs);
    assert_eq!(report.between.len(), 2);
    for one in &report.between {
        let better = if one.level == "m5.large" { Verdict::Faster } else { Verdict::Slower };
        assert_eq!(one.claim.verdict, Some(better), "{one:#?}");
    }
    assert_eq!(report.comparisons[0].like_these.verdict, Some(Verdict::Faster));
    assert_eq!(report.odd, Vec::new(), "types are no odd hosts");
}

#[test]
fn a_run_of_another_experiment_is_left_out_and_named() {
    let truth = Truth { hosts: 3, blocks: 6, effect: 0.3, spreads: [0.01, 0.01, 0.01] };
    let mut runs = fleet_of(&truth, &mut SplitMix64::new(3), |_| 0.0);
    runs[2].summary.experiment_digest = Some("other".to_owned());
    let report = judged(runs);
    assert_eq!(report.hosts.len(), 2);
    assert!(report.fleet.hosts[2].reason.as_deref().unwrap().contains("another experiment"));
}

#[test]
fn five_hosts_without_an_interval_say_what_it_takes() {
    let truth = Truth { hosts: 5, blocks: 6, effect: 0.1, spreads: [0.05, 0.05, 0.03] };
    let report = judged(fleet_of(&truth, &mut SplitMix64::new(3), |_| 0.0));
    let claim = &report.comparisons[0].like_these;
    assert_eq!((claim.verdict, claim.interval), (Some(Verdict::Undecided), [None, None]));
    let reason = claim.reason.as_deref().unwrap();
    assert!(reason.contains("equivalence needs 5, a difference 6"), "{reason}");
}
