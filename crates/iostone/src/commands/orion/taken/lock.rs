//! That no second test writes to a LUN: flock(2).

use std::fs::File;
use std::time::Duration;

use anyhow::{Context, Result};
use iostone_machine::{Failure, FailureKind};
use iostone_orion::Lun;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How often and how long a device's lock is waited for: udev holds it for moments, `systemd-udevd(8)`.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Several tests may read a LUN; one that writes has it for itself.
pub(super) fn lock(lun: &Lun, alone: bool) -> Result<File> {
    let file = File::open(lun.way()).with_context(|| format!("cannot open `{}`", lun.name))?;
    let operation =
        if alone { FlockOperation::NonBlockingLockExclusive } else { FlockOperation::NonBlockingLockShared };
    for attempt in 1..=ATTEMPTS {
        match flock(&file, operation) {
            Err(Errno::WOULDBLOCK) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => break,
            // A network filesystem without locks has no second test to tell of either.
            Ok(()) | Err(_) => return Ok(file),
        }
    }
    let name = &lun.name;
    let (kind, message) = if alone {
        (
            FailureKind::Refused,
            format!("`{name}` is in use by another test; writing to it would spoil that one"),
        )
    } else {
        (
            FailureKind::Usage,
            format!("`{name}` is being written to by another test; wait until that one has ended"),
        )
    };
    Err(Failure::new(kind, message).into())
}

/// Lets others read.
pub(super) fn share(lock: &File) {
    // What stays locked is nobody's loss but that of who would read beside.
    let _ = flock(lock, FlockOperation::NonBlockingLockShared);
}
