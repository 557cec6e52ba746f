//! Taking away what stands on a disk server's sockets: network block devices, FUSE mounts.

use std::path::Path;

use crate::device::DeviceNumber;
use crate::error::UndoFailure;

/// Disconnects a network block device of the kernel's from our socket.
pub(super) fn disconnect(_number: DeviceNumber, _socket: &Path) -> Result<bool, UndoFailure> {
    Ok(false)
}

/// Unmounts a FUSE file of ours.
pub(super) fn unmount_fuse(_target: &Path, _token: &str) -> Result<bool, UndoFailure> {
    Ok(false)
}
