//! The rate of the processor's time-stamp counter, which a guest's kernel would otherwise spend seconds to find out.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "RDTSC is only reachable through an intrinsic")
)]

#[cfg(target_arch = "x86_64")]
use std::time::{Duration, Instant};

/// Long enough that the calls around it are 1 part in 10 000 at most; the kernel asks for 1 in 100.
#[cfg(target_arch = "x86_64")]
const LOOK: Duration = Duration::from_millis(20);

/// The counter's rate in kHz, for `tsc_early_khz=` (kernel-parameters.txt); none where the counter does not run at one
/// rate all the time, as the flags `constant_tsc` and `nonstop_tsc` of /proc/cpuinfo tell.
pub(super) fn counter_khz() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    if !is_constant(&text) {
        return None;
    }
    measure()
}

fn is_constant(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags")?.trim_start().strip_prefix(':'));
    let has = |name: &str| flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == name));
    has("constant_tsc") && has("nonstop_tsc")
}

#[cfg(target_arch = "x86_64")]
fn measure() -> Option<u64> {
    // SAFETY: every x86-64 processor has RDTSC; Linux forbids it to no process unless asked to (PR_SET_TSC).
    let read = || unsafe { core::arch::x86_64::_rdtsc() };
    let (started, first) = (Instant::now(), read());
    std::thread::sleep(LOOK);
    let (elapsed, last) = (started.elapsed(), read());
    let ticks = u128::from(last.checked_sub(first)?);
    let khz = ticks * 1_000_000 / elapsed.as_nanos().max(1);
    u64::try_from(khz).ok().filter(|khz| *khz > 100_000)
}

#[cfg(not(target_arch = "x86_64"))]
fn measure() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_counter_of_one_rate_is_told_to_a_guest() {
        assert!(is_constant("flags\t\t: fpu tsc constant_tsc nonstop_tsc\n"));
        assert!(!is_constant("flags\t\t: fpu tsc constant_tsc\n"));
        assert!(!is_constant(""));
    }
}
