//! Filesystems: one file for each kind.

mod arguments;
mod btrfs;
mod ext4;
mod kernel_support;
mod making;
mod planned;
mod superblock;
mod xfs;

use iostone_model::experiment::{Array, Filesystem, Stack};

use crate::error::StackError;
use crate::layer::Layer;
use crate::tool;

pub(crate) use btrfs::forget;
pub(crate) use planned::{geometry_of, mkfs_line};
#[cfg(test)]
pub(crate) use superblock::Kind;
pub(crate) use superblock::{Superblock, Usage, Wiped, wipe};

/// The layer that makes a stack's filesystem.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be made, on whatever machine.
pub(crate) fn layer_of(stack: &Stack) -> Result<Box<dyn Layer>, StackError> {
    match &stack.filesystem {
        Filesystem::Ext4(ext4) => Ok(Box::new(ext4::Ext4Layer::new(ext4)?)),
        Filesystem::Xfs(xfs) => Ok(Box::new(xfs::XfsLayer::new(xfs)?)),
        Filesystem::Btrfs(btrfs) => Ok(Box::new(btrfs::BtrfsLayer::new(btrfs, stack)?)),
        Filesystem::None => Err(StackError::usage("filesystem", "there is none to make")),
    }
}

/// What a filesystem has to say, or to be told, once it is mounted; none for most.
///
/// # Errors
/// As [`layer_of`].
pub(crate) fn mounted_layer_of(stack: &Stack) -> Result<Option<Box<dyn Layer>>, StackError> {
    match &stack.filesystem {
        Filesystem::Btrfs(btrfs) => Ok(Some(Box::new(btrfs::MountedBtrfs::new(btrfs, stack)?))),
        Filesystem::None | Filesystem::Ext4(_) | Filesystem::Xfs(_) => Ok(None),
    }
}

/// What this machine lacks for a stack's filesystem. Reading only.
///
/// # Errors
/// [`StackError::MissingTool`] without its mkfs, [`StackError::Unexpected`] without it in the kernel,
/// [`StackError::Usage`] for a volume on which it cannot be made.
pub(crate) fn examine(stack: &Stack) -> Result<(), StackError> {
    let Some(name) = stack.filesystem.name() else { return Ok(()) };
    let mkfs = tool::find(&format!("mkfs.{name}"))?;
    kernel_support::check(name)?;
    if let (Filesystem::Xfs(_), Some(size)) = (&stack.filesystem, stack.volume.size()) {
        let geometry = geometry_of(stack);
        let members = match stack.array {
            Array::None => 1,
            _ => geometry.map_or(1, |geometry| geometry.data_members),
        };
        xfs::check_size(&mkfs, size.0.saturating_mul(u64::from(members)), geometry.is_some())?;
    }
    Ok(())
}

/// A UUID as text: 8-4-4-4-12 hexadecimal digits.
pub(crate) fn format_uuid(bytes: [u8; 16]) -> String {
    use std::fmt::Write;
    bytes.iter().enumerate().fold(String::with_capacity(36), |mut text, (index, byte)| {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
