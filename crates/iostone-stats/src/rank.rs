//! Ranks with ties, and the rank tests of two and more independent groups used for flags.

use crate::special::{chi_squared_upper, normal_two_sided, student_two_sided};

/// Doubled mid-ranks from 2 up, in the numbers' own order, and the sum over ties of `t^3 - t`.
///
/// Doubled, so that the mean rank of a tie is a whole number.
pub(crate) fn doubled_ranks(numbers: &[f64]) -> (Vec<u32>, f64) {
    let mut sorted: Vec<usize> = (0..numbers.len()).collect();
    sorted.sort_unstable_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut ranks = vec![0; numbers.len()];
    let mut ties = 0.0;
    let mut before = 0;
    for tied in sorted.chunk_by(|a, b| numbers[*a].total_cmp(&numbers[*b]).is_eq()) {
        let size = tied.len();
        for index in tied {
            ranks[*index] = crate::count(2 * before + size + 1);
        }
        ties += (size as f64).powi(3) - size as f64;
        before += size;
    }
    (ranks, ties)
}

/// Two-sided p of the Mann-Whitney test by the normal approximation, with tie and continuity correction.
///
/// None where a group is empty or all numbers are equal.
pub(crate) fn mann_whitney_normal(first: &[f64], second: &[f64]) -> Option<f64> {
    let pooled = [first, second].concat();
    let (ranks, ties) = doubled_ranks(&pooled);
    let (n1, n2, n) = (first.len() as f64, second.len() as f64, pooled.len() as f64);
    let rank_sum = ranks.iter().take(first.len()).map(|rank| f64::from(*rank) / 2.0).sum::<f64>();
    let excess = rank_sum - n1 * (n + 1.0) / 2.0;
    let variance = n1 * n2 / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)));
    (variance > 0.0).then(|| normal_two_sided((excess.abs() - 0.5).max(0.0) / variance.sqrt()))
}

/// Upper p of the Kruskal-Wallis test by the chi-squared approximation, with tie correction.
///
/// `groups` names the group of each number. None below two groups or where all numbers are equal.
pub(crate) fn kruskal_wallis(numbers: &[f64], groups: &[usize]) -> Option<f64> {
    let (ranks, ties) = doubled_ranks(numbers);
    let n = numbers.len() as f64;
    let mut sums = std::collections::BTreeMap::<usize, (f64, f64)>::new();
    for (rank, group) in ranks.iter().zip(groups) {
        let (sum, size) = sums.entry(*group).or_default();
        *sum += f64::from(*rank) / 2.0;
        *size += 1.0;
    }
    let between: f64 = sums.values().map(|(sum, size)| sum * sum / size).sum();
    let untied = 1.0 - ties / (n.powi(3) - n);
    if sums.len() < 2 || untied.is_nan() || untied <= 0.0 {
        return None;
    }
    let statistic = (12.0 / (n * (n + 1.0)) * between - 3.0 * (n + 1.0)) / untied;
    Some(chi_squared_upper(statistic, sums.len() as f64 - 1.0))
}

/// Spearman's rank correlation of `numbers` with their position, and its two-sided p.
///
/// The p is exact (all permutations, ties included) up to nine numbers, by Student's law beyond. None below four
/// numbers or where all are equal.
pub(crate) fn spearman_with_position(numbers: &[f64]) -> Option<(f64, f64)> {
    if numbers.len() < 4 {
        return None;
    }
    let (ranks, _) = doubled_ranks(numbers);
    let n = numbers.len() as f64;
    let centred = |rank: f64| rank - (n + 1.0);
    let positions: Vec<u32> = (1..=crate::count(numbers.len())).map(|position| 2 * position).collect();
    let product: f64 =
        ranks.iter().zip(&positions).map(|(a, b)| centred(f64::from(*a)) * centred(f64::from(*b))).sum();
    let square = |of: &[u32]| of.iter().map(|rank| centred(f64::from(*rank)).powi(2)).sum::<f64>();
    let scale = (square(&ranks) * square(&positions)).sqrt();
    if scale <= 0.0 {
        return None;
    }
    let correlation = (product / scale).clamp(-1.0, 1.0);
    let freedom = n - 2.0;
    let t = correlation.abs() * (freedom / (1.0 - correlation * correlation).max(f64::MIN_POSITIVE)).sqrt();
    let approximate = student_two_sided(t, freedom);
    // Student's law is only ever too small here in the far tail, so the slow exact sum is kept for that.
    if numbers.len() <= 9 && approximate < 0.05 {
        return Some((correlation, permutation_p(&ranks, &positions)));
    }
    Some((correlation, approximate))
}

/// The share of permutations whose sum of products of doubled ranks is at least as far from its mean.
fn permutation_p(ranks: &[u32], positions: &[u32]) -> f64 {
    let n = ranks.len();
    let product = |rank: u32, position: u32| (rank * position) as usize;
    let observed: usize = ranks.iter().zip(positions).map(|(rank, position)| product(*rank, *position)).sum();
    // Rank sums are n (n + 1) whatever the ties, so the mean of the sum of products is n (n + 1)^2.
    let mean = n * (n + 1) * (n + 1);
    let largest: usize = positions.iter().map(|position| (position * position) as usize).sum();
    // ways[set] counts, by sum, the ways to give the ranks in `set` the first positions.
    let mut ways: Vec<Vec<f64>> = vec![Vec::new(); 1 << n];
    ways[0] = vec![1.0];
    for set in 0..ways.len() {
        let Some(position) = positions.get(set.count_ones() as usize) else { continue };
        let current = std::mem::take(&mut ways[set]);
        for (index, rank) in ranks.iter().enumerate().filter(|(index, _)| set & (1 << index) == 0) {
            let target = &mut ways[set | (1 << index)];
            target.resize(largest + 1, 0.0);
            for (sum, count) in current.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                target[sum + product(*rank, *position)] += count;
            }
        }
    }
    let all = ways.pop().unwrap_or_default();
    let far: f64 = all
        .iter()
        .enumerate()
        .filter(|(sum, _)| sum.abs_diff(mean) >= observed.abs_diff(mean))
        .map(|(_, count)| count)
        .sum();
    far / all.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_mean_rank() {
        let (ranks, ties) = doubled_ranks(&[3.0, 1.0, 3.0, 2.0]);
        assert_eq!(ranks, [7, 2, 7, 4]);
        assert!((ties - 6.0).abs() < 1e-12);
    }

    #[test]
    fn rank_correlation_is_exact_for_few_numbers() {
        // scipy.stats.spearmanr of 1, 2, 3, 4, 6, 5 gives r = 0.942857; 12 of 720 orders are as extreme.
        let (r, p) = spearman_with_position(&[0.1, 0.2, 0.3, 0.4, 0.6, 0.5]).unwrap();
        assert!((r - 0.942_857_142_857).abs() < 1e-9 && (p - 12.0 / 720.0).abs() < 1e-12, "{r} {p}");
        let (r, p) = spearman_with_position(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        assert!((r + 1.0).abs() < 1e-12 && (p - 2.0 / 720.0).abs() < 1e-12, "{r} {p}");
        assert_eq!(spearman_with_position(&[1.0; 8]), None);
    }

    #[test]
    fn two_groups_of_kruskal_wallis_are_mann_whitney_without_continuity() {
        // H = 12/(6*7) * (36/3 + 225/3) - 21 = 3.857 on one degree of freedom.
        let p = kruskal_wallis(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[0, 0, 0, 1, 1, 1]).unwrap();
        assert!((p - 0.049_534_613_435_626).abs() < 1e-9, "{p}");
        assert_eq!(kruskal_wallis(&[1.0, 2.0], &[0, 0]), None);
        assert_eq!(kruskal_wallis(&[1.0, 1.0], &[0, 1]), None);
        assert_eq!(mann_whitney_normal(&[1.0], &[]), None);
    }
}
