//! Filesystems: one file for each kind.

mod ext4;
mod superblock;

pub(crate) use ext4::{argument_words, format_uuid};
use iostone_model::experiment::Filesystem;

use crate::error::StackError;
use crate::layer::Layer;

pub(crate) use superblock::{Superblock, Wiped, wipe};

/// The layer that makes a filesystem.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be made, on whatever machine.
pub(crate) fn layer_of(filesystem: &Filesystem) -> Result<Box<dyn Layer>, StackError> {
    match filesystem {
        Filesystem::Ext4(ext4) => Ok(Box::new(ext4::Ext4Layer::new(ext4)?)),
        Filesystem::Xfs(_) | Filesystem::Btrfs(_) | Filesystem::None => {
            Err(StackError::usage("filesystem", "not built yet"))
        }
    }
}
