//! What it takes to answer the question of a gate: whether a level is not worse than the baseline by more than the margin.
//!
//! The answer comes from the one-sided bounds of the sequential procedure, which hold at every look. Both ways of being wrong are
//! bounded at once: of a level that is equal, "worse" is said with the chance of error at most; of one that is worse by the margin
//! or more, "not worse" is.

use crate::boundary::{FEWEST_BLOCKS, alpha};
use crate::special::normal_critical;

/// About how many blocks prove, with a chance of 80 %, that two equal levels are no more than the margin apart: at a spread of
/// the blocks' log ratios, for so many comparisons together. None where no number does.
///
/// The running bound is about 2.365 spreads over the root of the blocks away at 95 % (`forecast.rs`, the table of 40 blocks: 0.374
/// times the root of 40); the estimate is off by 0.865 of the same in the worse direction in a fifth of the runs.
pub(crate) fn blocks_that_prove_equality(
    spread: f64,
    margin: f64,
    confidence: f64,
    comparisons: usize,
) -> Option<u32> {
    const BOUND: f64 = 2.365;
    const SCATTER: f64 = 0.865;
    let level = alpha(confidence) / comparisons.max(1) as f64;
    // One-sided points of the normal law, in proportion to which the bounds widen.
    let widened = normal_critical(2.0 * level) / normal_critical(0.1);
    let root = (BOUND * widened + SCATTER) * spread / margin.ln_1p();
    let blocks = (root * root).ceil().max(f64::from(FEWEST_BLOCKS));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded in the same line")]
    (blocks < 1e6).then_some(blocks as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::SplitMix64;
    use crate::sequential::{Design, Looks, RunOrder, Ssr};

    #[test]
    fn so_many_blocks_prove_equality_in_four_of_five_runs() {
        for (spread, margin) in [(0.03, 0.03), (0.04, 0.03), (0.05, 0.05)] {
            let needed = blocks_that_prove_equality(spread, margin, 0.95, 1).unwrap();
            let runs = 200;
            let proven = (0..runs).filter(|seed| {
                let mut generator = SplitMix64::new(*seed);
                let mut procedure = Ssr::new(Design {
                    alpha: 0.05,
                    margin,
                    budget: needed,
                    minimum: 6,
                    rounding: 0.0,
                    adjust_order: false,
                    family: 1,
                    looks: Looks::Sequential,
                });
                for _ in 0..needed {
                    procedure.push(spread * generator.next_normal(), RunOrder::Unknown);
                }
                procedure.intervals().1.lower > -margin.ln_1p()
            });
            let share = proven.count() as f64 / runs as f64;
            assert!((0.7..=0.93).contains(&share), "{needed} blocks: {share}");
        }
        assert_eq!(blocks_that_prove_equality(0.03, 0.0, 0.95, 1), None);
        assert_eq!(blocks_that_prove_equality(0.001, 0.03, 0.95, 1), Some(6));
    }
}
