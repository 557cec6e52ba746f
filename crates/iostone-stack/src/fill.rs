//! Filling an image with incompressible data past the page cache, so that reads of it are reads of the disk.

mod holes;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::aligned::AlignedBuffer;
use crate::error::StackError;

pub(crate) use holes::{close_holes, is_without_holes};

/// Bytes in one write: large enough that the disk and not the system call sets the pace.
const CHUNK_BYTES: usize = 4 << 20;
/// Without `O_DIRECT` the page cache is emptied behind the writer at this distance.
const CACHE_WINDOW_BYTES: u64 = 64 << 20;
/// Left free on the filesystem for everybody else: the smaller one of this and 5 %.
const RESERVE_BYTES: u64 = 256 << 20;
/// What else helps where an image finds no room.
const INSTEAD_OF_IMAGE: &str =
    "reduce `volume.size`, set `volume.directory` to another disk, or keep the runs elsewhere with `--runs`";

/// Writes `size_bytes` of xoshiro256++ output from `seed` over the whole file and flushes it to the disk; afterwards
/// nothing of it is in the page cache and the file has no holes.
///
/// # Errors
/// [`StackError::Interrupted`] when the flag is raised, [`StackError::NoSpace`] when the filesystem runs full,
/// [`StackError::Io`] for the rest. What was written stays in the file: the caller undoes.
pub(crate) fn fill(
    file: &File,
    path: &Path,
    size_bytes: u64,
    seed: u64,
    interrupt: Option<&AtomicBool>,
) -> Result<(), StackError> {
    let direct = is_direct(file);
    // Two buffers travel in a circle: one is filled while the other is written.
    let (full_sender, full_receiver) = sync_channel::<AlignedBuffer>(2);
    let (empty_sender, empty_receiver) = sync_channel::<AlignedBuffer>(2);
    for _ in 0..2 {
        // The channel has room for both.
        let _ = empty_sender.send(AlignedBuffer::new(CHUNK_BYTES));
    }
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            while let Ok(mut buffer) = empty_receiver.recv() {
                random.fill_bytes(buffer.bytes_mut());
                if full_sender.send(buffer).is_err() {
                    break;
                }
            }
        });
        // Moved in, so that the generator ends with this function, also on an error.
        let (full_receiver, empty_sender) = (full_receiver, empty_sender);
        let mut offset = 0;
        let mut cached_from = 0;
        while offset < size_bytes {
            if interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(StackError::Interrupted);
            }
            let Ok(buffer) = full_receiver.recv() else {
                return Err(StackError::unexpected(path, "the generator of random data ended"));
            };
            let length = CHUNK_BYTES.min(usize::try_from(size_bytes - offset).unwrap_or(CHUNK_BYTES));
            file.write_all_at(&buffer.bytes()[..length], offset)
                .map_err(|source| write_error(path, size_bytes, offset, source))?;
            offset += length as u64;
            if !direct && offset - cached_from >= CACHE_WINDOW_BYTES {
                file.sync_data().map_err(|source| write_error(path, size_bytes, offset, source))?;
                forget_cache(file, path)?;
                cached_from = offset;
            }
            // The generator is only gone once this function has ended.
            let _ = empty_sender.send(buffer);
        }
        Ok(())
    })?;
    file.set_len(size_bytes).map_err(|source| StackError::io("truncate", path, source))?;
    file.sync_all().map_err(|source| write_error(path, size_bytes, size_bytes, source))?;
    forget_cache(file, path)?;
    check_no_holes(file, path, size_bytes)
}

/// Gives the file its size without content: everything before is gone.
pub(crate) fn make_sparse(file: &File, path: &Path, size_bytes: u64) -> Result<(), StackError> {
    file.set_len(0)
        .and_then(|()| file.set_len(size_bytes))
        .and_then(|()| file.sync_all())
        .map_err(|source| StackError::io("truncate", path, source))
}

/// Takes the file's clean pages out of the page cache (`posix_fadvise(2)`).
pub(crate) fn forget_cache(file: &File, path: &Path) -> Result<(), StackError> {
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|source| StackError::io("fadvise", path, source))
}

/// The first hole as lseek(2) finds it; filesystems that keep no account of holes report none.
fn check_no_holes(file: &File, path: &Path, size_bytes: u64) -> Result<(), StackError> {
    let hole = match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0)) {
        Ok(hole) => hole,
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => return Ok(()),
        Err(source) => return Err(StackError::io("lseek SEEK_HOLE", path, source)),
    };
    if hole < size_bytes {
        return Err(StackError::NotApplied {
            layer: "volume",
            asked: format!("{size_bytes} bytes without a hole"),
            read_back: format!("a hole at byte {hole}"),
            from: format!("lseek SEEK_HOLE of {}", path.display()),
        });
    }
    Ok(())
}

/// Makes sure that files of so many bytes in all find room in `directory`, or in what there is above it: what statvfs(3)
/// says plain users may take, less a reserve for everybody else, 5 % of the filesystem or 256 MiB, whichever is less.
///
/// For callers whose workload writes files of its own: into a `directory` volume, or without any stack.
///
/// # Errors
/// [`StackError::NoSpace`] with what is missing, [`StackError::Io`] when the filesystem does not tell.
pub fn check_room(directory: &Path, bytes: u64) -> Result<(), StackError> {
    room_for(directory, bytes, "use smaller files, or another directory")
}

/// [`check_room`] for the image of a loop device.
pub(crate) fn check_room_for_image(directory: &Path, size_bytes: u64) -> Result<(), StackError> {
    room_for(directory, size_bytes, INSTEAD_OF_IMAGE)
}

/// [`check_room`] with words of the caller's about what to do instead.
pub(crate) fn room_for(directory: &Path, needed_bytes: u64, instead: &str) -> Result<(), StackError> {
    // A relative path ends in the empty one, which is the working directory.
    let directory = directory.ancestors().find(|directory| directory.exists()).unwrap_or(Path::new("."));
    let room =
        rustix::fs::statvfs(directory).map_err(|source| StackError::io("statvfs", directory, source))?;
    let total_bytes = room.f_blocks.saturating_mul(room.f_frsize);
    let reserve_bytes = (total_bytes / 20).min(RESERVE_BYTES);
    let free_bytes = room.f_bavail.saturating_mul(room.f_frsize).saturating_sub(reserve_bytes);
    if needed_bytes > free_bytes {
        return Err(no_space(directory, needed_bytes, free_bytes, instead));
    }
    Ok(())
}

fn no_space(directory: &Path, needed_bytes: u64, free_bytes: u64, instead: &str) -> StackError {
    StackError::NoSpace {
        directory: directory.display().to_string(),
        needed_bytes,
        free_bytes,
        missing_bytes: needed_bytes.saturating_sub(free_bytes),
        instead: instead.to_owned(),
    }
}

fn write_error(path: &Path, size_bytes: u64, offset: u64, source: std::io::Error) -> StackError {
    if matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) {
        return no_space(path.parent().unwrap_or(path), size_bytes, offset, INSTEAD_OF_IMAGE);
    }
    StackError::io("write", path, source)
}

fn is_direct(file: &File) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::DIRECT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill_file(size_bytes: u64, seed: u64) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        fill(&file, &path, size_bytes, seed, None).unwrap();
        std::fs::read(&path).unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
        let size = (CHUNK_BYTES + 12_288) as u64;
        let one = fill_file(size, 1);
        assert_eq!(one.len() as u64, size);
        assert_eq!(one, fill_file(size, 1));
        assert_ne!(one, fill_file(size, 2));
    }

    #[test]
    fn what_was_there_before_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        std::fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        fill(&file, &path, 8192, 7, None).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 8192);
        assert!(!bytes.windows(8).any(|window| window == b"xxxxxxxx"));
        make_sparse(&file, &path, 1 << 20).unwrap();
        assert!(std::fs::read(&path).unwrap().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn an_interrupt_stops_the_filling() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image");
        let file = File::create_new(&path).unwrap();
        let flag = AtomicBool::new(true);
        assert!(matches!(fill(&file, &path, 1 << 40, 7, Some(&flag)), Err(StackError::Interrupted)));
    }

    #[test]
    fn missing_room_is_counted() {
        check_room(Path::new("/tmp/not/there"), 0).unwrap();
        check_room(Path::new("not-there"), 0).unwrap();
        let error = check_room_for_image(Path::new("/tmp/x"), u64::MAX).unwrap_err();
        let StackError::NoSpace { needed_bytes, free_bytes, missing_bytes, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(missing_bytes, needed_bytes - free_bytes);
    }

    #[test]
    fn missing_room_is_told_in_sizes_for_people() {
        let error = no_space(Path::new("/small"), 60 << 20, 29_622_272, "use smaller files");
        assert_eq!(
            error.to_string(),
            "`/small` has 28.2 MiB free but 60 MiB is needed: 31.7 MiB short; free some, use smaller files"
        );
    }
}
