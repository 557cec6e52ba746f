//! The limits of the sequential signed-rank test: when to look, and how small a rank sum then decides.
//!
//! If a level multiplies the figure by a constant, the signs of the centred block log ratios are fair coins,
//! whatever their magnitudes; W, the sum of the ranks of the negative ones, then has Wilcoxon's law exactly.
//! The joint law over several looks depends only on the order in which the magnitudes arrive. The limits are those
//! of the worst order, each new magnitude the largest so far: shown to be the worst by trying all orders of eight
//! blocks and by search for forty, not proved. They hold for noise of any shape and drift that does not react to
//! past coins; carry-over between trials does, and is looked for separately.
//! Construction after Reynolds (1975) and Jennison and Turnbull (1984, repeated confidence intervals).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::sequential::Looks;

/// No two-sided 5 % question about pairs can be decided by their signs before this many: 2 * 2^-5 is above 5 %.
pub const FEWEST_BLOCKS: u32 = 6;

/// The largest budget; beyond it the tables would take seconds to compute.
pub const LARGEST_BUDGET: u32 = 400;

/// Rounding slack in comparing cumulative probabilities with a nominal level.
const SLACK: f64 = 1.0 + 1e-12;

/// A first look may spend at most this share of the level, or later looks could never use the rest.
pub(crate) const FIRST_LOOK_SHARE: f64 = 0.65;

/// The numbers of blocks at which a run with that budget is looked at: 6, then steps of a sixth, then the budget.
pub fn looks(budget: u32) -> Vec<u32> {
    let mut looks = Vec::new();
    let mut next = FEWEST_BLOCKS;
    while next < budget {
        looks.push(next);
        next += (next / 6).max(1);
    }
    if budget >= FEWEST_BLOCKS {
        looks.push(budget);
    }
    looks
}

/// The first look at which a one-sided level can be crossed at all: all signs equal must be rare enough.
pub(crate) fn first_deciding_look(level: f64) -> u32 {
    looks(LARGEST_BUDGET)
        .into_iter()
        .find(|n| all_signs_equal(*n) <= FIRST_LOOK_SHARE * level)
        .unwrap_or(LARGEST_BUDGET)
}

/// The fewest blocks after which any of several comparisons can have a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewestBlocks {
    /// To be shown faster or slower: each way has half the chance of error.
    pub difference: u32,
    /// To be shown equivalent: each of the two bounds has all of it.
    pub equivalence: u32,
}

/// The fewest blocks for so many comparisons at a confidence: 6 for one comparison at 95 %; for two, 7 to be shown faster or
/// slower and 6 to be shown equivalent.
pub fn fewest_blocks(comparisons: usize, confidence: f64) -> FewestBlocks {
    // Rounded, so that 0.95 gives the very number 0.05.
    let alpha = ((1.0 - confidence) * 1e12).round() / 1e12;
    let level = alpha / comparisons.max(1) as f64;
    FewestBlocks { difference: first_deciding_look(level / 2.0), equivalence: first_deciding_look(level) }
}

impl std::fmt::Display for FewestBlocks {
    /// "faster or slower from 9 blocks, equivalent from 8".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { difference, equivalence } = self;
        if difference == equivalence {
            write!(f, "a verdict needs at least {difference} blocks")
        } else {
            write!(f, "faster or slower from {difference} blocks, equivalent from {equivalence}")
        }
    }
}

fn all_signs_equal(blocks: u32) -> f64 {
    (-f64::from(blocks)).exp2()
}

/// The limits for one one-sided level and one budget.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Boundary {
    /// Each look with the largest deciding rank sum there; none where nothing decides yet.
    limits: Vec<(u32, Option<u32>)>,
    /// The nominal level of each single look that spends the whole level over all of them.
    pub(crate) nominal: f64,
    /// The exact chance of crossing at any look under the worst order of magnitudes; at most the level.
    pub(crate) crossing: f64,
}

impl Boundary {
    /// The limits for the one-sided level `level` and `budget` blocks (at most [`LARGEST_BUDGET`]).
    pub(crate) fn compute(level: f64, budget: u32) -> Self {
        let looks = looks(budget.min(LARGEST_BUDGET));
        let cumulative = cumulative_at_looks(&looks, level);
        let limits_at = |nominal: f64| limits(&looks, &cumulative, level, nominal);
        let (mut low, mut high) = (0.0, level);
        let mut accepted = limits_at(low);
        let mut refused: Option<Vec<Option<u32>>> = None;
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            let candidate = limits_at(middle);
            // Most halvings end in a table already evaluated; only new ones are worth the sum.
            let fits = if candidate == accepted {
                true
            } else if refused.as_ref() == Some(&candidate) {
                false
            } else {
                crossing_chance(&looks, &candidate) <= level
            };
            if fits {
                low = middle;
                accepted = candidate;
            } else {
                high = middle;
                refused = Some(candidate);
            }
        }
        let crossing = crossing_chance(&looks, &accepted);
        Self { limits: looks.into_iter().zip(accepted).collect(), nominal: low, crossing }
    }

    /// The limit of a single look at `blocks` blocks: the exact test of Wilcoxon (1945), which has the whole level.
    fn once(level: f64, blocks: u32) -> Self {
        let looks = if blocks == 0 { Vec::new() } else { vec![blocks.min(LARGEST_BUDGET)] };
        let cumulative = cumulative_at_looks(&looks, level);
        let limit = cumulative.first().and_then(|sums| sums.len().checked_sub(1)).map(crate::count);
        let crossing = crossing_chance(&looks, &[limit]);
        Self { limits: looks.into_iter().map(|look| (look, limit)).collect(), nominal: level, crossing }
    }

    /// As [`Boundary::compute`], kept for the life of the process: a judgement asks for the same few every time.
    pub(crate) fn shared(level: f64, budget: u32, looks: Looks) -> Arc<Self> {
        type Tables = Mutex<HashMap<(u64, u32, Looks), Arc<Boundary>>>;
        static TABLES: OnceLock<Tables> = OnceLock::new();
        let tables = TABLES.get_or_init(Tables::default);
        let key = (level.to_bits(), budget, looks);
        // A table is complete when it is inserted, so a lock poisoned by a panic elsewhere does no harm.
        if let Some(found) = tables.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(found);
        }
        let computed = Arc::new(match looks {
            Looks::Sequential => Self::compute(level, budget),
            Looks::Once => Self::once(level, budget),
        });
        tables.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&computed));
        computed
    }

    /// The largest deciding rank sum at `blocks`; none between looks and where nothing decides yet.
    pub(crate) fn limit_at(&self, blocks: u32) -> Option<u32> {
        self.limits.iter().find(|(look, _)| *look == blocks).and_then(|(_, limit)| *limit)
    }

    /// The looks of its budget.
    pub(crate) fn looks(&self) -> impl Iterator<Item = u32> + '_ {
        self.limits.iter().map(|(look, _)| *look)
    }
}

/// Moves the law of the signed-rank sum from `rank - 1` to `rank` blocks: the new rank joins with chance one half.
pub(crate) fn add_rank(law: &mut [f64], rank: usize) {
    for sum in (rank..law.len()).rev() {
        law[sum] = 0.5 * law[sum] + 0.5 * law[sum - rank];
    }
    for chance in law.iter_mut().take(rank) {
        *chance *= 0.5;
    }
}

/// P(W <= w) at each look for w = 0, 1, ..., as far as it stays within `level`.
fn cumulative_at_looks(looks: &[u32], level: f64) -> Vec<Vec<f64>> {
    let last = looks.last().copied().unwrap_or(0);
    // Levels are below one half, so the lower half of the sums is all that is needed.
    let width = (last * (last + 1) / 4 + 1) as usize;
    let mut law = vec![0.0; width];
    law[0] = 1.0;
    let mut cumulative = Vec::with_capacity(looks.len());
    for blocks in 1..=last {
        add_rank(&mut law, blocks as usize);
        if looks.contains(&blocks) {
            let sums = law.iter().scan(0.0, |total, chance| {
                *total += chance;
                Some(*total)
            });
            cumulative.push(sums.take_while(|sum| *sum <= level * SLACK).collect());
        }
    }
    cumulative
}

/// The deciding rank sums when each look is held at the one-sided level `nominal`; they never shrink.
fn limits(looks: &[u32], cumulative: &[Vec<f64>], level: f64, nominal: f64) -> Vec<Option<u32>> {
    let mut limit = None;
    let mut started = false;
    looks
        .iter()
        .zip(cumulative)
        .map(|(blocks, sums)| {
            if started {
                let within = sums.partition_point(|sum| *sum <= nominal * SLACK);
                limit = limit.max(within.checked_sub(1).map(crate::count));
            } else if all_signs_equal(*blocks) <= FIRST_LOOK_SHARE * level {
                started = true;
                limit = Some(0);
            }
            limit
        })
        .collect()
}

/// P(W is within its limit at some look) when each new magnitude is the largest so far.
fn crossing_chance(looks: &[u32], limits: &[Option<u32>]) -> f64 {
    // W never falls, so sums beyond the largest limit can be forgotten.
    let Some(largest) = limits.iter().flatten().max() else { return 0.0 };
    let mut law = vec![0.0; *largest as usize + 1];
    law[0] = 1.0;
    let mut total = 0.0;
    let mut blocks = 0;
    for (look, limit) in looks.iter().zip(limits) {
        while blocks < *look {
            blocks += 1;
            add_rank(&mut law, blocks as usize);
        }
        if let Some(limit) = limit {
            for chance in law.iter_mut().take(*limit as usize + 1) {
                total += *chance;
                *chance = 0.0;
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;
    use proptest::prelude::*;

    fn signed_rank_cdf(blocks: u32, sum: u32) -> f64 {
        let mut law = vec![0.0; sum as usize + 1];
        law[0] = 1.0;
        for rank in 1..=blocks {
            add_rank(&mut law, rank as usize);
        }
        law.iter().sum()
    }

    #[test]
    fn the_signed_rank_law_matches_the_vectors() {
        for case in vectors::list("signed_rank_cdf") {
            let found = signed_rank_cdf(vectors::whole(&case["n"]), vectors::whole(&case["k"]));
            vectors::assert_relative(found, &case["p"]);
        }
    }

    #[test]
    fn looks_match_the_vectors() {
        for (budget, expected) in vectors::map("looks") {
            let expected: Vec<u32> = serde_json::from_value(expected).unwrap();
            assert_eq!(looks(budget.parse().unwrap()), expected);
        }
        assert_eq!(looks(5), Vec::<u32>::new());
    }

    #[test]
    fn all_boundaries_match_the_vectors() {
        let cases = vectors::list("boundaries");
        assert_eq!(cases.len(), 40);
        for case in cases {
            let boundary = Boundary::compute(case["a"].as_f64().unwrap(), vectors::whole(&case["N"]));
            vectors::assert_relative(boundary.nominal, &case["pstar"]);
            vectors::assert_relative(boundary.crossing, &case["crossing"]);
            let expected = case["k"].as_object().unwrap();
            assert_eq!(boundary.looks().count(), expected.len());
            for (look, limit) in expected {
                let found = boundary.limit_at(look.parse().unwrap());
                assert_eq!(found.map_or(-1, i64::from), limit.as_i64().unwrap(), "{case} at {look}");
            }
        }
    }

    #[test]
    fn the_first_deciding_look_is_where_the_table_starts() {
        for (level, first) in [(0.05, 6), (0.025, 6), (0.0125, 7), (0.025 / 3.0, 8), (1e-4, 14)] {
            assert_eq!(first_deciding_look(level), first);
            let table = Boundary::compute(level, 40);
            assert_eq!(table.looks().find(|n| table.limit_at(*n).is_some()), Some(first));
        }
    }

    #[test]
    fn a_single_look_has_the_whole_level() {
        // Wilcoxon's table: at 2.5 % one-sided 8 is significant for ten pairs, and 13 for twelve.
        for (blocks, limit) in [(5, None), (6, Some(0)), (10, Some(8)), (12, Some(13)), (20, Some(52))] {
            let table = Boundary::once(0.025, blocks);
            assert_eq!(table.looks().collect::<Vec<_>>(), [blocks]);
            assert_eq!(table.limit_at(blocks), limit);
            assert!(table.crossing <= 0.025);
        }
        assert_eq!(Boundary::once(0.025, 0).looks().count(), 0);
    }

    #[test]
    fn the_largest_budget_is_computed_within_its_level() {
        let boundary = Boundary::compute(0.025, LARGEST_BUDGET);
        assert!(boundary.crossing <= 0.025 && boundary.crossing > 0.024);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn crossing_never_exceeds_the_level_and_limits_never_shrink(level in 0.0005f64..0.2, budget in 0u32..90) {
            let boundary = Boundary::compute(level, budget);
            prop_assert!(boundary.crossing <= level);
            let limits: Vec<_> = boundary.looks().map(|n| boundary.limit_at(n)).collect();
            prop_assert!(limits.is_sorted());
        }
    }
}
