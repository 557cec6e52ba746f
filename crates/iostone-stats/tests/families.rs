//! Several sets of figures of the same trials, judged as one family.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the message")]

use iostone_model::metric::Direction;
use iostone_model::verdict::{Comparison, Verdict};
use iostone_stats::judge::{
    Figure, FigureSet, JudgeError, Judgement, Next, Rules, judge, judge_together, next_step,
    next_step_together,
};
use iostone_stats::schedule::{BlockOrders, SplitMix64};
use proptest::prelude::*;

fn rules() -> Rules {
    Rules::new("a", Direction::Higher)
}

/// A factor with that spread: the exponential of a sum of twelve uniform numbers, which is near enough to normal.
fn noise(generator: &mut SplitMix64, spread: f64) -> f64 {
    (spread * ((0..12).map(|_| generator.next_unit()).sum::<f64>() - 6.0)).exp()
}

/// The figures of one metric for each point; `value` gives them from point, level, block.
fn run(
    levels: &[&str],
    points: usize,
    blocks: usize,
    seed: u64,
    mut value: impl FnMut(usize, usize, usize) -> f64,
) -> Vec<Vec<Figure>> {
    let mut sets = vec![Vec::new(); points];
    for (block, order) in BlockOrders::new(seed, levels.len()).take(blocks).enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            for (point, set) in sets.iter_mut().enumerate() {
                set.push(Figure {
                    level: levels[level].to_owned(),
                    stratum: String::new(),
                    value: value(point, level, block),
                    block: Some(block as u64),
                    order: Some(position as f64),
                    ..Figure::default()
                });
            }
        }
    }
    sets
}

fn higher(sets: &[Vec<Figure>]) -> Vec<FigureSet<'_>> {
    sets.iter().map(|figures| FigureSet { figures, direction: Direction::Higher }).collect()
}

fn only(judgement: &Judgement) -> &Comparison {
    assert_eq!(judgement.comparisons.len(), 1);
    &judgement.comparisons[0]
}

fn verdicts(sets: &[Vec<Figure>], declared: usize) -> Vec<Verdict> {
    let judged = judge_together(&higher(sets), declared, &rules()).unwrap();
    judged.iter().map(|judgement| only(judgement).verdict.unwrap()).collect()
}

/// A difference that nobody can miss, without noise that could reorder anything.
fn clear(_: usize, level: usize, block: usize) -> f64 {
    [100.0, 200.0][level] * (1.0 + 0.001 * (block as f64 % 5.0))
}

#[test]
fn points_share_the_coins_of_their_blocks_and_levels_do_not() {
    for points in [1, 4, 28, 100] {
        let decided = |levels: &[&str], blocks| {
            let sets =
                run(levels, points, blocks, 3, |point, level, block| clear(point, level.min(1), block));
            let judged = judge_together(&higher(&sets), 0, &rules()).unwrap();
            judged.iter().flat_map(|j| &j.comparisons).all(|c| c.verdict == Some(Verdict::Faster))
        };
        assert!(decided(&["a", "b"], 6) && !decided(&["a", "b"], 5), "{points} points");
        assert!(
            decided(&["a", "b", "c"], 7) && !decided(&["a", "b", "c"], 6),
            "{points} points of two levels"
        );
    }
    for (levels, first) in [(1, 6), (2, 7), (4, 8), (28, 11), (100, 14)] {
        assert_eq!(iostone_stats::fewest_blocks(levels, 0.95).difference, first);
    }
}

#[test]
fn a_curve_is_equivalent_at_the_share_of_one_comparison() {
    let level_with_nothing = |_, _, block: usize| 100.0 * (1.0 + 0.001 * (block as f64 % 3.0));
    let sets = run(&["a", "b"], 28, 6, 3, level_with_nothing);
    assert!(verdicts(&sets, 0).iter().all(|verdict| *verdict == Verdict::Equivalent));
    // One that was planned and not measured could be anything, so that each stands by itself.
    assert!(verdicts(&sets, 29).iter().all(|verdict| *verdict == Verdict::Undecided));
}

#[test]
fn points_that_were_declared_but_not_measured_stay_in_the_family() {
    let sets = run(&["a", "b"], 1, 6, 3, clear);
    assert_eq!(verdicts(&sets, 1), [Verdict::Faster]);
    assert_eq!(verdicts(&sets, 2), [Verdict::Undecided]);
    let sets = run(&["a", "b"], 1, 7, 3, clear);
    assert_eq!(verdicts(&sets, 2), [Verdict::Faster]);
}

#[test]
fn each_set_has_a_direction_of_its_own() {
    let sets = run(&["a", "b"], 2, 8, 3, clear);
    let mixed = [
        FigureSet { figures: &sets[0], direction: Direction::Higher },
        FigureSet { figures: &sets[1], direction: Direction::Lower },
    ];
    let judged = judge_together(&mixed, 0, &rules()).unwrap();
    assert_eq!(only(&judged[0]).verdict, Some(Verdict::Faster));
    assert_eq!(only(&judged[1]).verdict, Some(Verdict::Slower));
    // The curves cross, which nothing that follows can change.
    assert_eq!(next_step_together(&mixed, 0, &rules(), true), Ok(Next::Decided));
}

#[test]
fn a_crossing_closes_a_curve_that_has_open_points() {
    let mut generator = SplitMix64::new(9);
    let mut sets = run(&["a", "b"], 3, 12, 3, |point, level, block| match point {
        0 => clear(point, level, block),
        1 => clear(point, 1 - level, block),
        _ => 100.0 * noise(&mut generator, 0.05),
    });
    assert_eq!(verdicts(&sets, 0), [Verdict::Faster, Verdict::Slower, Verdict::Undecided]);
    assert_eq!(next_step_together(&higher(&sets), 0, &rules(), false), Ok(Next::Decided));
    sets.remove(1);
    let next = next_step_together(&higher(&sets), 0, &rules(), false);
    assert!(
        matches!(next, Ok(Next::Continue { ref open, .. }) if *open == [(String::new(), "b".to_owned())])
    );
}

#[test]
fn a_figure_that_is_missing_drops_its_block_for_its_own_point() {
    let mut sets = run(&["a", "b"], 2, 12, 3, clear);
    sets[1].retain(|figure| figure.block != Some(4) || figure.level != "b");
    let judged = judge_together(&higher(&sets), 0, &rules()).unwrap();
    assert_eq!(only(&judged[0]).log_ratios.len(), 12);
    assert_eq!(only(&judged[1]).log_ratios.len(), 11);
}

#[test]
fn the_budget_is_spent_when_the_trials_have_run_even_if_figures_are_missing() {
    let mut generator = SplitMix64::new(4);
    let mut sets = run(&["a", "b"], 2, 40, 3, |_, _, _| 100.0 * noise(&mut generator, 0.2));
    sets[1].retain(|figure| figure.block != Some(4) || figure.level != "b");
    assert_eq!(next_step_together(&higher(&sets), 0, &rules(), false), Ok(Next::BudgetSpent));
}

#[test]
fn what_ran_before_is_read_from_all_points() {
    // Whatever follows `b` is 8 % slower. The second point lacks all figures of `c`; its own cannot tell what ran before.
    let (mut before, mut generator) = (None, SplitMix64::new(7));
    let mut whole = Vec::new();
    for (block, order) in BlockOrders::new(7, 3).take(36).enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            let slowed = if before == Some(1) { 92.0 } else { 100.0 };
            whole.push(Figure {
                level: ["a", "b", "c"][level].to_owned(),
                stratum: String::new(),
                value: slowed * noise(&mut generator, 0.01),
                block: Some(block as u64),
                order: Some(position as f64),
                ..Figure::default()
            });
            before = Some(level);
        }
    }
    let lacking: Vec<Figure> = whole.iter().filter(|figure| figure.level != "c").cloned().collect();
    let carried = |judgement: &Judgement| {
        let comparison = judgement.comparisons.iter().find(|comparison| comparison.level == "b").unwrap();
        comparison.flags.iter().find(|flag| flag.name == "carry-over").map(|flag| flag.message.clone())
    };
    let alone = judge(&lacking, &rules()).unwrap();
    let together = judge_together(&higher(&[whole, lacking]), 0, &rules()).unwrap();
    assert!(carried(&together[0]).is_some());
    assert_eq!(carried(&together[0]), carried(&together[1]));
    assert_ne!(carried(&together[1]), carried(&alone));
}

#[test]
fn sets_of_two_kinds_and_no_sets_are_refused() {
    let mut sets = run(&["a", "b"], 2, 8, 3, clear);
    for figure in &mut sets[1] {
        figure.block = None;
    }
    assert_eq!(judge_together(&higher(&sets), 0, &rules()), Err(JudgeError::NotBlocked));
    assert_eq!(judge_together(&[], 0, &rules()), Err(JudgeError::NoFigures));
    let unblocked: Vec<Vec<Figure>> = vec![sets[1].clone(), sets[1].clone()];
    let judged = judge_together(&higher(&unblocked), 0, &rules()).unwrap();
    assert_eq!(only(&judged[1]).verdict, None);
}

fn any_figure() -> impl Strategy<Value = Figure> {
    let name = |names: &'static [&'static str]| proptest::sample::select(names).prop_map(str::to_owned);
    let value = prop_oneof![8 => 1e-3f64..1e3, 1 => Just(f64::INFINITY)];
    (name(&["a", "b", "c"]), name(&["", "x"]), value, 0u64..30, proptest::option::of(0f64..9.0)).prop_map(
        |(level, stratum, value, block, order)| Figure {
            level,
            stratum,
            value,
            block: Some(block),
            order,
            ..Figure::default()
        },
    )
}

fn without_repeats(figures: Vec<Figure>) -> Vec<Figure> {
    let mut seen = std::collections::BTreeSet::new();
    figures
        .into_iter()
        .filter(|figure| seen.insert((figure.level.clone(), figure.stratum.clone(), figure.block)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_family_of_one_set_is_the_judgement_of_that_set(
        figures in proptest::collection::vec(any_figure(), 0..80),
        lower: bool,
        futility: bool,
    ) {
        let figures = without_repeats(figures);
        let direction = if lower { Direction::Lower } else { Direction::Higher };
        let rules = Rules { direction, ..rules() };
        let set = FigureSet { figures: &figures, direction };
        let together = judge_together(&[set], 0, &rules).map(|mut judged| judged.remove(0));
        prop_assert_eq!(together, judge(&figures, &rules));
        let next = next_step_together(&[set], 0, &rules, futility);
        prop_assert_eq!(next, next_step(&figures, &rules, futility));
    }

    #[test]
    fn the_order_of_the_sets_changes_nothing(seed: u64, points in 2usize..6) {
        let mut generator = SplitMix64::new(seed);
        let mut sets = run(&["a", "b"], points, 14, seed, |point, level, _| {
            [100.0, 100.0 + 4.0 * point as f64][level] * noise(&mut generator, 0.03)
        });
        let mut listed = judge_together(&higher(&sets), 0, &rules()).unwrap();
        sets.reverse();
        listed.reverse();
        prop_assert_eq!(judge_together(&higher(&sets), 0, &rules()).unwrap(), listed);
    }
}
