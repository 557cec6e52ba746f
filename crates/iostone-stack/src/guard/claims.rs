//! Who has a device open, and the lock by which iostone keeps others off it.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::Duration;

use rustix::fs::FlockOperation;

use super::family::Member;
use super::{DeviceLoad, Guarded, Leftovers, Objection, refusal, siblings};
use crate::device::extent::files_under;
use crate::device::{BlockDevice, number_of};
use crate::error::{RefusalReason, StackError};
use crate::occupants::{self, Sought};

/// udev and its kin look at a device for a moment whenever something happens to it.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// The lock on a device of the user's; held for as long as this lives, and with it the device's number.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Whether the device was looked at under the lock, and found empty or let go: what it holds since is the session's own.
    pub(crate) is_cleared: bool,
    load: Option<DeviceLoad>,
    _lock: OwnedFd,
}

impl Claim {
    /// Writes down what the session leaves on the device.
    pub(crate) fn remember(&self, leftovers: &Leftovers) {
        if let Some(load) = self.load.as_ref().filter(|_| self.is_cleared) {
            load.remember(leftovers);
        }
    }
}

/// An objection if the device cannot be opened exclusively (open(2): `O_EXCL` on a block device fails with EBUSY while
/// it is in use by the system).
pub(super) fn held_by_system(
    device: &BlockDevice,
    open: impl Fn(libc::c_int) -> std::io::Result<File>,
) -> Result<Option<Objection>, StackError> {
    if try_often(|| match open(libc::O_EXCL | libc::O_NONBLOCK) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(false),
        Err(source) => Err(StackError::io("open", &device.path, source)),
    })? {
        return Ok(None);
    }
    let because = "it is opened exclusively: mounted elsewhere, ZFS, a storage target or the like";
    let next = format!("`lsblk --paths {}`", device.path.display());
    Ok(Some(Objection::alive(RefusalReason::Open, because, vec![next])))
}

/// An objection if a process may write to the device, to a partition of it, to another device over the same bytes, or to
/// the file under them: by a descriptor, a mapping, or a message that is on its way.
pub(super) fn used_by_others(
    device: &BlockDevice,
    family: &[Member],
) -> Result<Option<Objection>, StackError> {
    let siblings = siblings::numbers(device, family)?;
    let own = family.iter().map(|member| member.device.number);
    let sought = Sought { devices: own.chain(siblings).collect(), files: files_under(device)? };
    let mut writers = Vec::new();
    if try_often(|| {
        writers = occupants::users_of(&sought);
        writers.retain(|user| user.writes);
        Ok(writers.is_empty())
    })? {
        return Ok(None);
    }
    let next = writers.first().map(|writer| format!("`ps --pid {}`", writer.pid)).into_iter().collect();
    let what = if sought.files.is_empty() { "it" } else { "it, or the file under it," };
    let because = format!("{what} is in use by {}", occupants::in_words(&writers));
    Ok(Some(Objection::alive(RefusalReason::Open, because, next)))
}

/// An objection if somebody holds the lock. It is taken for a moment to find out.
pub(super) fn locked_by_others(device: &BlockDevice) -> Result<Option<Objection>, StackError> {
    let open = |flags| File::options().read(true).custom_flags(flags).open(&device.path);
    Ok(lock(device, open)?.is_none().then(|| claimed(device)))
}

/// Locks a device for the session: flock(2) on its node, which udev and other tools respect
/// (systemd's `BLOCK_DEVICE_LOCKING`). The lock lasts as long as the descriptor.
///
/// # Errors
/// [`StackError::Refused`] while another iostone, or another program that follows the convention, has it.
pub(crate) fn claim(guarded: &Guarded) -> Result<Claim, StackError> {
    let device = guarded.device();
    let lock = lock(device, |flags| guarded.opened.reopen(flags))?;
    lock.map(|lock| Claim {
        is_cleared: false,
        load: DeviceLoad::begin(&device.path).filter(|_| guarded.is_free),
        _lock: lock,
    })
    .ok_or_else(|| refusal(&device.path, device, claimed(device)))
}

fn claimed(device: &BlockDevice) -> Objection {
    let openers = occupants::openers_of_device(device.number);
    let by = if openers.is_empty() { "another process".to_owned() } else { occupants::in_words(&openers) };
    let next =
        openers.first().map(|opener| format!("wait for process {} to end", opener.pid)).into_iter().collect();
    Objection::alive(RefusalReason::Claimed, format!("it is locked by {by}"), next)
}

fn lock(
    device: &BlockDevice,
    open: impl Fn(libc::c_int) -> std::io::Result<File>,
) -> Result<Option<OwnedFd>, StackError> {
    let file = open(0).map_err(|source| StackError::io("open", &device.path, source))?;
    let metadata = file.metadata().map_err(|source| StackError::io("stat", &device.path, source))?;
    if number_of(metadata.rdev()) != device.number {
        return Err(StackError::unexpected(&device.path, "it has become another device"));
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
