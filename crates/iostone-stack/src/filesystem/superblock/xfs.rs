//! The superblock of XFS (`struct xfs_dsb`, `fs/xfs/libxfs/xfs_format.h`; "XFS Algorithms & Data Structures").

use std::path::Path;

use super::{field, read_block, uuid_at};
use crate::error::StackError;

/// What XFS says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XfsSuperblock {
    pub(crate) uuid: String,
    pub(crate) block_bytes: u64,
    /// Bytes of a stripe unit; 0 if it knows of none.
    pub(crate) unit_bytes: u64,
    /// Bytes of a whole stripe.
    pub(crate) width_bytes: u64,
    /// Whether mkfs is still at it, or nothing was ever logged: then nobody has mounted it for writing.
    pub(super) is_untouched: bool,
}

impl XfsSuperblock {
    /// Offset of the superblock in bytes.
    pub(crate) const OFFSET: u64 = 0;

    /// Reads the superblock of a device; none if there is none.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn read(device: &Path) -> Result<Option<Self>, StackError> {
        Ok(Self::parse(&read_block(device, Self::OFFSET)?))
    }

    /// `sb_blocksize` at 4, `sb_uuid` at 32, `sb_versionnum` at 100, `sb_inprogress` at 126, `sb_unit` at 184, `sb_width`
    /// at 188 (both in blocks), `sb_lsn` at 240; big-endian.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if field(bytes, 0)? != *b"XFSB" {
            return None;
        }
        let block_bytes = u64::from(u32::from_be_bytes(field(bytes, 4)?));
        let blocks = |offset: usize| {
            Some(u64::from(u32::from_be_bytes(field(bytes, offset)?)).saturating_mul(block_bytes))
        };
        let version = u16::from_be_bytes(field(bytes, 100)?) & 0xf;
        // Each write of the superblock through the log leaves its place in the log there; mkfs leaves 0. Version 4 has
        // no such field.
        let never_logged = version >= 5 && field(bytes, 240)? == [0; 8];
        Some(Self {
            uuid: uuid_at(bytes, 32)?,
            block_bytes,
            unit_bytes: blocks(184)?,
            width_bytes: blocks(188)?,
            is_untouched: *bytes.get(126)? != 0 || never_logged,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_read_where_the_kernel_keeps_them() {
        let mut bytes = [0; 512];
        assert_eq!(XfsSuperblock::parse(&bytes), None);
        bytes[..4].copy_from_slice(b"XFSB");
        bytes[4..8].copy_from_slice(&4096_u32.to_be_bytes());
        bytes[32..48].copy_from_slice(&[0xab; 16]);
        bytes[101] = 0xa5;
        bytes[187] = 64;
        bytes[191] = 128;
        let fresh = XfsSuperblock::parse(&bytes).unwrap();
        assert_eq!((fresh.unit_bytes, fresh.width_bytes), (256 << 10, 512 << 10));
        assert!(fresh.is_untouched);
        bytes[243] = 1;
        assert!(!XfsSuperblock::parse(&bytes).unwrap().is_untouched, "logged");
        bytes[126] = 1;
        assert!(XfsSuperblock::parse(&bytes).unwrap().is_untouched, "in progress");
        (bytes[101], bytes[243], bytes[126]) = (0xa4, 0, 0);
        assert!(!XfsSuperblock::parse(&bytes).unwrap().is_untouched, "version 4 does not tell");
    }
}
