//! Lays a file out: fills what is missing of it, so that its blocks exist and reads are real; with random data, or with
//! what compresses as the job's writes do.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use iostone_model::units::{Bytes, Span};
use rustix::fs::{Advice, FallocateFlags, SeekFrom, fadvise, fallocate, seek};
use rustix::io::Errno;

use crate::error::EngineError;
use crate::job::{Content, Data, Job, Preparation};
use crate::outcome::Layout;
use crate::payload::{self, Payload};
use crate::pins::Pins;
use crate::source::Part;
use crate::target::fail;

/// Written at a time; large enough for the cost per call not to matter.
const CHUNK_BYTES: usize = 1 << 20;

/// Removes a file again unless it is kept, so that a failed preparation leaves nothing behind.
#[derive(Debug)]
pub(crate) struct CreatedFile(Option<PathBuf>);

impl CreatedFile {
    /// Keeps the file.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CreatedFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // The reason why it is to be removed is what the caller wants to hear.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens a file for being laid out, and makes it if it does not exist. A pinned one does.
pub(crate) fn open_or_create(path: &Path, pins: &Pins) -> Result<(File, CreatedFile), EngineError> {
    let open =
        || OpenOptions::new().read(true).write(true).open(pins.way_to(path)).map_err(fail(path, "open"));
    if pins.get(path).is_some() {
        return Ok((open()?, CreatedFile(None)));
    }
    let created = OpenOptions::new().read(true).write(true).create_new(true).open(path);
    match created {
        Ok(file) => Ok((file, CreatedFile(Some(path.to_owned())))),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok((open()?, CreatedFile(None))),
        Err(source) => Err(fail(path, "create")(source)),
    }
}

/// Whether any of the first `size_bytes` of a file is a hole: never allocated, or allocated and never written.
///
/// lseek(2) `SEEK_HOLE`; a filesystem that does not know its holes reports none.
pub(crate) fn has_holes(file: &File, size_bytes: u64) -> bool {
    matches!(seek(file, SeekFrom::Hole(0)), Ok(hole) if hole < size_bytes)
}

/// The first span within `from..size_bytes` that holds no data; the missing end of a short file is one.
fn find_gap(file: &File, from: u64, size_bytes: u64) -> rustix::io::Result<Option<(u64, u64)>> {
    let length = seek(file, SeekFrom::End(0))?;
    if from >= length {
        return Ok((from < size_bytes).then_some((from, size_bytes)));
    }
    let start = match seek(file, SeekFrom::Hole(from)) {
        Ok(hole) => hole,
        Err(Errno::NXIO) => length,
        Err(error) => return Err(error),
    };
    if start >= size_bytes {
        return Ok(None);
    }
    let end = match seek(file, SeekFrom::Data(start)) {
        Ok(data) => data.min(size_bytes),
        // No data after the hole.
        Err(Errno::NXIO) => size_bytes,
        Err(error) => return Err(error),
    };
    // At the very end of a file SEEK_HOLE reports a hole that SEEK_DATA may not see the end of.
    Ok(Some((start, end.max(start + 1))))
}

/// What a job's files are laid out with: as compressible as its writes are, as in fio, so that a filesystem which compresses
/// reads what it would have kept of them. Never repeated blocks, nor a pattern, which are the writes' own.
pub(crate) fn data_of(job: &Job) -> Data {
    let Data { content, compress_percent, compress_chunk, .. } = &job.data;
    let content = if *content == Content::Zeros { Content::Zeros } else { Content::Noise };
    let compress_chunk =
        compress_chunk.map(|chunk| if chunk == Bytes(0) { job.largest_block() } else { chunk });
    // What is checked is checked against data of the engine's own making.
    if job.verify.is_some() {
        return Data::default();
    }
    Data { content, compress_percent: *compress_percent, compress_chunk, ..Data::default() }
}

/// Fills all holes and the missing end of a file up to `size_bytes` with such data and makes it durable.
///
/// Data that is there stays as it is. `on_progress` hears the bytes written so far and says whether to go on.
///
/// # Errors
/// What write(2) or fsync(2) said, or [`EngineError::Interrupted`].
pub(crate) fn fill_gaps(
    path: &Path,
    file: &File,
    size_bytes: u64,
    (data, seed): (&Data, u64),
    mut on_progress: impl FnMut(u64) -> bool,
) -> Result<Layout, EngineError> {
    let begun = Instant::now();
    let mut payload = Payload::new(data, CHUNK_BYTES, payload::stream_of_layout(seed));
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut written = 0;
    let mut position = 0;
    while let Some((start, end)) =
        find_gap(file, position, size_bytes).map_err(|errno| fail(path, "look for holes in")(errno.into()))?
    {
        position = start;
        while position < end {
            if !on_progress(written) {
                return Err(EngineError::Interrupted);
            }
            let length = usize::try_from(end - position).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let piece = chunk.get_mut(..length).unwrap_or_default();
            payload.fill(piece);
            file.write_all_at(piece, position).map_err(fail(path, "lay out"))?;
            position += length as u64;
            written += length as u64;
        }
    }
    if written > 0 {
        file.sync_all().map_err(fail(path, "make durable the layout of"))?;
    }
    let took = if written > 0 { Span(begun.elapsed()) } else { Span::default() };
    Ok(Layout { created: false, written: Bytes(written), took, sparse: false })
}

/// Makes a file as long as it is to be, without writing to it.
///
/// `fallocate(2)` where blocks are to be allocated; a filesystem that cannot gets its length only, as in fio.
///
/// # Errors
/// What `fallocate(2)` or ftruncate(2) said.
pub(crate) fn reserve(
    path: &Path,
    file: &File,
    size_bytes: u64,
    preparation: Preparation,
) -> Result<(), EngineError> {
    let flags = match preparation {
        Preparation::Fill | Preparation::Leave => return Ok(()),
        Preparation::Allocate => Some(FallocateFlags::empty()),
        Preparation::Reserve => Some(FallocateFlags::KEEP_SIZE),
        Preparation::Extend => None,
    };
    if let Some(flags) = flags {
        match fallocate(file, flags, 0, size_bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(errno) => return Err(fail(path, "allocate")(errno.into())),
            Ok(()) if preparation == Preparation::Reserve => return Ok(()),
            Ok(()) => {}
        }
    }
    let length = file.metadata().map_err(fail(path, "look at"))?.len();
    if preparation != Preparation::Reserve && length < size_bytes {
        file.set_len(size_bytes).map_err(fail(path, "extend"))?;
    }
    Ok(())
}

/// Reads a part of a target into the page cache.
///
/// # Errors
/// What open(2) or read(2) said.
pub(crate) fn read_ahead(path: &Path, part: Part, pins: &Pins) -> Result<(), EngineError> {
    let file = File::open(pins.way_to(path)).map_err(fail(path, "open"))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut position, end) = (part.offset_bytes, part.offset_bytes + part.length_bytes);
    while position < end {
        match file.read_at(&mut chunk, position).map_err(fail(path, "read"))? {
            0 => break,
            bytes => position += bytes as u64,
        }
    }
    Ok(())
}

/// Writes back and drops a target's pages from the page cache; `posix_fadvise(2)`, `POSIX_FADV_DONTNEED`.
///
/// Dirty pages cannot be dropped, so they are written first. It is advice: pages that are mapped or locked by
/// somebody stay, and so does everything on filesystems that live in memory.
pub(crate) fn drop_cached_pages(path: &Path, file: &File) -> Result<(), EngineError> {
    file.sync_data().map_err(fail(path, "write back"))?;
    fadvise(file, 0, None, Advice::DontNeed)
        .map_err(|errno| fail(path, "drop the cached pages of")(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn contents(path: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_missing_file_is_filled_with_noise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let (file, created) = open_or_create(&path, &Pins::default()).unwrap();
        let layout = fill_gaps(&path, &file, 3_000_000, (&Data::default(), 1), |_| true).unwrap();
        created.keep();
        assert_eq!(layout.written, Bytes(3_000_000));
        let bytes = contents(&path);
        assert_eq!(bytes.len(), 3_000_000);
        assert!(bytes.chunks_exact(4096).all(|block| block.iter().any(|byte| *byte != 0)));
        assert!(!has_holes(&file, 3_000_000));
    }

    #[test]
    fn only_holes_and_the_missing_end_are_filled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let (file, created) = open_or_create(&path, &Pins::default()).unwrap();
        file.write_all_at(&vec![7; 65_536], 131_072).unwrap();
        assert!(has_holes(&file, 196_608));
        let layout = fill_gaps(&path, &file, 262_144, (&Data::default(), 1), |_| true).unwrap();
        created.keep();
        let bytes = contents(&path);
        assert_eq!(bytes.len(), 262_144);
        assert!(bytes[131_072..196_608].iter().all(|byte| *byte == 7));
        assert!(bytes[..131_072].chunks_exact(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
        assert!(!has_holes(&file, 262_144));
        assert_eq!(layout.written, Bytes(196_608));
        assert_eq!(
            fill_gaps(&path, &file, 262_144, (&Data::default(), 1), |_| true).unwrap().written,
            Bytes(0)
        );
    }

    #[test]
    fn a_file_is_laid_out_as_compressible_as_its_writes() {
        let folder = tempfile::tempdir().unwrap();
        let zeros_in = |name: &str, job: &Job| {
            let path = folder.path().join(name);
            let (file, created) = open_or_create(&path, &Pins::default()).unwrap();
            fill_gaps(&path, &file, 1 << 20, (&data_of(job), 1), |_| true).unwrap();
            created.keep();
            let sectors = contents(&path);
            sectors.chunks(512).filter(|sector| sector[256..].iter().all(|byte| *byte == 0)).count()
        };
        let mut job = Job::new("x", iostone_model::load::Rw::RandRw);
        assert_eq!(zeros_in("noise", &job), 0);
        job.data.compress_percent = 50;
        assert_eq!(zeros_in("half", &job), 2048);
        job.data = Data { content: Content::Zeros, ..Data::default() };
        assert_eq!(zeros_in("zeros", &job), 2048);
        assert!(!has_holes(&File::open(folder.path().join("zeros")).unwrap(), 1 << 20), "they were written");
    }

    #[test]
    fn an_interrupted_layout_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        {
            let (file, _created) = open_or_create(&path, &Pins::default()).unwrap();
            let result =
                fill_gaps(&path, &file, 10 << 20, (&Data::default(), 1), |written| written < 2 << 20);
            assert!(matches!(result, Err(EngineError::Interrupted)));
        }
        assert!(!path.exists());
    }

    #[test]
    fn an_existing_file_survives_a_failed_preparation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, b"mine").unwrap();
        drop(open_or_create(&path, &Pins::default()).unwrap());
        assert_eq!(contents(&path), b"mine");
    }
}
