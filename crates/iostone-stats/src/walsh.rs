//! Walsh averages: the typical block log ratio and its interval (Hodges and Lehmann 1963; Tukey 1949).

use iostone_model::median::median_of_sorted;

/// A closed interval of log ratios; infinite where unbounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end; below the lower end when the intersection of several intervals is empty.
    pub upper: f64,
}

impl Interval {
    /// The interval that excludes nothing.
    pub const ALL: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };

    /// What both intervals hold.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }

    /// Whether it holds no number at all.
    pub fn is_empty(self) -> bool {
        self.lower > self.upper
    }

    /// Whether `value` lies within it, ends included.
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// The averages of all pairs of numbers, each number with itself included, sorted.
#[derive(Debug, Clone)]
pub(crate) struct WalshAverages {
    sorted: Vec<f64>,
}

impl WalshAverages {
    /// All n (n + 1) / 2 averages of `numbers`.
    pub(crate) fn of(numbers: &[f64]) -> Self {
        let mut sorted = Vec::with_capacity(numbers.len() * (numbers.len() + 1) / 2);
        for (i, first) in numbers.iter().enumerate() {
            sorted.extend(numbers[i..].iter().map(|second| f64::midpoint(*first, *second)));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        Self { sorted }
    }

    /// The same with each of the `differences` between the trials of a superblock counted twice, as the U of Mann and Whitney
    /// is in `2 U + W`.
    pub(crate) fn after(differences: &[f64], numbers: &[f64]) -> Self {
        let Self { mut sorted } = Self::of(numbers);
        sorted.extend(differences.iter().flat_map(|difference| [*difference; 2]));
        sorted.sort_unstable_by(f64::total_cmp);
        Self { sorted }
    }

    /// Their median, the Hodges-Lehmann estimate: the centre of the numbers if their law is symmetrical.
    pub(crate) fn estimate(&self) -> Option<f64> {
        median_of_sorted(&self.sorted)
    }

    /// The centres that a signed-rank test with the deciding rank sum `limit` does not reject.
    pub(crate) fn interval(&self, limit: u32) -> Option<Interval> {
        let low = limit as usize;
        let high = self.sorted.len().checked_sub(low + 1)?;
        Some(Interval { lower: *self.sorted.get(low)?, upper: *self.sorted.get(high)? })
    }
}

/// The typical value of `numbers` (Hodges-Lehmann) and their spread about it.
///
/// The spread is `1.4826 * median |x - typical| * sqrt(n / (n - 1))`: 1.4826 makes the median deviation a standard
/// deviation for normal numbers, the root corrects for the centre having been estimated. None below two numbers.
pub(crate) fn centre_and_spread(numbers: &[f64]) -> Option<(f64, f64)> {
    if numbers.len() < 2 {
        return None;
    }
    let centre = WalshAverages::of(numbers).estimate()?;
    let n = numbers.len() as f64;
    let deviation = crate::median::median_deviation(numbers, centre)?;
    Some((centre, crate::median::NORMAL_SCALE * deviation * (n / (n - 1.0)).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn estimates_and_intervals_match_the_vectors() {
        for case in vectors::list("walsh_intervals") {
            let averages = WalshAverages::of(&vectors::numbers(&case["d"]));
            vectors::assert_close(averages.estimate().unwrap(), &case["estimate"]);
            for expected in case["intervals"].as_array().unwrap() {
                let interval = averages.interval(vectors::whole(&expected["k"])).unwrap();
                vectors::assert_close(interval.lower, &expected["lo"]);
                vectors::assert_close(interval.upper, &expected["hi"]);
            }
        }
    }

    #[test]
    fn the_spread_matches_the_vectors() {
        for case in vectors::list("sigma_hat") {
            let (_, spread) = centre_and_spread(&vectors::numbers(&case["d"])).unwrap();
            vectors::assert_close(spread, &case["sigma"]);
        }
        assert_eq!(centre_and_spread(&[0.1]), None);
    }
}
