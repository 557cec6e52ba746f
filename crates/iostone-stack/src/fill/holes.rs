//! Holes in an image: whether it has some, and giving them blocks on the disk again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::error::StackError;

/// Bytes in one write.
const CHUNK_BYTES: usize = 1 << 20;

/// Whether every byte of a file lies on the disk, as far as its filesystem keeps account of that.
///
/// # Errors
/// [`StackError::Io`] when it cannot be read.
pub(crate) fn is_without_holes(file: &File, path: &Path) -> Result<bool, StackError> {
    Ok(next_hole(file, path, 0)?.is_none())
}

/// Writes zeros where a file has holes, or extents that were never written: they read as zeros before and after, but
/// only now from the disk. The caller syncs.
///
/// # Errors
/// [`StackError::Io`] when it cannot be read or written.
pub(crate) fn close_holes(file: &File, path: &Path) -> Result<(), StackError> {
    let zeros = vec![0; CHUNK_BYTES];
    let mut offset = 0;
    while let Some((start, end)) = next_hole(file, path, offset)? {
        offset = start;
        while offset < end {
            let length = CHUNK_BYTES.min(usize::try_from(end - offset).unwrap_or(CHUNK_BYTES));
            let part = zeros.get(..length).unwrap_or(&zeros);
            file.write_all_at(part, offset).map_err(|source| StackError::io("write", path, source))?;
            offset += part.len() as u64;
        }
    }
    Ok(())
}

/// The next hole from `offset` on, as lseek(2) finds it, from its first byte to behind its last.
fn next_hole(file: &File, path: &Path, offset: u64) -> Result<Option<(u64, u64)>, StackError> {
    let size_bytes = file.metadata().map_err(|source| StackError::io("stat", path, source))?.len();
    if offset >= size_bytes {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, SeekFrom::Hole(offset)) {
        Ok(start) => start,
        // A filesystem that keeps no account of holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
        Err(source) => return Err(StackError::io("lseek SEEK_HOLE", path, source)),
    };
    if start >= size_bytes {
        return Ok(None);
    }
    match rustix::fs::seek(file, SeekFrom::Data(start)) {
        Ok(end) => Ok(Some((start, end))),
        // Nothing but the hole up to the end.
        Err(Errno::NXIO) => Ok(Some((start, size_bytes))),
        Err(source) => Err(StackError::io("lseek SEEK_DATA", path, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_closed_and_data_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(5 << 20).unwrap();
        file.write_all_at(&[7; 8192], 2 << 20).unwrap();
        if is_without_holes(&file, &path).unwrap() {
            // This filesystem keeps no account of holes.
            return;
        }
        close_holes(&file, &path).unwrap();
        file.sync_all().unwrap();
        assert!(is_without_holes(&file, &path).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 5 << 20);
        assert!(
            bytes
                .iter()
                .enumerate()
                .all(|(place, &byte)| (byte == 7) == ((2 << 20)..(2 << 20) + 8192).contains(&place))
        );
    }
}
