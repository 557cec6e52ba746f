//! Processes that somebody froze, and who cannot end for it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::control_groups::CgroupVersion;
use crate::mountinfo;

/// The nearest group of the `freezer` controller of version 1 that keeps a process from running: until it is thawed not
/// even SIGKILL is acted on (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst), while version 2 lets what is
/// frozen be killed. None where nobody froze it.
pub(super) fn frozen_by(pid: u32) -> Option<PathBuf> {
    frozen_below(Path::new("/"), pid)
}

/// Whether a process stands still because its control group, of whatever version, or one above it is frozen: `docker pause`
/// does that.
pub fn is_frozen(pid: u32) -> bool {
    is_frozen_below(Path::new("/"), pid)
}

fn is_frozen_below(root: &Path, pid: u32) -> bool {
    // Version 2 says it of a group that froze with one above it, too.
    let frozen_by_2 = group_of(root, pid, CgroupVersion::Two).is_some_and(|(_, group)| {
        fs::read_to_string(group.join("cgroup.events"))
            .is_ok_and(|events| events.lines().any(|line| line.trim() == "frozen 1"))
    });
    frozen_by_2 || frozen_below(root, pid).is_some()
}

/// The top of the hierarchy that freezes in that version, and the group of a process in it.
fn group_of(root: &Path, pid: u32, version: CgroupVersion) -> Option<(PathBuf, PathBuf)> {
    let membership = fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).ok()?;
    let own = membership.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (names, path) = rest.split_once(':')?;
        let is_it = match version {
            CgroupVersion::One => names.split(',').any(|name| name == "freezer"),
            CgroupVersion::Two => number == "0" && names.is_empty(),
        };
        is_it.then(|| Path::new(path))
    })?;
    let mounts = mountinfo::parse(&fs::read(root.join("proc/self/mountinfo")).ok()?);
    mounts.iter().find_map(|mount| {
        let is_it = match version {
            CgroupVersion::One => {
                mount.filesystem == "cgroup" && mount.super_options.iter().any(|one| one == "freezer")
            }
            CgroupVersion::Two => mount.filesystem == "cgroup2",
        };
        let below = own.strip_prefix(&mount.root).ok().filter(|_| is_it)?;
        let top = root.join(mount.target.strip_prefix("/").unwrap_or(&mount.target));
        Some((top.clone(), if below.as_os_str().is_empty() { top } else { top.join(below) }))
    })
}

fn frozen_below(root: &Path, pid: u32) -> Option<PathBuf> {
    let (top, group) = group_of(root, pid, CgroupVersion::One)?;
    let is_freezing = |group: &&Path| {
        fs::read_to_string(group.join("freezer.self_freezing")).is_ok_and(|text| text.trim() == "1")
    };
    group.ancestors().take_while(|group| group.starts_with(&top)).find(is_freezing).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_that_froze_a_process_is_found_above_it() {
        let root = tempfile::tempdir().unwrap();
        let plant = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        plant("proc/7/cgroup", "6:freezer:/batch/inner\n1:cpu:/\n");
        plant("proc/self/mountinfo", "31 23 0:1 / /cg/freezer rw - cgroup cgroup rw,freezer\n");
        plant("cg/freezer/batch/inner/freezer.self_freezing", "0\n");
        plant("cg/freezer/batch/freezer.self_freezing", "0\n");
        assert_eq!(frozen_below(root.path(), 7), None);
        assert!(!is_frozen_below(root.path(), 7));
        plant("cg/freezer/batch/freezer.self_freezing", "1\n");
        assert_eq!(frozen_below(root.path(), 7), Some(root.path().join("cg/freezer/batch")));
        assert_eq!(frozen_below(root.path(), 8), None, "it has ended");
        assert!(is_frozen_below(root.path(), 7));
        assert!(!is_frozen_below(root.path(), 8));
    }

    #[test]
    fn a_group_of_version_2_says_by_itself_that_it_is_frozen() {
        let root = tempfile::tempdir().unwrap();
        let plant = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        plant("proc/7/cgroup", "3:freezer:/\n0::/batch\n");
        plant("proc/self/mountinfo", "31 23 0:1 / /cg rw - cgroup2 cgroup2 rw\n");
        plant("cg/batch/cgroup.events", "populated 1\nfrozen 0\n");
        assert!(!is_frozen_below(root.path(), 7));
        plant("cg/batch/cgroup.events", "populated 1\nfrozen 1\n");
        assert!(is_frozen_below(root.path(), 7));
        assert_eq!(frozen_below(root.path(), 7), None, "it can be ended");
    }
}
