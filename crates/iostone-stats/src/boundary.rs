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
use crate::unpaired::count_rank_sums;

/// No two-sided 5 % question about pairs can be decided by their signs before this many: 2 * 2^-5 is above 5 %.
pub const FEWEST_BLOCKS: u32 = 6;

/// The largest budget; beyond it the tables would take seconds to compute.
pub const LARGEST_BUDGET: u32 = 400;

/// Rounding slack in comparing cumulative probabilities with a nominal level.
const SLACK: f64 = 1.0 + 1e-12;

/// A first look may spend at most this share of the level, or later looks could never use the rest.
pub(crate) const FIRST_LOOK_SHARE: f64 = 0.65;

/// The chance of error that a confidence leaves; rounded, so that 0.95 gives the very number 0.05.
pub(crate) fn alpha(confidence: f64) -> f64 {
    ((1.0 - confidence) * 1e12).round() / 1e12
}

/// The numbers of blocks at which a run with that budget is looked at: 6, then steps of a sixth, then the budget.
pub fn looks(budget: u32) -> Vec<u32> {
    looks_from(FEWEST_BLOCKS, budget)
}

fn looks_from(first: u32, budget: u32) -> Vec<u32> {
    let mut looks = Vec::new();
    let mut next = first.max(1);
    while next < budget {
        looks.push(next);
        next += (next / 6).max(1);
    }
    if budget >= first {
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
    let level = alpha(confidence) / comparisons.max(1) as f64;
    FewestBlocks { difference: first_deciding_look(level / 2.0), equivalence: first_deciding_look(level) }
}

/// The trials of each level in a superblock: the fewest that can show one of so many comparisons to be faster or slower.
///
/// Of the C(2h, h) ways to draw h trials of each of two levels, two part the figures wholly. The smallest h is taken with
/// `1 / C(2h, h) <= 0.65 alpha / (2 comparisons)`: 4 for one comparison at 95 %, 5 for up to four, 6 for seven.
pub fn superblock_trials(comparisons: usize, confidence: f64) -> u32 {
    let level = alpha(confidence) / 2.0 / comparisons.max(1) as f64;
    (1..LARGEST_BUDGET)
        .find(|trials| wholly_apart(*trials) <= FIRST_LOOK_SHARE * level * SLACK)
        .unwrap_or(LARGEST_BUDGET)
}

/// The chance that of two equal levels, with so many trials each in random order, all of one are above all of the other.
fn wholly_apart(trials: u32) -> f64 {
    (1..=trials).map(|i| f64::from(i) / f64::from(trials + i)).product()
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
        Self::spend(&Start::of_pairs(), level, budget)
    }

    /// The same for a run that begins with a superblock of `trials` trials of each level: limits of `2 U + W`, with U of Mann
    /// and Whitney over the superblock and W the rank sum of the blocks after it. Blocks count from the superblock on, which
    /// counts as `trials` of them.
    fn after_superblock(level: f64, budget: u32, trials: u32) -> Self {
        Self::spend(&Start::of_superblock(trials), level, budget)
    }

    fn spend(start: &Start, level: f64, budget: u32) -> Self {
        let looks = start.looks(budget.min(LARGEST_BUDGET));
        let cumulative = cumulative_at_looks(start, &looks, level);
        let limits_at = |nominal: f64| limits(start, &cumulative, level, nominal);
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
                crossing_chance(start, &looks, &candidate) <= level
            };
            if fits {
                low = middle;
                accepted = candidate;
            } else {
                high = middle;
                refused = Some(candidate);
            }
        }
        let crossing = crossing_chance(start, &looks, &accepted);
        Self { limits: looks.into_iter().zip(accepted).collect(), nominal: low, crossing }
    }

    /// The limit of a single look at `blocks` blocks: the exact test of Wilcoxon (1945), which has the whole level.
    fn once(level: f64, blocks: u32) -> Self {
        let looks = if blocks == 0 { Vec::new() } else { vec![blocks.min(LARGEST_BUDGET)] };
        let start = Start::of_pairs();
        let cumulative = cumulative_at_looks(&start, &looks, level);
        let limit = cumulative.first().and_then(|sums| sums.len().checked_sub(1)).map(crate::count);
        let crossing = crossing_chance(&start, &looks, &[limit]);
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
            Looks::AfterSuperblock(trials) => Self::after_superblock(level, budget, trials),
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

/// What a run begins with: nothing, or a superblock.
struct Start {
    /// The blocks that it counts as.
    blocks: u32,
    /// The law of the statistic then: 0, or twice the U of Mann and Whitney.
    law: Vec<f64>,
}

impl Start {
    fn of_pairs() -> Self {
        Self { blocks: 0, law: vec![1.0] }
    }

    fn of_superblock(trials: u32) -> Self {
        let ranks: Vec<u32> = (1..=2 * trials).collect();
        let counts = count_rank_sums(&ranks, trials as usize);
        let ways: f64 = counts.iter().sum();
        // The smallest rank sum is that of the first ranks; U counts from there.
        let smallest = (trials * (trials + 1) / 2) as usize;
        let of_u = counts.iter().skip(smallest).flat_map(|count| [count / ways, 0.0]);
        Self { blocks: trials, law: of_u.collect() }
    }

    fn looks(&self, budget: u32) -> Vec<u32> {
        if self.blocks == 0 { looks(budget) } else { looks_from(self.blocks, budget) }
    }

    /// The law as far as `width` values.
    fn law(&self, width: usize) -> Vec<f64> {
        let mut law = self.law.clone();
        law.resize(width, 0.0);
        law
    }
}

/// P(T <= t) at each look for t = 0, 1, ..., as far as it stays within `level`; T is W, or 2 U + W.
fn cumulative_at_looks(start: &Start, looks: &[u32], level: f64) -> Vec<Vec<f64>> {
    let last = looks.last().copied().unwrap_or(0);
    let pairs = last.saturating_sub(start.blocks);
    // Levels are below one half, so the lower half of the sums is all that is needed.
    let width = (start.blocks * start.blocks + pairs * (pairs + 1) / 4 + 1) as usize;
    let mut law = start.law(width);
    let mut cumulative = Vec::with_capacity(looks.len());
    for blocks in start.blocks..=last {
        if blocks > start.blocks {
            add_rank(&mut law, (blocks - start.blocks) as usize);
        }
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
fn limits(start: &Start, cumulative: &[Vec<f64>], level: f64, nominal: f64) -> Vec<Option<u32>> {
    let mut limit = None;
    let mut started = false;
    cumulative
        .iter()
        .map(|sums| {
            let within = |nominal: f64| sums.partition_point(|sum| *sum <= nominal * SLACK);
            if started {
                limit = limit.max(within(nominal).checked_sub(1).map(crate::count));
            } else if let Some(first) = within(FIRST_LOOK_SHARE * level).checked_sub(1) {
                started = true;
                // Of pairs alone the first look takes only what has all signs equal.
                limit = Some(if start.blocks == 0 { 0 } else { crate::count(first) });
            }
            limit
        })
        .collect()
}

/// P(the statistic is within its limit at some look) when each new magnitude is the largest so far.
fn crossing_chance(start: &Start, looks: &[u32], limits: &[Option<u32>]) -> f64 {
    // It never falls, so sums beyond the largest limit can be forgotten.
    let Some(largest) = limits.iter().flatten().max() else { return 0.0 };
    let mut law = start.law(*largest as usize + 1);
    let mut total = 0.0;
    let mut blocks = start.blocks;
    for (look, limit) in looks.iter().zip(limits) {
        while blocks < *look {
            blocks += 1;
            add_rank(&mut law, (blocks - start.blocks) as usize);
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
    fn a_superblock_has_the_fewest_trials_that_can_decide() {
        let trials: Vec<u32> = (1..=7).map(|comparisons| superblock_trials(comparisons, 0.95)).collect();
        assert_eq!(trials, [4, 5, 5, 5, 6, 6, 6]);
        assert_eq!([55, 56, 209, 210].map(|comparisons| superblock_trials(comparisons, 0.95)), [7, 8, 8, 9]);
        assert!((wholly_apart(4) - 1.0 / 70.0).abs() < 1e-15);
    }

    /// Computed by another program, in rational numbers.
    #[test]
    fn limits_after_a_superblock_are_those_of_the_reference() {
        let cases: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../tests/superblock_vectors.json")).unwrap();
        assert_eq!(cases.len(), 5);
        for case in cases {
            let [budget, trials] = ["budget", "trials"].map(|name| vectors::whole(&case[name]));
            let found = Boundary::after_superblock(case["level"].as_f64().unwrap(), budget, trials);
            let all =
                |name: &str| case[name].as_array().unwrap().iter().map(vectors::whole).collect::<Vec<u32>>();
            let expected: Vec<(u32, Option<u32>)> =
                all("looks").into_iter().zip(all("limits").into_iter().map(Some)).collect();
            assert_eq!(found.limits, expected, "{case}");
            vectors::assert_close(found.crossing, &case["crossing"]);
        }
    }

    #[test]
    fn limits_after_a_superblock_are_exact() {
        let after = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 28, 33, 36];
        for (level, limits, crossing) in [
            (0.025, [1, 1, 1, 1, 1, 2, 3, 4, 6, 9, 14, 19, 30, 43, 65, 92, 136, 166], 0.02494),
            (0.05, [3, 3, 3, 3, 3, 3, 5, 6, 8, 12, 17, 23, 35, 49, 73, 104, 150, 183], 0.04994),
        ] {
            let found = Boundary::after_superblock(level, 40, 4);
            let expected: Vec<(u32, Option<u32>)> =
                after.iter().zip(limits).map(|(blocks, limit)| (blocks + 4, Some(limit))).collect();
            assert_eq!(found.limits, expected);
            assert!((found.crossing - crossing).abs() < 5e-6, "{}", found.crossing);
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
