//! `io.max` of version 2, and the controllers that a group hands down to its children
//! (Documentation/admin-guide/cgroup-v2.rst).

use std::fs;
use std::path::{Path, PathBuf};

use super::{Caps, Served, refused, write_line};
use crate::device::DeviceNumber;
use crate::error::{StackError, UndoFailure};
use crate::tool::quote;

pub(super) const MAX: &str = "io.max";
/// What lifts the limits of a device.
pub(super) const LIFTED: &str = "rbps=max wbps=max riops=max wiops=max";
/// Counts since the group was made: `7:3 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`.
const STAT: &str = "io.stat";
pub(super) const CONTROLLERS: &str = "cgroup.controllers";
pub(super) const SUBTREE_CONTROL: &str = "cgroup.subtree_control";

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

/// Whether a file of controllers, such as `cgroup.controllers`, lists `io`.
pub(super) fn lists_io(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|word| word == "io"))
}

/// The group in which a group with limits can be made, and whether it has to be told to hand `io` down first.
///
/// A group other than the root cannot hold processes and hand a controller down at once ("no internal processes"), so
/// the group of this process is seldom the one. The nearest that hands `io` down already is taken, so that what limits
/// the groups above limits the trial too; else the nearest that may be told to. `line` is nearest first.
pub(super) fn choose_parent(line: &[PathBuf]) -> Option<(PathBuf, bool)> {
    let hands_down = line.iter().find(|group| lists_io(&group.join(SUBTREE_CONTROL)));
    if let Some(group) = hands_down {
        return Some((group.clone(), false));
    }
    // Only the root of all groups has no type.
    let is_root = |group: &Path| !group.join("cgroup.type").exists();
    let is_empty = |group: &Path| {
        fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|text| text.trim().is_empty())
    };
    line.iter()
        .find(|group| lists_io(&group.join(CONTROLLERS)) && (is_root(group) || is_empty(group)))
        .map(|group| (group.clone(), true))
}

/// Has a group hand `io` down to its children.
pub(super) fn hand_down(group: &Path) -> Result<(), StackError> {
    let file = group.join(SUBTREE_CONTROL);
    write_line(&file, "+io").map_err(|error| refused("+io".to_owned(), &file, &error))?;
    if lists_io(&file) {
        return Ok(());
    }
    Err(StackError::NotApplied {
        layer: "throttle",
        asked: "+io".to_owned(),
        read_back: fs::read_to_string(&file).unwrap_or_default().trim().to_owned(),
        from: file.display().to_string(),
    })
}

/// Takes that back, unless another child of the group has come to rely on it meanwhile.
///
/// # Errors
/// What the kernel says, with the command that does it by hand.
pub(crate) fn stop_handing_down(group: &Path) -> Result<bool, UndoFailure> {
    let file = group.join(SUBTREE_CONTROL);
    if !lists_io(&file) || children(group).any(|child| relies_on_io(&child)) {
        return Ok(false);
    }
    match write_line(&file, "-io") {
        Ok(()) => Ok(true),
        // A child hands it down further: it is in use.
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(false),
        Err(error) => Err(UndoFailure {
            object: file.display().to_string(),
            reason: error.to_string(),
            next: format!("echo -io > {}", quote(file.as_os_str())),
        }),
    }
}

fn children(group: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

fn relies_on_io(group: &Path) -> bool {
    let limited = fs::read_to_string(group.join(MAX)).is_ok_and(|text| !text.trim().is_empty());
    limited || lists_io(&group.join(SUBTREE_CONTROL))
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::Limits;
    use iostone_model::units::ByteRate;

    use super::*;

    fn group(path: &Path, files: &[(&str, &str)]) {
        fs::create_dir_all(path).unwrap();
        for (name, text) in files {
            fs::write(path.join(name), text).unwrap();
        }
    }

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

    #[test]
    fn the_nearest_group_that_hands_io_down_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let (slice, scope) = (root.join("user.slice"), root.join("user.slice/session-1.scope"));
        group(
            &root,
            &[(CONTROLLERS, "cpu io memory\n"), (SUBTREE_CONTROL, "cpu io\n"), ("cgroup.procs", "1\n")],
        );
        let own = [("cgroup.type", "domain\n"), (CONTROLLERS, "cpu io\n"), (SUBTREE_CONTROL, "cpu\n")];
        group(&slice, &own);
        group(&slice, &[("cgroup.procs", "")]);
        group(&scope, &own);
        group(&scope, &[("cgroup.procs", "42\n")]);
        let line = [scope.clone(), slice.clone(), root.clone()];
        assert_eq!(choose_parent(&line), Some((root.clone(), false)));
        // Nobody hands it down: an empty group, or the root, can be told to.
        fs::write(root.join(SUBTREE_CONTROL), "cpu\n").unwrap();
        assert_eq!(choose_parent(&line), Some((slice.clone(), true)));
        fs::write(slice.join(CONTROLLERS), "cpu\n").unwrap();
        fs::write(scope.join(CONTROLLERS), "cpu\n").unwrap();
        assert_eq!(choose_parent(&line), Some((root.clone(), true)));
        // A container's root holds processes and is not the root of all groups.
        fs::write(root.join("cgroup.type"), "domain\n").unwrap();
        assert_eq!(choose_parent(&line), None);
    }

    #[test]
    fn a_controller_that_others_came_to_rely_on_stays() {
        let directory = tempfile::tempdir().unwrap();
        group(directory.path(), &[(SUBTREE_CONTROL, "io\n")]);
        let other = directory.path().join("other");
        group(&other, &[(MAX, "8:0 rbps=1 wbps=max riops=max wiops=max\n"), (SUBTREE_CONTROL, "\n")]);
        assert!(!stop_handing_down(directory.path()).unwrap());
        fs::write(other.join(MAX), "").unwrap();
        assert!(stop_handing_down(directory.path()).unwrap());
        assert_eq!(fs::read_to_string(directory.path().join(SUBTREE_CONTROL)).unwrap(), "-io");
        assert!(!stop_handing_down(directory.path()).unwrap(), "a second time");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC{0,60}") {
            let _ = caps_of(&text, (7, 0));
            let _ = served_of(&text, (7, 0));
        }
    }
}
