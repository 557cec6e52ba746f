//! The machine's loop devices: attaching one to a file or to another device, and finding those that are ours.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::device::{DeviceNumber, number_of, read_attribute};
use crate::error::StackError;
use crate::ioctl::{self, LoopAttachment, LoopStatus};
use crate::step::FileIdentity;

/// Other processes may take the number that the kernel just offered; so often in a row they will not.
const ATTEMPTS: u32 = 64;

/// The name that our loop devices carry inside the kernel; holds the token (at most 63 bytes are kept).
pub(crate) fn loop_name(token: &str) -> String {
    crate::site::own_directory_name(token)
}

/// Attaches a file, or another device, to a free loop device and gives a descriptor that holds it. It is read-only, so
/// that it never is a writer beside a mount, and locked, so that udev does not look into the device meanwhile.
///
/// # Errors
/// [`StackError::Io`] with the system call that failed.
pub(super) fn attach(
    backing: &File,
    attachment: &LoopAttachment<'_>,
) -> Result<(File, DeviceNumber), StackError> {
    let control_path = Path::new("/dev/loop-control");
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .open(control_path)
        .map_err(|source| StackError::io("open", control_path, source))?;
    for _ in 0..ATTEMPTS {
        let number = ioctl::free_loop_number(&control)
            .map_err(|source| StackError::io("ioctl LOOP_CTL_GET_FREE", control_path, source))?;
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let Ok(device) = open_new_device(&path) else { continue };
        let metadata = device.metadata().map_err(|source| StackError::io("stat", &path, source))?;
        match ioctl::configure_loop(&device, backing, attachment) {
            Ok(()) => {}
            // Another process took the number between the two calls: ask for the next one.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EBUSY | libc::ENXIO)) => continue,
            Err(source) => return Err(StackError::io("ioctl LOOP_CONFIGURE", &path, source)),
        }
        ioctl::make_writable(&device).map_err(|source| StackError::io("ioctl BLKROSET", &path, source))?;
        let hold = File::open(&path).map_err(|source| StackError::io("open", &path, source))?;
        // udev's convention: who holds this lock is left alone. If udev is just looking, it will be done soon.
        let _ = rustix::fs::flock(&hold, FlockOperation::NonBlockingLockExclusive);
        return Ok((hold, number_of(metadata.rdev())));
    }
    Err(StackError::unexpected(
        control_path,
        format!(
            "{ATTEMPTS} free loop devices in a row were taken by other processes; list them with `losetup --all`"
        ),
    ))
}

/// The node of a number that was just handed out may take udev or devtmpfs a moment.
fn open_new_device(path: &Path) -> Result<File, StackError> {
    let mut attempts = 0;
    loop {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && attempts < 50 => {
                attempts += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(source) => return Err(StackError::io("open", path, source)),
        }
    }
}

/// A loop device that has a file, as sysfs tells without opening it.
#[derive(Debug)]
pub(crate) struct AttachedLoop {
    pub(crate) path: PathBuf,
    /// The backing file as the kernel names it; ` (deleted)` behind it once it is removed.
    pub(crate) backing_file: String,
}

impl AttachedLoop {
    /// Whether sysfs names its file by that path, removed meanwhile or not.
    fn is_over(&self, path: &Path) -> bool {
        let named = self.backing_file.strip_suffix(" (deleted)").unwrap_or(&self.backing_file);
        Path::new(named) == path
    }
}

/// Whether a loop device's file is the one of that identity.
pub(crate) fn is_of_file(status: &LoopStatus, identity: FileIdentity) -> bool {
    decode_device(status.device) == number_of(identity.dev) && status.inode == identity.ino
}

/// The kernel's `huge_encode_dev` (`linux/kdev_t.h`).
pub(crate) fn decode_device(encoded: u64) -> DeviceNumber {
    let major = (encoded & 0xf_ff00) >> 8;
    let minor = (encoded & 0xff) | ((encoded >> 12) & 0xf_ff00);
    (u32::try_from(major).unwrap_or(u32::MAX), u32::try_from(minor).unwrap_or(u32::MAX))
}

/// All loop devices that have a file.
///
/// # Errors
/// [`StackError::Io`] when sysfs cannot be listed.
pub(crate) fn attached_loops() -> Result<Vec<AttachedLoop>, StackError> {
    let sysfs = Path::new("/sys/block");
    let entries = fs::read_dir(sysfs).map_err(|source| StackError::io("list", sysfs, source))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| {
            let backing_file = read_attribute(&entry.path().join("loop/backing_file")).ok()?;
            Some(AttachedLoop { path: Path::new("/dev").join(entry.file_name()), backing_file })
        })
        .collect())
}

/// The loop devices that the session with that token attached over one file, opened read-only.
///
/// Both have to agree, the file's identity (inode numbers are used again once a file is gone) and the name that the
/// session gave the device when it attached it: somebody else's device over the very same file carries another name.
/// Devices that by what sysfs calls their file are not ours are only opened if none is: an open may delay the detaching
/// that somebody else asked for.
///
/// A device whose file cannot be asked any more, as one of a FUSE mount whose program is gone, gives neither (`loop_get_status`
/// of drivers/block/loop.c asks the file first). It is ours if sysfs names its file by a path of the session's own, which holds
/// 64 random bits; any other is somebody else's, and none of our business.
///
/// # Errors
/// [`StackError::Io`] when sysfs cannot be listed, or a device over our own path cannot be opened.
pub(crate) fn loops_over(
    backing: &Path,
    identity: FileIdentity,
    token: &str,
) -> Result<Vec<(AttachedLoop, File)>, StackError> {
    let name = loop_name(token);
    let (likely, others): (Vec<_>, Vec<_>) = attached_loops()?.into_iter().partition(|attached| {
        // A volume over an instance's device carries nothing of ours in the path of what it stands on.
        attached.backing_file.contains(&name) || Path::new(&attached.backing_file) == backing
    });
    for candidates in [likely, others] {
        let mut found = Vec::new();
        for candidate in candidates {
            let is_over_own_path = candidate.is_over(backing)
                && backing.components().any(|part| part.as_os_str() == name.as_str());
            let (file, status) = match open_attached(&candidate.path) {
                Ok(Some((file, status))) => (file, Some(status)),
                Err(_) if is_over_own_path => match File::open(&candidate.path) {
                    Ok(file) => (file, None),
                    Err(source) => return Err(StackError::io("open", &candidate.path, source)),
                },
                // One that is gone, or that cannot be asked and is not ours.
                Ok(None) | Err(_) => continue,
            };
            let is_ours =
                status.is_none_or(|status| is_of_file(&status, identity) && status.file_name() == name);
            if is_ours {
                found.push((candidate, file));
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// Opens a loop device read-only with what it is attached to; none if to nothing.
pub(crate) fn open_attached(path: &Path) -> Result<Option<(File, LoopStatus)>, StackError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENOENT)) => return Ok(None),
        Err(source) => return Err(StackError::io("open", path, source)),
    };
    match ioctl::loop_status(&file) {
        Ok(status) => Ok(Some((file, status))),
        // Detached since sysfs was read.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(source) => Err(StackError::io("ioctl LOOP_GET_STATUS64", path, source)),
    }
}
