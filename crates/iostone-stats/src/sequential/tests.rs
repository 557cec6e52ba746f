//! The sequential procedure against the reference cases and its properties.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::vectors;

fn design(margin: f64, adjust_order: bool) -> Design {
    Design {
        alpha: 0.05,
        margin,
        budget: 40,
        minimum: 6,
        rounding: 0.0,
        adjust_order,
        family: 1,
        looks: Looks::Sequential,
    }
}

/// The order of a block; some cases leave all orders open.
fn order_of(signs: &Value, block: usize) -> RunOrder {
    match signs[block].as_i64() {
        Some(1) => RunOrder::BaselineFirst,
        Some(_) => RunOrder::LevelFirst,
        None => RunOrder::Unknown,
    }
}

fn assert_look(look: &Look, expected: &Value) {
    assert_eq!(look.blocks, vectors::whole(&expected["n"]));
    vectors::assert_close(look.estimate, &expected["estimate"]);
    for (interval, name) in [(look.difference, "ci95"), (look.equivalence, "ci90")] {
        for (bound, value) in
            [interval.lower, interval.upper].into_iter().zip(expected[name].as_array().unwrap())
        {
            if value.is_null() {
                assert!(bound.is_infinite());
            } else {
                vectors::assert_close(bound, value);
            }
        }
    }
    assert_eq!(look.verdict.map_or("continue", Verdict::word), expected["verdict"].as_str().unwrap());
}

#[test]
fn all_cases_match_the_vectors_look_by_look() {
    let cases = vectors::list("cases");
    assert_eq!(cases.len(), 12);
    for case in cases {
        let input = &case["input"];
        let mut ssr = Ssr::new(Design {
            alpha: input["alpha"].as_f64().unwrap(),
            margin: input["delta"].as_f64().unwrap(),
            budget: vectors::whole(&input["N"]),
            minimum: 6,
            rounding: input["h"].as_f64().unwrap(),
            adjust_order: input["adjust"].as_bool().unwrap(),
            family: vectors::whole(&input["m"]),
            looks: Looks::Sequential,
        });
        // The reference stops at the first verdict.
        let mut looks: Vec<Look> = Vec::new();
        for (block, ratio) in vectors::numbers(&input["d"]).iter().enumerate() {
            let look = ssr.push(*ratio, order_of(&input["s"], block));
            if looks.last().is_none_or(|last| last.verdict.is_none()) {
                looks.extend(look);
            }
        }
        let trace = case["trace"].as_array().unwrap();
        assert_eq!(looks.len(), trace.len(), "{}", case["name"]);
        for (look, expected) in looks.iter().zip(trace) {
            assert_look(look, expected);
        }
        match looks.last() {
            Some(last) => assert_look(last, &case["final"]),
            None => assert!(case["final"].is_null()),
        }
        for (adjusted, expected) in ssr.adjusted().iter().zip(case["adjusted"].as_array().unwrap()) {
            vectors::assert_close(*adjusted, expected);
        }
    }
}

#[test]
fn skipped_looks_leave_the_later_ones_as_they_are() {
    let ratios: Vec<f64> = (0..20).map(|i| 0.05 + 0.001 * f64::from(i % 5)).collect();
    let run = |minimum| {
        let mut ssr = Ssr::new(Design { minimum, ..design(0.03, true) });
        ratios.iter().filter_map(|ratio| ssr.push(*ratio, RunOrder::Unknown)).collect::<Vec<_>>()
    };
    let late = run(10);
    assert_eq!(late.first().map(|look| look.blocks), Some(10));
    assert_eq!(late.first().and_then(|look| look.verdict), Some(Verdict::Faster));
    // A minimum above the budget means one look, at the budget.
    assert!(run(60).is_empty());
}

#[test]
fn a_noisy_null_is_futile_and_a_clear_effect_is_not() {
    let noise = [0.11, -0.12, 0.08, -0.09, 0.13, -0.1, 0.09, -0.11, 0.12, -0.08, 0.1, -0.13, 0.11, -0.1];
    let run = |shift: f64| {
        let mut ssr = Ssr::new(design(0.01, false));
        for ratio in noise {
            ssr.push(ratio + shift, RunOrder::Unknown);
        }
        ssr
    };
    assert!(run(0.0).is_futile());
    assert!(!run(0.2).is_futile());
}

fn blocks() -> impl Strategy<Value = Vec<(f64, RunOrder)>> {
    let order =
        prop_oneof![Just(RunOrder::BaselineFirst), Just(RunOrder::LevelFirst), Just(RunOrder::Unknown)];
    proptest::collection::vec((-0.2f64..0.2, order), 0..44)
}

fn looks_of(blocks: &[(f64, RunOrder)], change: impl Fn(f64) -> f64, adjust_order: bool) -> Vec<Look> {
    let mut ssr = Ssr::new(design(0.03, adjust_order));
    blocks.iter().filter_map(|(ratio, order)| ssr.push(change(*ratio), *order)).collect()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_shift_of_all_ratios_shifts_estimate_and_interval(blocks in blocks(), shift in -1f64..1.0, adjust: bool) {
        let plain = looks_of(&blocks, |ratio| ratio, adjust);
        let shifted = looks_of(&blocks, |ratio| ratio + shift, adjust);
        for (a, b) in plain.iter().zip(&shifted) {
            prop_assert!(near(a.estimate + shift, b.estimate));
            prop_assert!(near(a.difference.lower + shift, b.difference.lower));
            prop_assert!(near(a.difference.upper + shift, b.difference.upper));
        }
    }

    #[test]
    fn negated_ratios_swap_faster_and_slower(blocks in blocks(), adjust: bool) {
        let plain = looks_of(&blocks, |ratio| ratio, adjust);
        let negated = looks_of(&blocks, |ratio| -ratio, adjust);
        for (a, b) in plain.iter().zip(&negated) {
            prop_assert!(near(a.difference.lower, -b.difference.upper));
            prop_assert!(near(a.equivalence.upper, -b.equivalence.lower));
            let swapped = match a.verdict {
                Some(Verdict::Faster) => Some(Verdict::Slower),
                Some(Verdict::Slower) => Some(Verdict::Faster),
                other => other,
            };
            prop_assert_eq!(swapped, b.verdict);
        }
    }

    #[test]
    fn bounds_only_ever_close_in(blocks in blocks(), adjust: bool) {
        for pair in looks_of(&blocks, |ratio| ratio, adjust).windows(2) {
            prop_assert!(pair[0].difference.lower <= pair[1].difference.lower);
            prop_assert!(pair[0].difference.upper >= pair[1].difference.upper);
            prop_assert!(pair[0].equivalence.lower <= pair[1].equivalence.lower);
            prop_assert!(pair[0].equivalence.upper >= pair[1].equivalence.upper);
        }
    }
}
