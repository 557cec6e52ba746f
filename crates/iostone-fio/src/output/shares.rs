//! The shares of I/Os by depth and by latency that fio prints as percentages.

use iostone_engine::LatencyHistogram;

/// Names of fio's classes of depth when I/Os were submitted.
pub(super) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Names of fio's classes of I/Os submitted or completed at once.
pub(super) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Names of fio's classes of latency, in nanoseconds, microseconds or milliseconds: each ends below its name.
pub(super) const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// Counts in percent of their sum; what is there is never less than 0.1, as in fio.
pub(super) fn shares_of(counts: [u64; 7]) -> [f64; 7] {
    let total: u64 = counts.iter().sum();
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        (count, total) => (100.0 * count as f64 / total as f64).max(0.1),
    })
}

/// Shares of latencies by class, in percent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LatencyShares {
    /// Below each of [`BOUNDS`] in nanoseconds.
    pub(super) ns: [f64; 10],
    /// Below each of [`BOUNDS`] in microseconds.
    pub(super) us: [f64; 10],
    /// Below each of [`BOUNDS`] in milliseconds, then below 2 s, then the rest.
    pub(super) ms: [f64; 12],
}

impl LatencyShares {
    /// Classes end within buckets of a histogram, which are at most 0.8 % wide: such a bucket's count is shared out by
    /// length, between the exact extremes.
    pub(super) fn of<'a>(histograms: impl IntoIterator<Item = &'a LatencyHistogram>) -> Self {
        let bounds: Vec<u64> = [1, 1_000, 1_000_000]
            .into_iter()
            .flat_map(|unit| BOUNDS.map(|bound| bound * unit))
            .chain([2_000_000_000, u64::MAX])
            .collect();
        let mut counts = vec![0.0; bounds.len()];
        let mut total = 0;
        for latencies in histograms {
            total += latencies.count();
            count_classes(latencies, &bounds, &mut counts);
        }
        let percent = |class: usize| share(counts.get(class).copied().unwrap_or(0.0), total);
        Self {
            ns: std::array::from_fn(percent),
            us: std::array::from_fn(|class| percent(class + 10)),
            ms: std::array::from_fn(|class| percent(class + 20)),
        }
    }
}

/// Adds what lies in each class, which end at ascending bounds.
fn count_classes(latencies: &LatencyHistogram, bounds: &[u64], counts: &mut [f64]) {
    let (min_ns, max_ns) = (latencies.min_ns().unwrap_or(0), latencies.max_ns().unwrap_or(0));
    for (first_ns, width_ns, count) in latencies.occupied() {
        // Latencies beyond the last bucket are in it, so an extreme may lie beyond its bucket.
        let from = min_ns.clamp(first_ns, first_ns + width_ns - 1);
        let to = (first_ns + width_ns).min(max_ns.saturating_add(1)).max(from + 1);
        let first = bounds.partition_point(|bound| *bound <= from);
        let mut at = from;
        for (bound, sum) in bounds.iter().zip(counts.iter_mut()).skip(first) {
            let end = to.min(*bound);
            *sum += count as f64 * (end - at) as f64 / (to - from) as f64;
            at = end;
            if at >= to {
                break;
            }
        }
    }
}

/// What is there is never less than 0.01, as in fio.
fn share(count: f64, total: u64) -> f64 {
    if total == 0 {
        return 0.0;
    }
    let percent = 100.0 * count / total as f64;
    // Less than half of an I/O is the tail of a bucket that was shared out.
    if count >= 0.5 { percent.max(0.01) } else { percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(latencies: &[u64]) -> LatencyShares {
        let mut histogram = LatencyHistogram::new();
        for ns in latencies {
            histogram.record(*ns);
        }
        LatencyShares::of([&histogram])
    }

    #[test]
    fn a_latency_belongs_to_the_class_that_ends_above_it() {
        let shares = shares(&[1, 2, 999, 1000, 1999, 2000, 9_999, 10_000_000, 1_999_999_999, 2_000_000_000]);
        let expected = [10.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0];
        for (share, expected) in shares.ns.iter().zip(expected) {
            assert!((share - expected).abs() < 1e-9, "{shares:?}");
        }
        // 1000 and 1999 ns are below 2 us, 2000 ns below 4 us.
        assert!((shares.us[0] - 20.0).abs() < 1e-9 && (shares.us[1] - 10.0).abs() < 1e-9, "{shares:?}");
        let total: f64 = shares.ns.iter().chain(&shares.us).chain(&shares.ms).sum();
        assert!((total - 100.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn extremes_are_exact_where_a_class_ends_within_a_bucket() {
        assert!((shares(&[9_999]).us[2] - 100.0).abs() < 1e-9);
        assert!((shares(&[10_000]).us[3] - 100.0).abs() < 1e-9);
        assert!((shares(&[u64::MAX]).ms[11] - 100.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_there_is_never_nothing() {
        let mut latencies = vec![5; 100_000];
        latencies.push(5_000_000);
        assert!((shares(&latencies).ms[2] - 0.01).abs() < 1e-9);
        let depths = shares_of([100_000, 1, 0, 0, 0, 0, 0]);
        assert!((depths[1] - 0.1).abs() < 1e-9 && depths[2].abs() < 1e-9);
        assert!(shares_of([0; 7]).iter().all(|share| share.abs() < 1e-9));
    }
}
