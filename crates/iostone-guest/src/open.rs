//! Opening files that somebody else named: a pipe without a writer must not be waited for.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file for reading; what is none is an error at once, also a FIFO, which open(2) would wait on.
///
/// # Errors
/// It cannot be opened, or is something else, which is named.
pub fn open_file(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    let other = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_block_device() {
        "a block device"
    } else if kind.is_file() {
        return Ok(file);
    } else {
        "something else"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {other}, not a file")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_is_told_at_once_and_a_directory_too() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(open_file(&fifo).unwrap_err().to_string(), "it is a FIFO, not a file");
        assert_eq!(open_file(place.path()).unwrap_err().to_string(), "it is a directory, not a file");
        let file = place.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(io::read_to_string(open_file(&file).unwrap()).unwrap(), "x");
    }
}
