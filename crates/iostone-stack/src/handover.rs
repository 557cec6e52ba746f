//! Gives the records that root made under sudo(8) to the user who called it, so that they can be read, moved and removed
//! without root.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat, fchown};

/// Who called sudo(8), where this process is root by it.
fn caller() -> Option<(Uid, Gid)> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    // 0 called it as root, and all ones stand for no change (chown(2)).
    let user = number("SUDO_UID").filter(|user| !matches!(*user, 0 | u32::MAX))?;
    let group = number("SUDO_GID").filter(|group| *group != u32::MAX)?;
    Some((Uid::from_raw(user), Gid::from_raw(group)))
}

/// Gives a directory with everything in it to the caller of sudo(8); nothing without one. Symbolic links are given
/// themselves, never followed; files of other users, and files with a second name elsewhere, stay as they are.
///
/// # Errors
/// The first entry that could not be given; the others are.
pub fn leave_to_caller(directory: &Path) -> io::Result<()> {
    let Some(caller) = caller() else { return Ok(()) };
    let mut failure = None;
    give_whole(directory, caller, &mut failure);
    failure.map_or(Ok(()), Err)
}

/// Gives an open file that this process created to the caller of sudo(8); nothing without one.
///
/// # Errors
/// As fchown(2).
pub(crate) fn leave_file_to_caller(file: &fs::File) -> io::Result<()> {
    let Some((user, group)) = caller() else { return Ok(()) };
    Ok(fchown(file, Some(user), Some(group))?)
}

fn give_whole(path: &Path, caller: (Uid, Gid), failure: &mut Option<io::Error>) {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
        && let Ok(entries) = fs::read_dir(path)
    {
        for entry in entries.flatten() {
            give_whole(&entry.path(), caller, failure);
        }
    }
    give(path, caller, failure);
}

fn give(path: &Path, (user, group): (Uid, Gid), failure: &mut Option<io::Error>) {
    let is_ours = fs::symlink_metadata(path)
        .is_ok_and(|found| found.uid() == 0 && (found.is_dir() || found.nlink() == 1));
    if is_ours && let Err(error) = chownat(CWD, path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW) {
        failure.get_or_insert_with(|| error.into());
    }
}
