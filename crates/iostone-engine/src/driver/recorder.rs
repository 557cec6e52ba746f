//! The time series of one thread: what was completed in each 100 ms, and how long it took.
//!
//! Nothing is done per I/O. When an interval ends, the totals and histograms that are kept anyway are compared with
//! what they were at its beginning.

use crate::driver::tally::Count;
use crate::outcome::SERIES_INTERVAL;

/// Length of an interval, in nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "a tenth of a second")]
pub(crate) const INTERVAL_NS: u64 = SERIES_INTERVAL.as_nanos() as u64;
/// Buckets of the histogram that share a mark, as a power of two: 32 marks per power of two, at most 1.6 % off.
const COARSE_BITS: u32 = 2;

/// Some latencies of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Index of the direction.
    pub(crate) direction: u8,
    /// First bucket of the histogram; the mark stands for this and the next three.
    pub(crate) bucket: u16,
    pub(crate) count: u32,
}

impl Mark {
    /// How many of the histogram's buckets a mark stands for.
    pub(crate) const BUCKETS: usize = 1 << COARSE_BITS;
}

/// What was completed in an interval, by direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Interval {
    pub(crate) ios: [u64; 3],
    pub(crate) bytes: [u64; 3],
    /// Where its marks end; they begin where those of the interval before it end.
    marks_end: usize,
}

/// Records the series.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// End of the interval that is going on; the end of time before the window opens.
    ends_ns: u64,
    intervals: Vec<Interval>,
    marks: Vec<Mark>,
    /// Totals and buckets at the end of the last interval.
    ios: [u64; 3],
    bytes: [u64; 3],
    buckets: [Vec<u64>; 3],
}

impl Recorder {
    pub(crate) fn new(window_ns: u64) -> Self {
        // Room for all intervals of a timed window of up to a day, else for ten minutes before it must grow.
        let intervals = usize::try_from((window_ns / INTERVAL_NS).min(864_000)).unwrap_or(0).max(6_000);
        Self {
            ends_ns: u64::MAX,
            intervals: Vec::with_capacity(intervals),
            marks: Vec::with_capacity(intervals),
            ios: [0; 3],
            bytes: [0; 3],
            buckets: Default::default(),
        }
    }

    /// The window opens.
    pub(crate) fn open(&mut self, opens_ns: u64) {
        self.ends_ns = opens_ns + INTERVAL_NS;
    }

    /// Whether an interval has ended by `now`.
    #[inline]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now >= self.ends_ns
    }

    /// Closes all intervals that have ended by `now`: what was counted since the last was counted in the first of
    /// them, and the others stay empty, which shows stalls.
    #[cold]
    pub(crate) fn close_until(&mut self, now: u64, counts: &[Count; 3], open_loop: bool) {
        while self.is_due(now) {
            self.close(counts, open_loop);
            self.ends_ns += INTERVAL_NS;
        }
    }

    /// Closes the interval that is going on.
    pub(crate) fn close(&mut self, counts: &[Count; 3], open_loop: bool) {
        let mut interval = Interval::default();
        for (direction, count) in counts.iter().enumerate() {
            let (Some(ios), Some(bytes)) = (self.ios.get_mut(direction), self.bytes.get_mut(direction))
            else {
                continue;
            };
            let new_ios = count.ios - std::mem::replace(ios, count.ios);
            let new_bytes = count.bytes - std::mem::replace(bytes, count.bytes);
            if let (Some(ios), Some(bytes)) =
                (interval.ios.get_mut(direction), interval.bytes.get_mut(direction))
            {
                (*ios, *bytes) = (new_ios, new_bytes);
            }
            if new_ios > 0 {
                self.mark(direction, count, open_loop);
            }
        }
        interval.marks_end = self.marks.len();
        self.intervals.push(interval);
    }

    fn mark(&mut self, direction: usize, count: &Count, open_loop: bool) {
        let Some(seen) = self.buckets.get_mut(direction) else { return };
        let histogram = if open_loop { &count.response } else { &count.service };
        let buckets = histogram.buckets();
        seen.resize(buckets.len(), 0);
        let groups = buckets.chunks(Mark::BUCKETS).zip(seen.chunks_mut(Mark::BUCKETS)).enumerate();
        for (group, (now, before)) in groups {
            let new = now.iter().sum::<u64>() - before.iter().sum::<u64>();
            if new > 0 {
                before.copy_from_slice(now);
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "three directions, a few thousand buckets"
                )]
                let (direction, bucket) = (direction as u8, (group << COARSE_BITS) as u16);
                self.marks.push(Mark { direction, bucket, count: u32::try_from(new).unwrap_or(u32::MAX) });
            }
        }
    }

    /// Each interval with its marks.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (&Interval, &[Mark])> {
        let mut begin = 0;
        self.intervals.iter().map(move |interval| {
            let marks = self.marks.get(begin..interval.marks_end).unwrap_or_default();
            begin = interval.marks_end;
            (interval, marks)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_what_was_new_in_them_and_stalls_stay_empty() {
        let mut recorder = Recorder::new(0);
        let mut counts: [Count; 3] = Default::default();
        recorder.open(1000);
        let complete = |counts: &mut [Count; 3], direction: usize, ns: u64| {
            counts[direction].ios += 1;
            counts[direction].bytes += 512;
            counts[direction].service.record(ns);
        };
        complete(&mut counts, 0, 100);
        complete(&mut counts, 0, 100);
        complete(&mut counts, 1, 9000);
        assert!(!recorder.is_due(1000 + INTERVAL_NS - 1));
        recorder.close_until(1000 + 3 * INTERVAL_NS, &counts, false);
        complete(&mut counts, 0, 100);
        recorder.close(&counts, false);
        let series: Vec<([u64; 3], usize)> =
            recorder.intervals().map(|(interval, marks)| (interval.ios, marks.len())).collect();
        assert_eq!(series, [([2, 1, 0], 2), ([0; 3], 0), ([0; 3], 0), ([1, 0, 0], 1)]);
        let (first, marks) = recorder.intervals().next().unwrap();
        assert_eq!(first.bytes, [1024, 512, 0]);
        assert_eq!(marks[0], Mark { direction: 0, bucket: 100, count: 2 });
    }
}
