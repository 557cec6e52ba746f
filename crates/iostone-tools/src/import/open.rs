//! Opens a file that may be anything: only a regular file is read, once, and its digest is taken on the way.

use std::fs::{File, FileType};
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::input::without_escapes;
use crate::{Format, Input, ReadError, Reading};

/// How much of a file tells its format.
const HEAD_BYTES: u64 = 64 << 10;

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system's reason.
    #[error("it cannot be opened: {0}")]
    Io(#[from] io::Error),
    /// It is a folder.
    #[error("it is a folder; name the files in it")]
    Folder,
    /// It is nothing whose content could be read twice: a pipe, a device, a socket.
    #[error("it is {0}, not a file; save its output to a file first, or give it as standard input: `-`")]
    NotAFile(&'static str),
}

/// An open file.
pub(super) struct Opened {
    head: String,
    content: Hashing,
}

/// Opens a regular file; anything else is refused, so that nothing is waited for.
pub(crate) fn open_regular(path: &Path) -> Result<File, OpenError> {
    // Looked at before it is opened: opening a pipe waits for somebody to write to it.
    regular(path.metadata()?.file_type())?;
    let file = File::open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a regular file and reads its beginning.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let mut file = open_regular(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(HEAD_BYTES).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(Opened { head: head_text(&bytes), content: Hashing { file, bytes: 0, digest: Sha256::new() } })
}

fn regular(kind: FileType) -> Result<(), OpenError> {
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(OpenError::Folder)
    } else if kind.is_fifo() {
        Err(OpenError::NotAFile("a pipe"))
    } else if kind.is_socket() {
        Err(OpenError::NotAFile("a socket"))
    } else {
        Err(OpenError::NotAFile("a device"))
    }
}

/// Text of the first bytes of a file: what is not UTF-8 is replaced, a character that the end cuts in two is dropped, as
/// is a byte order mark.
pub(super) fn head_text(bytes: &[u8]) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or(bytes),
        _ => bytes,
    };
    let text = String::from_utf8_lossy(whole);
    without_escapes(text.strip_prefix('\u{feff}').unwrap_or(&text)).into_owned()
}

impl Opened {
    /// Its beginning.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// Reads it as a format's.
    pub(super) fn read(&mut self, name: &str, format: &dyn Format) -> Result<Reading, ReadError> {
        format.read(&mut Input::new(name, BufReader::with_capacity(64 << 10, &mut self.content)))
    }

    /// Its size and its SHA-256, also of what its format had no need to read.
    pub(super) fn finish(mut self) -> io::Result<(u64, String)> {
        io::copy(&mut self.content, &mut io::sink())?;
        Ok((self.content.bytes, hexadecimal(&self.content.digest.finalize())))
    }
}

/// Bytes as digests are written.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file whose digest is taken while it is read.
struct Hashing {
    file: File,
    bytes: u64,
    digest: Sha256,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.digest.update(buffer.get(..length).unwrap_or_default());
        self.bytes += length as u64;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_that_the_end_cuts_in_two_is_no_strange_byte() {
        assert_eq!(head_text("µ".as_bytes().get(..1).unwrap()), "");
        assert_eq!(head_text(b"a\xb5b"), "a\u{fffd}b");
        assert_eq!(head_text(b"\xef\xbb\xbfa"), "a");
        assert_eq!(head_text(b"\x1b[1ma\x1b[0m"), "a");
    }

    #[test]
    fn digests_are_hexadecimal() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hexadecimal(&Sha256::digest(b"")), empty);
    }
}
