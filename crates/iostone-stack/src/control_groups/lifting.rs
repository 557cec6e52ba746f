//! Lifting the limits of a group at once: whoever waits in the kernel for its turn under a limit hears no signal until
//! it has had it.

use std::fs;
use std::path::Path;

use super::write_line;

/// Files of limits on devices with what lifts the limit of one: version 1
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst) and version 2 (Documentation/admin-guide/cgroup-v2.rst).
const OF_DEVICES: [(&str, &str); 5] = [
    ("blkio.throttle.read_bps_device", "0"),
    ("blkio.throttle.write_bps_device", "0"),
    ("blkio.throttle.read_iops_device", "0"),
    ("blkio.throttle.write_iops_device", "0"),
    ("io.max", "rbps=max wbps=max riops=max wiops=max"),
];
/// Files of limits on the group as a whole with what lifts them. Memory and swap together before memory: the sum may
/// not be below its part.
const OF_GROUP: [(&str, &str); 6] = [
    ("cpu.cfs_quota_us", "-1"),
    ("cpu.max", "max"),
    ("memory.memsw.limit_in_bytes", "-1"),
    ("memory.limit_in_bytes", "-1"),
    ("memory.swap.max", "max"),
    ("memory.max", "max"),
];
/// Workloads may have made groups within ours, but hardly a forest.
const DEPTH_MAX: usize = 16;

/// Takes every limit off a group and the groups within it, whichever version they have. The kernel then sends on what
/// it was holding back (`tg_conf_updated`, block/blk-throttle.c; `tg_set_cfs_bandwidth`, kernel/sched/core.c).
///
/// Best effort: a device that is gone takes its limits with it, and what stays limited shows when the group is removed.
pub(crate) fn lift_limits(group: &Path) {
    lift_below(group, 0);
}

fn lift_below(group: &Path, depth: usize) {
    for (file, lifted) in OF_DEVICES {
        let file = group.join(file);
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for device in text.lines().filter_map(|line| line.split_whitespace().next()) {
            let _ = write_line(&file, &format!("{device} {lifted}\n"));
        }
    }
    for (file, lifted) in OF_GROUP {
        let _ = write_line(&group.join(file), lifted);
    }
    if depth < DEPTH_MAX {
        let entries = fs::read_dir(group).into_iter().flatten().flatten();
        for child in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            lift_below(&child.path(), depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_is_named_with_what_means_no_limit() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("blkio.throttle.read_bps_device");
        // Writing goes over what was there, as far as it reaches; the kernel takes it as a setting.
        fs::write(&file, "7:3 1\n").unwrap();
        lift_limits(directory.path());
        assert_eq!(fs::read_to_string(&file).unwrap(), "7:3 0\n");
        fs::remove_file(&file).unwrap();
        let file = directory.path().join("io.max");
        fs::write(&file, "7:3 rbps=1 wbps=max riops=max wiops=max\n").unwrap();
        lift_limits(directory.path());
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("7:3 rbps=max wbps=max riops=max wiops=max\n"), "{text}");
        lift_limits(&directory.path().join("gone"));
    }

    #[test]
    fn quotas_and_memory_are_lifted_in_the_groups_within_too() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("governed");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("cpu.cfs_quota_us"), "3").unwrap();
        fs::write(directory.path().join("memory.max"), "1").unwrap();
        lift_limits(directory.path());
        assert_eq!(fs::read_to_string(inner.join("cpu.cfs_quota_us")).unwrap(), "-1");
        assert_eq!(fs::read_to_string(directory.path().join("memory.max")).unwrap(), "max");
        assert!(!directory.path().join("cpu.max").exists(), "what is not there is not made");
    }
}
