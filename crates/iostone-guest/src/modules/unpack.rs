//! Modules as they lie on disk: plain, or compressed with xz or zstd.

use std::ffi::OsStr;
use std::io::{Cursor, Read};
use std::path::Path;

use crate::error::GuestError;

/// A module has some megabytes; what unpacks to more is none.
const LARGEST_BYTES: u64 = 256 << 20;

/// A module's bytes, uncompressed.
///
/// # Errors
/// [`GuestError::Io`] when the file cannot be read, [`GuestError::Unsuitable`] when it cannot be unpacked.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    let failed = |error| GuestError::io("read", path, error);
    let mut packed = Vec::new();
    crate::open::open_file(path).map_err(failed)?.read_to_end(&mut packed).map_err(failed)?;
    let unpacked = match path.extension().and_then(OsStr::to_str) {
        Some("xz") => from_xz(&packed),
        Some("zst") => from_zstd(&packed),
        Some("gz") => Err("gzip is not supported; next: `gunzip` it".to_owned()),
        _ => return Ok(packed),
    };
    unpacked.map_err(|reason| {
        GuestError::Unsuitable(format!("the module `{}` cannot be decompressed: {reason}", path.display()))
    })
}

fn from_xz(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut unpacked = Limited(Vec::new());
    lzma_rs::xz_decompress(&mut Cursor::new(packed), &mut unpacked).map_err(|error| error.to_string())?;
    Ok(unpacked.0)
}

fn from_zstd(packed: &[u8]) -> Result<Vec<u8>, String> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| error.to_string())?;
    let mut unpacked = Vec::new();
    decoder.take(LARGEST_BYTES + 1).read_to_end(&mut unpacked).map_err(|error| error.to_string())?;
    if unpacked.len() as u64 > LARGEST_BYTES {
        return Err(too_large());
    }
    Ok(unpacked)
}

fn too_large() -> String {
    format!("it has more than {} MiB", LARGEST_BYTES >> 20)
}

/// A buffer that refuses to grow without end.
struct Limited(Vec<u8>);

impl std::io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if (self.0.len() + bytes.len()) as u64 > LARGEST_BYTES {
            return Err(std::io::Error::other(too_large()));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
