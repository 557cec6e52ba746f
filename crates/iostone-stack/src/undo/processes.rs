//! Ending a session's processes: those that carry its marker in their environment, and those that descend from it and
//! keep its mount busy, and those in its control groups.

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::frozen::frozen_by;
use super::{control_group, failure};
use crate::device::DeviceNumber;
use crate::error::{StackError, UndoFailure};
use crate::mountinfo;
use crate::occupants;

/// How long a process may take to end after each signal.
const GRACE: Duration = Duration::from_secs(2);
/// So many handles are held at most while an engine is taken off: whoever ends processes needs some for each of them
/// meanwhile, of the 1024 files that may be open.
const HELD_MAX: usize = 256;

struct Found {
    pid: u32,
    command: String,
    /// Refers to this very process, also once its number is used again (`pidfd_open(2)`).
    handle: OwnedFd,
}

/// Ends all processes with `variable=value` in their environment: SIGTERM, then SIGKILL. This process, those that it
/// came from and, without root, those of other users are left alone. Gives in words what was ended.
///
/// # Errors
/// A process that stays although it was killed.
pub(super) fn end(variable: &str, value: &str) -> Result<Option<String>, UndoFailure> {
    if value.is_empty() {
        return Ok(None);
    }
    end_all(&|| find(variable, value), &[Signal::TERM, Signal::KILL, Signal::KILL])
}

/// As [`end`], without asking: for engines, which would first ask each container to end and wait for it.
///
/// # Errors
/// A process that stays although it was killed.
pub(super) fn kill(variable: &str, value: &str) -> Result<Option<String>, UndoFailure> {
    if value.is_empty() {
        return Ok(None);
    }
    end_all(&|| find(variable, value), &[Signal::KILL; 4])
}

/// As [`kill`], for all that are in control groups of the session's own, or in groups within those, whatever is in their
/// environment: runc keeps a container that was made and not yet started in a process with next to none.
///
/// # Errors
/// A process that stays although it was killed.
pub(super) fn kill_within(groups: &[PathBuf]) -> Result<Option<String>, UndoFailure> {
    end_all(&|| find_within(groups), &[Signal::KILL; 4])
}

/// What an engine has left of processes, each once and [`HELD_MAX`] at most: the marked ones, and all in control groups of
/// its own. Holding the pidfds prevents PID reuse.
pub(super) fn handles_of_engine(variable: &str, value: &str, groups: &[PathBuf]) -> Vec<OwnedFd> {
    let is_marked = |pid| !value.is_empty() && carries(pid, variable, value);
    let mut pids: BTreeSet<u32> = mountinfo::processes().into_iter().filter(|&pid| is_marked(pid)).collect();
    pids.extend(members_of(groups));
    let spared = own_line();
    let held = pids.difference(&spared).copied().take(HELD_MAX);
    let found = handles(held, &|pid| is_marked(pid) || members_of(groups).contains(&pid));
    found.into_iter().map(|found| found.handle).collect()
}

/// Takes those of the processes that ended out of the table of processes, where this one adopted them
/// ([`adopt_orphans`]). To be called once whoever started others of them has waited for those.
pub(crate) fn reap(handles: &[OwnedFd]) {
    for handle in handles {
        // No child, or waited for already, or of a kernel that waits for no handle (before Linux 5.4): nothing is lost.
        let _ = rustix::process::waitid(
            WaitId::PidFd(handle.as_fd()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
    }
}

/// Ends the processes that descend from this one and use files of the filesystem on a device: SIGTERM, then SIGKILL.
/// It does not matter what is in their environment. Gives in words what was ended.
///
/// # Errors
/// A process that stays although it was killed.
pub(super) fn end_descendants_on(numbers: &[DeviceNumber]) -> Result<Option<String>, UndoFailure> {
    let found = || {
        let found = occupants::occupants_of_filesystem(numbers);
        handles(found.into_iter().map(|occupant| occupant.pid), &|pid| {
            is_descendant(pid) && occupants::occupies(pid, numbers)
        })
    };
    end_all(&found, &[Signal::TERM, Signal::KILL, Signal::KILL])
}

/// Makes this process the parent of all that descend from it once their own parents are gone (`PR_SET_CHILD_SUBREAPER`,
/// prctl(2)), so that [`end_descendants_on`] finds them whatever they did to leave their session. It holds for the whole
/// process, for as long as it lives; orphans that ended stay zombies until then, but for those of engines ([`reap`]), because
/// whoever waited for children not its own would take their status from the code that started them.
pub(crate) fn adopt_orphans() -> Result<(), StackError> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|source| StackError::io("prctl PR_SET_CHILD_SUBREAPER", "/proc/self", source))
}

fn end_all(find: &dyn Fn() -> Vec<Found>, signals: &[Signal]) -> Result<Option<String>, UndoFailure> {
    let mut ended = BTreeSet::new();
    // A process may start others while it is ended: look again until there is none.
    for &signal in signals {
        let found = find();
        if found.is_empty() {
            break;
        }
        for process in &found {
            ended.insert(format!("process `{}` ({})", process.command, process.pid));
            // It may have ended by itself: then there is nobody to signal.
            let _ = rustix::process::pidfd_send_signal(&process.handle, signal);
        }
        let deadline = Instant::now() + GRACE;
        for process in &found {
            wait_for_end(&process.handle, deadline);
        }
    }
    if let Some(process) = find().first() {
        if let Some(group) = frozen_by(process.pid) {
            let file = group.join("freezer.state").display().to_string();
            let reason =
                format!("process `{}` is frozen in this cgroup; thaw it so that it can end", process.command);
            let next = format!("echo THAWED > {}", crate::quote(file.as_ref()));
            return Err(failure(&group, reason, next));
        }
        return Err(failure(
            Path::new(&format!("/proc/{}", process.pid)),
            format!("process `{}` was killed but has not ended", process.command),
            format!("cat /proc/{}/wchan", process.pid),
        ));
    }
    Ok((!ended.is_empty()).then(|| ended.into_iter().collect::<Vec<_>>().join(", ")))
}

fn find(variable: &str, value: &str) -> Vec<Found> {
    let spared = own_line();
    let pids = mountinfo::processes().into_iter().filter(|pid| !spared.contains(pid));
    handles(pids, &|pid| carries(pid, variable, value))
}

/// The processes in control groups and in the groups within those.
fn find_within(groups: &[PathBuf]) -> Vec<Found> {
    let spared = own_line();
    let found = members_of(groups);
    handles(found.into_iter().filter(|pid| !spared.contains(pid)), &|pid| members_of(groups).contains(&pid))
}

/// The numbers of those.
fn members_of(groups: &[PathBuf]) -> BTreeSet<u32> {
    let texts = groups.iter().flat_map(|group| control_group::processes_of_tree(group));
    texts.filter_map(|pid| pid.parse().ok()).collect()
}

/// A handle on each process that is wanted.
fn handles(pids: impl Iterator<Item = u32>, is_wanted: &dyn Fn(u32) -> bool) -> Vec<Found> {
    pids.filter_map(|pid| {
        if !is_wanted(pid) {
            return None;
        }
        let handle =
            rustix::process::pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
        // Between the look and the handle the number may have passed to another process.
        if !is_wanted(pid) {
            return None;
        }
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
        Some(Found { pid, command, handle })
    })
    .collect()
}

/// A zombie has no environment left, so it never carries the marker.
fn carries(pid: u32, variable: &str, value: &str) -> bool {
    let process = format!("/proc/{pid}");
    let own = rustix::process::geteuid().as_raw();
    if own != 0 && !fs::metadata(&process).is_ok_and(|metadata| metadata.uid() == own) {
        return false;
    }
    let Ok(environment) = fs::read(format!("{process}/environ")) else { return false };
    let wanted = format!("{variable}={value}");
    environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
}

/// This process and its ancestors.
fn own_line() -> BTreeSet<u32> {
    line_of(std::process::id())
}

/// Whether a process comes from this one.
fn is_descendant(pid: u32) -> bool {
    let own = std::process::id();
    pid != own && line_of(pid).contains(&own)
}

/// A process and its ancestors.
fn line_of(pid: u32) -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut pid = pid;
    while pid > 0 && line.insert(pid) {
        let parent = fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|status| {
            status.lines().find_map(|text| text.strip_prefix("PPid:")?.trim().parse().ok())
        });
        pid = parent.unwrap_or(0);
    }
    line
}

/// A pidfd becomes readable when its process ends, before anybody has waited for it.
fn wait_for_end(handle: &OwnedFd, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    };
    // An interrupted wait only means that the next look comes sooner.
    let _ = rustix::event::poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_frozen_process_is_said_to_be_frozen_and_ends_once_it_is_thawed() {
        let top = Path::new("/sys/fs/cgroup/freezer");
        let value = crate::journal::random_hex().unwrap();
        let group = top.join(format!("iostone-test-{value}"));
        if !top.join("tasks").exists() || fs::create_dir(&group).is_err() {
            {
                eprintln!("skipped: needs root and the freezer controller of cgroup v1");
            }
            return;
        }
        let thawed = Thawed { group: group.clone() };
        let mut child = Command::new("sleep").arg("1000").env("IOSTONE_RUN", &value).spawn().unwrap();
        while find("IOSTONE_RUN", &value).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
        fs::write(group.join("freezer.state"), "FROZEN").unwrap();
        let failure = end("IOSTONE_RUN", &value).unwrap_err();
        assert!(failure.reason.contains("`sleep` is frozen"), "{failure:?}");
        assert_eq!(failure.next, format!("echo THAWED > {}/freezer.state", group.display()));
        fs::write(group.join("freezer.state"), "THAWED").unwrap();
        assert!(!child.wait().unwrap().success(), "the signal that waited has killed it");
        drop(thawed);
    }

    /// Thaws and removes a group, also on failure.
    struct Thawed {
        group: PathBuf,
    }

    impl Drop for Thawed {
        fn drop(&mut self) {
            let _ = fs::write(self.group.join("freezer.state"), "THAWED");
            std::thread::sleep(Duration::from_millis(50));
            let _ = fs::remove_dir(&self.group);
        }
    }

    #[test]
    fn an_orphan_that_ended_is_taken_out_of_the_table_once() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap();
        wait_for_end(&handle, Instant::now() + GRACE);
        let handles = [handle];
        reap(&handles);
        assert!(!Path::new(&format!("/proc/{}", child.id())).exists());
        reap(&handles);
        assert!(child.wait().is_err(), "nobody is left to wait for");
    }

    #[test]
    fn of_an_engine_each_process_is_held_once_and_not_more_of_them_than_there_is_room_for() {
        let value = crate::journal::random_hex().unwrap();
        // A group is a directory with a list of processes, wherever it is.
        let group = tempfile::tempdir().unwrap();
        let mut marked: Vec<_> = (0..HELD_MAX + 4)
            .map(|_| Command::new("sleep").arg("1000").env("ENGINE", &value).spawn().unwrap())
            .collect();
        while find("ENGINE", &value).len() < marked.len() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let list = |children: &[std::process::Child]| -> String {
            children.iter().map(|child| child.id().to_string()).collect::<Vec<_>>().join("\n")
        };
        fs::write(group.path().join("cgroup.procs"), list(&marked)).unwrap();
        let groups = [group.path().to_owned()];
        let all = handles_of_engine("ENGINE", &value, &groups).len();
        let (few, rest) = marked.split_at_mut(3);
        for child in rest {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        fs::write(group.path().join("cgroup.procs"), list(few)).unwrap();
        let three = handles_of_engine("ENGINE", &value, &groups).len();
        let unmarked = handles_of_engine("ENGINE", "", &groups).len();
        for child in few {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!((all, three, unmarked), (HELD_MAX, 3, 3));
    }

    #[test]
    fn marked_processes_end_and_others_do_not() {
        let value = crate::journal::random_hex().unwrap();
        let mut marked = Command::new("sleep").arg("1000").env("IOSTONE_RUN", &value).spawn().unwrap();
        let mut stubborn = Command::new("sh")
            .args(["-c", "trap '' TERM; while :; do sleep 0.1; done"])
            .env("IOSTONE_RUN", &value)
            .spawn()
            .unwrap();
        let mut other =
            Command::new("sleep").arg("1000").env("IOSTONE_RUN", format!("{value}-other")).spawn().unwrap();
        // The child has its environment only after its exec.
        loop {
            let found: Vec<u32> = find("IOSTONE_RUN", &value).iter().map(|found| found.pid).collect();
            // The shell's own `sleep` carries the marker too.
            if found.contains(&marked.id()) && found.contains(&stubborn.id()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = end("IOSTONE_RUN", &value).unwrap().unwrap();
        assert!(
            ended.contains(&marked.id().to_string()) && ended.contains(&stubborn.id().to_string()),
            "{ended}"
        );
        assert!(!marked.wait().unwrap().success() && !stubborn.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(end("IOSTONE_RUN", &value).unwrap(), None);
    }
}
