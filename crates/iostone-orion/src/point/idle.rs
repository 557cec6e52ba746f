//! The point without load: whether the devices are idle but for the test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_model::orion::{PointRecord, ServedAtPoint};
use iostone_probe::{Idleness, WatchedDevice, watch_idle};

use crate::error::OrionError;

/// Longer looks say no more.
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// Less than this many I/Os a second is what a machine at rest does.
const REST_IOS_PER_SECOND: f64 = 1.0;

/// Watches the devices without any load for the time of a point, and no longer than a second.
pub(super) fn watch(
    devices: &[WatchedDevice],
    duration: Duration,
    stop: &AtomicBool,
) -> Result<PointRecord, OrionError> {
    let mut record = PointRecord { started_at: super::moment(Duration::ZERO), ..PointRecord::default() };
    match watch_idle(devices, duration.min(LONGEST_LOOK), stop) {
        Ok(idleness) => describe(&idleness, &mut record),
        Err(error) => record.notes.push(format!("whether the devices were idle is not known: {error}")),
    }
    if stop.load(Ordering::Relaxed) { Err(OrionError::Interrupted) } else { Ok(record) }
}

fn describe(idleness: &Idleness, record: &mut PointRecord) {
    record.seconds = idleness.seconds;
    if idleness.devices.is_empty() {
        record.notes.push("the LUNs' devices are not known, nor whether they were idle".to_owned());
        return;
    }
    let served = record.served.get_or_insert_default();
    for device in &idleness.devices {
        add(served, device);
        let per_second = device.ios() as f64 / idleness.seconds.max(f64::MIN_POSITIVE);
        let name = &device.name;
        if let Some(lost) = &device.lost {
            record.notes.push(lost.clone());
        } else if !device.counting {
            record
                .notes
                .push(format!("`{name}` does not count its I/O, so whether it was idle is not known"));
        } else if per_second >= REST_IOS_PER_SECOND {
            record.notes.push(format!(
                "the devices were not idle: `{name}` served {per_second:.0} I/Os a second before any load"
            ));
        }
    }
}

fn add(sum: &mut ServedAtPoint, device: &iostone_probe::IdleDevice) {
    sum.devices.push(device.name.clone());
    sum.reads += device.served.reads;
    sum.read_bytes += device.served.read_bytes;
    sum.writes += device.served.writes;
    sum.written_bytes += device.served.written_bytes;
    sum.flushes += device.served.flushes;
}

#[cfg(test)]
mod tests {
    use iostone_model::sample::DiskCounters;
    use iostone_probe::{IdleDevice, Role};

    use super::*;

    fn idleness(reads: u64, counting: bool) -> Idleness {
        let device = IdleDevice {
            name: "vda".to_owned(),
            role: Role::Stack,
            served: DiskCounters { reads, ..DiskCounters::default() },
            in_flight_peak: 0,
            counting,
            lost: None,
        };
        Idleness { seconds: 2.0, devices: vec![device] }
    }

    fn notes(idleness: &Idleness) -> Vec<String> {
        let mut record = PointRecord::default();
        describe(idleness, &mut record);
        record.notes
    }

    #[test]
    fn foreign_io_is_told_per_second() {
        assert_eq!(notes(&idleness(1, true)), Vec::<String>::new());
        assert_eq!(
            notes(&idleness(100, true)),
            ["the devices were not idle: `vda` served 50 I/Os a second before any load"]
        );
    }

    #[test]
    fn what_cannot_be_known_is_said() {
        assert!(notes(&idleness(0, false))[0].contains("does not count"));
        assert!(notes(&Idleness { seconds: 1.0, devices: Vec::new() })[0].contains("not known"));
    }
}
