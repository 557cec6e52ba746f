//! A block device that was opened once: what is looked at, locked and written is this descriptor's device, whatever
//! becomes of the path that it was named by.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::{BlockDevice, number_of};
use crate::entry::Entry;
use crate::error::StackError;
use iostone_engine::path_of_open;

/// A block device that a path leads to, found and not yet opened.
#[derive(Debug)]
pub(crate) struct FoundDevice {
    /// Opened with `O_PATH`: it stands for the node, and nothing is asked of the device.
    handle: File,
    pub(crate) device: BlockDevice,
}

/// A block device and a descriptor of it, which keeps its number from passing to another: a loop device stays attached
/// for as long as it is open.
#[derive(Debug)]
pub(crate) struct OpenedDevice {
    /// Open for reading, so that it never is a writer beside a mount.
    file: File,
    pub(crate) device: BlockDevice,
}

impl FoundDevice {
    /// Finds what a path leads to; none if that is no block device.
    ///
    /// # Errors
    /// [`StackError::Usage`] if there is nothing, those of [`Entry::find`], and [`StackError::Io`] when sysfs does not know it.
    pub(crate) fn find(path: &Path) -> Result<Option<Self>, StackError> {
        let missing = || StackError::usage("volume.devices", format!("there is no `{}`", path.display()));
        if !path.exists() {
            return Err(missing());
        }
        let handle = Entry::find(path)?.open(OFlags::PATH)?.ok_or_else(missing)?;
        let metadata = handle.metadata().map_err(|source| StackError::io("stat", path, source))?;
        if !metadata.file_type().is_block_device() {
            return Ok(None);
        }
        let number = number_of(metadata.rdev());
        // The kernel's own node, where there is one: nobody but root can put another there.
        let device =
            BlockDevice::numbered(number).or_else(|_| BlockDevice::of_number(number, path.to_owned()))?;
        Ok(Some(Self { handle, device }))
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`StackError::Io`] with what open(2) says.
    pub(crate) fn open(self) -> Result<OpenedDevice, StackError> {
        let Self { handle, device } = self;
        let file = reopen(&handle, libc::O_NONBLOCK)
            .map_err(|source| StackError::io("open", &device.path, source))?;
        Ok(OpenedDevice { file, device })
    }
}

impl OpenedDevice {
    /// Another descriptor of the same device, open for reading, with flags of its own.
    ///
    /// # Errors
    /// What open(2) says: EBUSY with `O_EXCL` while the system has it.
    pub(crate) fn reopen(&self, flags: libc::c_int) -> io::Result<File> {
        reopen(&self.file, flags)
    }

    /// A descriptor that reads past the page cache, which may be older than a device that other machines write to; through
    /// it where the driver knows no other way.
    ///
    /// # Errors
    /// What open(2) says.
    pub(crate) fn reader(&self) -> io::Result<File> {
        self.reopen(libc::O_DIRECT | libc::O_NONBLOCK).or_else(|_| self.reopen(libc::O_NONBLOCK))
    }

    /// Writes to the disk what was written to the device and lies in the page cache.
    ///
    /// # Errors
    /// What fdatasync(2) says.
    pub(crate) fn write_back(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn reopen(file: &File, flags: libc::c_int) -> io::Result<File> {
    File::options().read(true).custom_flags(flags).open(path_of_open(file))
}
