//! Filesystems: one file for each kind.

mod arguments;
mod btrfs;
mod ext2;
mod ext4;
mod f2fs;
mod kernel_support;
mod making;
mod planned;
mod superblock;
mod version;
mod xfs;

use std::path::Path;

use iostone_model::experiment::{Array, Filesystem, Stack};

use crate::error::StackError;
use crate::layer::Layer;
use crate::tool;

pub(crate) use btrfs::forget;
pub(crate) use kernel_support::{has_module, kernel_has, kernel_release};
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
        Filesystem::Ext2(ext2) => Ok(Box::new(ext2::Ext2Layer::new(ext2)?)),
        Filesystem::F2fs(f2fs) => Ok(Box::new(f2fs::F2fsLayer::new(f2fs)?)),
        Filesystem::None => Err(StackError::usage("filesystem", "there is no filesystem to create")),
    }
}

/// What a filesystem has to say, or to be told, once it is mounted; none for most.
///
/// # Errors
/// As [`layer_of`].
pub(crate) fn mounted_layer_of(stack: &Stack) -> Result<Option<Box<dyn Layer>>, StackError> {
    match &stack.filesystem {
        Filesystem::Btrfs(btrfs) => Ok(Some(Box::new(btrfs::MountedBtrfs::new(btrfs, stack)?))),
        Filesystem::None
        | Filesystem::Ext4(_)
        | Filesystem::Xfs(_)
        | Filesystem::Ext2(_)
        | Filesystem::F2fs(_) => Ok(None),
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
    check_size(stack, &mkfs)
}

/// What can be known on this host of a filesystem that a guest makes: whether its volumes are large enough, as far as
/// this host's mkfs tells. Reading only.
///
/// # Errors
/// [`StackError::Usage`] for a volume on which it cannot be made.
pub(crate) fn examine_provided(stack: &Stack) -> Result<(), StackError> {
    let Some(name) = stack.filesystem.name() else { return Ok(()) };
    // Whether the guest has one is not for this look.
    let Ok(mkfs) = tool::find(&format!("mkfs.{name}")) else { return Ok(()) };
    check_size(stack, &mkfs)
}

/// Refuses volumes that are too small for the filesystem, where the experiment says their size.
fn check_size(stack: &Stack, mkfs: &Path) -> Result<(), StackError> {
    let (Some(size), Some(capacity)) = (stack.volume.size(), stack.capacity()) else { return Ok(()) };
    match &stack.filesystem {
        Filesystem::Xfs(xfs) => xfs::check_size(mkfs, capacity.0, xfs::is_striped(xfs, geometry_of(stack))?),
        Filesystem::Btrfs(btrfs) => {
            let is_array = matches!(stack.array, Array::Btrfs(_));
            let size = if is_array { size.0 } else { capacity.0 };
            btrfs::check_size(mkfs, btrfs, &stack.array, size)
        }
        Filesystem::F2fs(f2fs) => f2fs::check_size(mkfs, f2fs, capacity.0),
        Filesystem::Ext4(_) | Filesystem::Ext2(_) | Filesystem::None => Ok(()),
    }
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
