//! What a trial's workload stood on, whatever the stack is made of: one device, an array's, or the members alone.

use super::SignalSummary;
use crate::sample::DiskCounters;

/// The device that a workload's bytes must pass, or all members together where the filesystem itself is the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceUnderTest {
    /// Kernel names: `loop0`, `vdb + vdc`.
    pub name: String,
    /// What it served during the workload. Of members their sum, in which mirrors count each byte written again.
    pub served: DiskCounters,
    /// Whether `served` is a sum over members.
    pub is_sum: bool,
    /// Flushes completed. Md, device mapper and bcache pass flushes on and count none of their own (block/blk-flush.c counts
    /// requests, of which they have none), so those of their members are summed. None where the kernel counts none.
    pub flushes: Option<u64>,
    /// Whether any device that flushes go to has a volatile write cache; none where the kernel does not tell.
    pub volatile_cache: Option<bool>,
    /// Members of the array; 0 without one.
    pub members: usize,
}

impl SignalSummary {
    /// What the workload stood on; none where no device was seen.
    pub fn device_under_test(&self) -> Option<DeviceUnderTest> {
        let members: Vec<_> = self.devices.iter().filter(|device| device.role == "member").collect();
        let stack = self.devices.iter().find(|device| device.role == "stack");
        let flushes = |devices: &[&super::DeviceActivity]| {
            let counted = !devices.is_empty() && devices.iter().all(|device| device.flushes_counted);
            counted.then(|| devices.iter().map(|device| device.served.flushes).sum())
        };
        let cache = |devices: &[&super::DeviceActivity]| {
            devices.iter().filter_map(|device| device.volatile_cache).reduce(|one, other| one || other)
        };
        let one = stack.or(if members.is_empty() { self.devices.first() } else { None });
        if let Some(device) = one {
            let has_requests = !["md", "dm-", "bcache"].iter().any(|driver| device.name.starts_with(driver));
            let of_flushes = if members.is_empty() {
                flushes(&[device]).filter(|_| has_requests)
            } else {
                flushes(&members)
            };
            return Some(DeviceUnderTest {
                name: device.name.clone(),
                served: device.served,
                is_sum: false,
                flushes: of_flushes,
                volatile_cache: if members.is_empty() { device.volatile_cache } else { cache(&members) },
                members: members.len(),
            });
        }
        let names: Vec<&str> = members.iter().map(|device| device.name.as_str()).collect();
        (!members.is_empty()).then(|| DeviceUnderTest {
            name: names.join(" + "),
            served: sum(members.iter().map(|device| device.served)),
            is_sum: true,
            flushes: flushes(&members),
            volatile_cache: cache(&members),
            members: members.len(),
        })
    }

    /// The sum over the members of the array; none without members.
    pub fn members_served(&self) -> Option<DiskCounters> {
        let mut members = self.devices.iter().filter(|device| device.role == "member").peekable();
        members.peek()?;
        Some(sum(members.map(|device| device.served)))
    }
}

fn sum(all: impl Iterator<Item = DiskCounters>) -> DiskCounters {
    all.fold(DiskCounters::default(), |sum, own| DiskCounters {
        reads: sum.reads + own.reads,
        read_bytes: sum.read_bytes + own.read_bytes,
        writes: sum.writes + own.writes,
        written_bytes: sum.written_bytes + own.written_bytes,
        discards: sum.discards + own.discards,
        flushes: sum.flushes + own.flushes,
        read_ms: sum.read_ms + own.read_ms,
        write_ms: sum.write_ms + own.write_ms,
        // Members work at the same time.
        busy_ms: sum.busy_ms.max(own.busy_ms),
        in_flight: sum.in_flight + own.in_flight,
    })
}

#[cfg(test)]
mod tests {
    use super::super::DeviceActivity;
    use super::*;

    fn device(name: &str, role: &str, bytes: u64, flushes: u64) -> DeviceActivity {
        let served = DiskCounters { written_bytes: bytes, flushes, ..DiskCounters::default() };
        DeviceActivity {
            name: name.to_owned(),
            role: role.to_owned(),
            served,
            flushes_counted: true,
            volatile_cache: Some(bytes > 50),
        }
    }

    fn device_under_test(devices: Vec<DeviceActivity>) -> DeviceUnderTest {
        SignalSummary { devices, ..SignalSummary::default() }.device_under_test().unwrap()
    }

    #[test]
    fn an_array_serves_and_its_members_flush() {
        let found = device_under_test(vec![
            device("md127", "stack", 100, 0),
            device("vdb", "member", 50, 7),
            device("vdc", "member", 50, 8),
        ]);
        assert_eq!((found.name.as_str(), found.served.written_bytes, found.is_sum), ("md127", 100, false));
        assert_eq!((found.flushes, found.members, found.volatile_cache), (Some(15), 2, Some(false)));
    }

    #[test]
    fn a_filesystem_over_several_devices_stands_on_all_of_them() {
        let found = device_under_test(vec![
            device("vdb", "member", 50, 7),
            device("vdc", "member", 60, 8),
            device("sda", "below", 1, 1),
        ]);
        assert_eq!((found.name.as_str(), found.served.written_bytes, found.is_sum), ("vdb + vdc", 110, true));
        assert_eq!(found.volatile_cache, Some(true), "one that may lose something is enough");
        assert_eq!(device_under_test(vec![device("md0", "stack", 1, 0)]).flushes, None);
        let alone = device_under_test(vec![device("sda", "below", 1, 1)]);
        assert_eq!((alone.name.as_str(), alone.flushes), ("sda", Some(1)));
    }
}
