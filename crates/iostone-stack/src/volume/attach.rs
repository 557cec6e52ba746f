//! A loop device of ours while it is attached: to an image, to another loop device, or to a file that FUSE shows.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iostone_model::trial::Check;

use super::attach_nbd::is_carried_by_us;
use super::image::identity_of;
use super::loop_devices::{attach, is_of_file, loop_name, open_attached};
use crate::device::{BlockDevice, DeviceNumber, read_attribute};
use crate::error::StackError;
use crate::ioctl::{self, LoopAttachment};
use crate::site::{Origin, Site};
use crate::step::{FileIdentity, Scope, Step};

/// What a device is to stand on, and which part of it.
#[derive(Debug)]
pub(super) struct Backing {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) identity: FileIdentity,
    /// Where the device begins in it, in bytes.
    pub(super) offset: u64,
    pub(super) size_bytes: u64,
    /// Past the page cache of what is below.
    pub(super) direct: bool,
}

impl Backing {
    /// A device node, or a file that is none of our images.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be opened.
    pub(super) fn open(path: &Path, size_bytes: u64, direct: bool) -> Result<Self, StackError> {
        let flags = libc::O_NOFOLLOW | if direct { libc::O_DIRECT } else { 0 };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path)
            .map_err(|source| StackError::io("open", path, source))?;
        let identity = identity_of(&file, path)?;
        Ok(Self { file, path: path.to_owned(), identity, offset: 0, size_bytes, direct })
    }
}

/// A device while it is attached.
#[derive(Debug)]
pub(super) struct Attached {
    /// While this is open nobody can attach another file to the same number.
    hold: File,
    /// What it stands on.
    identity: FileIdentity,
    pub(super) number: DeviceNumber,
    offset: u64,
    size_bytes: u64,
    direct: bool,
}

impl Attached {
    /// Attaches a device; the step that takes it back is written down first.
    ///
    /// # Errors
    /// [`StackError::Io`] with the system call that failed.
    pub(super) fn new(site: &mut Site, backing: &Backing) -> Result<(Self, BlockDevice), StackError> {
        let Backing { offset, size_bytes, direct, identity, .. } = *backing;
        site.journal.begin(Scope::Trial, Step::Loop { backing: backing.path.clone(), identity })?;
        let attachment = LoopAttachment {
            direct_io: direct,
            name: &loop_name(&site.journal.owner.token),
            offset,
            size_limit: size_bytes,
        };
        let (hold, number) = attach(&backing.file, &attachment)?;
        site.attached.insert(number, Origin::Loop(identity));
        let device = BlockDevice::numbered(number)?;
        Ok((Self { hold, identity, number, offset, size_bytes, direct }, device))
    }

    /// Reads back from the kernel that it stands as asked.
    ///
    /// # Errors
    /// [`StackError::NotApplied`] for what is not.
    pub(super) fn verify(&self) -> Result<Vec<Check>, StackError> {
        let device = BlockDevice::numbered(self.number)?;
        let status = ioctl::loop_status(&self.hold)
            .map_err(|source| StackError::io("ioctl LOOP_GET_STATUS64", &device.path, source))?;
        let expect = |asked: String, read_back: String, from: String| {
            if asked == read_back {
                Ok(Check { layer: "volume".to_owned(), asked, read_back, from })
            } else {
                Err(StackError::NotApplied { layer: "volume", asked, read_back, from })
            }
        };
        let ioctl_name = || format!("LOOP_GET_STATUS64 of {}", device.path.display());
        let yes_no = |yes: bool, what: &str| if yes { what.to_owned() } else { format!("no {what}") };
        let dio = device.sysfs().join("loop/dio");
        let read_only = read_attribute(&device.sysfs().join("ro"))? != "0";
        Ok(vec![
            expect(
                format!("backing inode {}", self.identity.ino),
                if is_of_file(&status, self.identity) {
                    format!("backing inode {}", status.inode)
                } else {
                    format!("backing inode {} on another device or file", status.inode)
                },
                ioctl_name(),
            )?,
            expect(
                format!("{} bytes from offset {}", self.size_bytes, self.offset),
                format!("{} bytes from offset {}", device.size_bytes, status.offset),
                format!("{} and {}", ioctl_name(), device.sysfs().join("size").display()),
            )?,
            expect(
                "writable, no autoclear".to_owned(),
                format!(
                    "{}, {}",
                    if status.flags & ioctl::LOOP_READ_ONLY == 0 && !read_only {
                        "writable"
                    } else {
                        "read-only"
                    },
                    yes_no(status.flags & ioctl::LOOP_AUTOCLEAR != 0, "autoclear"),
                ),
                ioctl_name(),
            )?,
            expect(
                yes_no(self.direct, "direct I/O"),
                yes_no(status.flags & ioctl::LOOP_DIRECT_IO != 0, "direct I/O"),
                ioctl_name(),
            )?,
            expect(
                format!("dio {}", u8::from(self.direct)),
                format!("dio {}", read_attribute(&dio)?),
                dio.display().to_string(),
            )?,
        ])
    }
}

/// Makes sure that a device is one that a layer of this session attached, and still stands on what it stood on then.
///
/// # Errors
/// [`StackError::Unexpected`] where it is not, [`StackError::Io`] when it cannot be asked.
pub(crate) fn check_own_attachment(site: &Site, device: &BlockDevice) -> Result<(), StackError> {
    let is_ours = match site.attached.get(&device.number) {
        Some(Origin::Loop(identity)) => {
            open_attached(&device.path)?.is_some_and(|(_, status)| is_of_file(&status, *identity))
        }
        Some(Origin::Nbd) => is_carried_by_us(device.number),
        None => return Err(StackError::unexpected(&device.path, "no layer checked this device")),
    };
    if is_ours {
        return Ok(());
    }
    Err(StackError::unexpected(&device.path, "it no longer has the file that iostone attached to it"))
}
