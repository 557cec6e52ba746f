//! The superblock of ext4: what tells whose a filesystem is, and taking it off a device again.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::format_uuid;
use crate::error::StackError;

/// What tells one ext4 from another, and who has used it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) uuid: String,
    /// How often it was mounted for writing; mkfs leaves none.
    pub(crate) mount_count: u16,
    /// Where it was when a file on it was first opened after the last mount; empty if that never came about, or if the
    /// path is longer than the field.
    pub(crate) last_mounted: PathBuf,
}

impl Superblock {
    /// Offset of the superblock in bytes (Documentation/filesystems/ext4/globals).
    pub(crate) const OFFSET: u64 = 1024;
    /// Its length in bytes.
    pub(crate) const LENGTH: usize = 1024;

    /// Reads the superblock of a device; none if there is none of the ext family.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn read(device: &Path) -> Result<Option<Self>, StackError> {
        let file = File::open(device).map_err(|source| StackError::io("open", device, source))?;
        Self::read_from(&file).map_err(|source| StackError::io("read", device, source))
    }

    fn read_from(device: &File) -> std::io::Result<Option<Self>> {
        let mut bytes = [0; Self::LENGTH];
        device.read_exact_at(&mut bytes, Self::OFFSET)?;
        Ok(Self::parse(&bytes))
    }

    /// `s_mnt_count` at 0x34, `s_magic` at 0x38, `s_uuid` at 0x68, `s_last_mounted` at 0x88 (64 bytes).
    pub(crate) fn parse(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        if bytes[0x38..0x3a] != [0x53, 0xef] {
            return None;
        }
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&bytes[0x68..0x78]);
        let last_mounted = bytes[0x88..0xc8].iter().copied().take_while(|&byte| byte != 0).collect();
        Some(Self {
            uuid: format_uuid(uuid),
            mount_count: u16::from_le_bytes([bytes[0x34], bytes[0x35]]),
            last_mounted: PathBuf::from(OsString::from_vec(last_mounted)),
        })
    }
}

/// What became of an attempt to take a filesystem off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wiped {
    /// It is gone.
    Yes,
    /// It was not there any more.
    Gone,
    /// Somebody has the device mounted, or open for itself alone.
    Busy,
}

/// Takes our filesystem off a device of the user's: only if the superblock there is still the one that was looked at.
///
/// # Errors
/// The reason in words.
pub(crate) fn wipe(path: &Path, ours: &Superblock) -> Result<Wiped, String> {
    // O_EXCL without O_CREAT on a block device: refused while it is mounted or held (open(2)).
    let device = match File::options().read(true).write(true).custom_flags(libc::O_EXCL).open(path) {
        Ok(device) => device,
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Ok(Wiped::Busy),
        Err(error) => return Err(format!("it cannot be opened: {error}")),
    };
    let now = Superblock::read_from(&device).map_err(|error| format!("it cannot be read: {error}"))?;
    if now.as_ref() != Some(ours) {
        // Somebody was faster; the next look tells who.
        return Ok(if now.is_some_and(|now| now.uuid == ours.uuid) { Wiped::Busy } else { Wiped::Gone });
    }
    device
        .write_all_at(&[0; Superblock::LENGTH], Superblock::OFFSET)
        .and_then(|()| device.sync_all())
        .map_err(|error| format!("it cannot be written: {error}"))?;
    Ok(Wiped::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_read_where_the_kernel_keeps_them() {
        let mut bytes = [0; Superblock::LENGTH];
        assert_eq!(Superblock::parse(&bytes), None);
        bytes[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
        bytes[0x34..0x36].copy_from_slice(&[2, 1]);
        bytes[0x68..0x78].copy_from_slice(&[0xab; 16]);
        bytes[0x88..0x8c].copy_from_slice(b"/mnt");
        let superblock = Superblock::parse(&bytes).unwrap();
        assert_eq!(superblock.uuid, "abababab-abab-abab-abab-abababababab");
        assert_eq!((superblock.mount_count, superblock.last_mounted), (258, PathBuf::from("/mnt")));
        bytes[0x88..0xc8].copy_from_slice(&[b'x'; 64]);
        assert_eq!(Superblock::parse(&bytes).unwrap().last_mounted.as_os_str().len(), 64);
    }
}
