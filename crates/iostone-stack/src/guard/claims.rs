//! Who has a device open, and the lock by which iostone keeps others off it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::Duration;

use rustix::fs::FlockOperation;

use super::{Guarded, Objection, refusal};
use crate::device::{BlockDevice, number_of};
use crate::error::{RefusalReason, StackError};
use crate::occupants;

/// udev and its kin look at a device for a moment whenever something happens to it.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// An objection if the device cannot be opened exclusively (open(2): `O_EXCL` on a block device fails with EBUSY while
/// it is in use by the system), or if a process may write to it.
pub(super) fn open_by_others(device: &BlockDevice) -> Result<Option<Objection>, StackError> {
    let open = || File::options().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(&device.path);
    if !try_often(|| match open() {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(false),
        Err(source) => Err(StackError::io("open", &device.path, source)),
    })? {
        let because =
            "the system has it open for itself alone: mounted elsewhere, ZFS, a storage target or the like";
        let next = format!("`lsblk --paths {}`", device.path.display());
        return Ok(Some(Objection::alive(RefusalReason::Open, because, vec![next])));
    }
    written_by_others(device)
}

/// An objection if a process may write to it.
pub(super) fn written_by_others(device: &BlockDevice) -> Result<Option<Objection>, StackError> {
    let mut writers = Vec::new();
    if try_often(|| {
        writers = occupants::openers_of_device(device.number);
        writers.retain(|opener| opener.writes);
        Ok(writers.is_empty())
    })? {
        return Ok(None);
    }
    let next = writers.first().map(|writer| format!("`ps --pid {}`", writer.pid)).into_iter().collect();
    let because = format!("it is open for writing in {}", occupants::in_words(&writers));
    Ok(Some(Objection::alive(RefusalReason::Open, because, next)))
}

/// An objection if somebody holds the lock. It is taken for a moment to find out.
pub(super) fn locked_by_others(device: &BlockDevice) -> Result<Option<Objection>, StackError> {
    Ok(lock(device)?.is_none().then(|| claimed(device)))
}

/// Locks a device for the session: flock(2) on its node, which udev and other tools respect
/// (systemd's `BLOCK_DEVICE_LOCKING`). The lock lasts as long as the descriptor.
///
/// # Errors
/// [`StackError::Refused`] while another iostone, or another program that follows the convention, has it.
pub(crate) fn claim(guarded: &Guarded) -> Result<OwnedFd, StackError> {
    lock(&guarded.device)?
        .ok_or_else(|| refusal(&guarded.device.path, &guarded.device, claimed(&guarded.device)))
}

fn claimed(device: &BlockDevice) -> Objection {
    let openers = occupants::openers_of_device(device.number);
    let by = if openers.is_empty() { "another process".to_owned() } else { occupants::in_words(&openers) };
    let next =
        openers.first().map(|opener| format!("wait for process {} to end", opener.pid)).into_iter().collect();
    Objection::alive(RefusalReason::Claimed, format!("it is locked by {by}"), next)
}

fn lock(device: &BlockDevice) -> Result<Option<OwnedFd>, StackError> {
    let file = File::open(&device.path).map_err(|source| StackError::io("open", &device.path, source))?;
    let metadata = file.metadata().map_err(|source| StackError::io("stat", &device.path, source))?;
    if number_of(metadata.rdev()) != device.number {
        return Err(StackError::unexpected(&device.path, "it became another device meanwhile"));
    }
    let locked = try_often(|| match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(source) => Err(StackError::io("flock", &device.path, source)),
    })?;
    Ok(locked.then(|| OwnedFd::from(file)))
}

fn try_often(mut attempt: impl FnMut() -> Result<bool, StackError>) -> Result<bool, StackError> {
    for _ in 1..ATTEMPTS {
        if attempt()? {
            return Ok(true);
        }
        std::thread::sleep(PAUSE);
    }
    attempt()
}
