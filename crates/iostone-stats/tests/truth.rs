//! `make truth` in small: verdicts on tables whose truth is known are seldom wrong.
//!
//! Few tables of a kind are simulated here, so that only all of them together say much; shown with `--nocapture`.

#![expect(clippy::print_stdout, reason = "the measured rates are the evidence; shown with --nocapture")]

use crate::broken::BROKEN;
use crate::design::{BEYOND, Family, Outcome, keeps_premise, run};
use crate::models::{MODELS, Order};
use crate::rates::Rate;

/// So many rates are looked at that one in some hundred may be this surprising by chance.
const SURPRISING: f64 = 1e-3;

/// What is wrong with tables of a ratio.
fn is_wrong(outcome: &Outcome, ratio: f64) -> bool {
    !outcome.covers || if ratio < BEYOND { outcome.different } else { outcome.equivalent }
}

/// Simulates so many tables of each of every `step`th kind of noise, with ratios of 1 and just beyond the margin.
fn assert_seldom_wrong(family: Family, step: usize, tables: u64) {
    for ratio in [1.0, BEYOND] {
        let mut all = Rate::default();
        let models = MODELS.iter().step_by(step).filter(|model| keeps_premise(model, family));
        for model in models {
            let mut rate = Rate::default();
            (1..=tables).for_each(|seed| rate.add(is_wrong(&run(model, ratio, family, seed), ratio)));
            assert!(rate.upper_p(0.05) >= SURPRISING, "{}, {family:?}, {ratio}: {rate:?}", model.name);
            all = all.and(rate);
        }
        println!("{family:?}, {ratio}: {:.1} % of {} wrong", 100.0 * all.share(), all.of);
        // The same draws run through all kinds of noise, so that their rates go up and down together.
        assert!(all.share() <= 0.05 || all.upper_p(0.05) >= SURPRISING, "{family:?}, {ratio}: {all:?}");
    }
}

#[test]
fn verdicts_on_a_level_are_seldom_wrong() {
    assert_seldom_wrong(Family::Levels(1), 1, 50);
}

#[test]
fn verdicts_on_several_levels_are_seldom_wrong() {
    assert_seldom_wrong(Family::Levels(3), 4, 30);
}

#[test]
fn verdicts_on_strata_of_unlike_spread_are_seldom_wrong() {
    assert_seldom_wrong(Family::Strata(28), 12, 30);
}

#[test]
fn verdicts_on_points_of_a_curve_are_seldom_wrong() {
    assert_seldom_wrong(Family::Points(12), 12, 12);
}

#[test]
fn a_curve_takes_fewer_blocks_than_its_points_apart() {
    let sum = |family: Family| -> u32 {
        let models = MODELS.iter().step_by(12);
        models.flat_map(|model| (1..=3).map(move |seed| run(model, 1.1, family, seed).blocks.0)).sum()
    };
    let (together, apart) = (sum(Family::Points(12)), sum(Family::PointsApart(12)));
    assert!(together < apart, "blocks to the first point: {together} together, {apart} apart");
}

#[test]
fn carry_over_is_withheld_or_marked_where_it_cannot_be_seen() {
    let model = BROKEN.iter().find(|model| model.name == "carry-over 4 %").expect("a kind of noise");
    let outcomes = (1..=100).map(|seed| run(model, 1.0, Family::Levels(1), seed));
    let early: Vec<Outcome> = outcomes.filter(|outcome| outcome.different && outcome.blocks.0 < 11).collect();
    let marked = |outcome: &Outcome| outcome.flags.iter().any(|flag| flag == "carry-over-unchecked");
    assert!(early.len() > 5 && early.iter().all(marked), "{early:?}");
}

#[test]
fn orders_that_no_lot_drew_get_no_verdict() {
    for model in BROKEN.iter().filter(|model| model.order != Order::Drawn) {
        for seed in 1..=10 {
            let outcome = run(model, 1.0, Family::Levels(1), seed);
            assert!(!outcome.different && !outcome.equivalent, "{}: {outcome:?}", model.name);
            assert!(outcome.flags.iter().any(|flag| flag == "withheld"), "{}: {outcome:?}", model.name);
        }
    }
}

#[test]
fn verdicts_after_a_superblock_are_seldom_wrong() {
    assert_seldom_wrong(Family::Superblock(1), 1, 50);
    assert_seldom_wrong(Family::Superblock(3), 4, 20);
}

#[test]
fn a_superblock_shows_clear_differences_in_fewer_trials() {
    let sum = |family: Family| -> u32 {
        let models = MODELS.iter().step_by(3);
        models.flat_map(|model| (1..=10).map(move |seed| run(model, 1.5, family, seed).blocks.1)).sum()
    };
    for levels in [1, 3] {
        let (superblock, pairs) = (sum(Family::Superblock(levels)), sum(Family::Levels(levels)));
        println!("{levels} levels at 1.5: {superblock} trials each after a superblock, {pairs} in pairs");
        assert!(5 * superblock < 4 * pairs, "{superblock} {pairs}");
    }
}
