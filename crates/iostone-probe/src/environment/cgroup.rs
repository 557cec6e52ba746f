//! Control groups: which versions there are, where this process stands, and what limits it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use iostone_model::environment::Cgroup;

use super::count_list;
use crate::hierarchy::{Groups, find_groups, parse_memberships};
use crate::root::Root;

/// Files that hold a limit, by the controller that offers them; in version 2 and version 1.
const FILES: [(&str, &[&str]); 6] = [
    ("cpu", &["cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"]),
    (
        "memory",
        &[
            "memory.max",
            "memory.high",
            "memory.swap.max",
            "memory.limit_in_bytes",
            "memory.memsw.limit_in_bytes",
        ],
    ),
    ("io", &["io.max"]),
    (
        "blkio",
        &[
            "blkio.throttle.read_bps_device",
            "blkio.throttle.write_bps_device",
            "blkio.throttle.read_iops_device",
            "blkio.throttle.write_iops_device",
        ],
    ),
    ("cpuset", &["cpuset.cpus.effective", "cpuset.effective_cpus"]),
    ("pids", &["pids.max"]),
];

/// Version 1 means "no limit" by the largest multiple of a page below 2^63.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// Reads the control groups of this process. The limits of an ancestor are found under `../cpu.max`,
/// `../../memory.max` and so on.
pub(super) fn read_cgroup(root: &Root) -> Cgroup {
    let mounts = root.mounts();
    let (has_v1, has_v2) = (
        mounts.iter().any(|mount| mount.filesystem == "cgroup"),
        mounts.iter().any(|mount| mount.filesystem == "cgroup2"),
    );
    let mode = match (has_v1, has_v2) {
        (true, true) => "hybrid",
        (true, false) => "v1",
        (false, true) => "v2",
        (false, false) => "none",
    };
    let mut paths = BTreeMap::new();
    for membership in parse_memberships(&root.text("/proc/self/cgroup").unwrap_or_default()) {
        if membership.controllers.is_empty() {
            paths.insert(String::new(), membership.path.clone());
        }
        for controller in membership.controllers {
            paths.insert(controller, membership.path.clone());
        }
    }
    Cgroup { mode: mode.to_owned(), paths, limits: read_limits(root) }
}

fn read_limits(root: &Root) -> BTreeMap<String, String> {
    let mut limits = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (controller, files) in FILES {
        let Some(Groups { directories, .. }) = find_groups(root, controller) else { continue };
        for (distance, directory) in directories.iter().enumerate() {
            for file in files {
                // In version 2 controllers share directories.
                if !seen.insert(directory.join(file)) {
                    continue;
                }
                if let Some(limit) = read_limit(root, directory, file) {
                    limits.insert(format!("{}{file}", "../".repeat(distance)), limit);
                }
            }
        }
    }
    limits
}

/// What a file limits to; `None` where it limits nothing.
fn read_limit(root: &Root, directory: &Path, file: &str) -> Option<String> {
    let text = root.word(directory.join(file))?;
    let is_unlimited = match file {
        "cpu.max" => text.starts_with("max"),
        "cpu.cfs_quota_us" => text.starts_with('-'),
        // The period alone limits nothing.
        "cpu.cfs_period_us" => root.number::<u64>(directory.join("cpu.cfs_quota_us")).is_none(),
        "cpuset.cpus.effective" | "cpuset.effective_cpus" => {
            let online = root.word("/sys/devices/system/cpu/online");
            online.as_ref() == Some(&text) || online.and_then(|list| count_list(&list)) == count_list(&text)
        }
        _ => text == "max" || text.parse::<u64>().is_ok_and(|bytes| bytes >= UNLIMITED_BYTES),
    };
    (!is_unlimited).then_some(text)
}
