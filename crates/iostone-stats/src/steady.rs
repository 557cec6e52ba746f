//! Whether a time series is steady: five windows that neither scatter nor climb by more than SNIA's limits.

use std::fmt;

use crate::warmup::mser5;

/// Windows that are compared, as the rounds of SNIA's rule.
pub const WINDOWS: usize = 5;
/// The largest excursion, `max - min` of the windows' means, as a share of their mean.
pub const RANGE_LIMIT: f64 = 0.20;
/// The largest slope: the change of the fitted line from the first window to the last, as a share of their mean.
pub const SLOPE_LIMIT: f64 = 0.10;
/// The one-sided 90 % quantile of the normal distribution.
const QUANTILE: f64 = 1.282;
/// The largest autocorrelation that is assumed: beyond it a window is hardly longer than the memory of the series.
const LARGEST_AUTOCORRELATION: f64 = 0.95;

/// What the five windows of a series say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Windows {
    /// The mean of each, in the order of time.
    pub means: [f64; WINDOWS],
    /// The mean of the windows.
    pub mean: f64,
    /// `max - min` of the windows' means over their mean.
    pub range: f64,
    /// Four times the slope of the least-squares line through the windows' means (its change from the first window to
    /// the last) over their mean; below zero where the series falls.
    pub slope: f64,
    /// Standard error of one window's mean over the mean of the windows, from the scatter of the samples within the windows
    /// and their autocorrelation; 0 where a window holds a single sample.
    pub error: f64,
}

impl Windows {
    /// Whether neither limit is broken by more than the scatter of the samples explains.
    ///
    /// SNIA's rounds last minutes; windows of a second scatter by themselves. A limit counts as broken where the figure lies
    /// above it by [`QUANTILE`] of its standard errors: `error * sqrt(2)` of a difference of two windows, `4 error / sqrt(10)` of
    /// the slope. How often steady series are called unsteady all the same stands in `docs/concepts/warm-up.md`.
    pub fn is_steady(&self) -> bool {
        !self.is_too_wide() && !self.is_too_steep()
    }

    fn is_too_wide(&self) -> bool {
        self.range > RANGE_LIMIT + QUANTILE * self.error * 2f64.sqrt()
    }

    fn is_too_steep(&self) -> bool {
        self.slope.abs() > SLOPE_LIMIT + QUANTILE * self.error * 4.0 / 10f64.sqrt()
    }

    /// Which limits are broken, in words with the figures; none where the series is steady.
    pub fn complaint(&self) -> Option<String> {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let way = if self.slope < 0.0 { "falls" } else { "rises" };
        // Rounded figures must not read "10 %, limit 10 %".
        let precise = |share: f64| format!("{:.1} %", share * 100.0);
        let slope = self.is_too_steep().then(|| {
            format!("it {way} by {} of its mean (limit {})", precise(self.slope.abs()), percent(SLOPE_LIMIT))
        });
        let range = self.is_too_wide().then(|| {
            format!("its windows lie {} apart (limit {})", precise(self.range), percent(RANGE_LIMIT))
        });
        match (slope, range) {
            (Some(slope), Some(range)) => Some(format!("{slope} and {range}")),
            (one, other) => one.or(other),
        }
    }
}

/// Cuts a series into five equal windows and says how far they scatter and climb.
///
/// The rule is that of the SNIA Solid State Storage Performance Test Specification (PTS), there for five rounds: the
/// excursion within 20 % of the average and the fitted line within 10 %. Samples that do not fill five equal windows are
/// left out at the start, next to the warm-up.
///
/// None for fewer than five samples, where a sample or the mean is not finite, and where the mean is not above zero: of
/// nothing no share can be told.
pub fn windows(samples: &[f64]) -> Option<Windows> {
    let length = samples.len() / WINDOWS;
    let used = samples.get(samples.len() % WINDOWS..)?;
    if length == 0 || used.iter().any(|sample| !sample.is_finite()) {
        return None;
    }
    let mut means = [0.0; WINDOWS];
    for (mean, window) in means.iter_mut().zip(used.chunks_exact(length)) {
        *mean = window.iter().sum::<f64>() / length as f64;
    }
    let mean = means.iter().sum::<f64>() / WINDOWS as f64;
    if !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    let highest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = means.iter().copied().fold(f64::INFINITY, f64::min);
    // Least squares on the places -2 to 2, whose squares add up to 10.
    let slope =
        means.iter().zip([-2.0, -1.0, 0.0, 1.0, 2.0]).map(|(mean, place)| mean * place).sum::<f64>() / 10.0;
    let error = standard_error(used, length) / mean;
    Some(Windows { means, mean, range: (highest - lowest) / mean, slope: 4.0 * slope / mean, error })
}

/// Standard error of a window's mean, in the unit of the samples: the median over the windows of `s sqrt((1 + r) / (1 - r) / n)`,
/// with the variance `s²` of a window's `n` samples and the autocorrelation `r` of neighbours, freed of its bias
/// in short series (Marriott and Pope, "Bias in the estimation of autocorrelations", Biometrika 41, 1954). The median, since a warm-up
/// that was left in makes one window scatter more than the others.
fn standard_error(samples: &[f64], length: usize) -> f64 {
    let n = length as f64;
    let mut errors: Vec<f64> = samples
        .chunks_exact(length)
        .map(|window| {
            let mean = window.iter().sum::<f64>() / n;
            let squares: f64 = window.iter().map(|sample| (sample - mean).powi(2)).sum();
            if length < 2 || squares <= 0.0 || !squares.is_finite() {
                return 0.0;
            }
            let neighbours = window.iter().zip(window.iter().skip(1));
            let products: f64 = neighbours.map(|(one, next)| (one - mean) * (next - mean)).sum();
            let found = products / squares;
            let freed = (found + (1.0 + 3.0 * found) / n).clamp(0.0, LARGEST_AUTOCORRELATION);
            (squares / (n - 1.0) / n * (1.0 + freed) / (1.0 - freed)).sqrt()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    errors.get(WINDOWS / 2).copied().unwrap_or(0.0)
}

/// The fewest samples a window should hold for [`check_counts`].
const WINDOW_SAMPLES: usize = 5;
/// The fewest operations a window should hold on average: with fewer, those that straddle its ends move its mean by
/// more than a percent.
const WINDOW_OPERATIONS: u64 = 100;

/// What [`check_counts`] came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Steadiness {
    /// Both limits are kept.
    Steady(Windows),
    /// A limit is broken.
    NotSteady(Windows),
    /// The series bears no check.
    NotChecked(Unchecked),
}

/// Why a series bears no check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchecked {
    /// It has fewer samples than five windows need.
    Short {
        /// Samples there are.
        samples: usize,
        /// Samples needed.
        needed: usize,
    },
    /// It has fewer operations than five windows need.
    Sparse {
        /// Operations there are.
        operations: u64,
        /// Operations needed.
        needed: u64,
    },
}

/// Checks the operations completed in each interval of a measured time.
///
/// Less than 25 intervals, or less than 500 operations, are not checked: the limits would then be broken by counting
/// alone.
pub fn check_counts(operations: &[u64]) -> Steadiness {
    let needed = WINDOWS * WINDOW_SAMPLES;
    if operations.len() < needed {
        return Steadiness::NotChecked(Unchecked::Short { samples: operations.len(), needed });
    }
    let total: u64 = operations.iter().fold(0, |sum, count| sum.saturating_add(*count));
    let enough = WINDOWS as u64 * WINDOW_OPERATIONS;
    let sparse = Steadiness::NotChecked(Unchecked::Sparse { operations: total, needed: enough });
    if total < enough {
        return sparse;
    }
    let samples: Vec<f64> = operations.iter().map(|count| *count as f64).collect();
    match windows(&samples) {
        Some(windows) if windows.is_steady() => Steadiness::Steady(windows),
        Some(windows) => Steadiness::NotSteady(windows),
        None => sparse,
    }
}

/// The share of an interval by which a measured time may fall short of the interval's end.
const SLACK: f64 = 0.01;

/// The operations of those intervals that the measured time covers whole: the last of a series may have been cut short,
/// or hold what completed in the very last moment.
pub fn whole_intervals(operations: &[u64], measured_seconds: f64, interval_seconds: f64) -> &[u64] {
    let covered = measured_seconds / interval_seconds + SLACK;
    let whole = (1_u32..).zip(operations).take_while(|(ends, _)| f64::from(*ends) <= covered).count();
    operations.get(..whole).unwrap_or_default()
}

/// What one series says of itself: from where on it is steady, or why it is not.
///
/// For a report on a single series only. A comparison needs one cut that is declared for all its trials, see
/// [`crate::warmup`].
#[derive(Debug, Clone, PartialEq)]
pub enum Onset {
    /// Steady from here to the end.
    SteadyFrom {
        /// Seconds from the start of the series.
        seconds: f64,
        /// The windows of what follows.
        windows: Windows,
    },
    /// The warm-up may well last beyond half of the series.
    StillWarmingUp {
        /// Length of the series in seconds.
        seconds: f64,
    },
    /// Not steady even behind the cut.
    NotSteady {
        /// The cut in seconds from the start of the series.
        from_seconds: f64,
        /// The windows of what follows.
        windows: Windows,
    },
    /// Too short, or with too few operations, to say anything.
    Unknown {
        /// Why, behind the cut where there is one.
        why: Unchecked,
        /// Seconds that an interval lasts.
        interval_seconds: f64,
    },
}

impl Onset {
    /// Judges the operations completed in each interval (see [`whole_intervals`]): cut by MSER-5, then checked by
    /// [`check_counts`].
    ///
    /// ```
    /// use iostone_stats::steady::Onset;
    /// let mut operations = vec![200; 20];
    /// operations.extend([1000; 100]);
    /// let onset = Onset::of(&operations, 0.1);
    /// assert_eq!(onset.to_string(), "steady from 2.0 s on");
    /// ```
    pub fn of(operations: &[u64], interval_seconds: f64) -> Self {
        let samples: Vec<f64> = operations.iter().map(|count| *count as f64).collect();
        let Some(cut) = mser5(&samples) else {
            let needed = WINDOWS * WINDOW_SAMPLES;
            let why = Unchecked::Short { samples: samples.len(), needed };
            return Self::Unknown { why, interval_seconds };
        };
        let from_seconds = cut.samples as f64 * interval_seconds;
        match check_counts(operations.get(cut.samples..).unwrap_or_default()) {
            Steadiness::NotChecked(why) => Self::Unknown { why, interval_seconds },
            _ if cut.at_limit => Self::StillWarmingUp { seconds: samples.len() as f64 * interval_seconds },
            Steadiness::Steady(windows) => Self::SteadyFrom { seconds: from_seconds, windows },
            Steadiness::NotSteady(windows) => Self::NotSteady { from_seconds, windows },
        }
    }

    /// Seconds from which on the series is steady; none where it is not, or where nothing can be said.
    pub fn steady_from_seconds(&self) -> Option<f64> {
        match self {
            Self::SteadyFrom { seconds, .. } => Some(*seconds),
            _ => None,
        }
    }
}

impl fmt::Display for Onset {
    /// "steady from 2.0 s on", "not steady: ...", "steadiness unknown: ...".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SteadyFrom { seconds, .. } if *seconds <= 0.0 => f.write_str("steady from the start"),
            Self::SteadyFrom { seconds, .. } => write!(f, "steady from {seconds:.1} s on"),
            Self::StillWarmingUp { seconds } => {
                write!(
                    f,
                    "not steady: the rate still settles in the second half of {seconds:.1} s; run longer"
                )
            }
            Self::NotSteady { from_seconds, windows } => {
                let complaint = windows.complaint().unwrap_or_default();
                write!(f, "not steady: from {from_seconds:.1} s on {complaint}")
            }
            Self::Unknown { why: Unchecked::Short { samples, needed }, interval_seconds } => {
                let (there, wanted) = (*samples as f64 * interval_seconds, *needed as f64 * interval_seconds);
                write!(
                    f,
                    "steadiness unknown: {there:.1} s are too short, {wanted:.1} s behind the warm-up are needed"
                )
            }
            Self::Unknown { why: Unchecked::Sparse { operations, needed }, .. } => {
                write!(f, "steadiness unknown: {operations} operations are too few, {needed} are needed")
            }
        }
    }
}

#[cfg(test)]
mod tests;
