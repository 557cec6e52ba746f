//! Taking away what stands on a disk server's sockets: network block devices, FUSE mounts.

use std::path::Path;

use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::{ATTEMPTS, PAUSE, failure, is_ours};
use crate::device::DeviceNumber;
use crate::error::UndoFailure;
use crate::mountinfo;
use crate::tool::quote;
use crate::volume::disconnect_nbd;

/// Disconnects a network block device of the kernel's from our socket. After a crash there is nothing to do: the kernel
/// disconnects a device when the process that carried its requests is gone, and whoever has it now is somebody else.
pub(super) fn disconnect(number: DeviceNumber, socket: &Path) -> Result<bool, UndoFailure> {
    disconnect_nbd(number).map_err(|reason| {
        let node = format!("/dev/block/{}:{}", number.0, number.1);
        failure(
            Path::new(&node),
            format!("it stays connected to `{}`: {reason}", socket.display()),
            format!("nbd-client -d {node}"),
        )
    })
}

/// Unmounts a FUSE file of ours, also when its program is gone. Where something holds it, it is taken out of the
/// directories at once and goes with the last holder.
pub(super) fn unmount_fuse(target: &Path, token: &str) -> Result<bool, UndoFailure> {
    let next = || format!("umount --lazy {}", quote(target.as_os_str()));
    let mut did = false;
    for attempt in 0.. {
        let mounts =
            mountinfo::own_mounts().map_err(|error| failure(target, error.to_string(), "iostone cleanup"))?;
        let Some(top) = mounts.iter().rev().find(|mounted| mounted.target == target) else { return Ok(did) };
        if !is_ours(target, token) || !(top.filesystem == "fuse" || top.filesystem.starts_with("fuse.")) {
            let reason = format!("`{}` is mounted there, but not by iostone", top.source.display());
            return Err(failure(target, reason, format!("umount {}", quote(target.as_os_str()))));
        }
        let lazily = if attempt < ATTEMPTS { UnmountFlags::empty() } else { UnmountFlags::DETACH };
        match rustix::mount::unmount(target, UnmountFlags::NOFOLLOW | lazily) {
            Ok(()) => did = true,
            // A loop device that was just detached is still being closed.
            Err(Errno::BUSY) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
            // Unmounted by its program meanwhile.
            Err(Errno::INVAL | Errno::NOENT) => {}
            Err(errno) => return Err(failure(target, format!("it cannot be unmounted: {errno}"), next())),
        }
        if attempt > 2 * ATTEMPTS {
            return Err(failure(target, "it keeps being remounted", next()));
        }
    }
    Ok(did)
}
