//! Detaching our loop devices, and saying who else has one over our image.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::{ATTEMPTS, Did, PAUSE, directory, failure, is_ours, mounted};
use crate::device::BlockDevice;
use crate::error::{StackError, UndoFailure};
use crate::ioctl;
use crate::occupants;
use crate::step::FileIdentity;
use crate::tool::quote;
use crate::volume::{attached_loops, loops_over};

/// Detaches every loop device that we attached to our file.
pub(super) fn detach(backing: &Path, identity: FileIdentity, token: &str) -> Result<bool, UndoFailure> {
    let unclear = |error: StackError| failure(backing, error.to_string(), "losetup --all");
    let mut did = false;
    for attempt in 0.. {
        let found = loops_over(backing, identity, token).map_err(unclear)?;
        if found.is_empty() {
            return Ok(did);
        }
        for (attached, device) in found {
            let node = quote(attached.path.as_os_str());
            let number = BlockDevice::at(&attached.path)
                .ok()
                .flatten()
                .map(|device| device.number)
                .ok_or_else(|| failure(&attached.path, "its number cannot be found", "losetup --all"))?;
            // A detach of a mounted device would succeed and take effect at some later time. The mount namespaces of
            // processes that were just ended take a moment to go.
            if let Some(obstacle) = mounted::obstacle(number).map_err(unclear)? {
                if attempt < ATTEMPTS && !obstacle.visible {
                    continue;
                }
                return Err(failure(&attached.path, obstacle.because, obstacle.next));
            }
            if attempt >= ATTEMPTS {
                let by = occupants::openers_of_device(number);
                let reason = format!("it stays attached to `{}`", attached.backing_file);
                return Err(match by.first() {
                    Some(opener) => failure(
                        &attached.path,
                        format!("{reason}; open in {}", occupants::in_words(&by)),
                        opener.end_command(),
                    ),
                    None => failure(&attached.path, reason, format!("losetup --detach {node}")),
                });
            }
            match ioctl::detach_loop(&device) {
                Ok(()) => did = true,
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::EBUSY | libc::EAGAIN)) => {}
                Err(error) => {
                    return Err(failure(
                        &attached.path,
                        format!("it cannot be detached: {error}"),
                        format!("losetup --detach {node}"),
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

/// Removes our image, unless somebody else has a loop device over it.
pub(super) fn remove_image(path: &Path, made: Option<FileIdentity>, token: &str) -> Result<Did, UndoFailure> {
    let wrong = |errno: Errno| {
        failure(path, std::io::Error::from(errno).to_string(), format!("rm {}", quote(path.as_os_str())))
    };
    let foreign = || {
        let next = format!("ls -li {}", quote(path.as_os_str()));
        failure(path, "it is not the file that iostone created, so it was left alone", next)
    };
    let Some(name) = path.file_name().filter(|_| is_ours(path, token)) else { return Err(foreign()) };
    let Some(parent) = directory::open_parent(path, token).map_err(wrong)? else { return Ok(Did::Nothing) };
    let stat = match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(Did::Nothing),
        Err(errno) => return Err(wrong(errno)),
    };
    // Before it is confirmed, the token in the path is what makes it ours: it was created with O_EXCL.
    let identity = FileIdentity { dev: stat.st_dev, ino: stat.st_ino };
    let same = made.is_none_or(|made| made.ino == identity.ino);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !same {
        return Err(foreign());
    }
    if let Some(holder) = holder_of(identity) {
        return Err(holder);
    }
    rustix::fs::unlinkat(&parent, name, AtFlags::empty()).map_err(wrong)?;
    Ok(Did::Undone)
}

/// A loop device of somebody else's over a file: ours are detached before the file is removed.
fn holder_of(identity: FileIdentity) -> Option<UndoFailure> {
    let over_it = |file: &str| {
        fs::metadata(file).is_ok_and(|found| FileIdentity { dev: found.dev(), ino: found.ino() } == identity)
    };
    let find = || attached_loops().ok()?.into_iter().find(|attached| over_it(&attached.backing_file));
    let mut attached = find()?;
    // One that was detached is listed until its last opener, who may just be looking at all devices, lets go of it.
    for _ in 0..ATTEMPTS {
        std::thread::sleep(PAUSE);
        attached = find()?;
    }
    let reason = format!("it is attached to the image `{}`, but not by iostone", attached.backing_file);
    let number = BlockDevice::at(&attached.path).ok().flatten()?.number;
    Some(match mounted::obstacle(number).ok().flatten() {
        Some(obstacle) => {
            failure(&attached.path, format!("{reason}, and {}", obstacle.because), obstacle.next)
        }
        None => {
            failure(&attached.path, reason, format!("losetup --detach {}", quote(attached.path.as_os_str())))
        }
    })
}
