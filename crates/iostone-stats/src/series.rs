//! Changes in time within series of runs under one condition each: trends, level shifts, and what a drift explains.
//!
//! For figures that were not taken in blocks. Every test takes the runs of a series for independent and
//! exchangeable, so a small p says that they are not, which is the finding.

mod drift;

use crate::rank::doubled_ranks;
use crate::special::normal_two_sided;
use crate::unpaired::count_rank_sums;

pub use drift::{Drift, drift};

/// Up to this many runs the laws are summed exactly; beyond, the normal approximation serves.
const LARGEST_EXACT: usize = 12;
/// A level shift has at least so many runs on either side.
const FEWEST_ON_A_SIDE: usize = 2;
/// So many places of a shift are tried at most, evenly spread.
const MOST_PLACES: usize = 5;

/// A monotone trend of one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Kendall's tau-a: of all pairs of runs, the share that rises less the share that falls; -1 to 1.
    pub tau: f64,
    /// Two-sided.
    pub p_value: f64,
}

/// A step between early and late runs, the same way in several series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// So many runs of each series stand before it.
    pub after: usize,
    /// Whether the later runs have the larger numbers.
    pub up: bool,
    /// Two-sided, and already multiplied by the number of places tried.
    pub p_value: f64,
}

/// The Mann-Kendall test of a trend (Mann 1945, Kendall 1975): do later numbers tend to be larger, or smaller?
///
/// Up to twelve numbers the law of the number of falling pairs over all orders is summed exactly, ties included
/// (without them it is Mahonian); beyond, the normal approximation with tie and continuity correction. None below
/// four numbers or where all are equal.
pub fn trend(numbers: &[f64]) -> Option<Trend> {
    let n = numbers.len();
    if n < 4 {
        return None;
    }
    let pairs = n * (n - 1) / 2;
    let (mut rising, mut falling) = (0_usize, 0_usize);
    for (index, earlier) in numbers.iter().enumerate() {
        for later in numbers.iter().skip(index + 1) {
            rising += usize::from(later > earlier);
            falling += usize::from(later < earlier);
        }
    }
    let untied = rising + falling;
    if untied == 0 {
        return None;
    }
    let difference = rising as f64 - falling as f64;
    let ties = tie_sizes(numbers);
    let p_value = if n <= LARGEST_EXACT {
        exact_trend_p(&ties, untied, falling)
    } else {
        normal_trend_p(&ties, n, difference)
    };
    Some(Trend { tau: difference / pairs as f64, p_value: p_value.min(1.0) })
}

fn exact_trend_p(ties: &[usize], untied: usize, falling: usize) -> f64 {
    let far = |falls: usize| untied.abs_diff(2 * falls) >= untied.abs_diff(2 * falling);
    let law = count_falls(ties);
    let counts = law.iter().enumerate();
    counts.filter(|(falls, _)| far(*falls)).map(|(_, count)| count).sum::<f64>() / law.iter().sum::<f64>()
}

fn normal_trend_p(ties: &[usize], n: usize, difference: f64) -> f64 {
    let spread = |size: f64| size * (size - 1.0) * (2.0 * size + 5.0);
    let lost: f64 = ties.iter().map(|size| spread(*size as f64)).sum();
    let variance = (spread(n as f64) - lost) / 18.0;
    normal_two_sided((difference.abs() - 1.0).max(0.0) / variance.sqrt())
}

/// How often each number occurs.
fn tie_sizes(numbers: &[f64]) -> Vec<usize> {
    let sorted = crate::median::sort(numbers);
    sorted.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(<[f64]>::len).collect()
}

/// For each number of falling pairs, how many arrangements of a multiset with those multiplicities have it.
///
/// The coefficients of the q-multinomial, built group by group from q-binomials by Pascal's rule, which only adds.
fn count_falls(multiplicities: &[usize]) -> Vec<f64> {
    let mut law = vec![1.0];
    let mut placed = 0;
    for size in multiplicities {
        placed += size;
        let factor = q_binomial(placed, *size);
        let mut product = vec![0.0; law.len() + factor.len() - 1];
        for (i, a) in law.iter().enumerate() {
            for (target, b) in product.iter_mut().skip(i).zip(&factor) {
                *target += a * b;
            }
        }
        law = product;
    }
    law
}

/// The coefficients of the Gaussian binomial of `n` over `k`.
fn q_binomial(n: usize, k: usize) -> Vec<f64> {
    // rows[j] holds [m over j] while m grows to n.
    let mut rows: Vec<Vec<f64>> = vec![Vec::new(); k + 1];
    rows[0] = vec![1.0];
    for _ in 0..n {
        for j in (1..=k).rev() {
            let (fewer, rest) = rows.split_at_mut(j);
            let (Some(before), Some(row)) = (fewer.last(), rest.first_mut()) else { continue };
            let mut sum = vec![0.0; before.len().max(if row.is_empty() { 0 } else { row.len() + j })];
            for (target, count) in sum.iter_mut().skip(j).zip(row.iter()) {
                *target += count;
            }
            for (target, count) in sum.iter_mut().zip(before) {
                *target += count;
            }
            *row = sum;
        }
    }
    rows.pop().unwrap_or_default()
}

/// Whether the early runs of all series differ from the late ones, the same way in each (stratified Wilcoxon).
///
/// The series must be equally long, four runs or more. Places with two or more runs on either side are tried, five
/// at most, and the smallest p is multiplied by their number. The law of the summed ranks under all orders within
/// each series is exact, ties included, up to twelve runs a series; beyond, normal with tie and continuity
/// correction. None where the series differ in length or all numbers of each are equal.
pub fn level_shift(series: &[&[f64]]) -> Option<LevelShift> {
    let n = series.first()?.len();
    if n < 2 * FEWEST_ON_A_SIDE || series.iter().any(|numbers| numbers.len() != n) {
        return None;
    }
    let places = places(n);
    let tried = places.len() as f64;
    let ranked: Vec<(Vec<u32>, f64)> = series.iter().map(|numbers| doubled_ranks(numbers)).collect();
    let all_tied = (n as f64).powi(3) - n as f64;
    if ranked.iter().all(|(_, ties)| *ties >= all_tied) {
        return None;
    }
    places
        .into_iter()
        .map(|after| {
            let early: usize = ranked
                .iter()
                .flat_map(|(ranks, _)| ranks.iter().take(after))
                .map(|rank| *rank as usize)
                .sum();
            let mean = series.len() * after * (n + 1);
            let p_value = if n <= LARGEST_EXACT {
                exact_p(&ranked, after, early, mean)
            } else {
                normal_p(&ranked, after, early, mean)
            };
            LevelShift { after, up: early < mean, p_value: (p_value * tried).min(1.0) }
        })
        .min_by(|a, b| a.p_value.total_cmp(&b.p_value))
}

fn places(n: usize) -> Vec<usize> {
    let all: Vec<usize> = (FEWEST_ON_A_SIDE..=n - FEWEST_ON_A_SIDE).collect();
    if all.len() <= MOST_PLACES {
        return all;
    }
    (1..=MOST_PLACES)
        .map(|part| n * part / (MOST_PLACES + 1))
        .map(|place| place.max(FEWEST_ON_A_SIDE))
        .collect()
}

fn exact_p(ranked: &[(Vec<u32>, f64)], after: usize, early: usize, mean: usize) -> f64 {
    let mut law = vec![1.0];
    for (ranks, _) in ranked {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        let counts = count_rank_sums(&sorted, after);
        let all: f64 = counts.iter().sum();
        let mut sum = vec![0.0; law.len() + counts.len() - 1];
        for (i, a) in law.iter().enumerate().filter(|(_, a)| **a > 0.0) {
            for (target, b) in sum.iter_mut().skip(i).zip(&counts) {
                *target += a * b / all;
            }
        }
        law = sum;
    }
    let far = law.iter().enumerate().filter(|(sum, _)| sum.abs_diff(mean) >= early.abs_diff(mean));
    far.map(|(_, share)| share).sum()
}

fn normal_p(ranked: &[(Vec<u32>, f64)], after: usize, early: usize, mean: usize) -> f64 {
    let variance: f64 = ranked
        .iter()
        .map(|(ranks, ties)| {
            let (n, k) = (ranks.len() as f64, after as f64);
            k * (n - k) / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)))
        })
        .sum();
    // Ranks are doubled, so the continuity correction of a half is one here.
    let excess = (early.abs_diff(mean) as f64 - 1.0).max(0.0) / 2.0;
    normal_two_sided(excess / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn falls_follow_the_mahonian_numbers() {
        let near = |counts: Vec<f64>, expected: &[f64]| {
            assert_eq!(counts.len(), expected.len());
            assert!(counts.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{counts:?}");
        };
        near(count_falls(&[1, 1, 1, 1]), &[1.0, 3.0, 5.0, 6.0, 5.0, 3.0, 1.0]);
        // Arrangements of a, a, b, b: 1, 1, 2, 1, 1.
        near(count_falls(&[2, 2]), &[1.0, 1.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn a_monotone_series_of_five_has_p_one_in_sixty() {
        let found = trend(&[-1.86, -1.01, -0.51, -0.11, 1.10]).unwrap();
        assert!((found.tau - 1.0).abs() < 1e-12 && (found.p_value - 2.0 / 120.0).abs() < 1e-12);
        let falling = trend(&[198.832, 198.525, 197.24, 198.003, 193.24]).unwrap();
        assert!((falling.tau + 0.8).abs() < 1e-12 && (falling.p_value - 10.0 / 120.0).abs() < 1e-12);
        assert_eq!(trend(&[1.0, 1.0, 1.0, 1.0]), None);
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn two_series_that_step_up_alike_are_a_shift() {
        let on = [291.996, 231.604, 529.609, 537.408, 500.507];
        let off = [336.223, 341.762, 664.540, 814.218, 441.299];
        let found = level_shift(&[&on, &off]).unwrap();
        // The two smallest come first in both: 2 * (1/10)^2, at the better of two places.
        assert!(found.after == 2 && found.up && (found.p_value - 0.04).abs() < 1e-12, "{found:?}");
        assert_eq!(level_shift(&[&on, &off[..4]]), None);
        assert_eq!(level_shift(&[&[3.0; 6]]), None);
    }

    #[test]
    fn the_approximations_meet_the_exact_laws() {
        let numbers: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 12) + f64::from(i) * 0.8).collect();
        // 46 pairs rise and 20 fall.
        let exact = exact_trend_p(&[1; 12], 66, 20);
        let normal = normal_trend_p(&[1; 12], 12, 26.0);
        assert!((exact - normal).abs() < 0.01, "{exact} {normal}");
        let (ranks, ties) = doubled_ranks(&numbers);
        let early: usize = ranks.iter().take(6).map(|rank| *rank as usize).sum();
        let ranked = [(ranks, ties)];
        let by_sum = exact_p(&ranked, 6, early, 6 * 13);
        let by_normal = normal_p(&ranked, 6, early, 6 * 13);
        assert!((by_sum - by_normal).abs() < 0.02, "{by_sum} {by_normal}");
    }

    proptest! {
        #[test]
        fn the_law_of_falls_counts_every_arrangement(sizes in proptest::collection::vec(1usize..4, 1..5)) {
            let all: usize = sizes.iter().sum();
            let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
            let expected = factorial(all) / sizes.iter().map(|size| factorial(*size)).product::<f64>();
            let total: f64 = count_falls(&sizes).iter().sum();
            prop_assert!((total - expected).abs() < 1e-6 * expected);
        }

        #[test]
        fn turning_a_series_round_turns_the_trend(numbers in proptest::collection::vec(0u8..9, 4..16)) {
            let forward: Vec<f64> = numbers.iter().map(|number| f64::from(*number)).collect();
            let backward: Vec<f64> = forward.iter().rev().copied().collect();
            match (trend(&forward), trend(&backward)) {
                (Some(a), Some(b)) => {
                    prop_assert!((a.tau + b.tau).abs() < 1e-12 && (a.p_value - b.p_value).abs() < 1e-9);
                }
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
