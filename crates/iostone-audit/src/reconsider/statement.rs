//! What a reconsidered comparison allows to be said, in a sentence or two.

use iostone_model::case::StatedComparison;
use iostone_model::metric::Direction;
use iostone_model::units::p_value;
use iostone_model::verdict::{Comparison, UnpairedTest, Verdict};
use iostone_stats::FEWEST_BLOCKS;

/// Below this no benchmark of storage repeats, so that a difference that needs it is none.
const HARDLY_ANY_SCATTER: f64 = 0.02;
/// Above this hardly any benchmark scatters.
const MUCH_SCATTER: f64 = 0.2;

/// Words it. Ratios are of the figures as they stand, level to baseline: a time that is ×2 took twice as long.
pub(super) fn write(comparison: &Comparison, breakeven_cv: Option<f64>, stated: &StatedComparison) -> String {
    let comparison = &of_figures(comparison, stated.better);
    if let (Some(cv), Some(ratio)) = (breakeven_cv, ratio_of(comparison)) {
        return single_runs(ratio, cv, stated.better);
    }
    match (&comparison.unpaired, comparison.verdict) {
        (Some(test), _) => unpaired(test, stated),
        (None, Some(verdict)) => blocked(comparison, verdict, stated),
        (None, None) => "the figures say nothing of it".to_owned(),
    }
}

/// A comparison is kept with ratios of performance, above 1 being better; here they are turned back.
fn of_figures(comparison: &Comparison, better: Direction) -> Comparison {
    let mut turned = comparison.clone();
    if better == Direction::Higher {
        return turned;
    }
    let swap = |[low, high]: [Option<f64>; 2]| [high.map(f64::recip), low.map(f64::recip)];
    turned.ratio = turned.ratio.map(f64::recip);
    turned.ratio_interval = swap(turned.ratio_interval);
    if let Some(test) = &mut turned.unpaired {
        test.ratio = test.ratio.recip();
        test.ratio_interval = swap(test.ratio_interval);
    }
    for log in &mut turned.log_ratios {
        *log = -*log;
    }
    turned
}

fn ratio_of(comparison: &Comparison) -> Option<f64> {
    comparison.unpaired.as_ref().map(|test| test.ratio).or(comparison.ratio)
}

/// `×1.23 (+23 %, worse)`: a latency that is higher is worse, and readers see only that it is higher.
fn times(ratio: f64, better: Direction) -> String {
    let word = if (ratio > 1.0) == (better == Direction::Higher) { "better" } else { "worse" };
    format!("×{} ({}, {word})", digits(ratio), change(ratio))
}

fn digits(ratio: f64) -> String {
    if (0.8..1.25).contains(&ratio) { format!("{ratio:.4}") } else { format!("{ratio:.3}") }
}

/// `+23 %`, `−0.9 %`.
fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let number =
        if percent.abs() < 10.0 { format!("{:.1}", percent.abs()) } else { format!("{:.0}", percent.abs()) };
    format!("{}{number}\u{a0}%", if percent < 0.0 { "−" } else { "+" })
}

fn single_runs(ratio: f64, cv: f64, better: Direction) -> String {
    let percent = cv * 100.0;
    let verdict = if cv < HARDLY_ANY_SCATTER {
        "the two cannot be ranked by one run each"
    } else if cv > MUCH_SCATTER {
        "hardly any benchmark scatters that much, so the direction is safe; its size is not"
    } else {
        "how much they scatter is not known, so the ranking is open"
    };
    format!(
        "{}: it means nothing if single runs scatter by {percent:.1}\u{a0}% or more; {verdict}",
        times(ratio, better)
    )
}

fn unpaired(test: &UnpairedTest, stated: &StatedComparison) -> String {
    let StatedComparison { margin, better, .. } = *stated;
    let [baseline, level] = test.sizes;
    let sample = format!(
        "no verdict, for the runs were not made in blocks; as they stand, {} from {baseline} and {level} runs, {}",
        times(test.ratio, better),
        p_value(test.p_value)
    );
    let [Some(low), Some(high)] = test.ratio_interval else {
        return format!("{sample}; too few runs for an interval");
    };
    let interval = format!("interval {} to {}", change(low), change(high));
    let within = low > 1.0 / (1.0 + margin) && high < 1.0 + margin;
    let percent = margin * 100.0;
    let what = match (low <= 1.0 && high >= 1.0, within) {
        (true, true) => format!("a difference beyond {percent:.0}\u{a0}% is unlikely, if nothing drifted"),
        (true, false) => {
            format!("neither a difference nor equality within {percent:.0}\u{a0}% is shown")
        }
        (false, true) => format!("a difference, but one within {percent:.0}\u{a0}%"),
        (false, false) => {
            "chance does not explain the difference; something else that changed between them may".to_owned()
        }
    };
    format!("{sample}, {interval}: {what}")
}

fn blocked(comparison: &Comparison, verdict: Verdict, stated: &StatedComparison) -> String {
    let StatedComparison { margin, better, .. } = *stated;
    let typical =
        comparison.ratio.map_or_else(String::new, |ratio| format!("typically {}, ", times(ratio, better)));
    let ratios: Vec<f64> = comparison.log_ratios.iter().map(|log| log.exp()).collect();
    let range = match (ratios.iter().copied().reduce(f64::min), ratios.iter().copied().reduce(f64::max)) {
        (Some(low), Some(high)) => format!("from ×{low:.2} to ×{high:.2}"),
        _ => String::new(),
    };
    let blocks = comparison.blocks;
    if blocks < FEWEST_BLOCKS {
        let above = ratios.iter().filter(|ratio| **ratio > 1.0).count();
        let least = 2.0_f64.powi(1 - i32::try_from(blocks).unwrap_or(i32::MAX));
        return format!(
            "{typical}{range} over {blocks} blocks, above the baseline in {above} of them; {blocks} blocks cannot decide \
             (p is {least:.3} at best), {FEWEST_BLOCKS} could"
        );
    }
    let percent = margin * 100.0;
    let verdict = match verdict {
        Verdict::Equivalent => format!("equivalent within {percent:.0}\u{a0}%"),
        Verdict::Undecided => {
            format!("neither a difference nor equality within {percent:.0}\u{a0}% is shown")
        }
        other => other.word().to_owned(),
    };
    format!("{verdict}: {typical}{range} over {blocks} blocks")
}
