//! Taking off what a container engine leaves: its processes and those of its containers, mounts, control groups.

use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::{ATTEMPTS, PAUSE, control_group, failure, is_absent, is_ours, processes};
use crate::error::UndoFailure;
use crate::mountinfo;
use crate::site::own_directory_name;
use crate::tool::quote;

/// Ends the engine and all that it started, unmounts what is mounted within its directories, deepest first, and removes
/// its control groups. Harmless when nothing of it is left.
pub(super) fn take_off(
    variable: &str,
    value: &str,
    roots: &[PathBuf],
    group: &str,
    token: &str,
) -> Result<bool, UndoFailure> {
    let mut did = processes::kill(variable, value)?.is_some();
    for root in roots.iter().filter(|root| is_ours(root, token)) {
        did |= unmount_within(root)?;
    }
    // Anybody may own a group of another name.
    if group.starts_with(&own_directory_name(token)) && !group.contains('/') {
        did |= remove_groups(group)?;
    }
    Ok(did)
}

/// Mounts that engines make in a mount namespace of their own are gone with its last process.
fn unmount_within(root: &Path) -> Result<bool, UndoFailure> {
    let mut did = false;
    let (mut attempt, mut tried) = (0, PathBuf::new());
    loop {
        let mounts =
            mountinfo::own_mounts().map_err(|error| failure(root, error.to_string(), "iostone cleanup"))?;
        // The table's order is that in which they were made: the last one has nothing on top of it.
        let Some(top) = mounts.iter().rev().find(|mounted| is_within(&mounted.target, root)) else {
            return Ok(did);
        };
        // Each has its own time to become free.
        if top.target != tried {
            (attempt, tried) = (0, top.target.clone());
        }
        attempt += 1;
        let lazily = if attempt < ATTEMPTS { UnmountFlags::empty() } else { UnmountFlags::DETACH };
        match rustix::mount::unmount(&top.target, UnmountFlags::NOFOLLOW | lazily) {
            Ok(()) => {
                did = true;
                tried.clear();
            }
            Err(Errno::BUSY) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
            // Gone meanwhile.
            Err(Errno::INVAL | Errno::NOENT) if attempt < 2 * ATTEMPTS => {}
            Err(errno) => {
                let next = format!("umount --lazy {}", quote(top.target.as_os_str()));
                return Err(failure(&top.target, format!("it cannot be unmounted: {errno}"), next));
            }
        }
    }
}

/// Whether a mount is within a directory; one on the directory itself, too.
fn is_within(target: &Path, root: &Path) -> bool {
    target.starts_with(root)
}

/// In every hierarchy of control groups, below its mount point: there engines make what is given by an absolute path.
fn remove_groups(group: &str) -> Result<bool, UndoFailure> {
    let mounts = mountinfo::own_mounts()
        .map_err(|error| failure(Path::new("/proc/self/mountinfo"), error.to_string(), "iostone cleanup"))?;
    let mut did = false;
    for mounted in mounts.iter().filter(|mounted| matches!(mounted.filesystem.as_str(), "cgroup" | "cgroup2"))
    {
        did |= remove_group(&mounted.target.join(group), &mounted.target)?;
    }
    Ok(did)
}

fn remove_group(path: &Path, home: &Path) -> Result<bool, UndoFailure> {
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            // A process that was just killed stays in its group until the kernel has taken it apart.
            std::thread::sleep(PAUSE);
        }
        match control_group::remove_tree(path, home, 0) {
            Ok(()) => return Ok(true),
            Err(error) if is_absent(&error) => return Ok(last.is_some()),
            Err(error) => last = Some(error),
        }
    }
    let reason = last.map(|error| error.to_string()).unwrap_or_default();
    Err(failure(path, reason, format!("rmdir {}", quote(path.as_os_str()))))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn its_processes_end_and_foreign_directories_and_groups_are_left_alone() {
        let value = crate::journal::random_hex().unwrap();
        let mut marked = Command::new("sh")
            .args(["-c", "trap '' TERM; while :; do sleep 0.1; done"])
            .env("ENGINE", &value)
            .spawn()
            .unwrap();
        while std::fs::read(format!("/proc/{}/environ", marked.id())).is_ok_and(|environment| {
            !environment.windows(value.len()).any(|window| window == value.as_bytes())
        }) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // Were these taken for its own, the whole machine would be unmounted.
        let roots = [PathBuf::from("/")];
        assert!(take_off("ENGINE", &value, &roots, "", "token").unwrap());
        assert!(!marked.wait().unwrap().success());
        assert!(!take_off("ENGINE", &value, &roots, "../iostone-token", "token").unwrap());
    }
}
