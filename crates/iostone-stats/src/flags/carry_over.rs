//! Does a trial feel which level ran before it? The one failure that randomised order does not cure.
//!
//! In a block of two levels the trials share their predecessor exactly where the block begins with the level that
//! ended the block before: then whatever the predecessor left behind acts on both and cancels. In all other blocks
//! each of the two follows the other, and what one leaves behind biases every such block the same way. Comparing the
//! two kinds of block shows it.
//!
//! With more levels (or several factors in a block) the same reasoning is applied to the comparison's own pair. If
//! each level `P` leaves `c(P)` behind, a block's log ratio gains `c(before the level) - c(before the baseline)`, so
//! the harm is the part in which the two are each other's predecessors: a block is *exposed* when
//!
//! ```text
//! [baseline before level] - [baseline before baseline] + [level before baseline] - [level before level] > 0
//! ```
//!
//! counting the last trial of the previous block. For two levels that is the rule above. What a third level leaves
//! behind falls on either of the pair with equal chance, so it is noise, not bias. The bias itself shrinks with the
//! number of levels, and so does the power to see it: with four, a third of that with two in the same blocks.

use iostone_model::verdict::Flag;

use crate::median::median;
use crate::unpaired::{least_p, mann_whitney};
use crate::walsh::Interval;
use iostone_model::units::p_value;

/// The threshold below which a verdict is withheld.
const THRESHOLD: f64 = 0.01;

/// The evidence for carry-over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CarryOver {
    /// Median log ratio of the blocks free of it.
    pub(crate) clean_median: f64,
    /// Median log ratio of the exposed blocks.
    pub(crate) exposed_median: f64,
    /// Two-sided p of their difference (Mann-Whitney, exact where it is small).
    pub(crate) p: f64,
}

/// Whether a block is exposed, from the levels that ran just before the pair's two trials.
///
/// None where either predecessor is unknown.
pub(crate) fn is_exposed(
    baseline: usize,
    level: usize,
    before_baseline: Option<usize>,
    before_level: Option<usize>,
) -> Option<bool> {
    let (before_baseline, before_level) = (before_baseline?, before_level?);
    let score = i32::from(before_level == baseline) - i32::from(before_baseline == baseline)
        + i32::from(before_baseline == level)
        - i32::from(before_level == level);
    Some(score > 0)
}

/// Compares exposed with clean blocks; blocks of unknown exposure are left out.
pub(crate) fn assess(log_ratios: &[f64], exposed: &[Option<bool>]) -> Option<CarryOver> {
    let group = |wanted: bool| -> Vec<f64> {
        let of_kind = log_ratios.iter().zip(exposed).filter(|(_, exposed)| **exposed == Some(wanted));
        of_kind.map(|(ratio, _)| *ratio).collect()
    };
    let (clean, exposed) = (group(false), group(true));
    Some(CarryOver {
        clean_median: median(&clean)?,
        exposed_median: median(&exposed)?,
        p: mann_whitney(&clean, &exposed)?,
    })
}

/// The flag, where the evidence is below one in a hundred.
pub(crate) fn flag(
    log_ratios: &[f64],
    exposed: &[Option<bool>],
    baseline: &str,
    level: &str,
) -> Option<Flag> {
    let found = assess(log_ratios, exposed).filter(|found| found.p < THRESHOLD)?;
    let message = format!(
        "trials feel which level ran before: the ratio is {:.3} in blocks where `{baseline}` and `{level}` follow \
         each other and {:.3} in the others, {}; `decide.conditioning = true` runs each level once unrecorded just before its \
         trial",
        found.exposed_median.exp(),
        found.clean_median.exp(),
        p_value(found.p)
    );
    Some(Flag::new("carry-over", message))
}

/// Evidence that does not withhold a verdict, but is worth a word where what it shows would make the verdict.
const SUSPICION: f64 = 0.1;

/// `carry-over-suspected`: the two kinds of blocks differ by enough to make the verdict, though not so clearly that it is withheld.
///
/// Carry-over acts on about half of the blocks, so half of the difference is held against the nearer end of the interval. Raised in
/// at most one in twenty runs without carry-over: p below [`SUSPICION`], on the side of the verdict.
pub(crate) fn suspected(log_ratios: &[f64], exposed: &[Option<bool>], interval: Interval) -> Option<Flag> {
    let found = assess(log_ratios, exposed).filter(|found| (THRESHOLD..SUSPICION).contains(&found.p))?;
    let carried = found.exposed_median - found.clean_median;
    let nearer = if interval.lower > 0.0 { interval.lower } else { interval.upper };
    let makes = !interval.contains(0.0) && carried * nearer > 0.0 && carried.abs() / 2.0 >= nearer.abs();
    makes.then(|| {
        let message = format!(
            "the ratio is {:.3} in blocks where the two follow each other and {:.3} in the others, {}: a carry-over of that \
             size would make this verdict; `decide.conditioning = true` prevents it",
            found.exposed_median.exp(),
            found.clean_median.exp(),
            p_value(found.p)
        );
        Flag::new("carry-over-suspected", message)
    })
}

/// A verdict whose interval comes nearer to 1 than this can be made by a carry-over that is not unusual.
const NEAR: f64 = 0.05;

/// `carry-over-unchecked`: the blocks are too few, or too alike, for carry-over to be seen, and a moderate one could make the
/// verdict.
///
/// A carry-over acts on half of the blocks, so it moves the typical ratio by about half of itself, and the nearer end of the interval stands for one of twice its distance.
/// Five clean blocks and five exposed ones are the fewest that can show any, 11 with the first, whose predecessor is unknown.
pub(crate) fn unchecked(exposed: &[Option<bool>], interval: Interval) -> Option<Flag> {
    let count = |wanted: bool| exposed.iter().filter(|exposed| **exposed == Some(wanted)).count();
    let (clean, dirty) = (count(false), count(true));
    let nearer = if interval.contains(0.0) { 0.0 } else { interval.lower.abs().min(interval.upper.abs()) };
    (least_p(clean, dirty) >= THRESHOLD && nearer <= NEAR.ln_1p()).then(|| {
        let harm = match (2.0 * nearer).exp_m1() {
            none if none <= 0.0 => "one could hide a difference".to_owned(),
            carried => format!("one of {:.1} % would make this verdict", 100.0 * carried),
        };
        let message = format!(
            "whether a trial feels which level ran before it cannot be seen in {} blocks ({clean} free of it, {dirty} exposed), \
             and {harm}: 11 blocks or more can show it, `decide.conditioning = true` prevents it",
            exposed.len()
        );
        Flag::new("carry-over-unchecked", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    /// Exposure in runs of two levels, from which of them ran second.
    fn exposure(level_second: &[bool]) -> Vec<Option<bool>> {
        let mut last = None;
        level_second
            .iter()
            .map(|level_second| {
                let (first, second) = if *level_second { (0, 1) } else { (1, 0) };
                let before = [last, Some(first)];
                last = Some(second);
                let (before_baseline, before_level) =
                    if *level_second { (before[0], before[1]) } else { (before[1], before[0]) };
                is_exposed(0, 1, before_baseline, before_level)
            })
            .collect()
    }

    #[test]
    fn two_levels_match_the_vectors() {
        for case in vectors::list("carryover") {
            let second: Vec<bool> = serde_json::from_value(case["b_second"].clone()).unwrap();
            let ratios = vectors::numbers(&case["d"]);
            let found = assess(&ratios, &exposure(&second)).unwrap();
            vectors::assert_close(found.clean_median, &case["clean_median"]);
            vectors::assert_close(found.exposed_median, &case["other_median"]);
            // The vectors have the normal approximation, which stands where it is far from the threshold; the exact p of the
            // others is in vectors of its own.
            let normal = case["p"].as_f64().unwrap();
            assert!(if normal > 0.05 { (found.p - normal).abs() < 1e-9 } else { found.p < normal });
            assert_eq!(flag(&ratios, &exposure(&second), "on", "off").is_some(), found.p < 0.01);
        }
    }

    #[test]
    fn few_blocks_that_could_not_show_it_leave_it_unchecked() {
        let groups = |clean: usize, exposed: usize| -> Vec<Option<bool>> {
            let known = [vec![Some(false); clean], vec![Some(true); exposed]].concat();
            [vec![None], known].concat()
        };
        let interval = Interval { lower: 0.01, upper: 0.09 };
        let flag = unchecked(&groups(4, 5), interval).unwrap();
        assert!(
            flag.message.contains("in 10 blocks (4 free of it, 5 exposed), and one of 2.0 %"),
            "{}",
            flag.message
        );
        assert!(flag.message.contains("`decide.conditioning = true`"), "{}", flag.message);
        assert_eq!(unchecked(&groups(5, 5), interval), None);
        assert!(unchecked(&groups(3, 8), interval).is_some() && unchecked(&groups(3, 9), interval).is_none());
        assert_eq!(unchecked(&groups(2, 3), Interval { lower: -0.3, upper: -0.06 }), None);
        let equal = unchecked(&groups(2, 3), Interval { lower: -0.01, upper: 0.02 }).unwrap();
        assert!(equal.message.contains("one could hide a difference"), "{}", equal.message);
        assert!(unchecked(&[None; 6], Interval::ALL).is_some());
    }

    #[test]
    fn kinds_of_blocks_that_differ_by_what_makes_the_verdict_are_suspect() {
        let clean = [0.001, 0.012, -0.006, 0.009, 0.02, 0.003];
        let exposed = [0.011, 0.035, 0.028, 0.014, 0.041, 0.008];
        let ratios = [clean, exposed].concat();
        let kinds: Vec<Option<bool>> = (0..12).map(|block| Some(block >= 6)).collect();
        let near = Interval { lower: 0.002, upper: 0.03 };
        let flag = suspected(&ratios, &kinds, near).unwrap();
        assert!(flag.message.contains("in blocks where the two follow each other"), "{}", flag.message);
        // What it shows would not make a verdict so far from 1, nor one on the other side.
        assert_eq!(suspected(&ratios, &kinds, Interval { lower: 0.02, upper: 0.03 }), None);
        assert_eq!(suspected(&ratios, &kinds, Interval { lower: -0.03, upper: -0.002 }), None);
        assert_eq!(suspected(&ratios, &kinds, Interval { lower: -0.01, upper: 0.03 }), None);
    }

    #[test]
    fn a_third_level_in_between_leaves_the_pair_unexposed() {
        // Baseline 0, level 1, another 2: order 2, 0, 1 exposes the pair; 0, 2, 1 after a block that ended on 2 not.
        assert_eq!(is_exposed(0, 1, Some(2), Some(0)), Some(true));
        assert_eq!(is_exposed(0, 1, Some(2), Some(2)), Some(false));
        assert_eq!(is_exposed(0, 1, None, Some(2)), None);
        assert_eq!(is_exposed(0, 1, Some(0), Some(2)), Some(false));
    }
}
