//! What is mounted where on this machine, in all of its mount namespaces.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) use iostone_model::mountinfo::{Mount, parse, unescape};

use crate::below::btrfs_filesystems;
use crate::device::{BlockDevice, DeviceNumber, number_of};
use crate::error::StackError;

/// Whether it is the filesystem on that device: by its number, or for a btrfs, whose number is anonymous, by the
/// devices that it stands on.
pub(crate) fn is_of(mount: &Mount, device: DeviceNumber) -> bool {
    if mount.number == device {
        return true;
    }
    if mount.filesystem != "btrfs" {
        return false;
    }
    // The source is whichever of its devices the kernel names.
    let Ok(Some(source)) = BlockDevice::at(&mount.source) else { return false };
    source.number == device
        || btrfs_filesystems()
            .iter()
            .any(|members| members.contains(&source.number) && members.contains(&device))
}

/// The numbers that files on it show: the mount's own, and that of its root where stat(2) gives another, as on
/// btrfs, which has one for each subvolume.
pub(crate) fn file_numbers(mount: &Mount) -> Vec<DeviceNumber> {
    let mut numbers = vec![mount.number];
    if let Ok(metadata) = fs::symlink_metadata(&mount.target) {
        numbers.push(number_of(metadata.dev()));
    }
    numbers.dedup();
    numbers
}

/// The mounts that this process sees.
///
/// # Errors
/// [`StackError::Io`] when the kernel does not give the table.
pub(crate) fn own_mounts() -> Result<Vec<Mount>, StackError> {
    let path = Path::new("/proc/self/mountinfo");
    let bytes = fs::read(path).map_err(|source| StackError::io("read", path, source))?;
    Ok(parse(&bytes))
}

/// The mounts of every mount namespace that some process of this machine lives in, each with one such process's id.
pub(crate) fn mounts_of_all_namespaces() -> Result<Vec<(u32, Mount)>, StackError> {
    let own = std::process::id();
    let mut mounts: Vec<(u32, Mount)> = own_mounts()?.into_iter().map(|mount| (own, mount)).collect();
    let mut seen: BTreeSet<PathBuf> = fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    for pid in processes() {
        let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/mnt")) else { continue };
        if !seen.insert(namespace) {
            continue;
        }
        if let Ok(bytes) = fs::read(format!("/proc/{pid}/mountinfo")) {
            mounts.extend(parse(&bytes).into_iter().map(|mount| (pid, mount)));
        }
    }
    Ok(mounts)
}

/// A path as it is seen in the other mount namespaces, by one process of each (`/proc/PID/root`, `proc_pid_root(5)`).
pub(crate) fn as_others_see(path: &Path) -> Vec<PathBuf> {
    let below = path.strip_prefix("/").unwrap_or(path);
    let mut seen: BTreeSet<PathBuf> = fs::read_link("/proc/self/ns/mnt").into_iter().collect();
    let other = |pid: &u32| {
        let namespace = fs::read_link(format!("/proc/{pid}/ns/mnt"));
        namespace.is_ok_and(|namespace| seen.insert(namespace))
    };
    let others = processes().into_iter().filter(other);
    others.map(|pid| PathBuf::from(format!("/proc/{pid}/root")).join(below)).collect()
}

/// The ids of all processes that this one sees.
pub(crate) fn processes() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Takes off the backslashes by which overlayfs is told that a comma, a colon or a backslash belongs to a name
/// (Documentation/filesystems/overlayfs.rst, "Multiple lower layers").
pub(crate) fn without_backslashes(path: &Path) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = path.as_os_str().as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let next = if byte == b'\\' { rest.next() } else { None };
        bytes.push(*next.unwrap_or(&byte));
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kernels_show_as_they_were_given_it_is_taken_as_the_name() {
        assert_eq!(without_backslashes(Path::new(r"/a\,b\\c\:d")), Path::new(r"/a,b\c:d"));
        assert_eq!(without_backslashes(Path::new("/a\\")), Path::new("/a\\"));
    }
}
