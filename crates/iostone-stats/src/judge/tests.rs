//! The door: what it refuses, what it flags, when it withholds.

mod superblock;

use iostone_model::verdict::Verdict;
use proptest::prelude::*;

use super::*;
use crate::schedule::{BlockOrders, SplitMix64};
use crate::vectors;

fn rules() -> Rules {
    Rules::new("on", Direction::Higher)
}

fn figure(level: &str, value: f64, block: u64, order: f64) -> Figure {
    Figure { level: level.to_owned(), value, block: Some(block), order: Some(order), ..Figure::default() }
}

/// Blocks in random order; `value` gives the figure from level, position and the level that ran before.
fn run(
    levels: &[&str],
    blocks: usize,
    seed: u64,
    mut value: impl FnMut(usize, usize, Option<usize>) -> f64,
) -> Vec<Figure> {
    let mut before = None;
    let mut figures = Vec::new();
    for (block, order) in BlockOrders::new(seed, levels.len()).take(blocks).enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            let measured = value(level, position, before);
            figures.push(figure(levels[level], measured, block as u64, position as f64));
            before = Some(level);
        }
    }
    figures
}

fn noise(seed: u64) -> impl FnMut(f64) -> f64 {
    let mut generator = SplitMix64::new(seed);
    move |cv| (cv * generator.next_normal()).exp()
}

fn only(judgement: &Judgement) -> &Comparison {
    assert_eq!(judgement.comparisons.len(), 1);
    &judgement.comparisons[0]
}

fn flagged(flags: &[Flag], name: &str) -> bool {
    flags.iter().any(|flag| flag.name == name)
}

#[test]
fn a_clear_difference_is_shown_in_six_blocks_either_way() {
    let mut noise = noise(1);
    let figures = run(&["on", "off"], 6, 1, |level, _, _| [100.0, 188.0][level] * noise(0.01));
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert_eq!(comparison.verdict, Some(Verdict::Faster), "{comparison:?}");
    assert!((comparison.ratio.unwrap() - 1.88).abs() < 0.03);
    let [low, high] = comparison.ratio_interval.map(Option::unwrap);
    assert!(1.0 < low && low < 1.88 && 1.86 < high);
    assert_eq!((comparison.blocks, comparison.log_ratios.len()), (6, 6));
    assert_eq!(judgement.flags, []);
    assert_eq!(next_step(&figures, &rules(), true), Ok(Next::Decided));

    let slower = judge(&figures, &Rules { direction: Direction::Lower, ..rules() }).unwrap();
    assert_eq!(only(&slower).verdict, Some(Verdict::Slower));
    assert!((only(&slower).ratio.unwrap() * comparison.ratio.unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn too_few_blocks_are_undecided_and_say_how_many_are_needed() {
    let figures = run(&["on", "off"], 4, 1, |level, _, _| [100.0, 188.0][level]);
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert_eq!(comparison.verdict, Some(Verdict::Undecided));
    assert_eq!(comparison.ratio_interval, [None, None]);
    let flag = comparison.flags.iter().find(|flag| flag.name == "too-few-blocks").unwrap();
    assert_eq!(flag.message, "4 blocks; a verdict needs at least 6 blocks");
    let open = vec![(String::new(), "off".to_owned())];
    assert_eq!(next_step(&figures, &rules(), true), Ok(Next::Continue { open, next_look_at: 6 }));
    let late = judge(&figures, &Rules { minimum: 13, ..rules() }).unwrap();
    assert!(
        only(&late).flags.iter().any(|flag| flag.message == "4 blocks; a verdict needs at least 14 blocks")
    );
}

#[test]
fn equal_levels_are_equivalent_and_noisy_ones_undecided_with_a_forecast() {
    let mut quiet = noise(3);
    let equal = run(&["on", "off"], 12, 5, |_, _, _| 100.0 * quiet(0.005));
    let judgement = judge(&equal, &rules()).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Equivalent));
    let mut loud = noise(2);
    let noisy = run(&["on", "off"], 14, 5, |_, _, _| 100.0 * loud(0.1));
    let judgement = judge(&noisy, &rules()).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Undecided));
    let forecast = only(&judgement).forecast.unwrap();
    assert_eq!((forecast.equivalence_at, forecast.budget), (None, 40));
    assert_eq!(next_step(&noisy, &rules(), true), Ok(Next::Futile));
    assert!(matches!(next_step(&noisy, &rules(), false), Ok(Next::Continue { next_look_at: 16, .. })));
    let spent = Rules { budget: 14, ..rules() };
    assert_eq!(next_step(&noisy, &spent, false), Ok(Next::BudgetSpent));
    assert!(only(&judge(&noisy, &spent).unwrap()).forecast.is_none());
}

#[test]
fn several_levels_are_judged_together_and_decided_ones_may_leave() {
    let strict = Rules { margin: 0.01, ..rules() };
    let mut noise = noise(9);
    let levels = ["on", "off", "same"];
    let mut figures = run(&levels, 30, 9, |level, _, _| [100.0, 150.0, 100.0][level] * noise(0.03));
    let early: Vec<Figure> = figures.iter().filter(|f| f.block < Some(9)).cloned().collect();
    let Next::Continue { open, .. } = next_step(&early, &strict, false).unwrap() else {
        panic!("it goes on")
    };
    assert_eq!(open, [(String::new(), "same".to_owned())]);
    figures.retain(|f| f.block < Some(9) || f.level != "off");
    let judgement = judge(&figures, &strict).unwrap();
    let of = |level: &str| judgement.comparisons.iter().find(|c| c.level == level).unwrap();
    let found = |level: &str| (of(level).verdict, of(level).decided_at, of(level).blocks);
    assert_eq!(found("off"), (Some(Verdict::Faster), Some(7), 9));
    assert_eq!(found("same"), (Some(Verdict::Undecided), None, 30));
}

#[test]
fn a_table_with_blocks_to_spare_is_judged_as_the_run_would_have_been() {
    for case in vectors::list("cases") {
        let input = &case["input"];
        let (Some(last), Some(1), Some(0.0)) =
            (case["final"].as_object(), input["m"].as_u64(), input["h"].as_f64())
        else {
            continue;
        };
        let numbers = |key: &str| -> Vec<f64> { serde_json::from_value(input[key].clone()).unwrap() };
        let mut figures = Vec::new();
        // A case without an order of its own is one where it does not matter; a coin stands in.
        let orders = if input["s"].is_null() { [1.0, -1.0, -1.0, 1.0].repeat(10) } else { numbers("s") };
        for (block, (d, s)) in numbers("d").into_iter().zip(orders).enumerate() {
            for (level, value, second) in [("A", 100.0, s < 0.0), ("B", 100.0 * d.exp(), s > 0.0)] {
                figures.push(Figure {
                    level: level.to_owned(),
                    stratum: String::new(),
                    value,
                    block: Some(block as u64),
                    order: Some(f64::from(u8::from(second))),
                    ..Figure::default()
                });
            }
        }
        let rules = Rules {
            baseline: "A".to_owned(),
            margin: input["delta"].as_f64().unwrap(),
            budget: u32::try_from(input["N"].as_u64().unwrap()).unwrap(),
            ..rules()
        };
        let judgement = judge(&figures, &rules).unwrap();
        let comparison = only(&judgement);
        let name = case["name"].as_str().unwrap();
        if comparison.flags.iter().any(|flag| flag.name == "withheld") {
            continue;
        }
        let look = last["n"].as_u64().unwrap();
        assert_eq!(comparison.verdict.unwrap().word(), last["verdict"].as_str().unwrap(), "{name}");
        let all = numbers("d").len();
        assert_eq!(comparison.blocks as usize, all, "{name}");
        if comparison.verdict != Some(Verdict::Undecided) {
            assert_eq!(comparison.decided_at.map(u64::from), Some(look), "{name}");
        }
        if comparison.verdict == Some(Verdict::Unstable) {
            continue;
        }
        // The interval of all blocks lies within that of the deciding look, which is the one of a run that stops there.
        let stopped = judge(&figures[..2 * usize::try_from(look).unwrap()], &rules).unwrap();
        let bounds = only(&stopped).ratio_interval.map(Option::unwrap);
        for (bound, expected) in bounds.iter().zip(last["ci95"].as_array().unwrap()) {
            let difference = bound.ln() - expected.as_f64().unwrap();
            assert!(difference.abs() < 1e-9, "{name}: off by {difference}");
        }
        let [low, high] = comparison.ratio_interval.map(Option::unwrap);
        assert!(bounds[0] <= low && high <= bounds[1], "{name}");
        let ratio = comparison.ratio.unwrap();
        assert!((low..=high).contains(&ratio), "{name}: {ratio} outside {low} to {high}");
    }
}

#[test]
fn a_planned_number_of_blocks_is_judged_with_one_look() {
    // One standard deviation in ten blocks, one of them contrary: too little for limits that look sixteen times.
    let effects = [0.031, 0.012, -0.004, 0.022, 0.017, 0.028, 0.009, 0.024, 0.014, 0.019];
    let figures = run(&["on", "off"], 10, 9, |level, _, _| 100.0 + level as f64);
    let figures: Vec<Figure> = figures
        .into_iter()
        .map(|one| {
            let effect = effects[usize::try_from(one.block.unwrap()).unwrap()];
            Figure { value: if one.level == "off" { 100.0 * f64::exp(effect) } else { 100.0 }, ..one }
        })
        .collect();
    let plain = Rules { adjust_order: false, margin: 0.001, ..rules() };
    assert_eq!(only(&judge(&figures, &plain).unwrap()).verdict, Some(Verdict::Undecided));
    let planned = Rules { looks: Looks::Once, budget: 10, ..plain };
    let judged = judge(&figures, &planned).unwrap();
    assert_eq!((only(&judged).verdict, only(&judged).decided_at), (Some(Verdict::Faster), Some(10)));
    // Fewer than planned are no look at all.
    let short = Rules { budget: 12, ..planned };
    assert_eq!(only(&judge(&figures, &short).unwrap()).verdict, Some(Verdict::Undecided));
}

#[test]
fn a_run_whose_verdict_is_withheld_ends_with_its_budget() {
    let short = Rules { budget: 12, ..rules() };
    let mut fixed = run(&["on", "off"], 12, 9, |level, _, _| [100.0, 150.0][level]);
    for figure in &mut fixed {
        figure.order = Some(if figure.level == "on" { 0.0 } else { 1.0 });
    }
    assert_eq!(only(&judge(&fixed, &short).unwrap()).verdict, Some(Verdict::Undecided));
    assert_eq!(next_step(&fixed, &short, false), Ok(Next::BudgetSpent));
}

#[test]
fn the_step_down_is_told_where_it_made_the_verdict() {
    // Two comparisons: six blocks carry 5 % alone, but not two at once. The other is real and within the margin by then, so
    // that nothing of it can be wrong any more.
    let mut figures = Vec::new();
    for (block, order) in BlockOrders::new(4, 3).take(8).enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            if level < 2 || block < 6 {
                let value = [100.0, 101.0, 120.0][level] + 0.1 * block as f64;
                figures.push(figure(["on", "off", "late"][level], value, block as u64, position as f64));
            }
        }
    }
    let judgement = judge(&figures, &rules()).unwrap();
    let late = judgement.comparisons.iter().find(|c| c.level == "late").unwrap();
    assert_eq!(late.verdict, Some(Verdict::Faster));
    assert!(flagged(&late.flags, "step-down"), "{:?}", late.flags);
    assert_eq!(late.ratio_interval, [None, None]);
}

#[test]
fn strata_are_compared_within_themselves() {
    let mut figures = Vec::new();
    for stratum in ["filesystem=ext4", "filesystem=xfs"] {
        let base = if stratum.ends_with("xfs") { 200.0 } else { 100.0 };
        for mut one in run(&["on", "off"], 8, 2, |level, _, _| base * [1.0, 1.2][level]) {
            one.stratum = stratum.to_owned();
            one.order = one.order.map(|order| order + base);
            figures.push(one);
        }
    }
    let judgement = judge(&figures, &rules()).unwrap();
    assert_eq!(judgement.comparisons.len(), 2);
    for comparison in &judgement.comparisons {
        assert_eq!(comparison.verdict, Some(Verdict::Faster));
        assert!((comparison.ratio.unwrap() - 1.2).abs() < 1e-9);
    }
    figures.retain(|f| f.stratum.ends_with("ext4") || f.level != "on");
    let error = judge(&figures, &rules()).unwrap_err().to_string();
    assert_eq!(error, "no figure within `filesystem=xfs` has the baseline `on`; the levels there are `off`");
}

#[test]
fn a_fixed_order_withholds_the_verdict() {
    let mut noise = noise(1);
    // Equal levels, but whatever runs second is 10 % slower, and `off` always does.
    let figures: Vec<Figure> = (0..20u64)
        .flat_map(|block| [("on", 0.0, 100.0), ("off", 1.0, 90.0)].map(|(l, o, v)| figure(l, v, block, o)))
        .map(|mut one| {
            one.value *= noise(0.01);
            one
        })
        .collect();
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert_eq!(comparison.verdict, Some(Verdict::Undecided));
    assert!(flagged(&comparison.flags, "fixed-order") && flagged(&comparison.flags, "withheld"));
    assert!(matches!(next_step(&figures, &rules(), false), Ok(Next::Continue { .. })));
    // Without a record of the order nobody can know; somebody may vouch for it.
    let unknown: Vec<Figure> = figures.into_iter().map(|one| Figure { order: None, ..one }).collect();
    let judgement = judge(&unknown, &rules()).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Undecided));
    assert!(flagged(&only(&judgement).flags, "order-unknown") && judgement.flags.is_empty());
    let judgement = judge(&unknown, &Rules { randomised: true, ..rules() }).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Slower));
    assert!(flagged(&judgement.flags, "order-unknown"));
}

#[test]
fn a_run_whose_draw_put_one_level_first_goes_on_to_another_block() {
    let first_six = |seed: u64| BlockOrders::new(seed, 2).take(6).collect::<Vec<_>>();
    let is_fixed = |seed: &u64| first_six(*seed).windows(2).all(|pair| pair[0] == pair[1]);
    let seed = (1..10_000).find(is_fixed).unwrap();
    let drawn = Rules { randomised: true, ..rules() };
    let figures =
        run(&["on", "off"], 20, seed, |level, position, _| [100.0, 150.0][level] * [1.0, 0.9][position]);
    let after = |blocks: u64| -> Vec<Figure> {
        figures.iter().filter(|figure| figure.block < Some(blocks)).cloned().collect()
    };
    let open = vec![(String::new(), "off".to_owned())];
    assert_eq!(next_step(&after(6), &drawn, true), Ok(Next::Continue { open, next_look_at: 7 }));
    let ended =
        (7..=20).find(|blocks| next_step(&after(*blocks), &drawn, true) == Ok(Next::Decided)).unwrap();
    let judgement = judge(&after(ended), &drawn).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Faster));
    assert!(!flagged(&only(&judgement).flags, "fixed-order"));
    // At the end of the budget it is told; from eight blocks on no fair draw gives such an order.
    let six = Rules { budget: 6, ..drawn.clone() };
    assert_eq!(next_step(&after(6), &six, true), Ok(Next::Decided));
    let judgement = judge(&after(6), &six).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Faster));
    let flag = only(&judgement).flags.iter().find(|flag| flag.name == "fixed-order").unwrap();
    assert!(flag.message.contains("drawn by lot"), "{}", flag.message);
    let of_a_table = judge(&after(6), &Rules { randomised: false, ..six }).unwrap();
    assert!(flagged(&only(&of_a_table).flags, "withheld"));
}

#[test]
fn blocks_that_overlap_in_time_withhold_the_verdict() {
    let mut noise = noise(4);
    let mut timed = |places: &[(u64, &str)]| -> Vec<Figure> {
        let trials = places.iter().enumerate();
        trials
            .map(|(at, (block, level))| figure(level, 100.0 * noise(0.01) + at as f64, *block, at as f64))
            .collect()
    };
    let far: Vec<(u64, &str)> = [0, 1, 2]
        .map(|block| (block, "on"))
        .into_iter()
        .chain((0..6).map(|block| (block, "off")))
        .chain([3, 4, 5].map(|block| (block, "on")))
        .collect();
    let judgement = judge(&timed(&far), &rules()).unwrap();
    assert!(flagged(&only(&judgement).flags, "blocks-overlap"), "{judgement:?}");
    assert_eq!(only(&judgement).verdict, Some(Verdict::Undecided));
    let apart: Vec<(u64, &str)> = (0..6)
        .flat_map(|block| match block % 4 {
            0 | 3 => [(block, "on"), (block, "off")],
            _ => [(block, "off"), (block, "on")],
        })
        .collect();
    assert!(!flagged(&only(&judge(&timed(&apart), &rules()).unwrap()).flags, "blocks-overlap"));
}

#[test]
fn an_order_effect_is_removed_and_told() {
    let mut noise = noise(2);
    let figures = run(&["on", "off"], 24, 3, |_, position, _| [100.0, 106.0][position] * noise(0.005));
    let judgement = judge(&figures, &rules()).unwrap();
    assert_eq!(only(&judgement).verdict, Some(Verdict::Equivalent), "{judgement:?}");
    let told = |judgement: &Judgement| {
        let flag =
            only(judgement).flags.iter().find(|flag| flag.name == "order-effect").unwrap().message.clone();
        assert!(flag.starts_with("the second trial of a block is about 6.1 % better"), "{flag}");
        flag
    };
    assert!(!told(&judgement).ends_with("removed from 0 of 24 blocks"));
    let raw = judge(&figures, &Rules { adjust_order: false, ..rules() }).unwrap();
    assert!(told(&raw).ends_with("removed from 0 of 24 blocks"));
}

#[test]
fn carry_over_withholds_the_verdict_for_two_levels_and_for_three() {
    for levels in [&["on", "off"][..], &["on", "off", "third"][..]] {
        let mut noise = noise(7);
        // Whatever follows `off` is 8 % slower; the levels themselves are equal.
        let figures =
            run(
                levels,
                36,
                7,
                |_, _, before| {
                    if before == Some(1) { 92.0 * noise(0.01) } else { 100.0 * noise(0.01) }
                },
            );
        let judgement = judge(&figures, &rules()).unwrap();
        let off = judgement.comparisons.iter().find(|c| c.level == "off").unwrap();
        assert!(flagged(&off.flags, "carry-over"), "{:?}", off.flags);
        assert!(flagged(&off.flags, "withheld"));
        assert_eq!(off.verdict, Some(Verdict::Undecided));
        assert_eq!(off.forecast, None);
    }
}

#[test]
fn carry_over_is_not_read_across_a_missing_block() {
    let figures = run(&["on", "off"], 12, 7, |_, _, _| 100.0);
    let before = |figures: &[Figure]| {
        let set = FigureSet { figures, direction: Direction::Higher };
        let table = Table::read(set, &rules(), &Sequence::of(&[set])).unwrap();
        table.block_pairs(0, 1).filter(|m| m.baseline.before.is_some() && m.level.before.is_some()).count()
    };
    assert_eq!(before(&figures), 11);
    let gap: Vec<Figure> = figures.iter().filter(|f| f.block != Some(5)).cloned().collect();
    assert_eq!(before(&gap), 9);
    let tens: Vec<Figure> =
        figures.iter().map(|f| Figure { block: f.block.map(|b| 10 * b), ..f.clone() }).collect();
    assert_eq!(before(&tens), 11);
}

#[test]
fn runs_that_never_ended_count_as_worst() {
    let figures = run(&["on", "off"], 8, 1, |level, _, _| [f64::INFINITY, 5400.0][level]);
    let judgement = judge(&figures, &Rules { direction: Direction::Lower, ..rules() }).unwrap();
    let comparison = only(&judgement);
    assert_eq!(comparison.verdict, Some(Verdict::Faster));
    assert_eq!((comparison.ratio, comparison.mean_ratio), (None, None));
    assert!(flagged(&comparison.flags, "censored"));
    assert!(comparison.log_ratios.iter().all(|ratio| ratio.is_finite()));
    let neither = run(&["on", "off"], 8, 1, |_, _, _| f64::INFINITY);
    assert_eq!(only(&judge(&neither, &rules()).unwrap()).verdict, Some(Verdict::Undecided));
}

#[test]
fn coarse_figures_widen_the_interval() {
    let figures = run(&["on", "off"], 8, 1, |_, _, _| 100.0);
    let judgement = judge(&figures, &Rules { resolution: 1.0, ..rules() }).unwrap();
    let comparison = only(&judgement);
    assert!(flagged(&comparison.flags, "coarse-resolution"));
    assert!((comparison.ratio_interval[1].unwrap() - 0.01f64.exp()).abs() < 1e-9);
}

#[test]
fn more_blocks_than_the_budget_raise_it_visibly() {
    let mut noise = noise(5);
    let figures = run(&["on", "off"], 12, 6, |_, _, _| 100.0 * noise(0.05));
    let judgement = judge(&figures, &Rules { budget: 8, ..rules() }).unwrap();
    assert!(flagged(&judgement.flags, "budget-exceeded"));
    let many = run(&["on", "off"], 401, 6, |_, _, _| 100.0);
    assert_eq!(judge(&many, &rules()), Err(JudgeError::TooManyBlocks { blocks: 401 }));
    let names: Vec<String> = (0..2002).map(|level| format!("l{level}")).collect();
    let levels: Vec<&str> = std::iter::once("on").chain(names.iter().map(String::as_str)).collect();
    let many = run(&levels, 1, 6, |_, _, _| 100.0);
    assert_eq!(judge(&many, &rules()), Err(JudgeError::TooManyComparisons { comparisons: 2002 }));
}

#[test]
fn published_figures_without_blocks_get_no_verdict() {
    let on = [198.832, 198.525, 197.24, 198.003, 193.24];
    let off = [195.168, 196.525, 196.241, 197.79, 195.378];
    let figures: Vec<Figure> = [("on", on), ("off", off)]
        .into_iter()
        .flat_map(|(level, values)| {
            values.map(|value| Figure { block: None, order: None, ..figure(level, value, 0, 0.0) })
        })
        .collect();
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert_eq!(comparison.verdict, None);
    assert!(flagged(&judgement.flags, "unblocked"));
    let test = comparison.unpaired.as_ref().unwrap();
    assert!(test.exact && (test.p_value - 2.0 / 9.0).abs() < 1e-12);
    assert!((comparison.ratio.unwrap() - 0.991).abs() < 5e-4);
    assert_eq!(next_step(&figures, &rules(), true), Err(JudgeError::NotBlocked));
}

#[test]
fn unusable_figures_are_refused_by_name() {
    let good = run(&["on", "off"], 6, 1, |_, _, _| 100.0);
    let refuse = |change: &dyn Fn(&mut Vec<Figure>)| {
        let mut figures = good.clone();
        change(&mut figures);
        judge(&figures, &rules()).unwrap_err().to_string()
    };
    assert_eq!(refuse(&Vec::clear), "there are no figures to judge");
    assert_eq!(
        refuse(&|f| f[3].block = None),
        format!(
            "figure 4 (`{}`, 100) has no block, but others have; give every figure one, or none",
            good[3].level
        )
    );
    let twice = refuse(&|f| f.push(figure("off", 1.0, 2, 5.0)));
    assert_eq!(twice, "block 2 has two figures of `off`");
    for (value, written) in [(0.0, "0"), (-3.0, "-3"), (f64::NAN, "NaN"), (f64::NEG_INFINITY, "-inf")] {
        let error = refuse(&|f| f[0].value = value);
        let level = &good[0].level;
        assert_eq!(
            error,
            format!("figure 1 (`{level}`, block 0) is {written}; ratios need figures above zero")
        );
    }
    assert!(refuse(&|f| f[1].order = Some(f64::NAN)).ends_with("is not a number"));
    assert_eq!(
        refuse(&|f| f.retain(|one| one.level == "on")),
        "all figures have the level `on`; a comparison needs at least one more"
    );
    let other = judge(&good, &Rules { baseline: "none".into(), ..rules() }).unwrap_err().to_string();
    assert!(other.starts_with("no figure has the baseline `none`; the levels are `o"), "{other}");
    let rule = judge(&good, &Rules { confidence: 95.0, ..rules() }).unwrap_err().to_string();
    assert_eq!(rule, "`confidence` is 95, but must be from 0.5 to below 1, as in 0.95");
    assert!(judge(&good, &Rules { margin: f64::NAN, ..rules() }).is_err());
    assert!(judge(&good, &Rules { budget: 401, ..rules() }).is_err());
}

fn any_figure() -> impl Strategy<Value = Figure> {
    let value = prop_oneof![8 => 1e-3f64..1e3, 1 => Just(f64::INFINITY), 1 => any::<f64>()];
    let name = |names: &'static [&'static str]| proptest::sample::select(names).prop_map(str::to_owned);
    (name(&["on", "off", "third"]), name(&["", "x"]), value, 0u64..30, proptest::option::of(0f64..9.0))
        .prop_map(|(level, stratum, value, block, order)| Figure {
            level,
            stratum,
            value,
            block: Some(block),
            order,
            ..Figure::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_figures_make_it_panic_or_yield_an_unwritable_number(
        figures in proptest::collection::vec(any_figure(), 0..60),
        blocked: bool,
        minimum in 0u32..50,
        budget in 1u32..50,
    ) {
        let mut seen = std::collections::BTreeSet::new();
        let figures: Vec<Figure> = figures
            .into_iter()
            .filter(|f| f.value > 0.0 && (!blocked || seen.insert((f.level.clone(), f.stratum.clone(), f.block))))
            .map(|f| Figure { block: f.block.filter(|_| blocked), ..f })
            .collect();
        let rules = Rules { budget, minimum, ..rules() };
        if let Ok(judgement) = judge(&figures, &rules) {
            let written = serde_json::to_string(&judgement.comparisons).unwrap();
            let read: Vec<Comparison> = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(read.len(), judgement.comparisons.len());
        }
        let _ = next_step(&figures, &rules, true);
    }

    #[test]
    fn the_order_in_which_figures_are_listed_does_not_matter(seed: u64, blocks in 0usize..20) {
        let mut noise = noise(seed);
        let mut figures = run(&["on", "off"], blocks + 1, seed, |level, _, _| [100.0, 103.0][level] * noise(0.03));
        let listed = judge(&figures, &rules()).unwrap();
        figures.reverse();
        prop_assert_eq!(judge(&figures, &rules()).unwrap(), listed);
    }
}
