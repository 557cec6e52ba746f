//! Whose a journal is: a process told apart from all others by pid, start time and boot.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::StackError;

/// The process that a journal belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Start of the process in clock ticks since boot: field 22 of `/proc/PID/stat` (`proc_pid_stat(5)`).
    pub start_time: u64,
    /// `/proc/sys/kernel/random/boot_id` (random(4)): a new one for each boot.
    pub boot_id: String,
    /// The machine: `/etc/machine-id` (machine-id(5)), else the host name. A registry may lie on a network filesystem.
    pub host: String,
    /// The run that it worked for.
    pub run_directory: PathBuf,
    /// Where it worked, unless its stack named another place.
    #[serde(default)]
    pub work_directory: PathBuf,
    /// What every name and marker of the session contains; random, so that nobody else's object carries it.
    pub token: String,
    /// The version of iostone that wrote the journal.
    pub version: String,
}

impl Owner {
    /// This process, which works in the run's directory.
    pub(crate) fn current(run_directory: &Path, token: &str) -> Result<Self, StackError> {
        let pid = std::process::id();
        Ok(Self {
            pid,
            start_time: start_time_of(pid)
                .ok_or_else(|| StackError::unexpected("/proc/self/stat", "it has no start time"))?,
            boot_id: boot_id()?,
            host: host()?,
            run_directory: run_directory.to_owned(),
            work_directory: run_directory.to_owned(),
            token: token.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }

    /// The directories that plain ones are made for.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        vec![self.run_directory.clone(), self.work_directory.clone()]
    }

    /// Whether it is the process that asks.
    pub(crate) fn is_this_process(&self) -> bool {
        self.pid == std::process::id() && self.is_alive().unwrap_or(false)
    }

    /// Whether the owner ran on this very boot of the machine.
    pub(crate) fn is_of_this_boot(&self) -> Result<bool, StackError> {
        Ok(self.boot_id == boot_id()?)
    }

    /// Whether the journal was written on this machine.
    pub(crate) fn is_of_this_host(&self) -> Result<bool, StackError> {
        Ok(self.host == host()?)
    }

    /// Whether the process still runs. A zombie no longer does anything, so it counts as gone, and so does one that was
    /// killed and only waits for the kernel to end a request of its.
    pub(crate) fn is_alive(&self) -> Result<bool, StackError> {
        let runs = self.is_of_this_boot()? && start_time_of(self.pid) == Some(self.start_time);
        Ok(runs && !is_killed(self.pid))
    }
}

/// The identity of the current boot.
pub(crate) fn boot_id() -> Result<String, StackError> {
    let path = "/proc/sys/kernel/random/boot_id";
    std::fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .map_err(|source| StackError::io("read", path, source))
}

fn host() -> Result<String, StackError> {
    if let Ok(text) = std::fs::read_to_string("/etc/machine-id")
        && !text.trim().is_empty()
    {
        return Ok(text.trim().to_owned());
    }
    let path = "/proc/sys/kernel/hostname";
    std::fs::read_to_string(path)
        .map(|text| text.trim().to_owned())
        .map_err(|source| StackError::io("read", path, source))
}

/// Start time of a live process in clock ticks since boot; none if there is no such process, or only its zombie.
pub(crate) fn start_time_of(pid: u32) -> Option<u64> {
    parse_start_time(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether SIGKILL is on its way to a process: nothing it does can stop that any more.
fn is_killed(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| has_kill_pending(&status))
}

/// `SigPnd` and `ShdPnd`, the pending signals of the thread and of the process, as a mask (`proc_pid_status(5)`).
fn has_kill_pending(status: &str) -> bool {
    let kill = 1 << (libc::SIGKILL - 1);
    let masks = status.lines().filter_map(|line| {
        let mask = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    masks.fold(0, std::ops::BitOr::bitor) & kill != 0
}

/// Field 22 of a line of `/proc/PID/stat`; the command in parentheses may itself hold blanks and parentheses.
pub(crate) fn parse_start_time(stat: &str) -> Option<u64> {
    let after_command = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_command.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_a_command_with_parentheses() {
        let stat =
            "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1000 10 18446744073709551615";
        assert_eq!(parse_start_time(stat), Some(4711));
    }

    #[test]
    fn a_zombie_counts_as_gone() {
        let stat = "7 (a) Z 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 18446744073709551615";
        assert_eq!(parse_start_time(stat), None);
    }

    #[test]
    fn a_process_that_was_killed_counts_as_gone_whatever_it_waits_for() {
        let status = |thread: &str, process: &str| {
            format!("Name:\tx\nSigPnd:\t{thread}\nShdPnd:\t{process}\nSigBlk:\tffffffffffffffff\n")
        };
        let (none, kill, other) = ("0000000000000000", "0000000000000100", "0000000000004000");
        assert!(has_kill_pending(&status(kill, none)) && has_kill_pending(&status(none, kill)));
        assert!(!has_kill_pending(&status(other, none)) && !has_kill_pending("SigPnd:\tx\n"));
    }

    #[test]
    fn this_process_is_alive_and_its_impostors_are_not() {
        let owner = Owner::current(Path::new("/run-directory"), "t").unwrap();
        assert!(owner.is_alive().unwrap());
        assert!(!Owner { start_time: owner.start_time + 1, ..owner.clone() }.is_alive().unwrap());
        assert!(!Owner { boot_id: "another".to_owned(), ..owner }.is_alive().unwrap());
    }
}
