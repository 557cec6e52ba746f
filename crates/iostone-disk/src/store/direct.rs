//! Reads and writes past the page cache, whose offsets, lengths and buffers must be aligned (open(2), `O_DIRECT`).

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// Enough for every device: the page, and the largest logical block that is common.
const ALIGNMENT_BYTES: u64 = 4096;
/// Larger requests are done in pieces of it.
const PIECE_BYTES: usize = 1 << 20;

thread_local! {
    /// Each thread's aligned piece of memory, with room to align it in.
    static PIECE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The way past the page cache to one file.
#[derive(Debug)]
pub(super) struct Direct {
    file_bytes: u64,
    /// Held while a part of a block is written: it is read, changed and written back.
    partial: Mutex<()>,
}

/// A part of a request within one piece.
struct Part {
    /// Where the aligned part begins, and its length.
    start: u64,
    length: usize,
    /// Where the request's bytes begin within it.
    skip: usize,
    /// So many bytes of the request.
    bytes: usize,
}

impl Direct {
    pub(super) fn new(file_bytes: u64) -> Self {
        Self { file_bytes, partial: Mutex::new(()) }
    }

    pub(super) fn read(&self, file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let part = self.part(offset + done as u64, bytes.len() - done)?;
            let place = bytes.get_mut(done..done + part.bytes).ok_or(io::ErrorKind::InvalidInput)?;
            with_piece(part.length, |piece| {
                file.read_exact_at(piece, part.start)?;
                let found =
                    piece.get(part.skip..part.skip + part.bytes).ok_or(io::ErrorKind::InvalidInput)?;
                place.copy_from_slice(found);
                Ok(())
            })?;
            done += part.bytes;
        }
        Ok(())
    }

    pub(super) fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            let part = self.part(offset + done as u64, bytes.len() - done)?;
            let given = bytes.get(done..done + part.bytes).ok_or(io::ErrorKind::InvalidInput)?;
            let is_whole = part.bytes == part.length;
            let _held = (!is_whole).then(|| self.partial.lock().unwrap_or_else(PoisonError::into_inner));
            with_piece(part.length, |piece| {
                if !is_whole {
                    file.read_exact_at(piece, part.start)?;
                }
                let place =
                    piece.get_mut(part.skip..part.skip + part.bytes).ok_or(io::ErrorKind::InvalidInput)?;
                place.copy_from_slice(given);
                file.write_all_at(piece, part.start)
            })?;
            done += part.bytes;
        }
        Ok(())
    }

    /// The first part of a request. A file may end within a block, which then is done as it is.
    fn part(&self, offset: u64, length: usize) -> io::Result<Part> {
        let start = offset - offset % ALIGNMENT_BYTES;
        let skip = usize::try_from(offset - start).map_err(io::Error::other)?;
        let bytes = length.min(PIECE_BYTES - skip);
        let end = (offset + bytes as u64).next_multiple_of(ALIGNMENT_BYTES).min(self.file_bytes);
        let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        Ok(Part { start, length, skip, bytes })
    }
}

/// Lends an aligned piece of memory of that length.
fn with_piece<T>(length: usize, work: impl FnOnce(&mut [u8]) -> io::Result<T>) -> io::Result<T> {
    PIECE.with_borrow_mut(|piece| {
        let alignment = usize::try_from(ALIGNMENT_BYTES).unwrap_or(PIECE_BYTES);
        piece.resize(PIECE_BYTES + alignment, 0);
        let skip = piece.as_ptr().align_offset(alignment);
        let aligned = piece.get_mut(skip..skip + length).ok_or(io::ErrorKind::OutOfMemory)?;
        work(aligned)
    })
}
