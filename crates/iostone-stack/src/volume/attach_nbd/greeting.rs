//! The few words of NBD that come before requests, up to where the kernel takes the socket over: fixed newstyle, the
//! default export by `NBD_OPT_EXPORT_NAME` (doc/proto.md of the NBD project).

use std::io::{Read, Write};
use std::path::Path;

use crate::error::StackError;

const INIT_MAGIC: &[u8; 8] = b"NBDMAGIC";
const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
/// `NBD_FLAG_FIXED_NEWSTYLE` and `NBD_FLAG_NO_ZEROES`, of the server and, by the same numbers, of the client.
const HANDSHAKE_FLAGS: u16 = 1 | 2;
const OPTION_EXPORT_NAME: u32 = 1;
/// Sent behind the export unless both sides said `NO_ZEROES`.
const ZEROES: usize = 124;

/// What a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Export {
    pub(super) size_bytes: u64,
    /// Transmission flags as `NBD_SET_FLAGS` takes them.
    pub(super) flags: u16,
}

/// Speaks to a server until it waits for requests.
///
/// # Errors
/// [`StackError::Io`] when it falls silent, [`StackError::Unexpected`] when it speaks something else.
pub(super) fn greet(mut stream: impl Read + Write, socket: &Path) -> Result<Export, StackError> {
    let silent = |source| StackError::io("greet", socket, source);
    let mut head = [0; 18];
    stream.read_exact(&mut head).map_err(silent)?;
    let rest = head.strip_prefix(INIT_MAGIC).and_then(|rest| rest.strip_prefix(OPTION_MAGIC));
    let flags = match rest {
        Some(&[high, low]) => u16::from_be_bytes([high, low]),
        _ => return Err(StackError::unexpected(socket, "the server there does not speak newstyle NBD")),
    };
    let common = flags & HANDSHAKE_FLAGS;
    let mut words = u32::from(common).to_be_bytes().to_vec();
    words.extend(OPTION_MAGIC);
    words.extend(OPTION_EXPORT_NAME.to_be_bytes());
    // The name of the default export is empty.
    words.extend(0_u32.to_be_bytes());
    stream.write_all(&words).map_err(silent)?;
    let (mut size, mut flags) = ([0; 8], [0; 2]);
    stream.read_exact(&mut size).map_err(silent)?;
    stream.read_exact(&mut flags).map_err(silent)?;
    if common & 2 == 0 {
        stream.read_exact(&mut [0; ZEROES]).map_err(silent)?;
    }
    Ok(Export { size_bytes: u64::from_be_bytes(size), flags: u16::from_be_bytes(flags) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn greet_a_server_that_says(answer: &[u8]) -> (Result<Export, StackError>, Vec<u8>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(answer).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        let export = greet(&ours, Path::new("/s"));
        drop(ours);
        let mut heard = Vec::new();
        let _ = theirs.read_to_end(&mut heard);
        (export, heard)
    }

    fn offer(handshake: u16) -> Vec<u8> {
        let mut words = b"NBDMAGICIHAVEOPT".to_vec();
        words.extend(handshake.to_be_bytes());
        words.extend((64_u64 << 20).to_be_bytes());
        words.extend(0b1101_u16.to_be_bytes());
        words
    }

    #[test]
    fn the_default_export_is_asked_for_with_its_size_and_flags() {
        let (export, heard) = greet_a_server_that_says(&offer(3));
        assert_eq!(export.unwrap(), Export { size_bytes: 64 << 20, flags: 0b1101 });
        assert_eq!(heard, b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0");
    }

    #[test]
    fn zeroes_are_read_where_the_server_sends_them() {
        let mut words = offer(1);
        words.extend([0; ZEROES]);
        assert!(greet_a_server_that_says(&words).0.is_ok());
        assert!(greet_a_server_that_says(&offer(1)).0.is_err());
    }

    #[test]
    fn another_protocol_is_told() {
        let error = greet_a_server_that_says(b"HTTP/1.1 400 Bad Request\r\n").0.unwrap_err();
        assert!(error.to_string().contains("does not speak newstyle NBD"), "{error}");
    }
}
