//! Reads a device at many places at once, for data or for what tells its content from any other.

use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::aligned::{ALIGNMENT, AlignedBuffer};

/// Read at once.
const PIECE_BYTES: u64 = ZEROS.len() as u64;
/// Readers at the same time: what a disk answers one after the other takes too long, 4096 times.
const READERS: usize = 16;

/// What is compared with: `memcmp` finds zeros at the speed of memory, in any build.
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// The lowest byte that is found not to be zero within the spans; none if all are.
///
/// # Errors
/// The error of any read, and of a file that ends before.
pub(super) fn first_data(file: &File, spans: &[Range<u64>]) -> io::Result<Option<u64>> {
    let lowest = AtomicU64::new(u64::MAX);
    visit(file, spans, &|offset, bytes| {
        if ZEROS.get(..bytes.len()) != Some(bytes) {
            let within = bytes.iter().position(|&byte| byte != 0).unwrap_or_default();
            lowest.fetch_min(offset + within as u64, Ordering::Relaxed);
        }
        // Whoever reads behind the lowest finds nothing lower.
        lowest.load(Ordering::Relaxed) > offset
    })?;
    Ok(Some(lowest.into_inner()).filter(|lowest| *lowest != u64::MAX))
}

/// A number that tells the content of the spans from any other, but for chance (1 in 2^64).
///
/// It is compared only with one that the same program made: its hash is that of the standard library.
///
/// # Errors
/// As [`first_data`].
pub(super) fn fingerprint(file: &File, spans: &[Range<u64>]) -> io::Result<u64> {
    // Added up, so that it does not matter in which order the readers come by.
    let sum = AtomicU64::new(0);
    visit(file, spans, &|offset, bytes| {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u64(offset);
        hasher.write(bytes);
        sum.fetch_add(hasher.finish(), Ordering::Relaxed);
        true
    })?;
    Ok(sum.into_inner())
}

/// The parts of a file in a window that hold data, as lseek(2) knows them (`SEEK_DATA`); none where the file has no hole
/// there, or its filesystem keeps no account of holes.
pub(super) fn data_extents(file: &File, window: &Range<u64>) -> io::Result<Option<Vec<Range<u64>>>> {
    let mut extents = Vec::new();
    let mut at = window.start;
    while at < window.end {
        let start = match seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            // No data from there on.
            Err(Errno::NXIO) => break,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        if start >= window.end {
            break;
        }
        let end = seek(file, SeekFrom::Hole(start))?.min(window.end);
        if end <= start {
            return Err(io::Error::other("the filesystem gives data without an end"));
        }
        extents.push(start..end);
        at = end;
    }
    let is_whole = extents.first() == Some(window);
    Ok((!is_whole).then_some(extents))
}

/// Shows every piece of the spans; a visitor that gives false has seen enough of what its reader has left.
fn visit(file: &File, spans: &[Range<u64>], see: &(dyn Fn(u64, &[u8]) -> bool + Sync)) -> io::Result<()> {
    let pieces: Vec<Range<u64>> = spans.iter().flat_map(pieces).collect();
    let share = pieces.len().div_ceil(READERS).max(1);
    std::thread::scope(|scope| {
        let readers: Vec<_> =
            pieces.chunks(share).map(|pieces| scope.spawn(move || read_pieces(file, pieces, see))).collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().unwrap_or_else(|_| Err(io::Error::other("a reader of the device panicked")))
        })
    })
}

fn read_pieces(
    file: &File,
    pieces: &[Range<u64>],
    see: &(dyn Fn(u64, &[u8]) -> bool + Sync),
) -> io::Result<()> {
    let longest = pieces.iter().map(|piece| piece.end - piece.start).max().unwrap_or_default();
    let mut buffer = AlignedBuffer::new(to_size(longest)?.next_multiple_of(ALIGNMENT));
    for piece in pieces {
        let bytes = read_into(file, piece, &mut buffer)?;
        if !see(piece.start, bytes) {
            break;
        }
    }
    Ok(())
}

/// Some bytes of a file or device that may be open with `O_DIRECT`; `start` has to be aligned then.
///
/// # Errors
/// As [`first_data`].
pub(super) fn read_span(file: &File, span: &Range<u64>) -> io::Result<Vec<u8>> {
    let mut buffer = AlignedBuffer::new(to_size(span.end - span.start)?.next_multiple_of(ALIGNMENT));
    read_into(file, span, &mut buffer).map(<[u8]>::to_vec)
}

fn read_into<'a>(file: &File, span: &Range<u64>, buffer: &'a mut AlignedBuffer) -> io::Result<&'a [u8]> {
    use std::os::unix::fs::FileExt;
    let length = to_size(span.end - span.start)?;
    // A length that is no multiple of the alignment ends with the device: the rest is asked for and does not come.
    let asked = length.next_multiple_of(ALIGNMENT);
    let mut filled = 0;
    while filled < length {
        let place = buffer.bytes_mut().get_mut(filled..asked).unwrap_or_default();
        match file.read_at(place, span.start + filled as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer.bytes().get(..length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn to_size(bytes: u64) -> io::Result<usize> {
    usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

fn pieces(span: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let (mut at, end) = (span.start, span.end);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let next = at.saturating_add(PIECE_BYTES).min(end);
            std::mem::replace(&mut at, next)..next
        })
    })
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one span is meant")]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn sparse(size: u64) -> File {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn the_lowest_data_is_found_and_only_within_the_spans() {
        let size = (40 << 20) + 512;
        let file = sparse(size);
        let whole = [0..size];
        assert_eq!(first_data(&file, &whole).unwrap(), None);
        for place in [size - 1, 30 << 20, (7 << 20) + 5] {
            file.write_all_at(b"x", place).unwrap();
            assert_eq!(first_data(&file, &whole).unwrap(), Some(place));
        }
        assert_eq!(first_data(&file, &[0..4096, 8 << 20..16 << 20]).unwrap(), None);
        assert!(first_data(&sparse(size), &[0..size + 1]).is_err(), "beyond the end");
        assert_eq!(first_data(&file, &[]).unwrap(), None);
    }

    #[test]
    fn a_fingerprint_changes_with_any_byte_and_with_its_place() {
        let file = sparse(4 << 20);
        let spans = [0..1 << 20, 2 << 20..4 << 20];
        let before = fingerprint(&file, &spans).unwrap();
        assert_eq!(before, fingerprint(&file, &spans).unwrap());
        file.write_all_at(b"x", 3 << 20).unwrap();
        let after = fingerprint(&file, &spans).unwrap();
        assert_ne!(before, after);
        file.write_all_at(b"\0", 3 << 20).unwrap();
        file.write_all_at(b"x", 2 << 20).unwrap();
        assert_ne!(after, fingerprint(&file, &spans).unwrap());
        file.write_all_at(b"\0", 2 << 20).unwrap();
        file.write_all_at(b"x", 3 << 19).unwrap();
        assert_eq!(before, fingerprint(&file, &spans).unwrap(), "outside");
    }

    #[test]
    fn data_between_holes_is_listed() {
        let file = sparse(8 << 20);
        let window = 0..8 << 20;
        assert_eq!(data_extents(&file, &window).unwrap().unwrap(), []);
        file.write_all_at(&vec![1; 65536], 4 << 20).unwrap();
        let Some(extents) = data_extents(&file, &window).unwrap() else {
            eprintln!("skipped: this filesystem keeps no account of holes");
            return;
        };
        assert_eq!(extents.len(), 1);
        assert!(extents[0].contains(&(4 << 20)) && extents[0].end <= 5 << 20, "{extents:?}");
        assert_eq!(data_extents(&file, &(5 << 20..8 << 20)).unwrap().unwrap(), []);
        file.write_all_at(&vec![1; 8 << 20], 0).unwrap();
        assert_eq!(data_extents(&file, &window).unwrap(), None, "no hole");
    }
}
