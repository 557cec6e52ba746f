//! Two samples without blocks: the Wilcoxon-Mann-Whitney test and the Hodges-Lehmann ratio.
//!
//! All of it assumes that the trials of either sample are independent and that nothing but the level changed
//! between them, which is what blocks are for. It therefore never yields a verdict.

use iostone_model::verdict::UnpairedTest;

use crate::judge::CENSORED_LOG_RATIO;
use crate::median::sort;
use crate::rank::{doubled_ranks, mann_whitney_normal};
use crate::special::normal_critical;

/// Up to this many figures in all the permutation law is summed exactly.
const LARGEST_EXACT: usize = 60;

/// Compares the logarithms of a level's figures with the baseline's, signed so that larger is better.
///
/// The p value is two-sided: the share of all assignments of the pooled figures to two samples of these sizes whose
/// rank sum is at least as far from its mean (exact, ties included, up to 60 figures; beyond, the normal
/// approximation with tie and continuity correction). The ratio's interval holds `confidence` (0.95, say) by itself,
/// not adjusted for other comparisons; it is none where the samples are too small to carry it (three and three, at
/// 95 %). Infinitely bad figures rank last; a ratio beyond what an `f64` holds is given as 0 or `f64::MAX`.
/// None where a sample is empty.
pub(crate) fn compare(baseline: &[f64], level: &[f64], confidence: f64) -> Option<UnpairedTest> {
    if baseline.is_empty() || level.is_empty() {
        return None;
    }
    let clamp = |scores: &[f64]| -> Vec<f64> {
        // Censored runs are only ever compared by rank; finite logarithms stay far within these.
        sort(scores).iter().map(|score| score.clamp(-CENSORED_LOG_RATIO, CENSORED_LOG_RATIO)).collect()
    };
    let (baseline, level) = (clamp(baseline), clamp(level));
    let pairs = baseline.len() * level.len();
    let exact = baseline.len() + level.len() <= LARGEST_EXACT;
    let p_value = if exact {
        permutation_p(&baseline, &level)
    } else {
        mann_whitney_normal(&baseline, &level).unwrap_or(1.0)
    };
    let middle = f64::midpoint(
        difference_of_rank(&baseline, &level, (pairs - 1) / 2),
        difference_of_rank(&baseline, &level, pairs / 2),
    );
    let ratio = |difference: f64| difference.exp().min(f64::MAX);
    let bounded =
        |difference: f64| Some(ratio(difference)).filter(|_| difference.abs() < CENSORED_LOG_RATIO / 10.0);
    let ratio_interval = match interval_rank(baseline.len(), level.len(), 1.0 - confidence) {
        Some(rank) if rank < pairs => [
            bounded(difference_of_rank(&baseline, &level, rank)),
            bounded(difference_of_rank(&baseline, &level, pairs - 1 - rank)),
        ],
        _ => [None, None],
    };
    Some(UnpairedTest {
        p_value,
        exact,
        sizes: [crate::count(baseline.len()), crate::count(level.len())],
        ratio: ratio(middle),
        ratio_interval,
    })
}

/// Where the normal approximation is larger, the exact p is far from any threshold of a flag.
const EXACT_BELOW: f64 = 0.05;

/// Two-sided p of the Mann-Whitney test, for flags: the normal approximation, and the exact p of all assignments (ties
/// included, up to 60 numbers) where the approximation is below 0.05. None where a group is empty or all are equal.
pub(crate) fn mann_whitney(first: &[f64], second: &[f64]) -> Option<f64> {
    let approximate = mann_whitney_normal(first, second)?;
    let exact = approximate < EXACT_BELOW && first.len() + second.len() <= LARGEST_EXACT;
    Some(if exact { permutation_p(first, second) } else { approximate })
}

/// The least p that two groups of these sizes can give: one of the two ways to part them wholly.
pub(crate) fn least_p(first: usize, second: usize) -> f64 {
    let (few, all) = (first.min(second), first + second);
    let ways: f64 = (1..=few).map(|i| (all - few + i) as f64 / i as f64).product();
    (2.0 / ways).min(1.0)
}

/// For each sum, how many subsets of `size` of the ranks have it.
pub(crate) fn count_rank_sums(ranks: &[u32], size: usize) -> Vec<f64> {
    let largest: usize = ranks.iter().rev().take(size).map(|rank| *rank as usize).sum();
    // ways[taken][sum], filled rank by rank in ascending order, so that no sum exceeds that of the largest ranks.
    let mut ways = vec![vec![0.0; largest + 1]; size + 1];
    ways[0][0] = 1.0;
    for rank in ranks.iter().map(|rank| *rank as usize) {
        for taken in (1..=size).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            let (Some(from), Some(to)) = (fewer.last(), more.first_mut()) else { continue };
            for (count, previous) in to.iter_mut().skip(rank).zip(from) {
                *count += previous;
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// The exact two-sided p of the observed split of the pooled ranks.
fn permutation_p(baseline: &[f64], level: &[f64]) -> f64 {
    let (ranks, _) = doubled_ranks(&[baseline, level].concat());
    // The smaller sample has fewer subsets to follow; the test is symmetrical in the two.
    let (size, observed) = if baseline.len() <= level.len() {
        (baseline.len(), ranks.iter().take(baseline.len()).sum::<u32>() as usize)
    } else {
        (level.len(), ranks.iter().skip(baseline.len()).sum::<u32>() as usize)
    };
    let mean = size * (ranks.len() + 1);
    let mut sorted = ranks;
    sorted.sort_unstable();
    let counts = count_rank_sums(&sorted, size);
    let far = counts.iter().enumerate().filter(|(sum, _)| sum.abs_diff(mean) >= observed.abs_diff(mean));
    let share = far.map(|(_, count)| count).sum::<f64>() / counts.iter().sum::<f64>();
    share.min(1.0)
}

/// How many of the extreme differences lie outside the interval on either side; none if the sample is too small for this confidence.
fn interval_rank(baseline: usize, level: usize, alpha: f64) -> Option<usize> {
    if baseline + level > LARGEST_EXACT {
        let (m, n) = (baseline as f64, level as f64);
        let reach = normal_critical(alpha) * (m * n * (m + n + 1.0) / 12.0).sqrt();
        let rank = (m * n / 2.0 - 0.5 - reach).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a small count"
        )]
        return (rank >= 0.0).then_some(rank as usize);
    }
    let size = baseline.min(level);
    let ranks: Vec<u32> = (1..=crate::count(baseline + level)).collect();
    let counts = count_rank_sums(&ranks, size);
    let total: f64 = counts.iter().sum();
    // The smallest rank sum is that of the first ranks; U counts from there.
    let smallest = size * (size + 1) / 2;
    let within = counts
        .iter()
        .skip(smallest)
        .scan(0.0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
        // The slack forgives the rounding of `1 - confidence`.
        .take_while(|sum| 2.0 * sum / total <= alpha * (1.0 + 1e-9))
        .count();
    within.checked_sub(1)
}

/// The difference `level - baseline` of that rank (from 0) among all pairs; both sorted.
///
/// By bisection over the numbers an `f64` can hold, counting pairs each time, so that neither time nor memory grow
/// with the number of pairs.
fn difference_of_rank(baseline: &[f64], level: &[f64], rank: usize) -> f64 {
    let at_most = |bound: f64| -> usize {
        let mut beyond = 0;
        level
            .iter()
            .map(|score| {
                // A larger score of the level needs a larger one of the baseline to stay within the bound.
                while baseline.get(beyond).is_some_and(|base| score - base > bound) {
                    beyond += 1;
                }
                baseline.len() - beyond
            })
            .sum()
    };
    let (mut low, mut high) = (ordinal(-f64::MAX), ordinal(f64::MAX));
    while low < high {
        let middle = low + (high - low) / 2;
        if at_most(from_ordinal(middle)) > rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_ordinal(low)
}

const SIGN_BIT: u64 = 1 << 63;

/// Maps numbers to integers in the same order.
fn ordinal(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits & SIGN_BIT == 0 { bits | SIGN_BIT } else { !bits }
}

fn from_ordinal(ordinal: u64) -> f64 {
    f64::from_bits(if ordinal & SIGN_BIT == 0 { !ordinal } else { ordinal & !SIGN_BIT })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn logs(figures: &[f64]) -> Vec<f64> {
        figures.iter().map(|figure| figure.ln()).collect()
    }

    #[test]
    fn five_against_five_published_figures_match_the_published_reanalysis() {
        let on = logs(&[198.832, 198.525, 197.24, 198.003, 193.24]);
        let off = logs(&[195.168, 196.525, 196.241, 197.79, 195.378]);
        let test = compare(&on, &off, 0.95).unwrap();
        assert!(test.exact && (test.p_value - 56.0 / 252.0).abs() < 1e-12, "{test:?}");
        assert!((test.ratio - 0.991).abs() < 5e-4, "{test:?}");
        let [low, high] = test.ratio_interval.map(Option::unwrap);
        assert!((low - 0.983).abs() < 5e-4 && (high - 1.0155).abs() < 5e-4, "{test:?}");
    }

    #[test]
    fn ties_are_counted_exactly() {
        // Of the 20 ways to pick three of {1, 1, 2 | 2, 3, 3}, two are as lopsided as this one on either side.
        let test = compare(&[1.0, 1.0, 2.0], &[2.0, 3.0, 3.0], 0.95).unwrap();
        assert!((test.p_value - 4.0 / 20.0).abs() < 1e-12, "{test:?}");
        assert_eq!(test.ratio_interval, [None, None]);
        let same = compare(&[1.0; 4], &[1.0; 4], 0.95).unwrap();
        assert!((same.p_value - 1.0).abs() < 1e-12 && (same.ratio - 1.0).abs() < 1e-12);
    }

    #[test]
    fn small_p_values_are_exact() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../tests/mann_whitney_vectors.json")).unwrap();
        for case in all["mann_whitney_exact"].as_array().unwrap() {
            let group = |name: &str| crate::vectors::numbers(&case[name]);
            let (clean, exposed) = (group("clean"), group("exposed"));
            crate::vectors::assert_relative(permutation_p(&clean, &exposed), &case["p"]);
            crate::vectors::assert_relative(permutation_p(&exposed, &clean), &case["p"]);
            if case["p"].as_f64().unwrap() < 0.01 {
                crate::vectors::assert_relative(mann_whitney(&clean, &exposed).unwrap(), &case["p"]);
            }
        }
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(near(least_p(5, 5), 2.0 / 252.0) && near(least_p(5, 4), 2.0 / 126.0));
        assert!(near(least_p(0, 7), 1.0) && near(least_p(1, 1), 1.0));
    }

    #[test]
    fn the_approximation_takes_over_smoothly() {
        let sample =
            |shift: f64, n: u32| (0..n).map(|i| f64::from(i) * 0.37 % 1.0 + shift).collect::<Vec<f64>>();
        let exact = compare(&sample(0.0, 30), &sample(0.2, 30), 0.95).unwrap();
        let approximate = mann_whitney_normal(&sample(0.0, 30), &sample(0.2, 30)).unwrap();
        assert!((exact.p_value - approximate).abs() < 0.002, "{} {approximate}", exact.p_value);
        let large = compare(&sample(0.0, 200), &sample(0.2, 200), 0.95).unwrap();
        assert!(!large.exact && large.ratio_interval[0].unwrap() > 1.0, "{large:?}");
    }

    #[test]
    fn runs_that_never_ended_rank_last_and_bound_nothing() {
        let test = compare(&[f64::NEG_INFINITY; 5], &[0.1, 0.2, 0.3, 0.4, 0.5], 0.95).unwrap();
        assert!((test.p_value - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!(test.ratio_interval, [None, None]);
        assert!(test.ratio.is_finite());
    }

    proptest! {
        #[test]
        fn ranked_differences_are_those_of_a_full_sort(
            baseline in proptest::collection::vec(-3f64..3.0, 1..12),
            level in proptest::collection::vec(-3f64..3.0, 1..12),
        ) {
            let (baseline, level) = (sort(&baseline), sort(&level));
            let all: Vec<f64> = level.iter().flat_map(|b| baseline.iter().map(move |a| b - a)).collect();
            for (rank, expected) in sort(&all).iter().enumerate() {
                let found = difference_of_rank(&baseline, &level, rank);
                prop_assert!((found - expected).abs() == 0.0, "{} {}", found, expected);
            }
        }
    }
}
