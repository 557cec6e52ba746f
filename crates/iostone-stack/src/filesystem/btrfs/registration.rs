//! The devices of a btrfs that the kernel knows of: told before a mount over several, and forgotten afterwards.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::device::{BlockDevice, DeviceNumber};
use crate::error::{StackError, UndoFailure};
use crate::filesystem::superblock::{Kind, Superblock};
use crate::ioctl::BtrfsControl;
use crate::own_uuid::is_of_session;
use crate::tool::quote;

/// The kernel's list is spoken to through this device (`btrfs-control(5)` of btrfs-progs).
const CONTROL: &str = "/dev/btrfs-control";

/// Tells the kernel of a device.
///
/// # Errors
/// [`StackError::Io`] when it takes it for none of a btrfs.
pub(super) fn scan(device: &BlockDevice) -> Result<(), StackError> {
    let control = File::options()
        .read(true)
        .write(true)
        .open(CONTROL)
        .map_err(|source| StackError::io("open", CONTROL, source))?;
    let name = name_of(&device.path)
        .ok_or_else(|| StackError::unexpected(&device.path, "its path is too long for the kernel"))?;
    BtrfsControl::Scan
        .call(&control, &name)
        .map_err(|source| StackError::io("ioctl BTRFS_IOC_SCAN_DEV", &device.path, source))
}

/// Has the kernel forget devices that are not mounted, unless they carry a btrfs of somebody else's by now. True if it knew
/// of some.
///
/// # Errors
/// The first device that is still mounted.
pub(crate) fn forget(numbers: &[DeviceNumber], token: &str) -> Result<bool, UndoFailure> {
    let mut did = false;
    for &number in numbers {
        // A device that is gone took its place in the list with it, or will when its number is given anew.
        if let Ok(device) = BlockDevice::numbered(number)
            && Superblock::of_kind(&device.path, Kind::Btrfs)
                .is_none_or(|found| is_of_session(&found.uuid, token))
        {
            did |= forget_device(&device.path).map_err(|reason| UndoFailure {
                object: device.path.display().to_string(),
                reason,
                next: format!("btrfs device scan --forget {}", quote(device.path.as_os_str())),
            })?;
        }
    }
    Ok(did)
}

/// Has the kernel forget one device. True if it knew of it.
///
/// # Errors
/// The reason in words: it is mounted.
fn forget_device(path: &Path) -> Result<bool, String> {
    // Without btrfs in the kernel there is nothing that it could know.
    let Ok(control) = File::options().read(true).write(true).open(CONTROL) else { return Ok(false) };
    let Some(name) = name_of(path) else { return Ok(false) };
    match BtrfsControl::Forget.call(&control, &name) {
        Ok(()) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
            Err("the kernel has it mounted as part of a btrfs".to_owned())
        }
        // ENOENT: it knows of none there. ENOTTY before Linux 5.1, where it forgets when the device is scanned anew.
        Err(_) => Ok(false),
    }
}

fn name_of(path: &Path) -> Option<CString> {
    let name: &OsStr = path.as_os_str();
    CString::new(name.as_bytes())
        .ok()
        .filter(|name| name.as_bytes_with_nul().len() <= BtrfsControl::NAME_BYTES)
}
