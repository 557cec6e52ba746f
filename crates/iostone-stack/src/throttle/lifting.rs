//! Lifting the limits of a group at once: whoever waits in the kernel for its turn under a limit hears no signal until
//! it has had it.

use std::fs;
use std::path::Path;

use super::{v1, v2, write_line};

/// Takes every limit off a group, whichever device it is of and whichever version the group has. The kernel then sends
/// on what it was holding back (`tg_conf_updated`, block/blk-throttle.c).
///
/// Best effort: a device that is gone takes its limits with it, and what stays limited shows when the group is removed.
pub(crate) fn lift_limits(group: &Path) {
    for (file, lifted) in v1::LIMITS.map(|file| (file, v1::LIFTED)).into_iter().chain([(v2::MAX, v2::LIFTED)])
    {
        let file = group.join(file);
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for device in text.lines().filter_map(|line| line.split_whitespace().next()) {
            let _ = write_line(&file, &format!("{device} {lifted}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_is_named_with_what_means_no_limit() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(v1::READ_BPS);
        // Writing goes over what was there, as far as it reaches; the kernel takes it as a setting.
        fs::write(&file, "7:3 1\n").unwrap();
        lift_limits(directory.path());
        assert_eq!(fs::read_to_string(&file).unwrap(), "7:3 0\n");
        fs::remove_file(&file).unwrap();
        let file = directory.path().join(v2::MAX);
        fs::write(&file, "7:3 rbps=1 wbps=max riops=max wiops=max\n").unwrap();
        lift_limits(directory.path());
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("7:3 rbps=max wbps=max riops=max wiops=max\n"), "{text}");
        lift_limits(&directory.path().join("gone"));
    }
}
