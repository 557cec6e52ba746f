//! Processes that cannot end because somebody froze them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mountinfo;

/// The nearest group of the `freezer` controller of version 1 that keeps a process from running: until it is thawed not
/// even SIGKILL is acted on (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst), while version 2 lets what is
/// frozen be killed. None where nobody froze it.
pub(super) fn frozen_by(pid: u32) -> Option<PathBuf> {
    frozen_below(Path::new("/"), pid)
}

fn frozen_below(root: &Path, pid: u32) -> Option<PathBuf> {
    let membership = fs::read_to_string(root.join(format!("proc/{pid}/cgroup"))).ok()?;
    let own = membership.lines().find_map(|line| {
        let (names, path) = line.split_once(':')?.1.split_once(':')?;
        names.split(',').any(|name| name == "freezer").then(|| Path::new(path))
    })?;
    let mounts = mountinfo::parse(&fs::read(root.join("proc/self/mountinfo")).ok()?);
    let (top, group) = mounts.iter().find_map(|mount| {
        let is_it = mount.filesystem == "cgroup" && mount.super_options.iter().any(|one| one == "freezer");
        let below = own.strip_prefix(&mount.root).ok().filter(|_| is_it)?;
        let top = root.join(mount.target.strip_prefix("/").unwrap_or(&mount.target));
        Some((top.clone(), if below.as_os_str().is_empty() { top } else { top.join(below) }))
    })?;
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
        plant("cg/freezer/batch/freezer.self_freezing", "1\n");
        assert_eq!(frozen_below(root.path(), 7), Some(root.path().join("cg/freezer/batch")));
        assert_eq!(frozen_below(root.path(), 8), None, "it has ended");
    }
}
