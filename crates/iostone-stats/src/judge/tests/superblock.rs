//! Runs that begin with a superblock.

use super::*;
use crate::schedule::superblock_order;
use crate::walsh::WalshAverages;

fn rules() -> Rules {
    Rules { looks: Looks::AfterSuperblock(4), minimum: 4, ..super::rules() }
}

/// A superblock of four trials each, then blocks; `value` gives the figure from the level and the number of the trial.
fn run(blocks: usize, seed: u64, mut value: impl FnMut(usize, usize) -> f64) -> Vec<Figure> {
    let orders =
        std::iter::once(superblock_order(seed, 0, 2, 4)).chain(BlockOrders::new(seed, 2).take(blocks));
    let mut number = 0;
    let mut figures = Vec::new();
    for (block, order) in orders.enumerate() {
        for (position, level) in order.into_iter().enumerate() {
            figures.push(figure(["on", "off"][level], value(level, number), block as u64, position as f64));
            number += 1;
        }
    }
    figures
}

/// A superblock whose level `off` has these figures, and `on` 100 and little more.
fn with_off(values: [f64; 4]) -> Vec<Figure> {
    let mut values = values.into_iter();
    run(0, 1, |level, number| if level == 0 { 100.0 + 0.1 * number as f64 } else { values.next().unwrap() })
}

#[test]
fn a_clear_difference_is_shown_in_four_trials_each() {
    let mut noise = noise(1);
    let figures = run(0, 1, |level, _| [100.0, 188.0][level] * noise(0.01));
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert_eq!((comparison.verdict, comparison.decided_at), (Some(Verdict::Faster), Some(4)));
    assert_eq!((comparison.blocks, comparison.log_ratios.len()), (4, 0));
    let [low, high] = comparison.ratio_interval.map(Option::unwrap);
    assert!(1.8 < low && low < 1.88 && 1.86 < high && high < 1.95, "{comparison:?}");
    assert!((comparison.ratio.unwrap() / comparison.mean_ratio.unwrap() - 1.0).abs() < 0.01);
    assert!(!flagged(&comparison.flags, "too-few-blocks") && comparison.forecast.is_none());
    assert_eq!(next_step(&figures, &rules(), true), Ok(Next::Decided));
}

#[test]
fn what_a_superblock_leaves_open_the_blocks_after_it_decide() {
    let mut noise = noise(3);
    let figures = run(36, 3, |level, _| [100.0, 104.0][level] * noise(0.03));
    let at = |blocks: u64| figures.partition_point(|figure| figure.block < Some(blocks));
    let early = judge(&figures[..at(2)], &rules()).unwrap();
    assert_eq!((only(&early).verdict, only(&early).blocks), (Some(Verdict::Undecided), 5));
    assert!(matches!(
        next_step(&figures[..at(2)], &rules(), true).unwrap(),
        Next::Continue { next_look_at: 6, .. }
    ));
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert_eq!((comparison.verdict, comparison.blocks), (Some(Verdict::Faster), 40), "{comparison:?}");
    assert!(comparison.decided_at.is_some_and(|at| (5..40).contains(&at)), "{comparison:?}");
    let same = run(36, 3, |_, _| 100.0 * noise(0.2));
    assert_eq!(next_step(&same, &rules(), false), Ok(Next::BudgetSpent));
}

#[test]
fn a_superblock_without_one_of_its_figures_does_not_count() {
    let mut noise = noise(5);
    let mut figures = run(6, 5, |level, _| [100.0, 150.0][level] * noise(0.01));
    figures.remove(2);
    let judgement = judge(&figures, &rules()).unwrap();
    let comparison = only(&judgement);
    assert!(flagged(&comparison.flags, "superblock-incomplete"), "{comparison:?}");
    assert_eq!((comparison.verdict, comparison.decided_at), (Some(Verdict::Faster), Some(6)));
}

#[test]
fn levels_of_unlike_spread_are_left_to_the_blocks() {
    // All of the wide level above the narrow one, as in one of sixteen runs of levels with the same typical figure.
    let near = judge(&with_off([101.0, 106.0, 112.0, 130.0]), &rules()).unwrap();
    let comparison = only(&near);
    assert!(flagged(&comparison.flags, "unlike-spreads"), "{comparison:?}");
    assert_eq!((comparison.verdict, comparison.ratio_interval), (Some(Verdict::Undecided), [None, None]));
    // As wide, but far away.
    let far = judge(&with_off([303.0, 318.0, 336.0, 390.0]), &rules()).unwrap();
    assert_eq!(only(&far).verdict, Some(Verdict::Faster));
}

#[test]
fn only_the_first_block_holds_several_trials_of_a_level_and_only_of_one_figure() {
    let mut figures = run(2, 1, |_, number| 100.0 + number as f64);
    let sets = [FigureSet { figures: &figures, direction: Direction::Higher }; 2];
    let refused = judge_together(&sets, 0, &rules()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "a run that begins with a superblock compares one figure, not 2 points of a curve"
    );
    assert!(matches!(judge(&figures, &super::rules()), Err(JudgeError::Duplicate { block: 0, .. })));
    let last = figures.last().cloned().unwrap();
    figures.push(Figure { order: Some(7.0), ..last });
    assert!(matches!(judge(&figures, &rules()), Err(JudgeError::Duplicate { block: 2, .. })));
}

proptest! {
    #[test]
    fn the_interval_holds_the_ratios_that_the_limit_does_not_reject(
        on in proptest::collection::vec(-1.0f64..1.0, 4),
        off in proptest::collection::vec(-1.0f64..1.0, 4),
        ratios in proptest::collection::vec(-1.0f64..1.0, 0..6),
        shift in -1.0f64..1.0,
        limit in 0u32..9,
    ) {
        let differences: Vec<f64> = off.iter().flat_map(|b| on.iter().map(move |a| b - a)).collect();
        let interval = WalshAverages::after(&differences, &ratios).interval(limit).unwrap();
        let u = |sign: f64| differences.iter().filter(|d| sign * (**d - shift) < 0.0).count();
        let mut centred: Vec<f64> = ratios.iter().map(|ratio| ratio - shift).collect();
        centred.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let w = |sign: f64| -> usize {
            (1..).zip(&centred).filter(|(_, ratio)| sign * **ratio < 0.0).map(|(rank, _)| rank).sum()
        };
        let rejected = |sign: f64| 2 * u(sign) + w(sign) <= limit as usize;
        prop_assert_eq!(interval.contains(shift), !rejected(1.0) && !rejected(-1.0), "{:?}", interval);
    }
}
