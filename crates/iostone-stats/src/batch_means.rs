//! How precisely the mean of a correlated series is known: an interval by batch means.
//!
//! Rates of storage, 100 ms by 100 ms, depend on their neighbours, so that the textbook interval is too narrow. The method of
//! batch means cuts the series into batches that are long enough for their means to be taken as independent, and puts
//! Student's interval on those (Law, *Simulation Modeling and Analysis*, section 9.5.3; Law and Kelton, "Confidence Intervals
//! for Steady-State Simulations", *Operations Research* 32 (1984)). Whether they are independent is asked of von Neumann's
//! ratio, as in Fishman and Yarberry's LBATCH (*INFORMS Journal on Computing* 9 (1997)) and in Alexopoulos and Seila, "Output
//! Data Analysis" (*Handbook of Simulation*, 1998, section 7.3).
//!
//! Spread says nothing about what is granted in equal portions at a fixed pace, as by a limiter: every interval has the same
//! count, and still the window may hold a portion more or less than its share. [`count_interval`] allows for that.

use crate::special::student_two_sided;

/// Fewer batches than this make an interval that is wider than it need be, and a test of independence without power.
pub const FEWEST_BATCHES: usize = 10;
/// Batches grow by this while their means are correlated.
const GROWTH: f64 = 1.4;
/// Two-sided critical value of the normal law at 20 %: the test is to find correlation, so it finds it easily.
const CRITICAL: f64 = 1.281_551_565_544_6;
/// Means that go along with their neighbours more than this are a trend, about which no interval says anything.
const STRONGEST: f64 = 0.95;

/// The mean of a series and how precisely it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanInterval {
    /// The mean of all values that went into batches.
    pub mean: f64,
    /// Half the width of the interval around it, in the series' unit.
    pub half_width: f64,
    /// Values in a batch.
    pub batch_length: usize,
    /// Batches.
    pub batches: usize,
    /// Whether the batches' means were found uncorrelated. If not, the interval was widened for the correlation that is
    /// left, which a longer series would do better.
    pub uncorrelated: bool,
}

impl MeanInterval {
    /// The half width as a share of the mean; none where the mean is not above 0.
    pub fn relative(&self) -> Option<f64> {
        (self.mean > 0.0).then(|| self.half_width / self.mean)
    }
}

/// The interval of the mean of a series of equally spaced values, oldest first, that holds the true mean with about that
/// confidence (0.95). Values at the beginning that fill no batch are left out.
///
/// Correlation that is left between batch means at lag 1, `r > 0`, widens it by `sqrt((1 + r) / (1 - r))`, the factor of a
/// first-order autoregression (as in ASAP3: Steiger et al., *ACM TOMACS* 15 (2005)).
///
/// None for fewer than [`FEWEST_BATCHES`] values, for values that are not finite, and for a confidence outside 0 to 1.
pub fn mean_interval(series: &[f64], confidence: f64) -> Option<MeanInterval> {
    let sound = confidence > 0.0 && confidence < 1.0 && series.iter().all(|value| value.is_finite());
    if !sound || series.len() < FEWEST_BATCHES {
        return None;
    }
    let mut batch_length = 1;
    loop {
        let means = batch_means(series, batch_length);
        let statistics = Statistics::of(&means);
        let next = grown(batch_length);
        let uncorrelated = statistics.looks_independent();
        if uncorrelated || series.len() / next < FEWEST_BATCHES {
            return Some(MeanInterval {
                mean: statistics.mean,
                half_width: statistics.half_width(1.0 - confidence),
                batch_length,
                batches: means.len(),
                uncorrelated,
            });
        }
        batch_length = next;
    }
}

/// The interval of the mean count of an interval of a window, from the counts of all of its intervals, with that confidence
/// (0.95): [`mean_interval`], and what cannot be told at the window's edges. Never without width where anything was counted.
///
/// Where counts are more regular than chance, their variance below their mean (index of dispersion below 1, which is 1 for
/// a Poisson process: Cox and Lewis, *The Statistical Analysis of Series of Events*, 1966), be it of intervals or of
/// batches, they may have come in portions of up to an interval's count. Where in an interval portions come is not known, so
/// each edge of the window has up to half an interval's count too many or too few, uniformly. The sum of two such errors has
/// the triangular law on -1 to 1 interval's count and exceeds `1 - sqrt(1 - confidence)` of it (0.776) as often as it
/// may: 7.8 % of the mean for 10 intervals, 1.6 % for 50. That is so for a pace that is not known either; at the least
/// favourable single pace (20.8 portions to 20 intervals) the rate is held in 84 % of windows. Half of a count alone would
/// do for the intervals' own pace, but fails in 43 % of windows of 100 intervals with a portion every 1.006.
///
/// Both widths are combined in quadrature: the pace's own changes and the place of the window are independent of each other.
pub fn count_interval(counts: &[f64], confidence: f64) -> Option<MeanInterval> {
    let spread = mean_interval(counts, confidence)?;
    let of_batches = batch_means(counts, spread.batch_length);
    let regular = dispersion(counts, 1) < 1.0 || dispersion(&of_batches, spread.batch_length) < 1.0;
    let edges =
        if regular { spread.mean * (1.0 - (1.0 - confidence).sqrt()) / counts.len() as f64 } else { 0.0 };
    Some(MeanInterval { half_width: spread.half_width.hypot(edges), ..spread })
}

/// The index of dispersion of counts over so many intervals each, given as means of one interval.
fn dispersion(means: &[f64], batch_length: usize) -> f64 {
    let Statistics { count, mean, squares, .. } = Statistics::of(means);
    let variance = squares / (count - 1.0);
    if mean > 0.0 { variance * batch_length as f64 / mean } else { 0.0 }
}

fn grown(batch_length: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length, rounded up")]
    let grown = (batch_length as f64 * GROWTH).ceil() as usize;
    grown.max(batch_length + 1)
}

/// The means of whole batches, the last of which ends with the series.
fn batch_means(series: &[f64], batch_length: usize) -> Vec<f64> {
    let (_, whole) = series.split_at(series.len() % batch_length);
    whole.chunks_exact(batch_length).map(|batch| batch.iter().sum::<f64>() / batch_length as f64).collect()
}

/// What is to be known of batch means.
struct Statistics {
    count: f64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
    /// Sum of squared differences of neighbours.
    differences: f64,
    /// Sum of products of neighbours' deviations.
    products: f64,
}

impl Statistics {
    fn of(means: &[f64]) -> Self {
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let neighbours = || means.iter().zip(means.iter().skip(1));
        Self {
            count,
            mean,
            squares: means.iter().map(|value| (value - mean).powi(2)).sum(),
            differences: neighbours().map(|(one, next)| (one - next).powi(2)).sum(),
            products: neighbours().map(|(one, next)| (one - mean) * (next - mean)).sum(),
        }
    }

    /// Whether von Neumann's ratio is what independent values give: `1 - differences / (2 squares)` is then about normal
    /// with mean 0 and variance `(k - 2) / (k^2 - 1)`.
    fn looks_independent(&self) -> bool {
        if self.squares <= f64::EPSILON * self.mean * self.mean * self.count {
            return true;
        }
        let ratio = 1.0 - self.differences / (2.0 * self.squares);
        let deviation = ((self.count - 2.0) / (self.count * self.count - 1.0)).sqrt();
        ratio.abs() <= CRITICAL * deviation
    }

    fn half_width(&self, alpha: f64) -> f64 {
        let freedom = self.count - 1.0;
        let standard_error = (self.squares / freedom / self.count).sqrt();
        let correlation = if self.squares > 0.0 { self.products / self.squares } else { 0.0 };
        let correlation = correlation.clamp(0.0, STRONGEST);
        student_critical(alpha, freedom) * standard_error * ((1.0 + correlation) / (1.0 - correlation)).sqrt()
    }
}

/// The `t` with P(|T| >= t) = `alpha`, by bisection.
fn student_critical(alpha: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, freedom) > alpha && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if student_two_sided(middle, freedom) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::SplitMix64;

    /// A first-order autoregression around 100.
    fn autoregression(rng: &mut SplitMix64, phi: f64, length: usize) -> Vec<f64> {
        let mut state = rng.next_normal() / (1.0 - phi * phi).sqrt();
        (0..length)
            .map(|_| {
                state = phi * state + rng.next_normal();
                100.0 + state
            })
            .collect()
    }

    /// The share of series whose interval holds the true mean.
    fn coverage(phi: f64, length: usize) -> f64 {
        let mut rng = SplitMix64::new(7);
        let held = (0..1000).filter(|_| {
            let interval = mean_interval(&autoregression(&mut rng, phi, length), 0.95).unwrap();
            (interval.mean - 100.0).abs() <= interval.half_width
        });
        held.count() as f64 / 1000.0
    }

    #[test]
    fn the_interval_of_a_correlated_series_holds_the_mean_as_often_as_it_says() {
        for (phi, length) in
            [(0.0, 20), (0.0, 600), (0.3, 50), (0.5, 100), (0.8, 300), (0.9, 600), (-0.5, 100)]
        {
            let coverage = coverage(phi, length);
            println!("phi {phi} length {length}: {coverage}");
            assert!((0.90..=0.995).contains(&coverage), "phi {phi} length {length}: {coverage}");
        }
    }

    #[test]
    fn critical_values_are_those_of_the_tables() {
        assert!((student_critical(0.05, 9.0) - 2.262_157).abs() < 1e-5);
        assert!((student_critical(0.05, 59.0) - 2.000_995).abs() < 1e-5);
    }

    #[test]
    fn a_constant_series_is_known_exactly() {
        let interval = mean_interval(&[500.0; 40], 0.95).unwrap();
        assert_eq!((interval.half_width, interval.relative(), interval.batches), (0.0, Some(0.0), 40));
    }

    /// What a limiter lets through in each 100 ms of a window: portions every `pace` intervals, up to `jitter` late or
    /// early, of which each takes `taking` intervals to be done.
    fn portions(
        rng: &mut SplitMix64,
        (portion, pace, jitter, taking): (u32, f64, f64, f64),
        n: usize,
    ) -> Vec<f64> {
        let mut counts = vec![0.0; n];
        let mut granted = -(3.0 + rng.next_unit()) * pace;
        while granted < n as f64 + 1.0 {
            let begun = granted + (2.0 * rng.next_unit() - 1.0) * jitter;
            for io in 0..portion {
                let at = begun + taking * f64::from(io) / f64::from(portion);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
                if at >= 0.0
                    && let Some(count) = counts.get_mut(at as usize)
                {
                    *count += 1.0;
                }
            }
            granted += pace;
        }
        counts
    }

    #[test]
    fn the_interval_of_granted_portions_holds_their_rate_wherever_the_window_begins() {
        let mut rng = SplitMix64::new(5);
        for seconds in [1, 2, 3, 5, 10] {
            for (portion, jitter, taking) in
                [(200, 0.0, 0.0), (200, 0.04, 0.1), (200, 0.04, 0.5), (6, 0.02, 0.9), (50, 0.1, 0.1)]
            {
                // The intervals' own pace, one near it that nobody knows, and any.
                for (least, most) in [(1.0, 1.0), (0.98, 1.02), (0.9, 1.1), (0.3, 2.5)] {
                    let held = (0..200).filter(|_| {
                        let pace = least + (most - least) * rng.next_unit();
                        let counts = portions(&mut rng, (portion, pace, jitter, taking), 10 * seconds);
                        let interval = count_interval(&counts, 0.95).unwrap();
                        assert!(interval.half_width > 0.0);
                        (interval.mean - f64::from(portion) / pace).abs() <= interval.half_width
                    });
                    let share = held.count() as f64 / 200.0;
                    println!("{seconds} s, every {least} to {most}, {portion} ({jitter}, {taking}): {share}");
                    assert!(share >= 0.95, "{share}: {seconds} s, every {least} to {most}, {portion}");
                }
            }
        }
    }

    #[test]
    fn equal_counts_leave_the_edges_in_doubt() {
        for (intervals, expected) in [(10, 0.077_64), (20, 0.038_82), (50, 0.015_528), (100, 0.007_764)] {
            let relative = count_interval(&vec![200.0; intervals], 0.95).unwrap().relative().unwrap();
            assert!((relative - expected).abs() < 1e-6, "{relative}");
        }
        assert_eq!(count_interval(&[0.0; 20], 0.95).unwrap().relative(), None);
    }

    #[test]
    fn counts_as_irregular_as_chance_have_no_doubt_of_their_edges() {
        let mut rng = SplitMix64::new(5);
        let counts: Vec<f64> = (0..100).map(|_| 1000.0 + 60.0 * rng.next_normal()).collect();
        assert_eq!(count_interval(&counts, 0.95), mean_interval(&counts, 0.95));
    }

    #[test]
    fn too_short_or_unsound_series_have_no_interval() {
        assert_eq!(mean_interval(&[1.0; 9], 0.95), None);
        assert_eq!(mean_interval(&[f64::NAN; 20], 0.95), None);
        assert_eq!(mean_interval(&[1.0; 20], 1.0), None);
        assert_eq!(mean_interval(&[0.0; 20], 0.95).unwrap().relative(), None);
    }

    #[test]
    fn a_trend_is_told_as_correlated() {
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        let interval = mean_interval(&rising, 0.95).unwrap();
        assert!(!interval.uncorrelated && interval.half_width > 10.0, "{interval:?}");
    }

    proptest! {
        #[test]
        fn scaling_the_series_scales_the_interval(
            values in proptest::collection::vec(1.0f64..1e4, 10..200),
            factor in 0.01f64..1e3,
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let (one, other) = (mean_interval(&values, 0.95).unwrap(), mean_interval(&scaled, 0.95).unwrap());
            prop_assert!((one.half_width * factor - other.half_width).abs() <= 1e-6 * other.half_width.max(1e-9));
            prop_assert!(one.batches >= FEWEST_BATCHES && one.batches * one.batch_length <= values.len());
        }
    }
}
