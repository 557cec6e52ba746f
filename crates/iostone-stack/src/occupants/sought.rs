//! Who may write to a device or a file: by a descriptor of any thread, a mapping, one that is on its way through a socket, or
//! a file registered with io_uring.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{Occupant, find_among, may_write};
use crate::device::{DeviceNumber, FileNumber, number_of};
use crate::occupants::{kernel, transit};

/// Devices and files that somebody may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sought {
    pub(crate) devices: Vec<DeviceNumber>,
    pub(crate) files: Vec<FileNumber>,
}

impl Sought {
    /// Whether it is one of them.
    pub(super) fn includes(&self, metadata: &Metadata) -> bool {
        if metadata.file_type().is_block_device() {
            return self.devices.contains(&number_of(metadata.rdev()));
        }
        metadata.is_file() && self.files.contains(&(number_of(metadata.dev()), metadata.ino()))
    }

    fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|metadata| self.includes(&metadata))
    }
}

/// The processes that have any of them open, mapped or on its way; this one left out. Threads count one by one: each
/// may have descriptors of its own, and those of one whose leader has ended are listed nowhere else.
pub(crate) fn users_of(sought: &Sought) -> Vec<Occupant> {
    let mut mapped = HashMap::new();
    find_among(|process, pid| {
        let mut found = None;
        let mut has_maps = false;
        for (index, task) in tasks(process, pid).into_iter().enumerate() {
            // Most threads share the table of descriptors with their leader.
            let is_shared = index > 0 && kernel::share_descriptors(pid, task.number);
            if !is_shared && let Some(how) = by_descriptor(&task, sought) {
                if how.1 {
                    return Some(how);
                }
                found = Some(how);
            }
            // All threads share the memory; of one that has ended nothing is listed.
            if !has_maps {
                let (listed, is_mapped) = is_mapped(&task.path, sought, &mut mapped);
                has_maps = listed;
                if is_mapped {
                    return Some(("mapping", true));
                }
            }
        }
        found
    })
}

/// A thread.
struct Task {
    number: u32,
    path: PathBuf,
    /// Its process.
    pid: u32,
}

/// The threads of a process, its leader first.
fn tasks(process: &Path, pid: u32) -> Vec<Task> {
    let entries = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    let mut numbers: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_by_key(|&number| (number != pid, number));
    // A thread is found below `/proc` by its own number too, though it is not listed there (proc(5)).
    let path = |number: u32| PathBuf::from(format!("/proc/{number}"));
    numbers.into_iter().map(|number| Task { number, path: path(number), pid }).collect()
}

/// How a thread has one of them, and whether it may write; what may write comes first.
fn by_descriptor(task: &Task, sought: &Sought) -> Option<(&'static str, bool)> {
    let mut found = None;
    for descriptor in super::descriptors(&task.path) {
        let Ok(metadata) = fs::metadata(&descriptor) else { continue };
        let Some(number) = descriptor.file_name() else { continue };
        let info = task.path.join("fdinfo").join(number);
        let kind = metadata.file_type();
        if sought.includes(&metadata) {
            if may_write(&info) {
                return Some(("open for writing", true));
            }
            found = Some(("open", false));
        } else if kind.is_socket() {
            if let Some(how) = transit::through_socket(task.pid, number, &info, &|file| sought.includes(file))
            {
                return Some((how, true));
            }
        } else if metadata.mode() & libc::S_IFMT == 0 && has_registered(&descriptor, &info, sought) {
            return Some(("registered with io_uring", true));
        }
    }
    found
}

/// Whether it is a ring with which one of them is registered: `io_uring_show_fdinfo` of the kernel lists their paths.
fn has_registered(descriptor: &Path, info: &Path, sought: &Sought) -> bool {
    if fs::read_link(descriptor).is_ok_and(|target| target != Path::new("anon_inode:[io_uring]")) {
        return false;
    }
    let text = fs::read_to_string(info).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim_start().split_once(": "))
        .filter(|(_, path)| path.starts_with('/'))
        // What leads nowhere from here, as what was removed, may be any of them.
        .any(|(_, path)| !Path::new(path).exists() || sought.is_at(Path::new(path)))
}

/// Whether a thread's memory is listed, and one of them mapped in it. What a mapped file is, is asked once for all
/// processes that have it mapped.
fn is_mapped(task: &Path, sought: &Sought, known: &mut HashMap<(String, String), bool>) -> (bool, bool) {
    let text = fs::read_to_string(task.join("maps")).unwrap_or_default();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(device), Some(inode)) = (fields.next(), fields.nth(2), fields.next()) else {
            continue;
        };
        if inode == "0" {
            continue;
        }
        let is_sought = known
            .entry((device.to_owned(), inode.to_owned()))
            .or_insert_with(|| sought.is_at(&task.join("map_files").join(range)));
        if *is_sought {
            return (true, true);
        }
    }
    (!text.is_empty(), false)
}
