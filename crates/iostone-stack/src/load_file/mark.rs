//! The mark by which a file is known for iostone's: an extended attribute, set and read by the open file.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use crate::error::StackError;

/// The attribute's name, xattr(7).
pub(crate) const MARK: &str = "user.iostone";

/// The mark that a file carries, of whichever kind.
pub(super) fn mark_on(file: &File) -> Option<Vec<u8>> {
    let mut value = [0u8; 256];
    let length = fgetxattr(file, MARK, &mut value).ok()?;
    value.get(..length).map(<[u8]>::to_vec)
}

/// Length in bytes and modification time in seconds and nanoseconds.
pub(crate) fn mark_of(metadata: &Metadata) -> String {
    format!("{} {}.{:09}", metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// Marks a file, which messages call `name`, as iostone's with what it holds now.
pub(crate) fn mark(file: &File, name: &Path) -> Result<(), StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", name, error))?;
    // Without attributes the file counts as somebody else's next time, which harms nobody.
    let _ = fsetxattr(file, MARK, mark_of(&metadata).as_bytes(), XattrFlags::empty());
    Ok(())
}
