//! Where the warm-up of a time series ends (MSER-5), and one cut for several series.
//!
//! A cut is found on pilots and then declared for all trials. Cutting each trial where its own series asks for it
//! would let noise choose the data: the figure of a trial would depend on the very fluctuations that it should average.

use std::fmt;

/// Samples in one batch of MSER-5.
pub const BATCH: usize = 5;
/// Below so many batches there are less than two places to cut at.
const FEWEST_BATCHES: usize = 3;
/// From so many series on the common cut is a percentile, so that one odd series does not decide for all.
pub const PERCENTILE_FROM: usize = 20;
const PERCENTILE: usize = 90;

/// Where MSER-5 cuts a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Samples to be left out at the start, a multiple of [`BATCH`].
    pub samples: usize,
    /// Whether no later cut was admissible: the warm-up may go on beyond half of the series, so the cut says little
    /// and a longer series is needed.
    pub at_limit: bool,
}

/// The cut of MSER-5: with `z` the means of successive batches of five samples (`m` of them, an incomplete last batch
/// left out), `5 d` for the smallest `d < m/2` that minimises `sum_{i>=d} (z_i - mean_{i>=d})^2 / (m - d)^2`, which is
/// the squared standard error of the mean of what is left.
///
/// MSER: White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997).
/// Batches of five and the limit of one half: White, Cobb and Spratt, "A comparison of five steady-state truncation
/// heuristics for simulation", Winter Simulation Conference 2000. Linear in the length of the series.
///
/// None for fewer than 15 samples, and where a sample is not finite.
pub fn mser5(samples: &[f64]) -> Option<Cut> {
    let means: Vec<f64> =
        samples.as_chunks::<BATCH>().0.iter().map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let batches = means.len();
    if batches < FEWEST_BATCHES || means.iter().any(|mean| !mean.is_finite()) {
        return None;
    }
    let mut best = (0, f64::INFINITY);
    // From the end, so that each step adds one batch. Welford's update, because the difference of two large sums of
    // squares would drown the small ones that are compared here.
    let (mut mean, mut squares) = (0.0, 0.0);
    for (kept, (first, batch)) in (1_usize..).zip(means.iter().enumerate().rev()) {
        let off = batch - mean;
        mean += off / kept as f64;
        squares += off * (batch - mean);
        let error = squares / (kept as f64 * kept as f64);
        // Not `<`: of equals the smallest cut wins, and it comes last.
        if 2 * first < batches && error <= best.1 {
            best = (first, error);
        }
    }
    let (first, _) = best;
    Some(Cut { samples: BATCH * first, at_limit: 2 * (first + 1) >= batches })
}

/// How a common cut follows from several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutRule {
    /// The largest of all.
    Largest,
    /// The 90th percentile, from [`PERCENTILE_FROM`] series on.
    Percentile90,
}

impl CutRule {
    /// The rule for a number of series.
    pub fn of(series: usize) -> Self {
        if series >= PERCENTILE_FROM { Self::Percentile90 } else { Self::Largest }
    }
}

impl fmt::Display for CutRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Largest => "largest",
            Self::Percentile90 => "90th percentile",
        })
    }
}

/// One cut for all series: the largest, or from 20 series on the 90th percentile (the smallest cut that at least 90 %
/// of them do not exceed). In whatever unit the cuts are; none for no cuts.
pub fn common_cut<T: Ord + Copy>(cuts: &[T]) -> Option<(T, CutRule)> {
    let mut sorted = cuts.to_vec();
    sorted.sort_unstable();
    let rule = CutRule::of(sorted.len());
    let rank = match rule {
        CutRule::Largest => sorted.len(),
        CutRule::Percentile90 => (sorted.len() * PERCENTILE).div_ceil(100),
    };
    Some((*sorted.get(rank.checked_sub(1)?)?, rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;
    use proptest::prelude::*;

    /// The definition, word for word.
    fn by_definition(samples: &[f64]) -> Vec<f64> {
        let means: Vec<f64> = samples.chunks_exact(5).map(|batch| batch.iter().sum::<f64>() / 5.0).collect();
        let m = means.len();
        (0..m)
            .filter(|d| (*d as f64) < m as f64 / 2.0)
            .map(|d| {
                let left = &means[d..];
                let mean = left.iter().sum::<f64>() / left.len() as f64;
                left.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / ((m - d) as f64).powi(2)
            })
            .collect()
    }

    #[test]
    fn cuts_match_the_vectors() {
        for case in vectors::list("mser5") {
            let cut = mser5(&vectors::numbers(&case["y"])).unwrap();
            assert_eq!(cut.samples as u64, case["cut"].as_u64().unwrap());
            assert!(!cut.at_limit);
        }
    }

    #[test]
    fn a_series_that_only_falls_is_cut_at_the_limit() {
        let falling: Vec<f64> = (0..100).map(|i| 200.0 - f64::from(i)).collect();
        // Twenty batches: the last admissible cut leaves out nine.
        assert_eq!(mser5(&falling), Some(Cut { samples: 45, at_limit: true }));
        assert_eq!(mser5(&falling[..75]), Some(Cut { samples: 35, at_limit: true }));
    }

    #[test]
    fn a_step_is_cut_where_it_ends() {
        let mut step = vec![10.0; 30];
        step.extend([100.0; 90]);
        assert_eq!(mser5(&step), Some(Cut { samples: 30, at_limit: false }));
    }

    #[test]
    fn too_little_and_what_is_no_number_is_not_cut() {
        assert_eq!(mser5(&[1.0; 14]), None);
        assert_eq!(mser5(&[1.0; 15]), Some(Cut { samples: 0, at_limit: false }));
        assert_eq!(mser5(&[f64::NAN; 50]), None);
        assert_eq!(mser5(&[f64::INFINITY; 50]), None);
        // An incomplete last batch plays no part, whatever it holds.
        let mut ragged = vec![1.0; 50];
        ragged.extend([f64::NAN; 4]);
        assert_eq!(mser5(&ragged).unwrap().samples, 0);
    }

    #[test]
    fn the_common_cut_is_the_largest_and_of_many_the_90th_percentile() {
        assert_eq!(common_cut::<u64>(&[]), None);
        assert_eq!(common_cut(&[3, 9, 4]), Some((9, CutRule::Largest)));
        let nineteen: Vec<u32> = (1..=19).collect();
        assert_eq!(common_cut(&nineteen), Some((19, CutRule::Largest)));
        let twenty: Vec<u32> = (1..=20).rev().collect();
        assert_eq!(common_cut(&twenty), Some((18, CutRule::Percentile90)));
    }

    fn series() -> impl Strategy<Value = Vec<f64>> {
        // Whole numbers, as the counts of a time series are.
        prop::collection::vec((0u32..10_000).prop_map(f64::from), 15..200)
    }

    proptest! {
        #[test]
        fn the_linear_scan_agrees_with_the_definition(samples in series()) {
            let cut = mser5(&samples).unwrap();
            let errors = by_definition(&samples);
            let found = errors[cut.samples / 5];
            let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(found <= least * (1.0 + 1e-9) + 1e-9, "{found} against {least}");
            prop_assert_eq!(cut.at_limit, cut.samples / 5 + 1 == errors.len());
        }

        #[test]
        fn another_unit_cuts_at_the_same_place(samples in series(), exponent in -20i32..20) {
            // Powers of two are exact, so not even a tie can come out otherwise.
            let factor = 2f64.powi(exponent);
            let scaled: Vec<f64> = samples.iter().map(|sample| sample * factor).collect();
            prop_assert_eq!(mser5(&samples), mser5(&scaled));
        }

        #[test]
        fn a_shift_leaves_the_cut_as_good_as_it_was(samples in series(), shift in -1e6..1e6) {
            let shifted: Vec<f64> = samples.iter().map(|sample| sample + shift).collect();
            let errors = by_definition(&samples);
            let (one, other) = (mser5(&samples).unwrap(), mser5(&shifted).unwrap());
            let (one, other) = (errors[one.samples / 5], errors[other.samples / 5]);
            prop_assert!((one - other).abs() <= 1e-6 * one.max(other) + 1e-3, "{one} against {other}");
        }

        #[test]
        fn less_than_half_is_cut(samples in series()) {
            let cut = mser5(&samples).unwrap();
            prop_assert!(cut.samples * 2 < samples.len() && cut.samples.is_multiple_of(5));
        }

        #[test]
        fn a_common_cut_is_one_of_the_cuts_and_covers_nine_in_ten(cuts in prop::collection::vec(0u64..100, 1..60)) {
            let (common, _) = common_cut(&cuts).unwrap();
            prop_assert!(cuts.contains(&common));
            let covered = cuts.iter().filter(|cut| **cut <= common).count();
            prop_assert!(covered * 10 >= cuts.len() * 9);
        }
    }
}
