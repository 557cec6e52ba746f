//! Latency percentiles read off the recorded histograms of a configuration's trials.

use std::collections::BTreeMap;

use crate::view::Row;

/// The percentiles that reports name, as share and label.
pub(crate) const NAMED: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99")];

/// The merged latencies of a configuration's counted trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Latencies {
    /// Bucket's midpoint in nanoseconds and how many operations up to and with it, ascending.
    cumulative: Vec<(u64, u64)>,
    total: u64,
}

impl Latencies {
    /// Merges the histograms of the trials that count; none if they recorded no operation.
    pub(crate) fn of(row: &Row<'_>) -> Option<Self> {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for point in row.trials.iter().filter(|point| point.counts) {
            for (midpoint_ns, operations) in &point.record.workload.latency_histogram {
                let bucket = buckets.entry(*midpoint_ns).or_default();
                *bucket = bucket.saturating_add(*operations);
            }
        }
        let mut total = 0_u64;
        let mut cumulative = Vec::with_capacity(buckets.len());
        for (midpoint_ns, operations) in buckets {
            total = total.saturating_add(operations);
            cumulative.push((midpoint_ns, total));
        }
        (total > 0).then_some(Self { cumulative, total })
    }

    /// Operations in all.
    pub(crate) fn operations(&self) -> u64 {
        self.total
    }

    /// The latency that a share of operations did not exceed, nearest rank, in nanoseconds; none where fewer than one
    /// operation lies beyond it, because such a percentile would be the maximum under another name.
    pub(crate) fn percentile_ns(&self, share: f64) -> Option<u64> {
        let total = self.total as f64;
        if (1.0 - share) * total < 1.0 - 1e-9 {
            return None;
        }
        let rank = share * total;
        self.cumulative.iter().find(|(_, up_to)| *up_to as f64 >= rank).map(|(ns, _)| *ns)
    }
}

/// Where a share lies on an axis of nines: 0 at nothing, 1 at 90 %, 2 at 99 %, 3 at 99.9 %.
pub(crate) fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latencies = Latencies { cumulative: vec![(10, 50), (20, 90), (30, 99), (1000, 100)], total: 100 };
        assert_eq!(latencies.percentile_ns(0.5), Some(10));
        assert_eq!(latencies.percentile_ns(0.9), Some(20));
        assert_eq!(latencies.percentile_ns(0.99), Some(30));
        assert_eq!(latencies.percentile_ns(0.999), None);
    }

    #[test]
    fn each_nine_is_one_step() {
        assert!((nines(0.999) - 3.0).abs() < 1e-9);
        assert!(nines(0.0).abs() < 1e-12);
    }
}
