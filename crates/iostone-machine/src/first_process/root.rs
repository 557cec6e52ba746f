//! The root filesystem that a guest may be given: read-only on a drive, with memory above it for what is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iostone_guest::ROOT_SERIAL;
use rustix::mount::MountFlags;

use super::{mounts, wrong};
use crate::failure::{Failure, FailureKind};

/// The drive's filesystem, the memory above it, and both together.
const BELOW: &str = "/iostone/root/below";
const ABOVE: &str = "/iostone/root/above";
const TOGETHER: &str = "/iostone/root/together";
/// Where what was carried in is found from within the root filesystem.
const CARRIED: &str = "/run/iostone/carried";
/// What moves into it.
const MOVED: &[&str] = &["/dev", "/proc", "/sys", "/run", "/tmp"];
/// Kinds of filesystem that a root may have.
const KINDS: &[&str] = &["ext4", "xfs", "btrfs", "squashfs"];
/// The drive is there soon after its driver.
const PATIENCE: Duration = Duration::from_secs(10);
/// A file of the archive's: says that a root filesystem is to be waited for.
pub(crate) const MARK: &str = "/iostone/with-root";

/// Enters the root filesystem if there is to be one. Gives the place of what was carried in: `/` without one.
///
/// # Errors
/// No such drive, no filesystem that the kernel knows on it, or a mount that the kernel refuses.
pub(super) fn enter() -> Result<PathBuf, Failure> {
    if !Path::new(MARK).exists() {
        return Ok(PathBuf::from("/"));
    }
    let drive = await_drive()?;
    mount_below(&drive)?;
    mounts::mount("tmpfs", Path::new(ABOVE), "mode=0755")
        .map_err(|error| wrong("memory for the root", &error))?;
    for directory in ["files", "work"] {
        let path = Path::new(ABOVE).join(directory);
        fs::create_dir(&path).map_err(|error| wrong(&format!("making `{}`", path.display()), &error))?;
    }
    let layers = format!("lowerdir={BELOW},upperdir={ABOVE}/files,workdir={ABOVE}/work");
    mounts::mount("overlay", Path::new(TOGETHER), &layers)
        .map_err(|error| wrong("mounting a tmpfs overlay on the root filesystem", &error))?;
    // In what is already memory, and moves along.
    fs::create_dir_all(CARRIED).map_err(|error| wrong(&format!("making `{CARRIED}`"), &error))?;
    rustix::mount::mount_bind("/", CARRIED)
        .map_err(|error| wrong("bind-mounting the copied files", &error.into()))?;
    for place in MOVED {
        let target = Path::new(TOGETHER).join(place.trim_start_matches('/'));
        fs::create_dir_all(&target)
            .map_err(|error| wrong(&format!("making `{}`", target.display()), &error))?;
        rustix::mount::mount_move(*place, &target)
            .map_err(|error| wrong(&format!("moving `{place}` into the root filesystem"), &error.into()))?;
    }
    std::env::set_current_dir(TOGETHER)
        .and_then(|()| rustix::process::chroot(".").map_err(Into::into))
        .and_then(|()| std::env::set_current_dir("/"))
        .map_err(|error| wrong("entering the root filesystem", &error))?;
    Ok(PathBuf::from(CARRIED))
}

fn await_drive() -> Result<PathBuf, Failure> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = fs::read_dir("/sys/block").into_iter().flatten().flatten().find(|entry| {
            fs::read_to_string(entry.path().join("serial")).is_ok_and(|serial| serial.trim() == ROOT_SERIAL)
        });
        if let Some(entry) = found {
            return Ok(Path::new("/dev").join(entry.file_name()));
        }
        if Instant::now() >= deadline {
            let message = format!("no drive has the serial number `{ROOT_SERIAL}`");
            return Err(Failure::new(FailureKind::Guest, message));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn mount_below(drive: &Path) -> Result<(), Failure> {
    fs::create_dir_all(BELOW).map_err(|error| wrong(&format!("making `{BELOW}`"), &error))?;
    let mut refusals = Vec::new();
    for kind in KINDS {
        match rustix::mount::mount(drive, BELOW, *kind, MountFlags::RDONLY, c"") {
            Ok(()) => return Ok(()),
            Err(error) => refusals.push(format!("{kind}: {error}")),
        }
    }
    let message = format!("the root filesystem's image cannot be mounted ({})", refusals.join("; "));
    Err(Failure::new(FailureKind::Guest, message))
}
