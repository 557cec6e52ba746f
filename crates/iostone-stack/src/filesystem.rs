//! Filesystems: one file for each kind.

mod ext4;
mod superblock;

pub(crate) use ext4::{Ext4Layer, argument_words, format_uuid};
pub(crate) use superblock::{Superblock, Wiped, wipe};
