//! The exact law of the weighted sum of Mann and Whitney's U over strata (van Elteren 1960).

/// Weights are rounded to at most this, where least whole numbers would be larger: any weights that depend on sizes alone are
/// exact, and van Elteren's are only the most powerful.
const LARGEST_WEIGHT: u64 = 60;

/// The chances of U = 0, 1, ... for two samples of these sizes if nothing sets them apart.
///
/// The generating function is the Gaussian binomial, the product of (1 - x^(n+i)) / (1 - x^i); each factor is scaled so that the
/// chances stay chances.
pub(super) fn of_u(first: usize, second: usize) -> Vec<f64> {
    let (few, many) = (first.min(second), first.max(second));
    let mut law = vec![0.0; few * many + 1];
    law[0] = 1.0;
    for i in 1..=few {
        let top = many + i;
        for sum in (top..law.len()).rev() {
            law[sum] -= law[sum - top];
        }
        for sum in i..law.len() {
            law[sum] += law[sum - i];
        }
        let scale = i as f64 / top as f64;
        for chance in &mut law {
            *chance *= scale;
        }
    }
    // The upper half loses digits to subtraction; the law is symmetrical.
    let last = law.len() - 1;
    for sum in 0..=last / 2 {
        law[last - sum] = law[sum];
    }
    law
}

/// The weight of each stratum, as least whole numbers in proportion to 1 / (hosts + 1).
pub(super) fn weights(sizes: &[(usize, usize)]) -> Vec<u64> {
    let hosts: Vec<u64> = sizes.iter().map(|(first, second)| (first + second) as u64 + 1).collect();
    let common =
        hosts.iter().try_fold(1u64, |multiple, host| (multiple / gcd(multiple, *host)).checked_mul(*host));
    let exact: Option<Vec<u64>> = common.map(|common| hosts.iter().map(|host| common / host).collect());
    let reduced = exact.map(|all| {
        let divisor = all.iter().copied().fold(0, gcd).max(1);
        all.into_iter().map(|weight| weight / divisor).collect::<Vec<u64>>()
    });
    if let Some(small) = reduced.filter(|all| all.iter().all(|weight| *weight <= LARGEST_WEIGHT)) {
        return small;
    }
    let fewest = hosts.iter().copied().min().unwrap_or(1);
    hosts.iter().map(|host| ((LARGEST_WEIGHT * fewest + host / 2) / host).max(1)).collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The largest weighted sum whose chance to be that small or smaller is at most `level`; none where even 0 is too likely.
pub(super) fn limit(sizes: &[(usize, usize)], weights: &[u64], level: f64) -> Option<u64> {
    let mut law = vec![1.0];
    for ((first, second), weight) in sizes.iter().zip(weights) {
        let of_stratum = of_u(*first, *second);
        let weight = usize::try_from(*weight).ok()?;
        let mut sum = vec![0.0; law.len() + weight * (of_stratum.len() - 1)];
        for (u, chance) in of_stratum.iter().enumerate() {
            for (before, so_far) in law.iter().enumerate() {
                sum[before + weight * u] += chance * so_far;
            }
        }
        law = sum;
    }
    let within = law
        .iter()
        .scan(0.0, |total, chance| {
            *total += chance;
            Some(*total)
        })
        // The slack forgives the rounding of sums of chances.
        .take_while(|total| *total <= level * (1.0 + 1e-9))
        .count();
    within.checked_sub(1).map(|limit| limit as u64)
}
