//! The clocks of the kernel that a recording is checked and charged with.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How far the wall clock stands from the steady one, at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockPair {
    /// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`. Both are slewed alike, so this changes only when somebody sets the
    /// clock, or when the machine was suspended (`clock_gettime(2)`).
    offset_ns: i128,
}

impl ClockPair {
    /// Reads the wall clock between two readings of the steady one, and of three tries believes the one in which the
    /// least came between.
    pub(super) fn read() -> Self {
        let attempt = || {
            let before = read_ns(ClockId::Monotonic);
            let wall = read_ns(ClockId::Realtime);
            let after = read_ns(ClockId::Monotonic);
            (after - before, wall - i128::midpoint(before, after))
        };
        let (_, offset_ns) = [attempt(), attempt(), attempt()].into_iter().min().unwrap_or_default();
        Self { offset_ns }
    }

    /// Seconds that the wall clock moved against the steady one until `later`; ahead is positive.
    pub(super) fn jump_seconds(self, later: Self) -> f64 {
        (later.offset_ns - self.offset_ns) as f64 / 1e9
    }
}

/// CPU time of the calling thread so far (`CLOCK_THREAD_CPUTIME_ID`, which counts as `RUSAGE_THREAD` does and in
/// nanoseconds).
pub(super) fn thread_cpu_time() -> Duration {
    Duration::from_nanos(u64::try_from(read_ns(ClockId::ThreadCPUTime)).unwrap_or_default())
}

fn read_ns(clock: ClockId) -> i128 {
    let time = clock_gettime(clock);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_shows_as_a_jump() {
        let before = ClockPair { offset_ns: 1_700_000_000_000_000_000 };
        let after = ClockPair { offset_ns: before.offset_ns - 2_500_000_000 };
        assert!((before.jump_seconds(after) + 2.5).abs() < 1e-12);
        assert!(before.jump_seconds(before).abs() < f64::EPSILON);
    }
}
