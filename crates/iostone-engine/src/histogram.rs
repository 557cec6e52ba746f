//! A latency histogram that records in about a nanosecond, merges exactly and keeps maximum and mean exact.
//!
//! Log-linear buckets, as in `HdrHistogram` and in fio's `stat.h`: every power of two is cut into 128 equal
//! buckets, so that a bucket's midpoint is at most 1/256 (0.4 %) away from any value in it. Values below 256 ns
//! are kept exactly. Count, sum, minimum and maximum stand beside the buckets and are exact.

use serde::{Deserialize, Serialize};

/// Linear buckets per power of two, as a power of two.
const LINEAR_BITS: u32 = 7;
/// Linear buckets per power of two. The midpoint of a bucket is at most `1 / (2 * 128)` off.
const LINEAR: u64 = 1 << LINEAR_BITS;
/// Latencies from 2^40 ns (18 minutes) up are counted as saturated.
const TOP_BITS: u32 = 40;
/// The longest latency that has a bucket of its own.
const LONGEST_NS: u64 = (1 << TOP_BITS) - 1;
/// Two octaves are exact (0..128 and 128..256), the others are scaled.
const BUCKETS: usize = ((TOP_BITS - LINEAR_BITS + 1) as usize) << LINEAR_BITS;

/// The bucket of a latency that is at most [`LONGEST_NS`].
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the shifted latency is below 256")]
fn bucket_of(ns: u64) -> usize {
    // The octave is 0 for everything below 256, where buckets are one nanosecond wide.
    let octave = 63 - LINEAR_BITS - (ns | LINEAR).leading_zeros();
    ((octave as usize) << LINEAR_BITS) + (ns >> octave) as usize
}

/// First latency of a bucket and the number of latencies in it, in nanoseconds.
fn bucket_range(bucket: usize) -> (u64, u64) {
    let bucket = bucket as u64;
    if bucket < 2 * LINEAR {
        return (bucket, 1);
    }
    let octave = (bucket >> LINEAR_BITS) - 1;
    let mantissa = (bucket & (LINEAR - 1)) + LINEAR;
    (mantissa << octave, 1 << octave)
}

/// The distribution of the latencies of one kind of operation, in nanoseconds.
///
/// Serialises in a sparse form ([`SparseHistogram`]), so an empty one is a few bytes and a full one a few KiB.
///
/// ```
/// use iostone_engine::LatencyHistogram;
///
/// let mut latencies = LatencyHistogram::new();
/// for ns in [90, 100, 110, 5_000_000] {
///     latencies.record(ns);
/// }
/// assert_eq!(latencies.percentile_ns(0.5), Some(100));
/// assert_eq!(latencies.max_ns(), Some(5_000_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "SparseHistogram", try_from = "SparseHistogram")]
pub struct LatencyHistogram {
    buckets: Box<[u64]>,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    saturated: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram; its 34 KiB of counters are all the memory it will ever use.
    pub fn new() -> Self {
        Self {
            buckets: vec![0; BUCKETS].into_boxed_slice(),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            saturated: 0,
        }
    }

    /// Records one latency in nanoseconds. Above 2^40 ns it is counted as [saturated](Self::saturated); its
    /// share in the maximum and the sum stays exact.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        // The bucket is in range by construction; `get_mut` costs one predicted comparison and no panic path.
        if let Some(counter) = self.buckets.get_mut(bucket_of(ns.min(LONGEST_NS))) {
            *counter += 1;
        }
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.saturated += u64::from(ns > LONGEST_NS);
    }

    /// Records `count` I/Os of the same latency: the same as recording it so often.
    #[inline]
    pub(crate) fn record_many(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        if let Some(counter) = self.buckets.get_mut(bucket_of(ns.min(LONGEST_NS))) {
            *counter += count;
        }
        self.count += count;
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(count));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.saturated += if ns > LONGEST_NS { count } else { 0 };
    }

    /// Adds everything that `other` has recorded: the same as having recorded it here.
    pub fn merge(&mut self, other: &Self) {
        // A stored histogram may claim any counts, so sums of them stop at the top.
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.saturated = self.saturated.saturating_add(other.saturated);
    }

    /// Counts of all buckets, empty ones as well.
    pub(crate) fn buckets(&self) -> &[u64] {
        &self.buckets
    }

    /// First latency of `buckets` buckets from `bucket` on, and the number of latencies in them, in nanoseconds.
    pub(crate) fn range_of(bucket: usize, buckets: usize) -> (u64, u64) {
        let (first, _) = bucket_range(bucket);
        let (last, width) = bucket_range(bucket + buckets - 1);
        (first, last + width - first)
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Sum of all latencies in nanoseconds, exact up to 584 years.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Number of latencies above 2^40 ns, which share the last bucket.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The shortest latency, exact. None when nothing was recorded.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The longest latency, exact. None when nothing was recorded.
    pub fn max_ns(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The mean latency in nanoseconds, exact. None when nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The standard deviation of the latencies in nanoseconds, of all that were recorded (divided by their number).
    /// Each latency counts as the middle of its bucket, at most 0.4 % off, and saturated ones as the longest; the mean
    /// is the exact one. None when nothing was recorded.
    pub fn deviation_ns(&self) -> Option<f64> {
        let mean = self.mean_ns()?;
        let (least, most) = (self.min_ns as f64, self.max_ns as f64);
        let squares = self.occupied().map(|(first, width, count)| {
            let saturated = self.saturated > 0 && first + width > LONGEST_NS;
            let middle = if saturated { most } else { first as f64 + (width - 1) as f64 / 2.0 };
            (middle.clamp(least, most) - mean).powi(2) * count as f64
        });
        Some((squares.sum::<f64>() / self.count as f64).sqrt())
    }

    /// The latency that a share `q` (0 to 1) of all recorded ones does not exceed, by nearest rank, at most
    /// 0.4 % off. None when nothing was recorded or `q` is not within 0 to 1.
    ///
    /// Never outside what was recorded: `q = 0` gives the minimum and `q = 1` the maximum, both exact.
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        if self.is_empty() || !(0.0..=1.0).contains(&q) {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return Some(self.max_ns);
        }
        if rank == 1 {
            return Some(self.min_ns);
        }
        let mut below: u64 = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below = below.saturating_add(*count);
            if below >= rank {
                let (first, width) = bucket_range(bucket);
                // Saturated latencies share the last bucket, whose midpoint says nothing about them.
                let midpoint =
                    if bucket + 1 == BUCKETS && self.saturated > 0 { self.max_ns } else { first + width / 2 };
                return Some(midpoint.clamp(self.min_ns, self.max_ns));
            }
        }
        Some(self.max_ns)
    }

    /// The buckets that hold anything, as (first latency, latencies in the bucket, count), ascending, in
    /// nanoseconds: what a plot of the distribution needs.
    pub fn occupied(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| {
            let (first, width) = bucket_range(bucket);
            (first, width, *count)
        })
    }
}

/// The form in which a [`LatencyHistogram`] is stored: occupied buckets only.
///
/// A bucket's number is `128 * octave + (ns >> octave)` with `octave = max(0, floor(log2 ns) - 7)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SparseHistogram {
    /// Linear buckets per power of two; always 128 in this version.
    pub buckets_per_octave: u64,
    /// Number of latencies recorded.
    pub count: u64,
    /// Sum of the latencies in nanoseconds.
    pub sum_ns: u64,
    /// The shortest latency in nanoseconds; 0 when nothing was recorded.
    pub min_ns: u64,
    /// The longest latency in nanoseconds; 0 when nothing was recorded.
    pub max_ns: u64,
    /// Latencies above 2^40 ns.
    pub saturated: u64,
    /// Number and count of each occupied bucket, ascending.
    pub buckets: Vec<(u32, u64)>,
}

impl From<LatencyHistogram> for SparseHistogram {
    fn from(dense: LatencyHistogram) -> Self {
        let occupied = (0u32..).zip(&dense.buckets).filter(|(_, count)| **count > 0);
        Self {
            buckets_per_octave: LINEAR,
            count: dense.count,
            sum_ns: dense.sum_ns,
            min_ns: dense.min_ns().unwrap_or(0),
            max_ns: dense.max_ns,
            saturated: dense.saturated,
            buckets: occupied.map(|(bucket, count)| (bucket, *count)).collect(),
        }
    }
}

/// Why a stored histogram cannot be what was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// Another bucket scheme than this version's.
    #[error("the histogram has {0} buckets per power of two, and this version reads 128")]
    Scheme(u64),
    /// A bucket number out of range, repeated or out of order.
    #[error("the histogram's bucket {0} is out of order or out of range")]
    Bucket(u32),
    /// Count, extremes and buckets contradict each other.
    #[error("the histogram's count, extremes and buckets contradict each other")]
    Inconsistent,
}

impl TryFrom<SparseHistogram> for LatencyHistogram {
    type Error = HistogramError;

    fn try_from(sparse: SparseHistogram) -> Result<Self, HistogramError> {
        if sparse.buckets_per_octave != LINEAR {
            return Err(HistogramError::Scheme(sparse.buckets_per_octave));
        }
        let mut dense = Self::new();
        let mut next = 0;
        for (bucket, count) in &sparse.buckets {
            let counter = dense.buckets.get_mut(*bucket as usize).filter(|_| *bucket >= next && *count > 0);
            *counter.ok_or(HistogramError::Bucket(*bucket))? = *count;
            dense.count = dense.count.checked_add(*count).ok_or(HistogramError::Inconsistent)?;
            next = bucket + 1;
        }
        let ends = |ns: u64| u32::try_from(bucket_of(ns.min(LONGEST_NS))).ok();
        let agrees = match (sparse.buckets.first(), sparse.buckets.last()) {
            (Some((first, _)), Some((last, in_last))) => {
                ends(sparse.min_ns) == Some(*first)
                    && ends(sparse.max_ns) == Some(*last)
                    && sparse.min_ns <= sparse.max_ns
                    && sparse.saturated <= *in_last
                    && (sparse.saturated > 0) == (sparse.max_ns > LONGEST_NS)
            }
            _ => sparse.min_ns == 0 && sparse.max_ns == 0 && sparse.sum_ns == 0 && sparse.saturated == 0,
        };
        if !agrees || dense.count != sparse.count {
            return Err(HistogramError::Inconsistent);
        }
        if !dense.is_empty() {
            dense.min_ns = sparse.min_ns;
        }
        dense.max_ns = sparse.max_ns;
        dense.sum_ns = sparse.sum_ns;
        dense.saturated = sparse.saturated;
        Ok(dense)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn recorded(latencies: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        for ns in latencies {
            histogram.record(*ns);
        }
        histogram
    }

    /// Latencies spread evenly over the orders of magnitude, a few of them beyond the last bucket.
    fn latency() -> impl Strategy<Value = u64> {
        (0u32..42, any::<u64>()).prop_map(|(bits, any)| any & ((1 << bits) - 1))
    }

    #[test]
    fn the_deviation_is_that_of_what_was_recorded() {
        // The textbook's 2, 4, 4, 4, 5, 5, 7, 9 have a mean of 5 and a standard deviation of 2.
        assert_eq!(recorded(&[2, 4, 4, 4, 5, 5, 7, 9]).deviation_ns(), Some(2.0));
        assert_eq!(recorded(&[123_456_789; 3]).deviation_ns(), Some(0.0));
        assert_eq!(LatencyHistogram::new().deviation_ns(), None);
    }

    #[test]
    fn an_empty_histogram_has_no_figures() {
        let empty = LatencyHistogram::new();
        assert_eq!((empty.percentile_ns(0.5), empty.max_ns(), empty.mean_ns()), (None, None, None));
    }

    #[test]
    fn buckets_tile_the_range_without_gap_or_overlap() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (first, width) = bucket_range(bucket);
            assert_eq!(first, next);
            assert_eq!(bucket_of(first), bucket);
            assert_eq!(bucket_of(first + width - 1), bucket);
            next = first + width;
        }
        assert_eq!(next, LONGEST_NS + 1);
    }

    #[test]
    fn latencies_beyond_the_last_bucket_are_counted_as_saturated() {
        let histogram = recorded(&[100, 1 << 40, 1 << 41]);
        assert_eq!(histogram.saturated(), 2);
        assert_eq!(histogram.max_ns(), Some(1 << 41));
        assert_eq!(histogram.percentile_ns(0.6), Some(1 << 41));
    }

    #[test]
    fn a_share_outside_nought_to_one_has_no_percentile() {
        let histogram = recorded(&[1, 2, 3]);
        assert_eq!(histogram.percentile_ns(99.0), None);
        assert_eq!(histogram.percentile_ns(f64::NAN), None);
    }

    #[test]
    fn a_contradictory_stored_form_is_refused() {
        let mut sparse = SparseHistogram::from(recorded(&[10, 20_000]));
        sparse.count = 3;
        assert_eq!(LatencyHistogram::try_from(sparse.clone()), Err(HistogramError::Inconsistent));
        sparse.buckets.reverse();
        assert!(matches!(LatencyHistogram::try_from(sparse.clone()), Err(HistogramError::Bucket(_))));
        sparse.buckets = vec![(u32::MAX, 1)];
        assert_eq!(LatencyHistogram::try_from(sparse.clone()), Err(HistogramError::Bucket(u32::MAX)));
        sparse.buckets_per_octave = 64;
        assert_eq!(LatencyHistogram::try_from(sparse), Err(HistogramError::Scheme(64)));
    }

    #[test]
    fn merging_stored_counts_stops_at_the_top() {
        let share = u64::MAX / 10 * 4;
        let recorded = SparseHistogram::from(recorded(&[5, 6]));
        let stored = SparseHistogram { count: 2 * share, buckets: vec![(5, share), (6, share)], ..recorded };
        let stored = LatencyHistogram::try_from(stored).unwrap();
        let mut merged = stored.clone();
        merged.merge(&stored);
        assert_eq!(merged.count(), u64::MAX);
        assert_eq!(merged.percentile_ns(0.9), Some(6));
    }

    proptest! {
        #[test]
        fn a_run_of_equal_latencies_counts_as_each_of_them(ns in latency(), count in 0u64..50) {
            let mut at_once = recorded(&[7]);
            at_once.record_many(ns, count);
            let mut each = recorded(&[7]);
            (0..count).for_each(|_| each.record(ns));
            prop_assert_eq!(at_once, each);
        }
    }

    proptest! {
        #[test]
        fn merging_equals_recording_both(left in vec(latency(), 0..200), right in vec(latency(), 0..200)) {
            let mut merged = recorded(&left);
            merged.merge(&recorded(&right));
            let both: Vec<u64> = left.into_iter().chain(right).collect();
            prop_assert_eq!(merged, recorded(&both));
        }

        #[test]
        fn a_percentile_is_within_the_error_of_the_exact_one(
            mut latencies in vec(latency().prop_map(|ns| ns.min(LONGEST_NS)), 1..300),
            q in 0.0f64..=1.0,
        ) {
            let histogram = recorded(&latencies);
            latencies.sort_unstable();
            let not_above = |latency: u64| latencies.iter().filter(|other| **other <= latency).count() as f64;
            let wanted = (q * latencies.len() as f64).ceil();
            let exact = *latencies.iter().find(|latency| not_above(**latency) >= wanted).unwrap();
            let estimate = histogram.percentile_ns(q).unwrap();
            prop_assert!(estimate.abs_diff(exact) as f64 <= exact as f64 / 256.0, "{estimate} for {exact}");
        }

        #[test]
        fn the_deviation_is_within_the_error_of_the_buckets(
            latencies in vec(latency().prop_map(|ns| ns.min(LONGEST_NS)), 1..300),
        ) {
            let number = latencies.len() as f64;
            let mean = latencies.iter().sum::<u64>() as f64 / number;
            let exact = (latencies.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum::<f64>() / number).sqrt();
            let estimate = recorded(&latencies).deviation_ns().unwrap();
            // No latency is moved by more than this, so neither is their root mean square.
            let most = *latencies.iter().max().unwrap() as f64 / 256.0;
            prop_assert!((estimate - exact).abs() <= most + exact * 1e-9, "{estimate} for {exact}");
        }

        #[test]
        fn mean_and_extremes_are_exact(latencies in vec(latency(), 1..300)) {
            let histogram = recorded(&latencies);
            prop_assert_eq!(histogram.min_ns(), latencies.iter().min().copied());
            prop_assert_eq!(histogram.max_ns(), latencies.iter().max().copied());
            prop_assert_eq!(histogram.sum_ns(), latencies.iter().sum::<u64>());
            prop_assert_eq!(histogram.count(), latencies.len() as u64);
        }

        #[test]
        fn the_stored_form_reads_back_the_same(latencies in vec(latency(), 0..300)) {
            let histogram = recorded(&latencies);
            let text = serde_json::to_string(&histogram).unwrap();
            prop_assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), histogram);
        }
    }
}
