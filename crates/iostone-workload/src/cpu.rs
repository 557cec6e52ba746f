//! The CPU time that a workload used, as the kernel accounts it to processes.

#![expect(unsafe_code, reason = "getrusage(2) fills a structure through a pointer")]

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// CPU time of a workload, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// In user mode.
    pub user_seconds: f64,
    /// In the kernel.
    pub system_seconds: f64,
}

impl CpuUse {
    /// What this whole process has used so far, with the kernel's I/O workers: getrusage(2), `RUSAGE_SELF`.
    pub fn of_this_process() -> Self {
        Self::from(&usage_of_this_process())
    }

    /// What was used since then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            user_seconds: (self.user_seconds - before.user_seconds).max(0.0),
            system_seconds: (self.system_seconds - before.system_seconds).max(0.0),
        }
    }

    /// Both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            user_seconds: self.user_seconds + other.user_seconds,
            system_seconds: self.system_seconds + other.system_seconds,
        }
    }

    /// Without what something else in the process used, which is most of all reading files of the kernel.
    #[must_use]
    pub fn without(self, other_seconds: f64) -> Self {
        let of_system = other_seconds.min(self.system_seconds);
        let of_user = (other_seconds - of_system).min(self.user_seconds);
        Self { user_seconds: self.user_seconds - of_user, system_seconds: self.system_seconds - of_system }
    }

    /// In user mode and in the kernel together.
    pub fn seconds(self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

impl From<&libc::rusage> for CpuUse {
    fn from(usage: &libc::rusage) -> Self {
        Self { user_seconds: seconds(usage.ru_utime), system_seconds: seconds(usage.ru_stime) }
    }
}

fn usage_of_this_process() -> libc::rusage {
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local of the right type; the call cannot fail with this constant.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage
}

fn seconds(time: libc::timeval) -> f64 {
    let time =
        Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs());
    time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_uses_grows_and_is_told_apart() {
        let before = CpuUse::of_this_process();
        let mut sum = 0u64;
        while CpuUse::of_this_process().since(before).seconds() < 0.01 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let later = CpuUse::of_this_process();
        assert!(later.seconds() > before.seconds());
        assert_eq!(before.since(later), CpuUse::default(), "never negative");
        let two = CpuUse { user_seconds: 1.0, system_seconds: 0.5 };
        assert!((two.without(0.75).seconds() - 0.75).abs() < 1e-12 && two.without(9.0) == CpuUse::default());
        assert!((two.plus(two).seconds() - 3.0).abs() < 1e-12);
    }
}
