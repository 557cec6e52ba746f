//! Taking our mount off, and saying what is in the way of that, or of a device, where something is.

use std::path::{Path, PathBuf};

use super::{ATTEMPTS, PAUSE, failure, is_ours, processes};
use crate::device::DeviceNumber;
use crate::error::{StackError, UndoFailure};
use crate::mountinfo::{self, Mount};
use crate::occupants::{self, Occupant};
use crate::owner::start_time_of;
use crate::site::own_directory_name;
use crate::tool::quote;

/// Unmounts a device of ours from a mount point of ours, however often it is mounted there. With `end_ours`, those who
/// keep it busy are ended, as far as they descend from this process.
pub(super) fn unmount(
    target: &Path,
    number: DeviceNumber,
    token: &str,
    end_ours: bool,
) -> Result<bool, UndoFailure> {
    unmount_where(target, |top| mountinfo::is_of(top, number), token, end_ours)
}

/// Unmounts what lies between the filesystem and the workload from a mount point of ours: a device of ours, or, without a
/// number, a filesystem without a device that carries the name of the session's directories as its source.
pub(super) fn unmount_layer(
    target: &Path,
    number: Option<DeviceNumber>,
    token: &str,
    end_ours: bool,
) -> Result<bool, UndoFailure> {
    let name = own_directory_name(token);
    let is_known = |top: &Mount| {
        number.map_or_else(|| top.source == Path::new(&name), |number| mountinfo::is_of(top, number))
    };
    unmount_where(target, is_known, token, end_ours)
}

fn unmount_where(
    target: &Path,
    is_known: impl Fn(&Mount) -> bool,
    token: &str,
    mut end_ours: bool,
) -> Result<bool, UndoFailure> {
    let mut did = false;
    let mut attempts = 0;
    loop {
        let mounts =
            mountinfo::own_mounts().map_err(|error| failure(target, error.to_string(), "iostone cleanup"))?;
        let Some(top) = mounts.iter().rev().find(|mounted| mounted.target == target) else { return Ok(did) };
        if !is_known(top) || !is_ours(target, token) {
            return Err(failure(
                target,
                format!("`{}` is mounted there, but not by iostone", top.source.display()),
                unmount_command(target),
            ));
        }
        match rustix::mount::unmount(target, rustix::mount::UnmountFlags::NOFOLLOW) {
            Ok(()) => did = true,
            Err(rustix::io::Errno::BUSY) if end_ours => {
                end_ours = false;
                processes::end_descendants_on(&mountinfo::file_numbers(top))?;
            }
            Err(rustix::io::Errno::BUSY) if attempts < ATTEMPTS => {
                attempts += 1;
                std::thread::sleep(PAUSE);
            }
            Err(errno) => return Err(explain_busy(top, &mounts, &errno.to_string())),
        }
    }
}

fn explain_busy(top: &Mount, mounts: &[Mount], errno: &str) -> UndoFailure {
    let target = top.target.as_path();
    if let Some(obstacle) = below(mounts, target).pop() {
        let reason =
            format!("it cannot be unmounted: `{}` is mounted on top of it", obstacle.target.display());
        return failure(target, reason, unmount_command(&obstacle.target));
    }
    let found = occupants::occupants_of_filesystem(&mountinfo::file_numbers(top));
    let by =
        if found.is_empty() { String::new() } else { format!(", held by {}", occupants::in_words(&found)) };
    let next = found.first().map_or_else(|| unmount_command(target), Occupant::end_command);
    failure(target, format!("it cannot be unmounted: {errno}{by}"), next)
}

/// Something mounted on or below a directory that is about to be removed.
pub(super) fn obstacle_in(directory: &Path) -> Option<UndoFailure> {
    let mounts = mountinfo::own_mounts().ok()?;
    let top = mounts.iter().rev().find(|mounted| mounted.target.starts_with(directory))?;
    let reason = format!("`{}` is mounted in it, but not by iostone", top.target.display());
    Some(failure(directory, reason, unmount_command(&top.target)))
}

/// The mounts below a mount point, in the order in which they were made.
fn below<'a>(mounts: &'a [Mount], target: &Path) -> Vec<&'a Mount> {
    mounts.iter().filter(|mounted| mounted.target != target && mounted.target.starts_with(target)).collect()
}

/// Where a device is mounted, and how to take it off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// "it is mounted on `/a`".
    pub(super) because: String,
    /// The command that takes it off.
    pub(super) next: String,
    /// Whether this process sees the mount itself. Others may be copies in the namespaces of processes that are just
    /// about to end.
    pub(super) visible: bool,
}

/// Where a device is mounted now, if it is; what this process sees comes first.
///
/// # Errors
/// [`StackError::Io`] when the kernel does not give its tables.
pub(super) fn obstacle(number: DeviceNumber) -> Result<Option<Obstacle>, StackError> {
    let mounts = mountinfo::mounts_of_all_namespaces()?;
    let on_device: Vec<&(u32, Mount)> =
        mounts.iter().filter(|(_, mounted)| mountinfo::is_of(mounted, number)).collect();
    let own = std::process::id();
    let visible: Vec<&Path> = on_device
        .iter()
        .filter(|(pid, _)| *pid == own)
        .map(|(_, mounted)| mounted.target.as_path())
        .collect();
    if let Some(last) = visible.last() {
        let because = format!("it is mounted on {}", list(&visible));
        return Ok(Some(Obstacle { because, next: unmount_command(last), visible: true }));
    }
    // A process that ended meanwhile took its namespace with it, or some other process will be found in it next time.
    Ok(on_device.into_iter().find(|(pid, _)| start_time_of(*pid).is_some()).map(|(pid, mounted)| Obstacle {
        because: format!(
            "it is mounted on `{}` in the mount namespace of process {pid}",
            mounted.target.display()
        ),
        next: format!("nsenter --target {pid} --mount {}", unmount_command(&mounted.target)),
        visible: false,
    }))
}

/// Where a device is mounted beside our mount point; a copy of the whole table in another namespace has the same path.
pub(super) fn places_beside(number: DeviceNumber, target: &Path) -> Vec<PathBuf> {
    let mounts = mountinfo::mounts_of_all_namespaces().unwrap_or_default();
    let mut places: Vec<PathBuf> = mounts
        .into_iter()
        .filter(|(_, mounted)| mounted.target != target && mountinfo::is_of(mounted, number))
        .map(|(_, mounted)| mounted.target)
        .collect();
    places.sort();
    places.dedup();
    places
}

/// Whether a device is mounted at that place in any namespace.
pub(super) fn is_mounted_at(number: DeviceNumber, target: &Path) -> bool {
    mountinfo::mounts_of_all_namespaces()
        .unwrap_or_default()
        .iter()
        .any(|(_, mounted)| mounted.target == target && mountinfo::is_of(mounted, number))
}

/// "`/a`, `/b`".
pub(super) fn list(places: &[impl AsRef<Path>]) -> String {
    let words: Vec<String> = places.iter().map(|place| format!("`{}`", place.as_ref().display())).collect();
    words.join(", ")
}

fn unmount_command(target: &Path) -> String {
    format!("umount {}", quote(target.as_os_str()))
}
