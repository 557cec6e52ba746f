//! How a race spends its chance of error on the pairs of its levels.

use crate::boundary::{alpha, first_deciding_look};

/// Up to so many levels a sweep races all: passing over saves less than its bounds cost.
pub const RACED_WHOLE: usize = 6;

/// Shares of alpha: for pairs themselves, and for passing over beyond a neighbour, a level two apart, and one farther.
const OWN: f64 = 0.5;
const BEYOND: [f64; 3] = [0.35, 0.10, 0.05];

/// The one-sided levels of a race's bounds.
///
/// A sweep errs only if one of these is wrong: a bound by which some level looks better than the best or too little worse
/// than it, for which there are `K - 1` pairs with the best at `OWN alpha / (K - 1)` each; or a bound by which a level that
/// lies nearer to the best of its own basin, or is it, looks worse than one farther from it on the same side. Of the two
/// bounds of a pair at most one is of the second sort, and there are `K - 1` pairs of neighbours, `K - 2` two apart and
/// `(K - 2) (K - 3) / 2` others, each with an equal part of its share. By Boole's inequality the chance that any is ever wrong is
/// at most `(0.5 + 0.35 + 0.10 + 0.05) alpha = alpha`, whatever levels the blocks hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spending {
    /// Of each pair with the best.
    pub(super) own: f64,
    /// Of neighbours, of levels two apart, and of those farther apart; none where nothing is passed over.
    pub(super) beyond: Option<[f64; 3]>,
}

impl Spending {
    /// All for the pairs with the best.
    pub(super) fn of_race(levels: usize, alpha: f64) -> Self {
        Self { own: alpha / parts(levels.saturating_sub(1)), beyond: None }
    }

    /// As a race up to [`RACED_WHOLE`] levels, else with a part for passing over.
    pub(super) fn of_sweep(levels: usize, alpha: f64) -> Self {
        if levels <= RACED_WHOLE {
            return Self::of_race(levels, alpha);
        }
        let [near, two, far] = BEYOND;
        let farther = (levels - 2) * (levels - 3) / 2;
        Self {
            own: OWN * alpha / parts(levels - 1),
            beyond: Some([
                near * alpha / parts(levels - 1),
                two * alpha / parts(levels - 2),
                far * alpha / parts(farther),
            ]),
        }
    }
}

fn parts(pairs: usize) -> f64 {
    f64::from(crate::count(pairs).max(1))
}

/// The fewest blocks after which a sweep over so many levels can show anything: 10 for ten levels at 95 %.
pub fn fewest_blocks_of_sweep(levels: usize, confidence: f64) -> u32 {
    first_deciding_look(Spending::of_sweep(levels, alpha(confidence)).own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_that_can_err_together_have_no_more_than_alpha() {
        for levels in 2..=64_usize {
            let spending = Spending::of_sweep(levels, 0.05);
            let mut total = spending.own * (levels - 1) as f64;
            if let Some(beyond) = spending.beyond {
                for apart in 1..levels {
                    total += (levels - apart) as f64 * beyond[apart.min(3) - 1];
                }
            }
            assert!((total - 0.05).abs() < 1e-12, "{levels}: {total}");
        }
    }

    #[test]
    fn the_fewest_blocks_follow_from_the_levels() {
        let fewest = [3, 6, 7, 10, 20].map(|levels| fewest_blocks_of_sweep(levels, 0.95));
        assert_eq!(fewest, [6, 8, 9, 10, 11]);
    }
}
