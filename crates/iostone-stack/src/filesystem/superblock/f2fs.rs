//! The superblock of F2FS (`struct f2fs_super_block`, `include/linux/f2fs_fs.h`; Documentation/filesystems/f2fs.rst).

use std::path::Path;

use super::{field, read_block, uuid_at};
use crate::error::StackError;

/// What F2FS says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct F2fsSuperblock {
    pub(crate) uuid: String,
    /// Where the second of the two packs of checkpoints stands, in bytes; none where the fields make no sense.
    pub(super) second_checkpoint_bytes: Option<u64>,
}

impl F2fsSuperblock {
    /// Offsets of the superblock in bytes: the copy, one block on, then the first.
    pub(crate) const OFFSETS: [u64; 2] = [4096 + 1024, 1024];
    /// Its length in bytes.
    pub(crate) const LENGTH: usize = 3072;
    /// `F2FS_SUPER_MAGIC`, little-endian.
    const MAGIC: [u8; 4] = 0xf2f5_2010_u32.to_le_bytes();

    /// Reads the first superblock of a device; none if there is none.
    ///
    /// # Errors
    /// [`StackError::Io`] when the device cannot be read.
    pub(crate) fn read(device: &Path) -> Result<Option<Self>, StackError> {
        let [_, first] = Self::OFFSETS;
        Ok(Self::parse(&read_block(device, first)?))
    }

    /// `magic` at 0, `log_blocksize` at 16, `log_blocks_per_seg` at 20, `cp_blkaddr` at 76, `uuid` at 108; little-endian.
    /// The second pack of checkpoints is a segment behind the first.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if field(bytes, 0)? != Self::MAGIC {
            return None;
        }
        let number = |offset: usize| field(bytes, offset).map(u32::from_le_bytes);
        let power = |offset: usize| 1_u64.checked_shl(number(offset)?).filter(|&value| value <= 1 << 16);
        let second = || {
            let block = u64::from(number(76)?).checked_add(power(20)?)?;
            block.checked_mul(power(16)?)
        };
        Some(Self { uuid: uuid_at(bytes, 108)?, second_checkpoint_bytes: second() })
    }

    /// Whether a checkpoint of the second pack was ever written: `checkpoint_ver` at its start, which mkfs.f2fs leaves 0
    /// and the first checkpoint after the first mount for writing sets (`f2fs_write_check_point_pack`, f2fs-tools;
    /// `do_checkpoint`, `fs/f2fs/checkpoint.c`).
    pub(super) fn is_written(checkpoint: [u8; 8]) -> bool {
        checkpoint != [0; 8]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_read_where_the_kernel_keeps_them() {
        let mut bytes = [0; F2fsSuperblock::LENGTH];
        assert_eq!(F2fsSuperblock::parse(&bytes), None);
        bytes[..4].copy_from_slice(&[0x10, 0x20, 0xf5, 0xf2]);
        bytes[16] = 12;
        bytes[20] = 9;
        bytes[76..80].copy_from_slice(&512_u32.to_le_bytes());
        bytes[108..124].copy_from_slice(&[0xab; 16]);
        let superblock = F2fsSuperblock::parse(&bytes).unwrap();
        assert_eq!(superblock.uuid, "abababab-abab-abab-abab-abababababab");
        assert_eq!(superblock.second_checkpoint_bytes, Some(4 << 20));
        bytes[16] = 64;
        assert_eq!(F2fsSuperblock::parse(&bytes).unwrap().second_checkpoint_bytes, None);
    }
}
