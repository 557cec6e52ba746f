//! Taking steps back: each by the facts that the machine shows now, and each harmless when there is nothing to do.

mod directory;
mod marked_processes;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::device::{BlockDevice, DeviceNumber};
use crate::error::UndoFailure;
use crate::filesystem;
use crate::ioctl;
use crate::journal::Journal;
use crate::mountinfo;
use crate::occupants;
use crate::queue;
use crate::step::{FileIdentity, Scope, Step};
use crate::volume::loops_over;

/// A mount or device that is busy for a moment, because udev or a dying process still looks at it, is tried again
/// this many times, [`PAUSE`] apart.
const ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// Undoes the steps of a journal backwards: those of the trial, or all. Processes go first, whatever their place,
/// because they keep the rest busy. Gives what was undone, in words.
///
/// # Errors
/// The first step that could not be undone; those before it in the journal were left alone, as it stands on them.
pub(crate) fn undo_steps(journal: &mut Journal, only: Option<Scope>) -> Result<Vec<String>, UndoFailure> {
    let mut undone = Vec::new();
    for entry in &journal.entries {
        if let Step::Processes { variable, value } = &entry.step
            && !entry.undone
        {
            undone.extend(marked_processes::end(variable, value)?);
        }
    }
    for number in (0..journal.entries.len()).rev() {
        if journal.entries.get(number).is_some_and(|entry| only.is_none_or(|only| only == entry.scope)) {
            undone.extend(undo_entry(journal, number)?);
        }
    }
    Ok(undone)
}

/// Undoes one step of a journal, unless that is done; gives in words what was undone, if there was anything.
///
/// # Errors
/// What is left, why, and what to do.
pub(crate) fn undo_entry(journal: &mut Journal, number: usize) -> Result<Option<String>, UndoFailure> {
    let Some(entry) = journal.entries.get(number).filter(|entry| !entry.undone).cloned() else {
        return Ok(None);
    };
    let token = journal.owner.token.clone();
    let same_boot = journal.owner.is_of_this_boot().map_err(|error| UndoFailure {
        object: entry.step.describe(),
        reason: error.to_string(),
        next: "iostone cleanup".to_owned(),
    })?;
    let did = undo_step(&entry.step, entry.made, &token, same_boot)?;
    journal.mark_undone(number);
    Ok(did.then(|| entry.step.describe()))
}

/// True if something was there to undo.
fn undo_step(
    step: &Step,
    made: Option<FileIdentity>,
    token: &str,
    same_boot: bool,
) -> Result<bool, UndoFailure> {
    match step {
        Step::Directory { path, content_is_ours: true } => directory::remove_with_content(path, made, token),
        Step::Directory { path, content_is_ours: false } => directory::remove_if_empty(path, made),
        Step::Image { path } => remove_image(path, made, token),
        // Loop devices, mounts and queue settings do not outlive the boot in which they were made.
        Step::Loop { backing, identity } if same_boot => detach(backing, *identity, token),
        Step::Queue { name, number, diskseq, setting, old } if same_boot => {
            queue::restore(name, *number, *diskseq, setting, old)
        }
        Step::Mount { target, number } if same_boot => unmount(target, *number, token),
        Step::Loop { .. } | Step::Queue { .. } | Step::Mount { .. } => Ok(false),
        Step::Mkfs { device, size_bytes, uuid } => wipe(device, *size_bytes, uuid),
        Step::Processes { variable, value } => Ok(marked_processes::end(variable, value)?.is_some()),
    }
}

/// Whether a path lies within a directory of the session's own.
pub(crate) fn is_ours(path: &Path, token: &str) -> bool {
    let name = crate::site::own_directory_name(token);
    path.components().any(|component| component.as_os_str() == name.as_str())
}

fn failure(object: &Path, reason: impl Into<String>, next: impl Into<String>) -> UndoFailure {
    UndoFailure { object: object.display().to_string(), reason: reason.into(), next: next.into() }
}

fn remove_image(path: &Path, made: Option<FileIdentity>, token: &str) -> Result<bool, UndoFailure> {
    let next = || format!("rm {}", crate::tool::quote(path.as_os_str()));
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(&error) => return Ok(false),
        Err(error) => return Err(failure(path, error.to_string(), next())),
    };
    // Before it is confirmed, the token in the path is what makes it ours: it was created with O_EXCL.
    let identity = FileIdentity { dev: metadata.dev(), ino: metadata.ino() };
    let same = made.is_none_or(|made| made.ino == identity.ino);
    if !metadata.is_file() || !is_ours(path, token) || !same {
        return Err(failure(
            path,
            "it is not the file that iostone made, so it was left alone",
            format!("ls -li {}", path.display()),
        ));
    }
    fs::remove_file(path).map_err(|error| failure(path, error.to_string(), next()))?;
    Ok(true)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

/// Unmounts a device of ours from a mount point of ours, however often it is mounted there.
fn unmount(target: &Path, number: DeviceNumber, token: &str) -> Result<bool, UndoFailure> {
    let mut did = false;
    let mut attempts = 0;
    loop {
        let mounts =
            mountinfo::own_mounts().map_err(|error| failure(target, error.to_string(), "iostone cleanup"))?;
        let Some(top) = mounts.iter().rev().find(|mounted| mounted.target == target) else { return Ok(did) };
        if top.number != number || !is_ours(target, token) {
            return Err(failure(
                target,
                format!("`{}` is mounted there, which iostone did not mount", top.source.display()),
                format!("umount {}", target.display()),
            ));
        }
        match rustix::mount::unmount(target, rustix::mount::UnmountFlags::NOFOLLOW) {
            Ok(()) => did = true,
            Err(rustix::io::Errno::BUSY) if attempts < ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(PAUSE);
            }
            Err(errno) => {
                let found = occupants::occupants_of_filesystem(number);
                let by = if found.is_empty() {
                    String::new()
                } else {
                    format!(", held by {}", occupants::in_words(&found))
                };
                let next = found.first().map_or_else(
                    || format!("umount {}", target.display()),
                    |occupant| format!("kill {}", occupant.pid),
                );
                return Err(failure(target, format!("it cannot be unmounted: {errno}{by}"), next));
            }
        }
    }
}

/// Detaches every loop device over our file.
fn detach(backing: &Path, identity: FileIdentity, token: &str) -> Result<bool, UndoFailure> {
    let unclear = |error: crate::error::StackError| failure(backing, error.to_string(), "losetup --all");
    let mut did = false;
    for attempt in 0.. {
        let found = loops_over(identity, token).map_err(unclear)?;
        if found.is_empty() {
            return Ok(did);
        }
        for (attached, device) in found {
            let number = BlockDevice::at(&attached.path)
                .ok()
                .flatten()
                .map(|device| device.number)
                .ok_or_else(|| failure(&attached.path, "its number cannot be found", "losetup --all"))?;
            // A detach of a mounted device would succeed and take effect at some later time. The mount namespaces of
            // processes that were just ended take a moment to go.
            let mounts = mountinfo::mounts_of_all_namespaces().map_err(unclear)?;
            if let Some((pid, mounted)) = mounts.into_iter().find(|(_, mounted)| mounted.number == number) {
                if attempt < ATTEMPTS {
                    continue;
                }
                let target = mounted.target.display();
                return Err(failure(
                    &attached.path,
                    format!("it is mounted on `{target}` in the mount namespace of process {pid}"),
                    format!("nsenter --target {pid} --mount umount {target}"),
                ));
            }
            if attempt >= ATTEMPTS {
                let by = occupants::openers_of_device(number);
                return Err(failure(
                    &attached.path,
                    format!(
                        "it stays attached to `{}`; open in {}",
                        attached.backing_file,
                        occupants::in_words(&by)
                    ),
                    format!("losetup --detach {}", attached.path.display()),
                ));
            }
            match ioctl::detach_loop(&device) {
                Ok(()) => did = true,
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EBUSY | libc::EAGAIN)) => {}
                Err(error) => {
                    return Err(failure(
                        &attached.path,
                        format!("it cannot be detached: {error}"),
                        format!("losetup --detach {}", attached.path.display()),
                    ));
                }
            }
        }
        // The first look is free; a device whose last opener is just closing it gets a moment.
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
    }
    Ok(did)
}

/// Takes our filesystem off a device of the user's, wherever that device is now.
fn wipe(path: &Path, size_bytes: u64, uuid: &str) -> Result<bool, UndoFailure> {
    for candidate in candidates(path, size_bytes) {
        match filesystem::wipe(&candidate, uuid) {
            Ok(true) => return Ok(true),
            Err(reason) if candidate == path => {
                let next = format!("wipefs --all {}", path.display());
                return Err(failure(path, reason, next));
            }
            // Some other device of the same size that cannot be read is none of ours to speak about.
            Ok(false) | Err(_) => {}
        }
    }
    Ok(false)
}

/// The device at its path first, then all others of the same size: names may have changed over a reboot.
fn candidates(path: &Path, size_bytes: u64) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if BlockDevice::at(path).ok().flatten().is_some() {
        found.push(path.to_owned());
    }
    let Ok(entries) = fs::read_dir("/sys/class/block") else { return found };
    for entry in entries.flatten() {
        let number = crate::device::read_attribute(&entry.path().join("dev"))
            .ok()
            .and_then(|text| crate::device::parse_number(&text));
        if let Some(device) = number.and_then(|number| BlockDevice::numbered(number).ok())
            && device.size_bytes == size_bytes
        {
            found.push(device.path);
        }
    }
    found
}
