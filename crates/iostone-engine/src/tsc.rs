//! Reads the processor's time-stamp counter.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "RDTSC is only reachable through an intrinsic")
)]

/// Ticks since some moment in the past; None on processors without such a counter that user code may read.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(clippy::unnecessary_wraps, reason = "other architectures have none")]
pub(crate) fn read_counter() -> Option<u64> {
    // SAFETY: every x86-64 processor has RDTSC; Linux forbids it to no process unless asked to (PR_SET_TSC).
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

/// No counter: the kernel's clock is used.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn read_counter() -> Option<u64> {
    None
}
