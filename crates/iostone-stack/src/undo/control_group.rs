//! Removing our control groups: whoever is still in that of a trial is moved back to where this process came from.

use std::fs;
use std::path::{Path, PathBuf};

use super::{ATTEMPTS, PAUSE, failure, is_absent};
use crate::control_groups::{hierarchy_of, lift_limits, write_line};
use crate::error::UndoFailure;
use crate::site::own_directory_name;
use crate::throttle::go_home;
use crate::tool::quote;

/// Workloads may have made groups within ours, but hardly a forest.
const DEPTH_MAX: usize = 16;

/// Takes the limits off the group of the session with that token: a process that waits under one ends only then.
pub(crate) fn lift(path: &Path, token: &str) {
    if path.ends_with(own_directory_name(token)) && hierarchy_of(path).is_some() {
        lift_limits(path);
    }
}

/// Removes the group of the session with that token, and the groups within it. A home of another hierarchy is none: who is
/// in the group goes to the one above it then.
pub(super) fn remove(path: &Path, home: &Path, token: &str) -> Result<bool, UndoFailure> {
    let Some(hierarchy) = hierarchy_of(path) else {
        if fs::symlink_metadata(path).is_err_and(|error| is_absent(&error)) {
            return Ok(false);
        }
        let next = format!("ls -la {}", quote(path.as_os_str()));
        return Err(failure(path, "it is not in a cgroup hierarchy, so it was left alone", next));
    };
    let home = Some(home).filter(|home| hierarchy_of(home).as_ref() == Some(&hierarchy));
    remove_group(path, home.or(path.parent()).unwrap_or(&hierarchy), token)
}

fn remove_group(path: &Path, home: &Path, token: &str) -> Result<bool, UndoFailure> {
    if !path.ends_with(own_directory_name(token)) {
        return Err(failure(
            path,
            "its name does not contain the session's token, so it was left alone",
            format!("rmdir {}", quote(path.as_os_str())),
        ));
    }
    lift_limits(path);
    // A process that was just killed stays in the group until the kernel has taken it apart.
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        match remove_tree(path, Some(home), 0) {
            Ok(()) => return Ok(true),
            Err(error) if is_absent(&error) => return Ok(last.is_some()),
            Err(error) => last = Some(error),
        }
    }
    let reason = last.map(|error| error.to_string()).unwrap_or_default();
    let inside = processes(path).join(", ");
    if inside.is_empty() {
        return Err(failure(path, reason, format!("rmdir {}", quote(path.as_os_str()))));
    }
    Err(failure(
        path,
        format!("{reason}: process {inside} is in it and cannot be moved to `{}`", home.display()),
        format!("cat {}", quote(path.join("cgroup.procs").as_os_str())),
    ))
}

/// From the leaves up, because a group with children cannot be removed. Without a home nobody is moved, and a group that
/// somebody is in stays.
pub(super) fn remove_tree(group: &Path, home: Option<&Path>, depth: usize) -> std::io::Result<()> {
    let children = children(group)?;
    if depth < DEPTH_MAX {
        for child in children {
            remove_tree(&child, home, depth + 1)?;
        }
    }
    if let Some(home) = home {
        for process in processes(group) {
            // What cannot be moved shows when the group is removed.
            let _ = go_home(&process, group, home);
        }
    }
    fs::remove_dir(group)
}

/// The numbers of the processes in a group and in the groups within it; none where there is no such group.
pub(super) fn processes_of_tree(group: &Path) -> Vec<String> {
    tree(group).iter().flat_map(|group| processes(group)).collect()
}

/// Thaws a group and the groups within it, whichever version they have. Best effort: who stays frozen shows when it is to
/// end.
pub(super) fn thaw_tree(group: &Path) {
    for group in tree(group) {
        for (file, thawed) in [("freezer.state", "THAWED"), ("cgroup.freeze", "0")] {
            // Most hierarchies have neither.
            let _ = write_line(&group.join(file), thawed);
        }
    }
}

/// A group and the groups within it, those above first.
fn tree(group: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![(group.to_owned(), 0)];
    while let Some((group, depth)) = left.pop() {
        if depth < DEPTH_MAX {
            left.extend(children(&group).unwrap_or_default().into_iter().map(|child| (child, depth + 1)));
        }
        found.push(group);
    }
    found
}

fn children(group: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(group)?.flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(directories.map(|entry| entry.path()).collect())
}

fn processes(group: &Path) -> Vec<String> {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_another_token_is_left_alone_and_one_that_is_gone_is_no_failure() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path().join("iostone-other");
        fs::create_dir(&group).unwrap();
        assert!(remove_group(&group, directory.path(), "t").is_err());
        assert!(
            remove(&group, directory.path(), "other")
                .unwrap_err()
                .reason
                .contains("not in a cgroup hierarchy")
        );
        assert!(group.exists());
        for remove in [remove, remove_group] {
            assert!(!remove(&directory.path().join("iostone-t"), directory.path(), "t").unwrap());
        }
        assert!(remove_group(&group, directory.path(), "other").unwrap());
        assert!(!group.exists());
    }

    #[test]
    fn groups_within_are_thawed_too_and_no_file_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let files =
            [(directory.path().join("a/freezer.state"), "THAWED"), (inner.join("cgroup.freeze"), "0")];
        for (file, _) in &files {
            fs::write(file, "").unwrap();
        }
        thaw_tree(directory.path());
        for (file, thawed) in &files {
            assert_eq!(fs::read_to_string(file).unwrap(), *thawed);
        }
        assert!(!inner.join("freezer.state").exists());
        thaw_tree(&directory.path().join("gone"));
    }

    #[test]
    fn groups_that_a_workload_made_within_ours_go_too() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path().join("iostone-t");
        fs::create_dir_all(group.join("a/b")).unwrap();
        assert!(remove_group(&group, directory.path(), "t").unwrap());
        assert!(!group.exists());
    }
}
