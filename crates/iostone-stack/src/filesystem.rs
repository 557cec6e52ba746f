//! Filesystems: one file for each kind.

mod ext4;

pub(crate) use ext4::{Ext4Layer, argument_words, format_uuid, wipe};
