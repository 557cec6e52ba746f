//! Processor time used so far by this process and by this thread.
#![expect(
    unsafe_code,
    reason = "getrusage(2) fills a structure through a pointer, and no safe binding is at hand"
)]

use std::mem::MaybeUninit;
use std::time::Duration;

use iostone_model::units::Span;

use crate::outcome::{CpuTime, Scheduling};

/// What the whole process has used, threads that have ended and the kernel's I/O workers included.
pub(crate) fn read_process() -> CpuTime {
    time_of(&read(libc::RUSAGE_SELF))
}

/// What the calling thread has used, and what the scheduler and memory did to it.
pub(crate) fn read_thread() -> (CpuTime, Scheduling) {
    let usage = read(libc::RUSAGE_THREAD);
    let scheduling = Scheduling {
        voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
        involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
        major_faults: usage.ru_majflt.unsigned_abs(),
        minor_faults: usage.ru_minflt.unsigned_abs(),
    };
    (time_of(&usage), scheduling)
}

fn time_of(usage: &libc::rusage) -> CpuTime {
    CpuTime { user: span_of(usage.ru_utime), system: span_of(usage.ru_stime) }
}

fn read(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing one `rusage`. All-zero bytes are a valid `rusage` (integers only), so
    // it is initialised even if the call fails, which it cannot with these constants (getrusage(2), ERRORS).
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn span_of(time: libc::timeval) -> Span {
    Span(Duration::from_secs(time.tv_sec.unsigned_abs()) + Duration::from_micros(time.tv_usec.unsigned_abs()))
}

/// What was used between two readings.
pub(crate) fn used_between(before: CpuTime, after: CpuTime) -> CpuTime {
    CpuTime {
        user: Span(after.user.0.saturating_sub(before.user.0)),
        system: Span(after.system.0.saturating_sub(before.system.0)),
    }
}

/// What the scheduler and memory did between two readings.
pub(crate) fn scheduled_between(before: Scheduling, after: Scheduling) -> Scheduling {
    Scheduling {
        voluntary_switches: after.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: after.involuntary_switches.saturating_sub(before.involuntary_switches),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
    }
}

/// Counts the kernel's I/O workers that serve the ring of thread `submitter`: threads of this process that the
/// kernel names `iou-wrk-<submitter>` (`io_uring/io-wq.c`). They linger for five seconds after their last request.
pub(crate) fn count_io_workers(submitter: i32) -> u32 {
    // A thread's name is cut to 15 bytes (TASK_COMM_LEN).
    let name: String = format!("iou-wrk-{submitter}").chars().take(15).collect();
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let workers = threads.flatten().filter(|thread| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    });
    u32::try_from(workers.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_uses_no_more_than_its_process() {
        let before = (read_process(), read_thread().0);
        let mut sum = 0u64;
        for n in 0..20_000_000u64 {
            sum = sum.wrapping_mul(31).wrapping_add(std::hint::black_box(n));
        }
        assert_ne!(sum, 1);
        let mine = used_between(before.1, read_thread().0);
        let all = used_between(before.0, read_process());
        assert!(mine.total_seconds() > 0.0 && mine.total_seconds() <= all.total_seconds() + 0.01);
    }
}
