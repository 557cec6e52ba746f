//! `blkio.throttle.*` of version 1: a file for each limit, a line for each device
//! (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).

use std::path::Path;

use super::{Caps, Served, refused};
use crate::control_groups::write_line;
use crate::device::DeviceNumber;
use crate::error::StackError;

const READ_BPS: &str = "blkio.throttle.read_bps_device";
const WRITE_BPS: &str = "blkio.throttle.write_bps_device";
const READ_IOPS: &str = "blkio.throttle.read_iops_device";
const WRITE_IOPS: &str = "blkio.throttle.write_iops_device";
/// Requests since the group was made, counted as they arrive at the limit: `7:3 Read 12`.
const SERVICED: &str = "blkio.throttle.io_serviced";
/// Bytes likewise.
const SERVICE_BYTES: &str = "blkio.throttle.io_service_bytes";

fn files(caps: &Caps) -> [(&'static str, Option<u64>); 4] {
    [
        (READ_BPS, caps.read_bps),
        (WRITE_BPS, caps.write_bps),
        (READ_IOPS, caps.read_iops),
        (WRITE_IOPS, caps.write_iops),
    ]
}

/// Puts a device's limits on a group: `7:3 40000000`.
pub(super) fn write(group: &Path, (major, minor): DeviceNumber, caps: &Caps) -> Result<(), StackError> {
    for (name, cap) in files(caps) {
        let Some(cap) = cap else { continue };
        let file = group.join(name);
        let line = format!("{major}:{minor} {cap}");
        write_line(&file, &format!("{line}\n")).map_err(|error| refused(line, &file, &error))?;
    }
    Ok(())
}

/// The limits of a device in a group; a device without one has no line.
pub(super) fn read(group: &Path, number: DeviceNumber) -> Result<(Caps, String), StackError> {
    let cap = |name: &str| {
        let file = group.join(name);
        let text = std::fs::read_to_string(&file).map_err(|source| StackError::io("read", &file, source))?;
        Ok::<_, StackError>(cap_of(&text, number))
    };
    let caps = Caps {
        read_bps: cap(READ_BPS)?,
        write_bps: cap(WRITE_BPS)?,
        read_iops: cap(READ_IOPS)?,
        write_iops: cap(WRITE_IOPS)?,
    };
    Ok((caps, group.join("blkio.throttle.*_device").display().to_string()))
}

/// What a device has served to a group; nothing before its first request.
pub(super) fn served(group: &Path, number: DeviceNumber) -> Result<Served, StackError> {
    let count = |name: &str| {
        let file = group.join(name);
        let text = std::fs::read_to_string(&file).map_err(|source| StackError::io("read", &file, source))?;
        Ok::<_, StackError>(sum_of(&text, number))
    };
    Ok(Served { requests: count(SERVICED)?, bytes: count(SERVICE_BYTES)? })
}

/// Reads and writes of a device in lines such as `7:3 Read 12`; the other lines count the same once more.
fn sum_of(text: &str, (major, minor): DeviceNumber) -> u64 {
    let wanted = format!("{major}:{minor}");
    let counts = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_it = words.next() == Some(wanted.as_str()) && matches!(words.next(), Some("Read" | "Write"));
        words.next().filter(|_| is_it)?.parse::<u64>().ok()
    });
    counts.fold(0, u64::saturating_add)
}

/// The figure behind a device in lines such as `7:3 40000000`.
fn cap_of(text: &str, (major, minor): DeviceNumber) -> Option<u64> {
    let wanted = format!("{major}:{minor}");
    text.lines().find_map(|line| {
        let (device, cap) = line.split_once(' ')?;
        (device == wanted).then(|| cap.trim().parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_device_counts_and_no_other() {
        let text = "7:1 10\n7:11 40000000\n8:0 5\n";
        assert_eq!(cap_of(text, (7, 11)), Some(40_000_000));
        assert_eq!(cap_of(text, (7, 1)), Some(10));
        assert_eq!(cap_of(text, (7, 2)), None);
        assert_eq!(cap_of("", (7, 1)), None);
    }

    #[test]
    fn reads_and_writes_are_added_and_nothing_is_counted_twice() {
        let text = "7:3 Read 12\n7:3 Write 5\n7:3 Sync 17\n7:3 Async 0\n7:3 Discard 2\n7:3 Total 19\n\
                    7:31 Read 100\nTotal 119\n";
        assert_eq!(sum_of(text, (7, 3)), 17);
        assert_eq!(sum_of(text, (7, 4)), 0);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,60}") {
            let _ = cap_of(&text, (7, 0));
            let _ = sum_of(&text, (7, 0));
        }
    }
}
