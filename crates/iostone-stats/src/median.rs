//! Summaries of one configuration's figures by order statistics, which assume no shape of the noise.
//!
//! They are context for the reader, never the comparison: trials of one configuration depend on each other over
//! time, and an interval from them is then too narrow. Comparisons are made within blocks.

use std::collections::BTreeMap;

pub use iostone_model::median::median;
use iostone_model::median::median_of_sorted;
use iostone_model::verdict::ConfigurationSummary;

use crate::special::binomial_cdf;

/// What turns a median absolute deviation into a standard deviation for normal numbers: 1 / 0.6745.
pub(crate) const NORMAL_SCALE: f64 = 1.4826;

/// The numeric parts of a configuration's summary, in the figures' own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many figures there are, runs that never ended included.
    pub trials: u32,
    /// Their median; none without figures, or where most runs never ended.
    pub median: Option<f64>,
    /// The order-statistic interval of the median; none where there are too few figures or an end is not finite.
    pub median_interval: [Option<f64>; 2],
    /// The smallest figure.
    pub minimum: Option<f64>,
    /// The largest figure; none where a run never ended.
    pub maximum: Option<f64>,
    /// Robust coefficient of variation as a fraction: 1.4826 times the median absolute deviation, over the median.
    pub cv: Option<f64>,
}

impl Summary {
    /// The summary of a configuration with that name and those levels, `invalid_trials` of it not counted.
    pub fn of_configuration(
        self,
        name: String,
        levels: BTreeMap<String, String>,
        invalid_trials: u32,
    ) -> ConfigurationSummary {
        ConfigurationSummary {
            name,
            levels,
            trials: self.trials,
            invalid_trials,
            median: self.median,
            median_interval: self.median_interval,
            minimum: self.minimum,
            maximum: self.maximum,
            cv: self.cv,
            points: BTreeMap::new(),
        }
    }
}

/// Summarises the figures of one level; `confidence` (0.95, say) is that of the median's interval.
///
/// Infinite figures stand for runs that never ended; they take part by rank, and whatever would come out infinite
/// is none.
pub fn summarize(figures: &[f64], confidence: f64) -> Summary {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let sorted = sort(figures);
    let middle = median_of_sorted(&sorted).and_then(finite);
    let interval = median_interval(figures, confidence);
    let deviation = middle.filter(|_| sorted.len() > 1).and_then(|centre| median_deviation(figures, centre));
    Summary {
        trials: crate::count(figures.len()),
        median: middle,
        median_interval: interval.map_or([None, None], |ends| ends.map(finite)),
        minimum: sorted.first().copied().and_then(finite),
        maximum: sorted.last().copied().and_then(finite),
        cv: middle.zip(deviation).and_then(|(centre, deviation)| finite(NORMAL_SCALE * deviation / centre)),
    }
}

/// The interval of the median between two order statistics, at no less than `confidence`.
///
/// With `r` the largest number for which `1 - 2 P(Binomial(n, 1/2) <= r)` is at least `confidence`, it reaches from
/// the `r`-th smallest to the `r`-th largest figure, counted from 0 (Thompson 1936). At 95 % that takes six figures;
/// below, none. Given the medians of independent days or hosts it is an interval over those.
pub fn median_interval(figures: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let sorted = sort(figures);
    let rank = interval_rank(sorted.len(), confidence)?;
    Some([*sorted.get(rank)?, *sorted.get(sorted.len().checked_sub(rank + 1)?)?])
}

/// The `r` of [`median_interval`] for `count` figures.
pub(crate) fn interval_rank(count: usize, confidence: f64) -> Option<usize> {
    let outside = |rank: usize| 2.0 * binomial_cdf(rank as u64, count as u64, 0.5);
    // 1e-12 forgives the rounding of `1 - confidence` where a size carries the confidence exactly.
    let (mut low, mut high) = (0, count / 2);
    while low < high {
        let middle = low.midpoint(high);
        if 1.0 - outside(middle) >= confidence - 1e-12 {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1)
}

/// The median distance from `centre`.
pub(crate) fn median_deviation(numbers: &[f64], centre: f64) -> Option<f64> {
    let distances: Vec<f64> = numbers.iter().map(|number| (number - centre).abs()).collect();
    median(&distances)
}

pub(crate) fn sort(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The robust standard deviation of Shamos (1976): the median distance of two numbers over 0.9539, that of normal ones.
///
/// Unlike the median deviation about a centre it needs no centre, and is less often far too small for few numbers. None below
/// two.
pub(crate) fn shamos_spread(numbers: &[f64]) -> Option<f64> {
    const OF_NORMAL: f64 = 0.9539;
    let pairs = numbers
        .iter()
        .enumerate()
        .flat_map(|(index, one)| numbers.iter().take(index).map(move |other| (one - other).abs()));
    median(pairs).map(|distance| distance / OF_NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn interval_ranks_match_the_vectors() {
        for case in vectors::list("median_ci") {
            let rank = interval_rank(vectors::whole(&case["n"]) as usize, 0.95);
            assert_eq!(rank.map(|rank| rank as u64), case["r"].as_u64(), "{case}");
        }
    }

    #[test]
    fn the_example_of_seven_figures_matches_the_vectors() {
        let example = vectors::map("median_ci_example");
        let summary = summarize(&vectors::numbers(&example["x"]), 0.95);
        vectors::assert_close(summary.median.unwrap(), &example["median"]);
        assert_eq!(summary.median_interval.map(Option::unwrap).to_vec(), vectors::numbers(&example["ci"]));
        assert_eq!((summary.trials, summary.minimum, summary.maximum), (7, Some(193.24), Some(199.02)));
    }

    #[test]
    fn five_figures_carry_no_interval() {
        let summary = summarize(&[198.832, 198.525, 197.24, 198.003, 193.24], 0.95);
        assert_eq!(summary.median, Some(198.003));
        assert_eq!(summary.median_interval, [None, None]);
        assert!((summary.cv.unwrap() - NORMAL_SCALE * 0.763 / 198.003).abs() < 1e-12);
    }

    #[test]
    fn no_infinite_number_leaves_a_summary() {
        let summary = summarize(&[1.0, f64::INFINITY, f64::INFINITY], 0.95);
        assert_eq!((summary.median, summary.minimum, summary.maximum), (None, Some(1.0), None));
        assert_eq!(summarize(&[], 0.95).trials, 0);
        assert_eq!(summarize(&[2.0], 0.95).cv, None);
    }

    #[test]
    fn thousands_of_figures_have_an_interval() {
        let figures: Vec<f64> = (0..5001).map(f64::from).collect();
        let [low, high] = median_interval(&figures, 0.95).unwrap();
        // The normal approximation: 2500 plus or minus 1.96 sqrt(5001) / 2.
        assert!((low - 2430.0).abs() <= 1.0 && (high - 2570.0).abs() <= 1.0, "{low} {high}");
    }
}
