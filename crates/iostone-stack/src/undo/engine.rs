//! Taking off what a container engine leaves: its processes and those of its containers, mounts, control groups.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::{ATTEMPTS, PAUSE, control_group, failure, is_absent, is_ours, processes};
use crate::error::UndoFailure;
use crate::mountinfo;
use crate::site::own_directory_name;
use crate::tool::quote;

/// Ends the engine and all that it started, by its marker and by its control groups, unmounts what is mounted within its
/// directories, deepest first, and removes those groups. Harmless when nothing of it is left.
pub(super) fn take_off(
    variable: &str,
    value: &str,
    roots: &[PathBuf],
    group: &str,
    token: &str,
) -> Result<bool, UndoFailure> {
    let groups = groups_of(group, token)?;
    // Somebody may have paused its container.
    for group in &groups {
        control_group::thaw_tree(group);
    }
    // Those that start others first. What is made and not yet started, between `runc create` and `runc start`, carries no
    // marker and waits for ever, in mounts of ours.
    let mut did = processes::kill(variable, value)?.is_some();
    did |= processes::kill_within(&groups)?.is_some();
    for root in roots.iter().filter(|root| is_ours(root, token)) {
        did |= unmount_within(root)?;
    }
    for group in &groups {
        did |= remove_group(group)?;
    }
    Ok(did)
}

/// Thaws the engine's groups: a process in a frozen one of version 1 (`docker pause`) does not act on any signal.
pub(super) fn thaw(group: &str, token: &str) {
    // Where the groups cannot be found, taking the engine off fails and says so.
    for group in groups_of(group, token).unwrap_or_default() {
        control_group::thaw_tree(&group);
    }
}

/// Handles on the engine's processes, for [`processes::reap`] once it is taken off.
pub(super) fn handles(variable: &str, value: &str, group: &str, token: &str) -> Vec<OwnedFd> {
    processes::handles_of_engine(variable, value, &groups_of(group, token).unwrap_or_default())
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

/// The engine's group in every hierarchy of control groups, below its mount point: there engines make what is given by an
/// absolute path. None for a name without the token: anybody may own such a group.
fn groups_of(group: &str, token: &str) -> Result<Vec<PathBuf>, UndoFailure> {
    if !group.starts_with(&own_directory_name(token)) || group.contains('/') {
        return Ok(Vec::new());
    }
    let mounts = mountinfo::own_mounts()
        .map_err(|error| failure(Path::new("/proc/self/mountinfo"), error.to_string(), "iostone cleanup"))?;
    let hierarchies =
        mounts.into_iter().filter(|mounted| matches!(mounted.filesystem.as_str(), "cgroup" | "cgroup2"));
    Ok(hierarchies.map(|mounted| mounted.target.join(group)).collect())
}

fn remove_group(path: &Path) -> Result<bool, UndoFailure> {
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            // A process that was just killed stays in its group until the kernel has taken it apart.
            std::thread::sleep(PAUSE);
        }
        match control_group::remove_tree(path, None, 0) {
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
    use crate::journal::Journal;
    use crate::owner::Owner;
    use crate::seal::Key;
    use crate::step::{Scope, Step};

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

    #[test]
    fn who_is_in_its_groups_ends_without_the_marker_and_is_not_moved() {
        let token = crate::journal::random_hex().unwrap();
        let name = format!("{}-engine", own_directory_name(&token));
        let groups: Vec<PathBuf> =
            groups_of(&name, &token).unwrap().into_iter().map(|group| group.join("container")).collect();
        let made: Vec<&PathBuf> =
            groups.iter().filter(|group| std::fs::create_dir_all(group).is_ok()).take(2).collect();
        // As runc keeps a container that is made and not started: with an environment that holds nothing of ours.
        let mut inside: Vec<_> = made
            .iter()
            .map(|group| {
                let child = Command::new("sleep").arg("1000").env_clear().spawn().unwrap();
                let entered = std::fs::write(group.join("cgroup.procs"), child.id().to_string());
                (child, entered.is_ok())
            })
            .collect();
        let mut beside = Command::new("sleep").arg("1000").spawn().unwrap();
        let all_entered = inside.iter().all(|(_, entered)| *entered);
        let answer = take_off("ENGINE", &token, &[], &name, &token);
        let still_there = beside.try_wait().unwrap().is_none();
        beside.kill().unwrap();
        beside.wait().unwrap();
        let killed: Vec<bool> = inside
            .iter_mut()
            .map(|(child, _)| {
                let has_ended = child.try_wait().unwrap().is_some();
                let _ = child.kill();
                let _ = child.wait();
                has_ended
            })
            .collect();
        let left: Vec<_> =
            groups_of(&name, &token).unwrap().into_iter().filter(|group| group.exists()).collect();
        if made.is_empty() || !all_entered {
            let _ = take_off("ENGINE", &token, &[], &name, &token);
            {
                eprintln!("skipped: needs root and control groups that can be written");
            }
            return;
        }
        assert!(answer.unwrap() && still_there);
        assert_eq!(killed, vec![true; made.len()]);
        assert_eq!(left, Vec::<PathBuf>::new());
        assert!(!take_off("ENGINE", &token, &[], &name, &token).unwrap());
        assert_eq!(groups_of(&name, "other-token").unwrap(), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_paused_container_is_thawed_before_its_processes_are_told_to_end() {
        let top = Path::new("/sys/fs/cgroup/freezer");
        for is_whole_session in [false, true] {
            let token = crate::journal::random_hex().unwrap();
            let name = format!("{}-engine", own_directory_name(&token));
            let group = top.join(&name).join("container");
            if !top.join("tasks").exists() || std::fs::create_dir_all(&group).is_err() {
                {
                    eprintln!("skipped: needs root and the freezer controller of cgroup v1");
                }
                return;
            }
            // What a workload starts carries the session's marker beside the engine's.
            let mut paused = Command::new("sleep")
                .arg("1000")
                .envs([("ENGINE", &token), ("IOSTONE_RUN", &token)])
                .spawn()
                .unwrap();
            while processes::handles_of_engine("ENGINE", &token, &[]).is_empty() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::fs::write(group.join("cgroup.procs"), paused.id().to_string()).unwrap();
            let state = group.join("freezer.state");
            std::fs::write(&state, "FROZEN").unwrap();
            while std::fs::read_to_string(&state).unwrap().trim() != "FROZEN" {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let answer = if is_whole_session {
                undo_session(&token, &name)
            } else {
                take_off("ENGINE", &token, &[], &name, &token).map(|_| ())
            };
            let has_ended = paused.try_wait().unwrap().is_some();
            // Else a failure would wait for a frozen process.
            let _ = std::fs::write(&state, "THAWED");
            let _ = paused.kill();
            paused.wait().unwrap();
            let _ = take_off("ENGINE", &token, &[], &name, &token);
            answer.unwrap();
            assert!(has_ended && !group.exists());
        }
    }

    /// Undoes a session of an engine whose processes are ended by the session's marker first.
    fn undo_session(token: &str, group: &str) -> Result<(), UndoFailure> {
        let directory = tempfile::tempdir().unwrap();
        let owner = Owner::current(directory.path(), token).unwrap();
        let mut journal = Journal::create(directory.path(), &owner, &Key::for_tests()).unwrap();
        let (variable, value) = ("IOSTONE_RUN".to_owned(), token.to_owned());
        journal.begin(Scope::Session, Step::Processes { variable, value }).unwrap();
        let value = format!("{token}-1");
        let (variable, group) = ("IOSTONE_ENGINE".to_owned(), group.to_owned());
        journal.begin(Scope::Trial, Step::Engine { variable, value, roots: Vec::new(), group }).unwrap();
        crate::undo::undo_steps(&mut journal, None).map(|_| ())
    }
}
