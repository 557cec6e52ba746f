//! The filesystems of the kernel's that everything else needs: devices, processes, settings, memory, control groups.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::mount::MountFlags;

use super::wrong;
use crate::failure::Failure;

/// A mount that every guest has: kind, place, options.
const MOUNTS: &[(&str, &str, &str)] = &[
    ("devtmpfs", "/dev", "mode=0755"),
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("tmpfs", "/run", "mode=0755"),
    ("tmpfs", "/tmp", "mode=1777"),
    ("tmpfs", "/dev/shm", "mode=1777"),
];
/// Version 2 of control groups, and the controllers handed down from its root so that limits can be set.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
const CONTROLLERS: &[&str] = &["+io", "+cpu", "+memory", "+pids"];

/// Mounts what a usable machine has.
///
/// # Errors
/// The first mount that the kernel refuses; control groups may be missing, as in a kernel without them.
pub(super) fn make_usable() -> Result<(), Failure> {
    for (kind, place, options) in MOUNTS {
        let place = Path::new(place);
        let mounted = match options.strip_prefix("mode=") {
            Some(mode) if *kind == "tmpfs" && holds_something(place) => keep(place, mode),
            _ => mount(kind, place, options),
        };
        mounted.map_err(|error| wrong(&format!("mounting `{}`", place.display()), &error))?;
    }
    // The archive's links need not have them, and programs look for them.
    for (link, target) in [("/dev/fd", "/proc/self/fd"), ("/dev/stdin", "fd/0"), ("/dev/stdout", "fd/1")] {
        let _ = std::os::unix::fs::symlink(target, link);
    }
    for directory in ["/run/iostone/state", "/run/lock", "/root", "/var/tmp", "/var/lib"] {
        fs::create_dir_all(directory).map_err(|error| wrong(&format!("making `{directory}`"), &error))?;
    }
    if mount("cgroup2", Path::new(CONTROL_GROUPS), "").is_ok() {
        for controller in CONTROLLERS {
            // A kernel lacks some; whoever needs one says so.
            let _ = fs::write(format!("{CONTROL_GROUPS}/cgroup.subtree_control"), controller);
        }
    }
    Ok(())
}

/// Whether something was carried to a place, which a mount would hide.
fn holds_something(place: &Path) -> bool {
    fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some())
}

/// Makes a place of the archive, which is in memory as well, a mount of its own, so that it can be moved like the others.
fn keep(place: &Path, mode: &str) -> io::Result<()> {
    let mode = u32::from_str_radix(mode, 8).map_err(io::Error::other)?;
    fs::set_permissions(place, fs::Permissions::from_mode(mode))?;
    Ok(rustix::mount::mount_bind(place, place)?)
}

/// Mounts a filesystem without a device at a place that is made if it is missing.
pub(super) fn mount(kind: &str, place: &Path, options: &str) -> io::Result<()> {
    fs::create_dir_all(place)?;
    let options = std::ffi::CString::new(options)?;
    rustix::mount::mount(kind, place, kind, MountFlags::empty(), options.as_c_str())?;
    Ok(())
}
