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

use crate::flags::write_p;
use crate::median::median;
use crate::rank::mann_whitney_normal;

/// The threshold below which a verdict is withheld.
const THRESHOLD: f64 = 0.01;

/// The evidence for carry-over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CarryOver {
    /// Median log ratio of the blocks free of it.
    pub(crate) clean_median: f64,
    /// Median log ratio of the exposed blocks.
    pub(crate) exposed_median: f64,
    /// Two-sided p of their difference (Mann-Whitney, normal approximation with tie and continuity correction).
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
        p: mann_whitney_normal(&clean, &exposed)?,
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
         each other and {:.3} in the others, {}; run each level once unrecorded just before its trial",
        found.exposed_median.exp(),
        found.clean_median.exp(),
        write_p(found.p)
    );
    Some(Flag::new("carry-over", message))
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
            vectors::assert_relative(found.p, &case["p"]);
            assert_eq!(flag(&ratios, &exposure(&second), "on", "off").is_some(), found.p < 0.01);
        }
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
