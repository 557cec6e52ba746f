//! The server's clock, and the timer that wakes it when the next answer is due.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Nanoseconds since the server began, by a clock that never goes back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now_ns(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A timer of the kernel. It wakes within some ten microseconds, where epoll's own waiting is rounded by the slack of
/// timers (`PR_SET_TIMERSLACK` of prctl(2)) and, before Linux 5.11, to milliseconds.
#[derive(Debug)]
pub(crate) struct Timer {
    timer: OwnedFd,
    armed_for_ns: Option<u64>,
}

impl Timer {
    pub(crate) fn new() -> Result<Self, Errno> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        Ok(Self { timer, armed_for_ns: None })
    }

    /// To be watched edge-triggered: the timer is never read.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }

    /// Wakes the loop at that moment; a moment that is past wakes it at once.
    pub(crate) fn arm(&mut self, at_ns: u64, now_ns: u64) -> Result<(), Errno> {
        // A timer that goes off before is good enough: the loop looks again then.
        if self.armed_for_ns.is_some_and(|armed| armed > now_ns && armed <= at_ns) {
            return Ok(());
        }
        // A time of zero would switch the timer off.
        let wait_ns = at_ns.saturating_sub(now_ns).max(1);
        let nanoseconds = i64::try_from(wait_ns % 1_000_000_000).unwrap_or_default();
        let seconds = i64::try_from(wait_ns / 1_000_000_000).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })?;
        self.armed_for_ns = Some(at_ns);
        Ok(())
    }
}
