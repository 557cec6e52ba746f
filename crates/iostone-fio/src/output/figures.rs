//! The figures of one direction of I/O, summed over the jobs that are reported as one.

use std::time::Duration;

use iostone_engine::{LatencyHistogram, Outcome, SERIES_INTERVAL, Series, Transfers};

use iostone_model::load::Direction;

use super::session::Reported;

/// Rates over windows of equal length; fio's `io_stat` of bandwidth and of I/Os.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Samples {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Samples {
    pub(super) fn of(rates: &[u64]) -> Self {
        let (Some(min), Some(max)) = (rates.iter().min(), rates.iter().max()) else { return Self::default() };
        let mean = rates.iter().map(|rate| *rate as f64).sum::<f64>() / rates.len() as f64;
        let squares = rates.iter().map(|rate| (*rate as f64 - mean).powi(2)).sum();
        Self { count: rates.len() as u64, min: *min, max: *max, mean, squares }
    }

    /// Adds the rates of a job that ran beside, as fio does: rates add up, the windows are counted all.
    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
    }

    /// Standard deviation of a sample.
    pub(super) fn deviation(&self) -> f64 {
        if self.count > 1 { (self.squares / (self.count - 1) as f64).sqrt() } else { 0.0 }
    }
}

/// What went in one direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Flow {
    pub(super) ios: u64,
    pub(super) bytes: u64,
    /// The longest time that any of the jobs was at it; zero where none was.
    pub(super) runtime: Duration,
    /// Service times.
    pub(super) completion: LatencyHistogram,
    /// Response times where there are any, else service times.
    pub(super) total: LatencyHistogram,
    /// KiB per second.
    pub(super) bandwidth: Samples,
    /// I/Os per second.
    pub(super) iops: Samples,
}

impl Flow {
    pub(super) fn of(reported: &Reported<'_>, direction: Direction) -> Self {
        let Reported { outcome, bandwidth_window, iops_window, .. } = reported;
        let transfers = transfers_of(outcome, direction);
        let series = outcome.series_of.of(direction);
        let elapsed = outcome.elapsed.0;
        let bandwidth = Windows::new(*bandwidth_window, elapsed).rates(&series.bytes);
        let iops = Windows::new(*iops_window, elapsed).rates(&series.ios);
        Self {
            ios: transfers.ios,
            bytes: transfers.bytes.0,
            runtime: if transfers.ios > 0 { elapsed } else { Duration::ZERO },
            completion: transfers.latency.clone(),
            total: total_latency(transfers).clone(),
            bandwidth: Samples::of(&bandwidth.iter().map(|rate| rate / 1024).collect::<Vec<_>>()),
            iops: Samples::of(&iops),
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.runtime = self.runtime.max(other.runtime);
        self.completion.merge(&other.completion);
        self.total.merge(&other.total);
        self.bandwidth.add(&other.bandwidth);
        self.iops.add(&other.iops);
    }

    /// fio's runtime in milliseconds: 0 only where nothing was done.
    pub(super) fn runtime_ms(&self) -> u64 {
        if self.runtime.is_zero() { 0 } else { milliseconds(self.runtime).max(1) }
    }

    pub(super) fn ios_per_second(&self) -> f64 {
        self.per_second(self.ios)
    }

    pub(super) fn bytes_per_second(&self) -> u64 {
        whole(self.per_second(self.bytes))
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.runtime.is_zero() { 0.0 } else { count as f64 / self.runtime.as_secs_f64() }
    }
}

/// What an outcome says of a direction.
pub(super) fn transfers_of(outcome: &Outcome, direction: Direction) -> &Transfers {
    match direction {
        Direction::Read => &outcome.reads,
        Direction::Write => &outcome.writes,
        Direction::Trim => &outcome.trims,
    }
}

/// What fio calls `lat`: from when the I/O was due, where that is known.
fn total_latency(transfers: &Transfers) -> &LatencyHistogram {
    if transfers.response.is_empty() { &transfers.latency } else { &transfers.response }
}

/// Windows of several intervals of a series, of which only full ones count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    /// Intervals of the series per window.
    pub(super) intervals: usize,
    /// Full windows.
    pub(super) count: usize,
}

impl Windows {
    pub(super) fn new(length: Duration, elapsed: Duration) -> Self {
        let intervals = intervals_in(length);
        let full = elapsed.as_nanos() / SERIES_INTERVAL.as_nanos();
        Self { intervals, count: usize::try_from(full).unwrap_or(usize::MAX) / intervals }
    }

    /// Counts per second over each window in which anything was counted, rounded down; fio has no samples of others.
    pub(super) fn rates(self, counts: &[u64]) -> Vec<u64> {
        self.sums(counts).filter(|sum| *sum > 0).map(|sum| self.per_second(sum)).collect()
    }

    /// The sum over each full window.
    pub(super) fn sums(self, counts: &[u64]) -> impl Iterator<Item = u64> + '_ {
        counts.chunks(self.intervals).take(self.count).map(|window| window.iter().sum())
    }

    /// A count over one window, per second, rounded down.
    pub(super) fn per_second(self, count: u64) -> u64 {
        let window_ms = self.intervals as u128 * SERIES_INTERVAL.as_millis();
        u64::try_from(u128::from(count) * 1000 / window_ms).unwrap_or(u64::MAX)
    }
}

/// How many intervals of a series a window has: the nearest number, at least 1.
pub(super) fn intervals_in(window: Duration) -> usize {
    let interval_ns = SERIES_INTERVAL.as_nanos();
    usize::try_from((window.as_nanos() + interval_ns / 2) / interval_ns).unwrap_or(usize::MAX).max(1)
}

/// The mean latency of a window of a series, and the longest, in nanoseconds; None where nothing completed.
pub(super) fn latency_of(series: &Series, window: std::ops::Range<usize>) -> Option<(f64, u64)> {
    let mut count = 0;
    let (mut sum_ns, mut max_ns) = (0.0, 0);
    for index in window {
        let (Some(ios), Some(Some(latency))) = (series.ios.get(index), series.latency.get(index)) else {
            continue;
        };
        // Response times are recorded of I/Os that were never submitted, too, so an interval may have only those.
        let ios = (*ios).max(1);
        count += ios;
        sum_ns += latency.mean_ns * ios as f64;
        max_ns = max_ns.max(latency.max_ns);
    }
    (count > 0).then(|| (sum_ns / count as f64, max_ns))
}

/// A duration in whole milliseconds, rounded down.
pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A figure that is never negative, without its fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates at both ends")]
pub(super) fn whole(figure: f64) -> u64 {
    figure as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_full_windows_in_which_something_was_done() {
        let windows = Windows::new(Duration::from_millis(500), Duration::from_millis(1730));
        let mut counts = vec![10; 5];
        counts.extend([0; 5]);
        counts.extend([20; 5]);
        counts.extend([7, 7, 3]);
        assert_eq!(windows.rates(&counts), [100, 200]);
        let samples = Samples::of(&windows.rates(&counts));
        assert_eq!((samples.min, samples.max, samples.count), (100, 200, 2));
        assert!((samples.mean - 150.0).abs() < 1e-9);
        assert!((samples.deviation() - 5000f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn rates_of_jobs_beside_each_other_add_up() {
        let mut both = Samples::of(&[10, 20]);
        both.add(&Samples::of(&[1, 3]));
        assert_eq!((both.min, both.max, both.count), (11, 23, 4));
        assert!((both.mean - 17.0).abs() < 1e-9);
    }

    #[test]
    fn a_window_too_long_for_the_run_has_no_samples() {
        let windows = Windows::new(Duration::from_millis(500), Duration::from_millis(499));
        assert!(windows.rates(&[1, 1, 1, 1, 1]).is_empty());
        assert_eq!(Samples::of(&[]), Samples::default());
    }
}
