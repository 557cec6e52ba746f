//! The superblock of btrfs (`struct btrfs_super_block`, `linux/btrfs_tree.h`; btrfs-dev-docs, "On-disk format").

use std::path::Path;

use super::{field, read_block, uuid_at};
use crate::error::StackError;

/// What btrfs says of itself on one of its devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BtrfsSuperblock {
    /// Of the filesystem: the same on all of its devices.
    pub(crate) uuid: String,
    pub(crate) total_bytes: u64,
    pub(crate) device_count: u64,
    /// Whether mkfs is still at it, or nobody has mounted it for writing.
    pub(super) is_untouched: bool,
}

impl BtrfsSuperblock {
    /// Offsets of the superblock in bytes: the copies, as far as the device is long enough, then the first.
    pub(crate) const OFFSETS: [u64; 3] = [256 << 30, 64 << 20, 64 << 10];
    /// Its length in bytes.
    pub(crate) const LENGTH: usize = 4096;
    const MAGIC: [u8; 8] = *b"_BHRfS_M";
    /// As long as mkfs.btrfs is at work (`BTRFS_MAGIC_TEMPORARY` of btrfs-progs); the kernel takes no such filesystem.
    const MAGIC_UNFINISHED: [u8; 8] = *b"!BHRfS_M";

    /// Reads the first superblock of a device; none if there is none.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn read(device: &Path) -> Result<Option<Self>, StackError> {
        let [.., first] = Self::OFFSETS;
        Ok(Self::parse(&read_block(device, first)?))
    }

    /// `fsid` at 0x20, `magic` at 0x40, `total_bytes` at 0x70, `num_devices` at 0x88, `uuid_tree_generation` at 0x233;
    /// little-endian.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let magic: [u8; 8] = field(bytes, 0x40)?;
        if magic != Self::MAGIC && magic != Self::MAGIC_UNFINISHED {
            return None;
        }
        // The kernel makes the tree of UUIDs at the first mount for writing and keeps its generation up ever after; mkfs
        // leaves 0.
        let never_mounted = field(bytes, 0x233)? == [0; 8];
        Some(Self {
            uuid: uuid_at(bytes, 0x20)?,
            total_bytes: u64::from_le_bytes(field(bytes, 0x70)?),
            device_count: u64::from_le_bytes(field(bytes, 0x88)?),
            is_untouched: magic == Self::MAGIC_UNFINISHED || never_mounted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_read_where_the_kernel_keeps_them() {
        let mut bytes = [0; BtrfsSuperblock::LENGTH];
        assert_eq!(BtrfsSuperblock::parse(&bytes), None);
        bytes[0x20..0x30].copy_from_slice(&[0xab; 16]);
        bytes[0x40..0x48].copy_from_slice(b"_BHRfS_M");
        bytes[0x71] = 1;
        bytes[0x88] = 2;
        let fresh = BtrfsSuperblock::parse(&bytes).unwrap();
        assert_eq!((fresh.total_bytes, fresh.device_count, fresh.is_untouched), (256, 2, true));
        bytes[0x233] = 7;
        assert!(!BtrfsSuperblock::parse(&bytes).unwrap().is_untouched);
        bytes[0x40] = b'!';
        assert!(BtrfsSuperblock::parse(&bytes).unwrap().is_untouched);
    }
}
