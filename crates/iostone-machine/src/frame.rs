//! Frames: a length of four bytes, most significant first, and so many bytes of JSON.
//!
//! A length in front lets an end skip nothing and guess nothing, over pipes, `docker exec` or a virtio-serial port.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// No message of this protocol comes near; a larger length means that the other end is not an agent.
pub const LARGEST_FRAME_BYTES: usize = 256 << 20;

/// Writes one message.
///
/// # Errors
/// Those of the stream; `InvalidData` for a message that is too large.
pub fn write<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|_| body.len() <= LARGEST_FRAME_BYTES)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the message is too large for a frame"))?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&body)?;
    stream.flush()
}

/// Reads one message; none at the end of the stream.
///
/// # Errors
/// Those of the stream; `UnexpectedEof` for a frame that breaks off; `InvalidData` for one that is no message.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0u8; 4];
    match stream.read(&mut length)? {
        0 => return Ok(None),
        count => stream.read_exact(length.get_mut(count..).unwrap_or_default())?,
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > LARGEST_FRAME_BYTES {
        let reason = format!("the header announces {length} bytes; the other end is not an iostone agent");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    // Grown as bytes arrive: a wrong length must not reserve memory for what never comes.
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream ended within a frame"));
    }
    serde_json::from_slice(&body)
        .map(Some)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("not a message: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        let mut wire = Vec::new();
        write(&mut wire, &vec!["a", "b"]).unwrap();
        write(&mut wire, &vec!["c"]).unwrap();
        let mut stream = wire.as_slice();
        assert_eq!(read::<Vec<String>>(&mut stream).unwrap(), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(read::<Vec<String>>(&mut stream).unwrap(), Some(vec!["c".to_owned()]));
        assert_eq!(read::<Vec<String>>(&mut stream).unwrap(), None);
    }

    #[test]
    fn a_frame_that_breaks_off_is_an_error() {
        let mut wire = Vec::new();
        write(&mut wire, &"hello").unwrap();
        wire.truncate(wire.len() - 1);
        assert_eq!(read::<String>(&mut wire.as_slice()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(
            read::<String>(&mut [0u8, 0].as_slice()).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }

    #[test]
    fn what_is_not_a_frame_is_refused() {
        let error = read::<String>(&mut b"Welcome to this host".as_slice()).unwrap_err();
        assert!(error.to_string().contains("not an iostone agent"));
        assert!(read::<String>(&mut b"\0\0\0\x02{}".as_slice()).is_err());
    }
}
