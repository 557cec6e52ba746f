//! `io.max` of version 2 (Documentation/admin-guide/cgroup-v2.rst).

use std::fs;
use std::path::Path;

use super::{Caps, Served, refused};
use crate::control_groups::write_line;
use crate::device::DeviceNumber;
use crate::error::StackError;

const MAX: &str = "io.max";
/// Counts since the group was made: `7:3 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`.
const STAT: &str = "io.stat";

/// Puts a device's limits on a group: `7:3 rbps=40000000 wbps=max riops=max wiops=100`.
pub(super) fn write(group: &Path, (major, minor): DeviceNumber, caps: &Caps) -> Result<(), StackError> {
    let word = |cap: Option<u64>| cap.map_or("max".to_owned(), |cap| cap.to_string());
    let line = format!(
        "{major}:{minor} rbps={} wbps={} riops={} wiops={}",
        word(caps.read_bps),
        word(caps.write_bps),
        word(caps.read_iops),
        word(caps.write_iops),
    );
    let file = group.join(MAX);
    write_line(&file, &format!("{line}\n")).map_err(|error| refused(line, &file, &error))
}

/// The limits of a device in a group; a device without any has no line.
pub(super) fn read(group: &Path, number: DeviceNumber) -> Result<(Caps, String), StackError> {
    let file = group.join(MAX);
    let text = fs::read_to_string(&file).map_err(|source| StackError::io("read", &file, source))?;
    Ok((caps_of(&text, number), file.display().to_string()))
}

/// What a device has served to a group; nothing before its first request.
pub(super) fn served(group: &Path, number: DeviceNumber) -> Result<Served, StackError> {
    let file = group.join(STAT);
    let text = fs::read_to_string(&file).map_err(|source| StackError::io("read", &file, source))?;
    Ok(served_of(&text, number))
}

fn served_of(text: &str, number: DeviceNumber) -> Served {
    let count = |name: &str| figure_of(text, number, name).unwrap_or(0);
    Served {
        requests: count("rios").saturating_add(count("wios")),
        bytes: count("rbytes").saturating_add(count("wbytes")),
    }
}

/// The figure behind a key in the line of a device: `7:3 rbps=40000000 wbps=max`; none for `max`.
fn figure_of(text: &str, (major, minor): DeviceNumber, name: &str) -> Option<u64> {
    let wanted = format!("{major}:{minor}");
    let settings = text.lines().find_map(|line| {
        let (device, settings) = line.split_once(' ')?;
        (device == wanted).then_some(settings)
    })?;
    settings
        .split_whitespace()
        .find_map(|setting| setting.split_once('=').filter(|(key, _)| *key == name)?.1.parse().ok())
}

fn caps_of(text: &str, number: DeviceNumber) -> Caps {
    let cap = |name: &str| figure_of(text, number, name);
    Caps { read_bps: cap("rbps"), write_bps: cap("wbps"), read_iops: cap("riops"), write_iops: cap("wiops") }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::Limits;
    use iostone_model::units::ByteRate;

    use super::*;

    #[test]
    fn limits_are_read_as_the_kernel_writes_them() {
        let text =
            "8:0 rbps=1 wbps=max riops=max wiops=max\n7:3 rbps=40000000 wbps=max riops=max wiops=100\n";
        let caps = caps_of(text, (7, 3));
        assert_eq!(caps, Caps { read_bps: Some(40_000_000), write_iops: Some(100), ..Caps::default() });
        assert_eq!(caps_of(text, (7, 4)), Caps::default());
    }

    #[test]
    fn what_was_served_is_read_as_the_kernel_writes_it() {
        let text = "8:0 rbytes=9 wbytes=9 rios=9 wios=9\n\
                    7:3 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=5 dios=5\n";
        assert_eq!(served_of(text, (7, 3)), Served { requests: 3, bytes: 12288 });
        assert_eq!(served_of(text, (7, 4)), Served::default());
    }

    #[test]
    fn what_is_written_reads_back() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(MAX), "").unwrap();
        let limits = Limits { write_throughput: Some(ByteRate(10)), read_iops: Some(7), ..Limits::default() };
        let caps = Caps::from(&limits);
        write(directory.path(), (7, 1), &caps).unwrap();
        let text = fs::read_to_string(directory.path().join(MAX)).unwrap();
        assert_eq!(text, "7:1 rbps=max wbps=10 riops=7 wiops=max\n");
        assert_eq!(read(directory.path(), (7, 1)).unwrap().0, caps);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,60}") {
            let _ = caps_of(&text, (7, 0));
            let _ = served_of(&text, (7, 0));
        }
    }
}
