//! The superblock of ext2 and ext4 (Documentation/filesystems/ext4/globals).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::{field, read_block, uuid_at};
use crate::error::StackError;

/// What ext4 says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtSuperblock {
    pub(crate) uuid: String,
    pub(super) mount_count: u16,
    pub(super) last_mounted: PathBuf,
    pub(crate) block_bytes: u64,
    /// Blocks on one member of an array before the next follows; 0 if it knows of none.
    pub(crate) stride_blocks: u64,
    /// Blocks of a whole stripe.
    pub(crate) stripe_width_blocks: u64,
    /// Whether it has a journal (`has_journal`), which ext2 has not.
    pub(crate) has_journal: bool,
    /// Whether files are kept in extents (`extents`), as ext4 does and ext2 does not.
    pub(crate) has_extents: bool,
}

impl ExtSuperblock {
    /// Offset of the superblock in bytes.
    pub(crate) const OFFSET: u64 = 1024;
    /// Its length in bytes.
    pub(crate) const LENGTH: usize = 1024;

    /// Reads the superblock of a device; none if there is none of the ext family.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn read(device: &Path) -> Result<Option<Self>, StackError> {
        Ok(Self::parse(&read_block(device, Self::OFFSET)?))
    }

    /// `s_log_block_size` at 0x18, `s_mnt_count` at 0x34, `s_magic` at 0x38, `s_feature_compat` at 0x5c,
    /// `s_feature_incompat` at 0x60, `s_uuid` at 0x68, `s_last_mounted` at 0x88 (64 bytes), `s_raid_stride` at 0x164, `s_raid_stripe_width` at 0x170; little-endian.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if field(bytes, 0x38)? != [0x53, 0xef] {
            return None;
        }
        let last_mounted = bytes.get(0x88..0xc8)?.iter().copied().take_while(|&byte| byte != 0).collect();
        Some(Self {
            uuid: uuid_at(bytes, 0x68)?,
            mount_count: u16::from_le_bytes(field(bytes, 0x34)?),
            last_mounted: PathBuf::from(OsString::from_vec(last_mounted)),
            // The kernel takes at most 64 KiB (EXT4_MAX_BLOCK_LOG_SIZE, fs/ext4/ext4.h).
            block_bytes: 1024_u64 << u32::from_le_bytes(field(bytes, 0x18)?).min(6),
            stride_blocks: u64::from(u16::from_le_bytes(field(bytes, 0x164)?)),
            stripe_width_blocks: u64::from(u32::from_le_bytes(field(bytes, 0x170)?)),
            has_journal: u32::from_le_bytes(field(bytes, 0x5c)?) & 0x4 != 0,
            has_extents: u32::from_le_bytes(field(bytes, 0x60)?) & 0x40 != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_read_where_the_kernel_keeps_them() {
        let mut bytes = [0; ExtSuperblock::LENGTH];
        assert_eq!(ExtSuperblock::parse(&bytes), None);
        bytes[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
        bytes[0x34..0x36].copy_from_slice(&[2, 1]);
        bytes[0x68..0x78].copy_from_slice(&[0xab; 16]);
        bytes[0x88..0x8c].copy_from_slice(b"/mnt");
        bytes[0x18] = 2;
        bytes[0x164] = 64;
        bytes[0x170] = 128;
        let superblock = ExtSuperblock::parse(&bytes).unwrap();
        assert_eq!(superblock.uuid, "abababab-abab-abab-abab-abababababab");
        assert_eq!((superblock.mount_count, superblock.last_mounted), (258, PathBuf::from("/mnt")));
        assert_eq!(
            (superblock.block_bytes, superblock.stride_blocks, superblock.stripe_width_blocks),
            (4096, 64, 128)
        );
        assert!(!superblock.has_journal && !superblock.has_extents);
        bytes[0x5c] = 0x3c;
        bytes[0x60] = 0xc2;
        let superblock = ExtSuperblock::parse(&bytes).unwrap();
        assert!(superblock.has_journal && superblock.has_extents);
        bytes[0x88..0xc8].copy_from_slice(&[b'x'; 64]);
        assert_eq!(ExtSuperblock::parse(&bytes).unwrap().last_mounted.as_os_str().len(), 64);
    }
}
