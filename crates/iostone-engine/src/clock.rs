//! The clock of submissions and completions: the processor's counter where it can be trusted, else the kernel's.
//!
//! Reading `CLOCK_MONOTONIC` per I/O costs a cached 4 KiB read a quarter of its rate; the time-stamp counter, a
//! twentieth. It is used when the processor promises a constant rate that does not stop in sleep
//! (`constant_tsc`, `nonstop_tsc` in `/proc/cpuinfo`) and two calibrations against `CLOCK_MONOTONIC` agree.

use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::outcome::ClockKind;
use crate::tsc::read_counter;

/// How long each of the two calibrations takes. Reading both clocks is uncertain by tens of nanoseconds, so
/// the rate is known to a few parts per million.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Calibrations that differ by more than this (parts of one) mean a counter that is emulated or not constant.
const AGREEMENT: f64 = 100e-6;
/// Binary digits after the point of the factor from ticks to nanoseconds.
const FRACTION_BITS: u32 = 32;

/// A clock that counts nanoseconds since some moment before the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// The time-stamp counter: nanoseconds are `(ticks - origin) * scale / 2^32`.
    Tsc { origin: u64, scale: u64 },
    /// Stands still until a test moves it.
    #[cfg(test)]
    Manual,
}

#[cfg(test)]
thread_local! {
    static MANUAL_NS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Moves this thread's [`Clock::Manual`] on.
#[cfg(test)]
pub(crate) fn advance_manual(ns: u64) {
    MANUAL_NS.set(MANUAL_NS.get() + ns);
}

impl Clock {
    /// The best clock of this machine; calibrated once per process.
    pub(crate) fn choose() -> Self {
        static CHOSEN: OnceLock<Clock> = OnceLock::new();
        *CHOSEN.get_or_init(|| calibrate().unwrap_or(Self::Monotonic))
    }

    /// Nanoseconds since the clock's origin.
    #[inline]
    pub(crate) fn now_ns(self) -> u64 {
        match self {
            Self::Monotonic => read_monotonic_ns(),
            Self::Tsc { origin, scale } => {
                let ticks = read_counter().unwrap_or(origin).saturating_sub(origin);
                #[expect(clippy::cast_possible_truncation, reason = "584 years of nanoseconds")]
                let ns = ((u128::from(ticks) * u128::from(scale)) >> FRACTION_BITS) as u64;
                ns
            }
            #[cfg(test)]
            Self::Manual => MANUAL_NS.get(),
        }
    }

    /// Which clock it is.
    pub(crate) fn kind(self) -> ClockKind {
        match self {
            Self::Monotonic => ClockKind::Monotonic,
            #[cfg(test)]
            Self::Manual => ClockKind::Monotonic,
            Self::Tsc { .. } => ClockKind::Tsc,
        }
    }
}

fn read_monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // CLOCK_MONOTONIC is never negative: it counts from boot.
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Both clocks at the same moment, as nearly as can be: (ticks, nanoseconds).
fn read_both() -> Option<(u64, u64)> {
    let mut best: Option<(u64, u64, u64)> = None;
    for _ in 0..16 {
        let before = read_monotonic_ns();
        let ticks = read_counter()?;
        let after = read_monotonic_ns();
        let uncertainty = after - before;
        if best.is_none_or(|(least, _, _)| uncertainty < least) {
            best = Some((uncertainty, ticks, before + uncertainty / 2));
        }
    }
    best.map(|(_, ticks, ns)| (ticks, ns))
}

/// Measures the counter's rate twice; None when it must not be used.
fn calibrate() -> Option<Clock> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"))?;
    if !["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.split(' ').any(|word| word == *flag)) {
        return None;
    }
    let first = read_both()?;
    sleep(CALIBRATION);
    let second = read_both()?;
    sleep(CALIBRATION);
    let third = read_both()?;
    let rate = |from: (u64, u64), to: (u64, u64)| {
        let ticks = to.0.checked_sub(from.0).filter(|ticks| *ticks > 0)?;
        Some((to.1 - from.1) as f64 / ticks as f64)
    };
    let (early, late, whole) = (rate(first, second)?, rate(second, third)?, rate(first, third)?);
    // From 10 MHz to 100 GHz: anything else is no processor's counter.
    if (early / late - 1.0).abs() > AGREEMENT || !(0.01..=100.0).contains(&whole) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100 * 2^32")]
    let scale = (whole * f64::from(FRACTION_BITS).exp2()) as u64;
    Some(Clock::Tsc { origin: first.0, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        for clock in [Clock::choose(), Clock::Monotonic] {
            let stamps: Vec<u64> = (0..10_000).map(|_| clock.now_ns()).collect();
            assert!(stamps.is_sorted());
        }
    }

    #[test]
    fn ticks_become_nanoseconds_by_the_calibrated_factor() {
        // 2 GHz: half a nanosecond per tick; a day must not overflow.
        let clock = Clock::Tsc { origin: 0, scale: 1 << 31 };
        let Clock::Tsc { scale, .. } = clock else { unreachable!() };
        assert_eq!((172_800_000_000_000u128 * u128::from(scale)) >> FRACTION_BITS, 86_400_000_000_000);
        assert_eq!(clock.kind(), ClockKind::Tsc);
    }
}
