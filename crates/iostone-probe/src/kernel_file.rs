//! A file of the kernel that is opened once and read from its beginning at every sample, into the same buffer.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The kernel formats such a file anew at each read at offset 0 (`fs/seq_file.c`), so it need not be opened
/// again; and as the open file stays with the object, a device of the same name that comes later is not
/// mistaken for the one that went.
#[derive(Debug)]
pub(crate) struct KernelFile {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl KernelFile {
    /// Opens `path` with a buffer of `capacity_bytes`.
    pub(crate) fn open(path: PathBuf, capacity_bytes: usize) -> io::Result<Self> {
        Ok(Self { file: File::open(&path)?, path, buffer: vec![0; capacity_bytes] })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// One read: all of a file that the kernel hands out in one piece, or the beginning of a longer one.
    pub(crate) fn read_beginning(&mut self) -> io::Result<&[u8]> {
        let length = read_at(&self.file, &mut self.buffer, 0)?;
        Ok(self.buffer.get(..length).unwrap_or_default())
    }

    /// Reads to the end; for tables, which the kernel hands out a page at a time. The buffer grows when the
    /// table has outgrown it, which is the only allocation a sample may cause.
    pub(crate) fn read_all(&mut self) -> io::Result<&[u8]> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(self.buffer.len().max(4096) * 2, 0);
            }
            let free = self.buffer.get_mut(filled..).unwrap_or_default();
            match read_at(&self.file, free, filled as u64)? {
                0 => return Ok(self.buffer.get(..filled).unwrap_or_default()),
                length => filled += length,
            }
        }
    }
}

/// pread(2), again when a signal came between.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_anew_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        fs::write(&path, "1\n").unwrap();
        let mut file = KernelFile::open(path.clone(), 64).unwrap();
        assert_eq!(file.read_beginning().unwrap(), b"1\n");
        fs::write(&path, "12345\n").unwrap();
        assert_eq!(file.read_beginning().unwrap(), b"12345\n");
    }

    #[test]
    fn a_table_longer_than_the_buffer_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("diskstats");
        let text = "x".repeat(70_000);
        fs::write(&path, &text).unwrap();
        let mut file = KernelFile::open(path, 16).unwrap();
        assert_eq!(file.read_beginning().unwrap().len(), 16);
        assert_eq!(file.read_all().unwrap(), text.as_bytes());
    }
}
