//! Who keeps a mount or a device busy: processes with open files, a working directory or a mapping there.

mod kernel;
mod sought;
mod transit;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::device::{DeviceNumber, number_of};
use crate::mountinfo;

pub(crate) use sought::{Sought, users_of};

/// A process in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occupant {
    pub(crate) pid: u32,
    /// Its name as in `/proc/PID/comm`.
    pub(crate) command: String,
    /// What it has: "working directory", "open file".
    pub(crate) by: &'static str,
    /// Whether it may write by that.
    pub(crate) writes: bool,
}

impl Occupant {
    /// The command that ends it: one that ignores or blocks SIGTERM takes only SIGKILL.
    pub(crate) fn end_command(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let option = if is_deaf_to_term(&status) { " -KILL" } else { "" };
        format!("kill{option} {}", self.pid)
    }
}

/// Whether SIGTERM is in the mask of ignored or of blocked signals (`proc_pid_status(5)`: `SigIgn`, `SigBlk`). One that
/// is caught is left to the program: that is how most of them end in good order.
fn is_deaf_to_term(status: &str) -> bool {
    const SIGTERM_BIT: u64 = 1 << (libc::SIGTERM - 1);
    let mask = |line: &str| {
        let digits = line.strip_prefix("SigIgn:").or_else(|| line.strip_prefix("SigBlk:"))?;
        u64::from_str_radix(digits.trim(), 16).ok()
    };
    status.lines().filter_map(mask).any(|mask| mask & SIGTERM_BIT != 0)
}

/// The processes that use files of a filesystem, which show one of these numbers.
pub(crate) fn occupants_of_filesystem(numbers: &[DeviceNumber]) -> Vec<Occupant> {
    find(|process| Some((use_of_filesystem(process, numbers)?, false)))
}

/// Whether a process uses files of a filesystem, which show one of these numbers.
pub(crate) fn occupies(pid: u32, numbers: &[DeviceNumber]) -> bool {
    use_of_filesystem(Path::new(&format!("/proc/{pid}")), numbers).is_some()
}

fn use_of_filesystem(process: &Path, numbers: &[DeviceNumber]) -> Option<&'static str> {
    let on_it =
        |path: &Path| fs::metadata(path).is_ok_and(|metadata| numbers.contains(&number_of(metadata.dev())));
    for (name, by) in [("cwd", "working directory"), ("root", "root directory"), ("exe", "program")] {
        if on_it(&process.join(name)) {
            return Some(by);
        }
    }
    if descriptors(process).iter().any(|path| on_it(path)) {
        return Some("open file");
    }
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    let is_mapped = |number: &DeviceNumber| maps.contains(&format!(" {:02x}:{:02x} ", number.0, number.1));
    numbers.iter().any(is_mapped).then_some("mapped file")
}

/// The processes that have a block device itself open, mapped or on its way; this one left out.
pub(crate) fn openers_of_device(number: DeviceNumber) -> Vec<Occupant> {
    users_of(&Sought { devices: vec![number], files: Vec::new() })
}

/// The occupants in a few words: "`postgres` (pid 812, open file)"; at most five.
pub(crate) fn in_words(occupants: &[Occupant]) -> String {
    let mut words: Vec<String> = occupants
        .iter()
        .take(5)
        .map(|occupant| format!("`{}` (pid {}, {})", occupant.command, occupant.pid, occupant.by))
        .collect();
    if occupants.len() > 5 {
        words.push(format!("{} more", occupants.len() - 5));
    }
    words.join(", ")
}

/// The access mode in a descriptor's `flags:` line, which is octal (`proc_pid_fdinfo(5)`).
fn may_write(fdinfo: &Path) -> bool {
    let Ok(text) = fs::read_to_string(fdinfo) else { return true };
    text.lines()
        .find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok())
        .is_none_or(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn descriptors(process: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(process.join("fd"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default()
}

fn find(examine: impl Fn(&Path) -> Option<(&'static str, bool)>) -> Vec<Occupant> {
    find_among(|process, _| examine(process))
}

fn find_among(mut examine: impl FnMut(&Path, u32) -> Option<(&'static str, bool)>) -> Vec<Occupant> {
    let own = std::process::id();
    mountinfo::processes()
        .into_iter()
        .filter(|&pid| pid != own)
        .filter_map(|pid| {
            let process = std::path::PathBuf::from(format!("/proc/{pid}"));
            let (by, writes) = examine(&process, pid)?;
            let command = fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned();
            Some(Occupant { pid, command, by, writes })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_deaf_to_term_is_told_by_its_masks() {
        let status = |blocked, ignored, caught| {
            format!("Name:\tx\nSigBlk:\t{blocked}\nSigIgn:\t{ignored}\nSigCgt:\t{caught}\n")
        };
        let (none, term, other) = ("0000000000000000", "0000000000004000", "0000000000010000");
        assert!(is_deaf_to_term(&status(term, none, none)));
        assert!(is_deaf_to_term(&status(none, term, none)));
        assert!(!is_deaf_to_term(&status(other, other, term)));
        assert!(!is_deaf_to_term(""));
    }
}
