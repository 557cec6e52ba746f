//! Whether the devices are at rest before a trial starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostone_model::sample::DiskCounters;

use crate::error::ProbeError;
use crate::root::Root;
use crate::signal::disk::{DiskSignal, Role, WatchedDevice, subtract_counters};

/// How often the gauge of requests in flight, and `stop`, are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What devices did while they should have rested.
#[derive(Debug, Clone, PartialEq)]
pub struct Idleness {
    /// Seconds that were watched; less than asked when `stop` was set.
    pub seconds: f64,
    /// The devices in the order they were given.
    pub devices: Vec<IdleDevice>,
}

/// What one device did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleDevice {
    /// Kernel name.
    pub name: String,
    /// Its place in the stack.
    pub role: Role,
    /// Differences of the counters over the time; `in_flight` is the value at its end.
    pub served: DiskCounters,
    /// The most requests seen in flight.
    pub in_flight_peak: u64,
    /// Whether the device counts its I/O at all (`queue/iostats`); if not, rest cannot be told from work.
    pub counting: bool,
    /// Set when the device went meanwhile: what happened, as a sentence.
    pub lost: Option<String>,
}

impl IdleDevice {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.served.read_bytes.saturating_add(self.served.written_bytes)
    }

    /// Requests completed of any kind.
    pub fn ios(&self) -> u64 {
        let served = &self.served;
        [served.reads, served.writes, served.discards, served.flushes]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// Watches `devices` of this machine for a time, or until `stop` is set.
///
/// # Errors
/// A device that the kernel does not know; see [`ProbeError`].
pub fn watch_idle(
    devices: &[WatchedDevice],
    duration: Duration,
    stop: &AtomicBool,
) -> Result<Idleness, ProbeError> {
    watch_idle_in(&Root::live(), devices, duration, stop)
}

/// As [`watch_idle`], below any root.
///
/// # Errors
/// As [`watch_idle`].
pub fn watch_idle_in(
    root: &Root,
    devices: &[WatchedDevice],
    duration: Duration,
    stop: &AtomicBool,
) -> Result<Idleness, ProbeError> {
    let mut disks = DiskSignal::open(root, devices)?;
    let started = Instant::now();
    let first = disks.counters.clone();
    let mut peaks: Vec<u64> = first.iter().map(|counters| counters.in_flight).collect();
    loop {
        let elapsed = started.elapsed();
        disks.take(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        for (peak, counters) in peaks.iter_mut().zip(&disks.counters) {
            *peak = counters.in_flight.max(*peak);
        }
        let left = duration.saturating_sub(elapsed);
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(left.min(LOOK_EVERY));
    }
    let seconds = started.elapsed().as_secs_f64();
    let devices = disks
        .series
        .iter()
        .zip(first.iter().zip(&disks.counters))
        .zip(peaks)
        .map(|((series, (before, after)), in_flight_peak)| IdleDevice {
            name: series.name.clone(),
            role: series.role,
            served: subtract_counters(before, after),
            in_flight_peak,
            counting: series.counting,
            lost: series.ending.as_ref().map(|ending| ending.reason.clone()),
        })
        .collect();
    Ok(Idleness { seconds, devices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::plant;

    fn watch(name: &str) -> WatchedDevice {
        WatchedDevice { name: name.to_owned(), role: Role::Below }
    }

    #[test]
    fn a_device_at_rest_did_nothing() {
        let (_folder, root) = plant(&[("sys/class/block/vda/stat", "1 2 3 4 5 6 7 8 0 10 11\n")]);
        let stop = AtomicBool::new(false);
        let idleness = watch_idle_in(&root, &[watch("vda")], Duration::from_millis(5), &stop).unwrap();
        let device = &idleness.devices[0];
        assert_eq!((device.bytes(), device.ios(), device.in_flight_peak), (0, 0, 0));
        assert!(idleness.seconds > 0.0 && device.lost.is_none());
    }

    #[test]
    fn a_request_in_flight_is_seen() {
        let (_folder, root) = plant(&[("sys/class/block/vda/stat", "1 2 3 4 5 6 7 8 9 10 11\n")]);
        let stop = AtomicBool::new(false);
        let idleness = watch_idle_in(&root, &[watch("vda")], Duration::ZERO, &stop).unwrap();
        assert_eq!(idleness.devices[0].in_flight_peak, 9);
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let (_folder, root) = plant(&[("sys/class/block/vda/stat", "1 2 3 4 5 6 7 8 0 10 11\n")]);
        let stop = AtomicBool::new(true);
        let idleness = watch_idle_in(&root, &[watch("vda")], Duration::from_secs(3600), &stop).unwrap();
        assert_eq!(idleness.devices.len(), 1);
    }

    #[test]
    fn an_unknown_device_is_an_error() {
        let (_folder, root) = plant(&[]);
        let stop = AtomicBool::new(true);
        assert!(watch_idle_in(&root, &[watch("vda")], Duration::ZERO, &stop).is_err());
    }
}
