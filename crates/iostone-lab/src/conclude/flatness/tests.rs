//! Made-up write curves: flat by barriers, by the volume, by neither, and rising ones.

use iostone_model::experiment::read;
use iostone_model::run::BlockRecord;

use std::collections::BTreeMap;

use super::super::tests::trial;
use super::*;
use crate::plan::{PlanOptions, make_plan};

const FLAT_WRITES: &str = include_str!("../../../../../experiments/flat-writes.toml");

fn plan() -> Plan {
    make_plan(read(FLAT_WRITES, &[]).unwrap(), PlanOptions::default()).unwrap()
}

/// A figure by load.
type Curve = fn(f64) -> f64;

/// Blocks in which each named configuration has the curve given, within a noise, and so many flushes in 1000 writes.
fn records(blocks: u32, curves: &[(&str, u64, Curve)]) -> (Vec<TrialRecord>, Vec<BlockRecord>) {
    let mut trials = Vec::new();
    for block in 0..blocks {
        for (position, (name, flushes, rate)) in curves.iter().enumerate() {
            let position = u32::try_from(position).unwrap();
            let mut made =
                trial(u32::try_from(trials.len()).unwrap() + 1, block, position, name, 1.0, *flushes);
            made.signals.devices[0].served.writes = 1000;
            let noise = 1.0 + 0.003 * f64::from((block * 5 + position * 3) % 7);
            made.metrics = (1..=20_u32)
                .map(|load| (format!("iops@{load},0"), rate(f64::from(load)) * noise))
                .chain([("latency@1,0".to_owned(), 0.1), ("throughput@0,1".to_owned(), 1e6)])
                .chain([("cores_used".to_owned(), 0.11)])
                .collect::<BTreeMap<_, _>>();
            trials.push(made);
        }
    }
    (trials, all_counted(blocks))
}

fn all_counted(blocks: u32) -> Vec<BlockRecord> {
    (0..blocks)
        .map(|number| BlockRecord { number, order: Vec::new(), counted: true, reason: None, loss: None })
        .collect()
}

fn names(volume: &str) -> [String; 2] {
    let plan = plan();
    ["on", "off"].map(|barrier| {
        let own = plan.experiment.configurations.iter().find(|c| {
            c.levels.values().any(|level| level == barrier) && c.levels.values().any(|level| level == volume)
        });
        own.unwrap().name.clone()
    })
}

/// Twelve blocks: as many as two pairs with twenty loads are given at 95 %.
fn judged(volume: &str, on: (u64, Curve), off: (u64, Curve)) -> FlatnessVerdict {
    changed(volume, on, off, |_| {})
}

fn changed(
    volume: &str,
    on: (u64, Curve),
    off: (u64, Curve),
    change: fn(&mut TrialRecord),
) -> FlatnessVerdict {
    let [with, without] = names(volume);
    let (mut trials, blocks) = records(12, &[(&with, on.0, on.1), (&without, off.0, off.1)]);
    trials.iter_mut().for_each(change);
    let mut found = verdicts(&RunEvidence::of(&plan(), &trials, &blocks));
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Asserts a cause and parts of the sentence.
#[track_caller]
fn assert_told(found: &FlatnessVerdict, cause: FlatCause, parts: &[&str]) {
    assert_eq!(found.cause, cause, "{}", found.sentence);
    for part in parts {
        assert!(found.sentence.contains(part), "`{part}` in: {}", found.sentence);
    }
}

fn shapes(found: &FlatnessVerdict) -> [CurveShape; 2] {
    [found.with.shape, found.without.shape]
}

#[test]
fn a_curve_that_rises_without_barriers_is_flat_because_of_them() {
    let found = judged("unlimited", (900, |_| 400.0), (2, |load| 430.0 * load.powf(0.6)));
    let told = "served were 0.90 flushes a write with barriers, 1 flush in 500 writes without";
    assert_told(&found, FlatCause::Barriers, &["the flat curve is put down to barriers: ", told]);
    assert_eq!(shapes(&found), [CurveShape::Flat, CurveShape::Rises]);
    // Growing before it is flat is more than the curve with barriers does.
    let found = judged("unlimited", (900, |_| 400.0), (2, |load| 400.0 * load.min(4.0)));
    assert_told(&found, FlatCause::Barriers, &["grows at first"]);
    // Higher by 2 % is within the margin of 5 %.
    let found = judged("unlimited", (900, |_| 400.0), (2, |load| 400.0 * (load / 11.5).powf(0.07) * 1.02));
    assert_told(&found, FlatCause::Undecided, &["what makes the curve flat is not decided"]);
}

#[test]
fn flushes_that_are_too_few_uncounted_or_sent_without_barriers_too_explain_nothing() {
    let off: Curve = |load| 500.0 * load.powf(0.6);
    for (on, without, told) in [
        (0, 0, "too few flushes were served"),
        (6, 0, "too few flushes were served to put that down to them (fewer than 0.10 a write)"),
        (600, 600, "flushes were served without them as well"),
        (6, 600, "too few flushes"),
    ] {
        let found = judged("unlimited", (on, |_| 400.0), (without, off));
        assert_told(&found, FlatCause::Undecided, &[told]);
    }
    let found = changed("unlimited", (900, |_| 400.0), (0, off), |trial| {
        trial.signals.devices[0].flushes_counted = false;
    });
    assert_told(&found, FlatCause::Undecided, &["nobody counted the flushes"]);
    let found = judged("unlimited", (900, |_| 400.0), (0, off));
    assert_told(&found, FlatCause::Barriers, &["no flush without"]);
}

#[test]
fn barriers_lower_a_curve_that_does_not_rise_without_them() {
    let found = judged("unlimited", (900, |_| 400.0), (2, |_| 900.0));
    assert_told(&found, FlatCause::Lowered, &["barriers lower the curve, but do not make it flat"]);
    let found = judged("unlimited", (900, |_| 400.0), (2, |load| 3000.0 * load.powf(-0.4)));
    assert_told(&found, FlatCause::Lowered, &["falls over"]);
    // So it is where both grow at first.
    let found = judged("unlimited", (900, |load| 200.0 * load.min(2.0)), (2, |load| 400.0 * load.min(3.0)));
    assert_eq!(shapes(&found), [CurveShape::Plateau; 2], "{}", found.sentence);
    assert_told(&found, FlatCause::Lowered, &["its upper loads flat: those do not rise without them either"]);
    let saw: Curve = |load| if load % 2.0 > 0.5 { 8000.0 } else { 4000.0 };
    let found = judged("unlimited", (900, |_| 400.0), (2, saw));
    assert_told(&found, FlatCause::Undecided, &["whether they make it flat is not decided"]);
}

#[test]
fn growth_without_barriers_that_may_be_more_than_a_flat_curves_leaves_it_open() {
    // Half the first load's rate in some blocks and four fifths in others: a slope next to the bound of a flat one.
    let growing = |first: [f64; 3]| {
        let [with, without] = names("unlimited");
        let (mut trials, blocks) = records(12, &[(&with, 900, |_| 400.0), (&without, 2, |_| 900.0)]);
        for trial in trials.iter_mut().filter(|trial| trial.position == 1) {
            if let Some(rate) = trial.metrics.get_mut("iops@1,0") {
                *rate *= first[trial.block as usize % 3];
            }
        }
        verdicts(&RunEvidence::of(&plan(), &trials, &blocks)).remove(0)
    };
    let found = growing([0.60, 0.66, 0.85]);
    assert_eq!(shapes(&found), [CurveShape::Flat, CurveShape::Plateau], "{}", found.sentence);
    assert_told(&found, FlatCause::Undecided, &["whether they make it flat is not decided"]);
    let found = growing([0.78, 0.80, 0.82]);
    assert_eq!(shapes(&found), [CurveShape::Flat, CurveShape::Plateau], "{}", found.sentence);
    assert_told(&found, FlatCause::Lowered, &["those do not rise without them either"]);
}

#[test]
fn a_block_that_something_disturbed_does_not_forbid_a_verdict() {
    let disturb = |trial: &mut TrialRecord| {
        if trial.block == 3 {
            *trial.metrics.get_mut("iops@9,0").unwrap() *= 0.3;
        }
    };
    let found = changed("limited", (5, |_| 490.0), (1, |_| 491.0), disturb);
    assert_told(&found, FlatCause::Volume, &["limit, not to barriers"]);
}

#[test]
fn pairs_get_their_blocks_though_the_metric_is_decided_before() {
    let plan = plan();
    assert_eq!(blocks_of_pairs(&plan), Some(12));
    let [with, without] = names("limited");
    let (trials, blocks) = records(6, &[(&with, 5, |_| 490.0), (&without, 1, |_| 491.0)]);
    assert_eq!(waiting(&plan, &trials, &blocks), [0, 1, 2, 3]);
    let (trials, blocks) = records(12, &[(&with, 5, |_| 490.0), (&without, 1, |_| 491.0)]);
    let waits: Vec<&str> = waiting(&plan, &trials, &blocks)
        .into_iter()
        .map(|place| plan.experiment.configurations[place].name.as_str())
        .collect();
    assert!(waits.len() == 2 && waits.iter().all(|name| name.contains("unlimited")), "{waits:?}");
    // Never more than the experiment allows, and none without a pair.
    let few = FLAT_WRITES.replace("max = 16", "max = 8");
    let few = make_plan(read(&few, &[]).unwrap(), PlanOptions::default()).unwrap();
    assert_eq!(blocks_of_pairs(&few), Some(8));
    let barrier = super::super::tests::plan("", "");
    assert_eq!((blocks_of_pairs(&barrier), waiting(&barrier, &[], &[])), (None, Vec::new()));
}

#[test]
fn a_curve_at_its_volumes_limit_is_flat_because_of_that() {
    let found = judged("limited", (5, |_| 490.0), (1, |_| 491.0));
    assert_told(&found, FlatCause::Volume, &["limit, not to barriers: ", "% of 500 IOPS of the volume"]);
    assert_eq!(found.stratum, "volume=limited");
    // Both at it, though one lies higher, whatever was flushed.
    let found = judged("limited", (900, |_| 460.0), (1, |_| 498.0));
    assert_told(&found, FlatCause::Volume, &["at which it lies with and without barriers"]);
    // Whether it is lower than without cannot be told where that is not known.
    let wild: Curve = |_| 480.0;
    let found = changed("limited", (5, |_| 480.0), (1, wild), |trial| {
        if trial.position == 1 {
            let factor = [0.7, 1.0, 0.8, 0.75, 0.6, 0.9, 0.65][trial.block as usize % 7];
            trial.metrics.values_mut().for_each(|rate| *rate *= factor);
        }
    });
    assert_told(&found, FlatCause::Undecided, &["whether barriers have a part in it cannot be told"]);
}

#[test]
fn a_limit_that_did_not_hold_explains_nothing() {
    let found = judged("limited", (5, |_| 1500.0), (1, |_| 1500.0));
    assert_told(&found, FlatCause::Neither, &["so that limit did not hold"]);
    let found = judged("limited", (5, |_| 480.0), (1, |_| 1500.0));
    assert_told(&found, FlatCause::Undecided, &["which did not hold without barriers"]);
    // Between 88 and 92 % of it: neither at it nor clear of it.
    let found = changed("limited", (5, |_| 440.0), (1, |_| 440.0), |trial| {
        let factor = 1.0 + 0.005 * f64::from(trial.block);
        trial.metrics.values_mut().for_each(|rate| *rate *= factor);
    });
    assert_told(&found, FlatCause::Undecided, &["whether the flat curve lies at the volume's limit"]);
}

#[test]
fn a_curve_as_flat_and_as_high_without_barriers_is_neither() {
    let found = judged("unlimited", (5, |_| 8000.0), (1, |_| 8010.0));
    assert_told(
        &found,
        FlatCause::Neither,
        &["1 flush in 200 writes", "the workload itself used 0.11 cores"],
    );
    // It may grow at first: what is asked is why it does not go on.
    let plateau: Curve = |load| 8000.0 * (load / 3.0).min(1.0);
    let found = judged("unlimited", (5, plateau), (1, plateau));
    assert_told(&found, FlatCause::Neither, &[]);
    assert_eq!(found.with.shape, CurveShape::Plateau);
}

#[test]
fn what_rises_falls_or_goes_up_and_down_is_not_flat() {
    let curves: [(Curve, CurveShape); 4] = [
        (|load| 400.0 * load, CurveShape::Rises),
        (|load| if load < 4.0 { 8000.0 } else { 2000.0 }, CurveShape::Falls),
        (|load| if load <= 6.0 { load / 6.0 } else { (6.0 / load).powf(1.06) }, CurveShape::Uneven),
        (|load| if load % 2.0 > 0.5 { 8000.0 } else { 4000.0 }, CurveShape::Uneven),
    ];
    for (curve, shape) in curves {
        let found = judged("unlimited", (5, curve), (1, curve));
        assert_told(&found, FlatCause::NotFlat, &[]);
        assert_eq!(shapes(&found), [shape; 2], "{}", found.sentence);
    }
}

#[test]
fn loads_without_a_rate_are_refused_not_dropped() {
    let stalled: Curve = |load| if load <= 12.0 { 400.0 } else { 0.0 };
    let found = judged("unlimited", (5, stalled), (1, |_| 405.0));
    assert_told(&found, FlatCause::Undecided, &["some loads have no rate", "at Small=13 and 7 more"]);
    assert_eq!((found.with.shape, found.with.missing.len()), (CurveShape::Incomplete, 8));
    // Nor is one that the record lacks, of which the experiment tells.
    let found = changed("unlimited", (5, |_| 400.0), (1, |_| 400.0), |trial| {
        trial.metrics.remove("iops@20,0");
    });
    assert_told(&found, FlatCause::Undecided, &["without a rate at Small=20;"]);
}

#[test]
fn few_blocks_decide_nothing_and_as_many_are_needed_as_for_verdicts() {
    let [with, without] = names("unlimited");
    for (blocks, cause) in [(1, FlatCause::Undecided), (6, FlatCause::Undecided), (7, FlatCause::Lowered)] {
        let (trials, blocks) = records(blocks, &[(&with, 900, |_| 400.0), (&without, 2, |_| 900.0)]);
        let found = &verdicts(&RunEvidence::of(&plan(), &trials, &blocks))[0];
        assert_eq!((found.cause, found.fewest_blocks), (cause, 7), "{}", found.sentence);
    }
    let (trials, blocks) = records(6, &[(&with, 900, |_| 400.0), (&without, 2, |_| 900.0)]);
    let found = &verdicts(&RunEvidence::of(&plan(), &trials, &blocks))[0];
    assert_told(found, FlatCause::Undecided, &["is not decided: 6 blocks, and it takes 7"]);
}

#[test]
fn other_experiments_have_none() {
    let text = include_str!("../../../../../experiments/orion.toml");
    let orion = make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap();
    // Of a mix it could be the reads that are flat.
    let (trials, blocks) = records(6, &[("on", 900, |_| 400.0), ("off", 2, |_| 900.0)]);
    assert_eq!(verdicts(&RunEvidence::of(&orion, &trials, &blocks)), Vec::new());
}

#[test]
fn too_few_loads_for_a_curve_are_given_no_blocks() {
    assert_eq!(blocks_of_pairs(&plan()), Some(12));
    for few in ["matrix = \"col\"\nnum_small = 2", "matrix = \"point\"\nnum_small = 5"] {
        let text = FLAT_WRITES.replace("matrix = \"row\"", few);
        let text = if few.contains("col") { text.replace("num_large = 0\n", "") } else { text };
        let plan = make_plan(read(&text, &[]).unwrap(), PlanOptions::default()).unwrap();
        assert_eq!(blocks_of_pairs(&plan), None, "{few}");
        assert_eq!(waiting(&plan, &[], &[]), Vec::<usize>::new(), "{few}");
    }
}
