//! Puts the time series of a job's threads together.

use std::collections::BTreeMap;
use std::time::Duration;

use iostone_model::load::PerDirection;

use crate::driver::recorder::{Interval, Mark, Recorder};
use crate::histogram::LatencyHistogram;
use crate::outcome::{IntervalLatency, SERIES_INTERVAL, Series};

/// Latencies of one interval: how many in each group of buckets.
type Marks = BTreeMap<u16, u64>;

/// The series of the threads so far, by direction.
#[derive(Default)]
pub(super) struct SeriesSum {
    intervals: Vec<Interval>,
    marks: Vec<[Marks; 3]>,
}

impl SeriesSum {
    /// Adds a thread's series, interval by interval.
    pub(super) fn add(&mut self, recorder: &Recorder) {
        for (index, (interval, marks)) in recorder.intervals().enumerate() {
            if self.intervals.len() <= index {
                self.intervals.push(Interval::default());
                self.marks.push(Default::default());
            }
            let (Some(sum), Some(all)) = (self.intervals.get_mut(index), self.marks.get_mut(index)) else {
                continue;
            };
            for direction in 0..3 {
                add_to(&mut sum.ios, &interval.ios, direction);
                add_to(&mut sum.bytes, &interval.bytes, direction);
            }
            for mark in marks {
                if let Some(of) = all.get_mut(usize::from(mark.direction)) {
                    *of.entry(mark.bucket).or_default() += u64::from(mark.count);
                }
            }
        }
    }

    /// Brings the series to the length of the window, so that a stall at its end is seen: all directions together,
    /// and each by itself where it had any I/O. What was closed after the last full interval belongs to that one.
    pub(super) fn complete(mut self, elapsed: Duration) -> (Series, PerDirection<Series>) {
        let wanted = elapsed.as_nanos().div_ceil(SERIES_INTERVAL.as_nanos());
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        self.fold_beyond(wanted);
        self.intervals.resize(wanted, Interval::default());
        self.marks.resize_with(wanted, Default::default);
        let by_direction =
            PerDirection { read: self.series(&[0]), write: self.series(&[1]), trim: self.series(&[2]) };
        (self.series(&[0, 1, 2]), by_direction)
    }

    fn fold_beyond(&mut self, wanted: usize) {
        while self.intervals.len() > wanted.max(1) {
            let (Some(interval), Some(marks)) = (self.intervals.pop(), self.marks.pop()) else { return };
            let (Some(last), Some(all)) = (self.intervals.last_mut(), self.marks.last_mut()) else { return };
            for direction in 0..3 {
                add_to(&mut last.ios, &interval.ios, direction);
                add_to(&mut last.bytes, &interval.bytes, direction);
            }
            for (sum, more) in all.iter_mut().zip(marks) {
                for (bucket, count) in more {
                    *sum.entry(bucket).or_default() += count;
                }
            }
        }
    }

    fn series(&self, directions: &[usize]) -> Series {
        let pick = |of: &[u64; 3]| directions.iter().filter_map(|direction| of.get(*direction)).sum::<u64>();
        let ios: Vec<u64> = self.intervals.iter().map(|interval| pick(&interval.ios)).collect();
        if directions.len() == 1 && ios.iter().all(|count| *count == 0) {
            return Series::default();
        }
        let bytes = self.intervals.iter().map(|interval| pick(&interval.bytes)).collect();
        let latency = self.marks.iter().map(|marks| {
            let mut all = Marks::new();
            for marks in directions.iter().filter_map(|direction| marks.get(*direction)) {
                for (bucket, count) in marks {
                    *all.entry(*bucket).or_default() += count;
                }
            }
            describe(&all)
        });
        Series { ios, bytes, latency: latency.collect() }
    }
}

fn add_to(sum: &mut [u64; 3], more: &[u64; 3], index: usize) {
    if let (Some(sum), Some(more)) = (sum.get_mut(index), more.get(index)) {
        *sum += more;
    }
}

/// The latencies of an interval; None if there were none.
fn describe(marks: &Marks) -> Option<IntervalLatency> {
    let total: u64 = marks.values().sum();
    if total == 0 {
        return None;
    }
    let range = |bucket: &u16| LatencyHistogram::range_of(usize::from(*bucket), Mark::BUCKETS);
    let middle = |bucket: &u16| {
        let (first, width) = range(bucket);
        first + width / 2
    };
    let sum: f64 = marks.iter().map(|(bucket, count)| middle(bucket) as f64 * *count as f64).sum();
    let percentile = |share: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a count")]
        let rank = ((share * total as f64).ceil() as u64).clamp(1, total);
        let mut below = 0;
        marks
            .iter()
            .find(|(_, count)| {
                below += **count;
                below >= rank
            })
            .map_or(0, |(bucket, _)| middle(bucket))
    };
    Some(IntervalLatency {
        mean_ns: sum / total as f64,
        p50_ns: percentile(0.5),
        p99_ns: percentile(0.99),
        p99_9_ns: percentile(0.999),
        max_ns: percentile(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::recorder::INTERVAL_NS;
    use crate::driver::tally::Count;

    fn recorder(latencies: &[&[u64]]) -> Recorder {
        let mut recorder = Recorder::new(0);
        recorder.open(0);
        let mut counts: [Count; 3] = Default::default();
        for (interval, latencies) in latencies.iter().enumerate() {
            for ns in *latencies {
                counts[0].ios += 1;
                counts[0].bytes += 512;
                counts[0].service.record(*ns);
            }
            recorder.close_until((interval as u64 + 1) * INTERVAL_NS, &counts, false);
        }
        recorder
    }

    #[test]
    fn series_of_threads_add_up_interval_by_interval() {
        let mut sum = SeriesSum::default();
        sum.add(&recorder(&[&[100], &[100, 200]]));
        sum.add(&recorder(&[&[100, 50_000], &[], &[7]]));
        let (all, of) = sum.complete(Duration::from_millis(300));
        assert_eq!((all.ios.clone(), all.bytes), (vec![3, 2, 1], vec![1536, 1024, 512]));
        assert_eq!((of.read.ios, of.write), (all.ios, Series::default()));
        let first = all.latency[0].unwrap();
        assert!(first.p50_ns.abs_diff(100) <= 2 && first.max_ns.abs_diff(50_000) < 800, "{first:?}");
        assert!((first.mean_ns - 16_733.0).abs() < 270.0);
    }

    #[test]
    fn a_stall_at_the_end_shows_and_nothing_is_lost_at_the_edge() {
        let mut sum = SeriesSum::default();
        sum.add(&recorder(&[&[5], &[6]]));
        let (all, _) = sum.complete(Duration::from_millis(450));
        assert_eq!(all.ios, [1, 1, 0, 0, 0]);
        assert_eq!(all.latency[4], None);
        let mut sum = SeriesSum::default();
        sum.add(&recorder(&[&[5], &[6, 6], &[1]]));
        let (all, _) = sum.complete(Duration::from_millis(200));
        assert_eq!(all.ios, [1, 3]);
    }
}
