//! The target: what it is, how large, how it is opened, and what `O_DIRECT` asks of it.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iostone_model::load::{IoEngine, SyncMode};
use iostone_model::units::Bytes;
use rustix::fs::{self, AtFlags, StatxFlags, fadvise, fcntl_getfl, ioctl_blksszget, statx};

use crate::arena::Arena;
use crate::device;
use crate::error::EngineError;
use crate::job::{Advice, Job};
use crate::pins::{Pin, Pins};
use crate::volume::unit_bytes;

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// A regular file, there or to be made.
    RegularFile,
    /// A block device, never extended and never written while something else holds it.
    BlockDevice,
    /// `/dev/null`, `/dev/zero` or `/dev/full`: a device that costs nothing, to measure the engine itself.
    MemoryDevice,
}

/// Finds out what `path` is; None when it does not exist, which makes it a file to be made.
///
/// # Errors
/// [`EngineError::NotATarget`] for directories, pipes, sockets and other character devices.
pub(crate) fn inspect(path: &Path, pins: &Pins) -> Result<(TargetKind, Option<Metadata>), EngineError> {
    let metadata = match std::fs::metadata(pins.way_to(path)) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((TargetKind::RegularFile, None)),
        Err(source) => return Err(fail(path, "look at")(source)),
    };
    let file_type = metadata.file_type();
    let found = if file_type.is_file() {
        return Ok((TargetKind::RegularFile, Some(metadata)));
    } else if file_type.is_block_device() {
        return Ok((TargetKind::BlockDevice, Some(metadata)));
    } else if file_type.is_char_device() {
        // Major 1 is the kernel's memory devices (Documentation/admin-guide/devices.txt). Of them only these
        // three may be written to without harm; 1 is /dev/mem.
        let number = (fs::major(metadata.rdev()), fs::minor(metadata.rdev()));
        if matches!(number, (1, 3 | 5 | 7)) {
            return Ok((TargetKind::MemoryDevice, Some(metadata)));
        }
        "a character device"
    } else if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a pipe"
    } else {
        "a socket"
    };
    Err(EngineError::NotATarget { path: path.to_owned(), found })
}

/// Turns what the kernel said into an error that names the target.
pub(crate) fn fail(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> EngineError {
    move |source| EngineError::Target { path: path.to_owned(), action, source }
}

/// Size of an existing block device in bytes.
pub(crate) fn read_device_size(path: &Path, pins: &Pins) -> Result<u64, EngineError> {
    let device = File::open(pins.way_to(path)).map_err(fail(path, "open"))?;
    device::read_size(&device).map_err(fail(path, "read the size of"))
}

/// Claims a pinned block device for writing, which messages call `path`: while the returned file is open, nobody else can
/// mount or claim it, and jobs of this process that write to it share that claim.
///
/// `O_EXCL` without `O_CREAT` on a block device fails with `EBUSY` if it is in use by the system (open(2)).
///
/// # Errors
/// [`EngineError::Busy`] if something holds it.
pub fn claim_device(path: &Path, pin: &Pin) -> Result<Arc<File>, EngineError> {
    claim_at(path, &pin.path())
}

/// As [`claim_device`], for a target of a job.
pub(crate) fn claim(path: &Path, pins: &Pins) -> Result<Arc<File>, EngineError> {
    claim_at(path, &pins.way_to(path))
}

fn claim_at(path: &Path, way: &Path) -> Result<Arc<File>, EngineError> {
    // A claim is the open file's, so that jobs of this process which share a device have to share the file too.
    static CLAIMS: Mutex<Vec<(u64, Weak<File>)>> = Mutex::new(Vec::new());
    let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
    claims.retain(|(_, claim)| claim.strong_count() > 0);
    let number = std::fs::metadata(way).map_err(fail(path, "look at"))?.rdev();
    if let Some(shared) = claims.iter().find(|(of, _)| *of == number).and_then(|(_, claim)| claim.upgrade()) {
        return Ok(shared);
    }
    let opened = OpenOptions::new().write(true).custom_flags(libc::O_EXCL).open(way).map_err(|source| {
        if source.raw_os_error() == Some(libc::EBUSY) {
            EngineError::Busy { path: path.to_owned() }
        } else {
            fail(path, "open")(source)
        }
    })?;
    let claim = Arc::new(opened);
    claims.push((number, Arc::downgrade(&claim)));
    Ok(claim)
}

/// Opens the target as the job asks, and reads back from the kernel that every flag took.
///
/// The flags are the C library's: some bindings spell `O_DSYNC` with the value of `O_SYNC`.
///
/// # Errors
/// [`EngineError::NoDirect`], [`EngineError::FlagNotTaken`], or what open(2) said.
pub(crate) fn open(job: &Job, path: &Path, pins: &Pins) -> Result<File, EngineError> {
    let way = pins.way_to(path);
    let mut flags = 0;
    if job.direct {
        flags |= libc::O_DIRECT;
    }
    flags |= match job.sync {
        SyncMode::None => 0,
        SyncMode::Dsync => libc::O_DSYNC,
        SyncMode::Sync => libc::O_SYNC,
    };
    let changes = job.changes_targets();
    // A mapping that is written must be readable as well, and what is verified is read back.
    let reads = job.rw.reads() || !changes || job.verify.is_some() || job.engine == IoEngine::Mmap;
    let open = |flags| OpenOptions::new().read(reads).write(changes).custom_flags(flags).open(&way);
    // Noting when a file was last read costs a cached read a tenth of its rate, and is no part of what is measured;
    // fio leaves it out as well. Only the file's owner may ask for that (open(2)), so a refusal is no failure.
    let opened = match open(flags | libc::O_NOATIME) {
        Err(refused) if refused.raw_os_error() == Some(libc::EPERM) => open(flags),
        opened => opened,
    };
    let file = opened.map_err(|source| {
        if job.direct && source.raw_os_error() == Some(libc::EINVAL) {
            EngineError::NoDirect { path: path.to_owned() }
        } else {
            fail(path, "open")(source)
        }
    })?;
    let taken = read_flags(&file).map_err(fail(path, "read the flags of"))?;
    let wanted: [(&'static str, bool); 3] = [
        ("O_DIRECT", job.direct),
        ("O_DSYNC", job.sync == SyncMode::Dsync),
        ("O_SYNC", job.sync == SyncMode::Sync),
    ];
    let lost = wanted.into_iter().find(|(flag, asked)| *asked && !taken.iter().any(|name| name == flag));
    if let Some((flag, _)) = lost {
        return Err(EngineError::FlagNotTaken { path: path.to_owned(), flag });
    }
    advise(job, &file);
    Ok(file)
}

/// Tells the kernel in which order the target is gone over; `posix_fadvise(2)`. It holds for this opening only.
///
/// Advice that is not taken changes nothing but the speed, and a device of memory has no use for it.
fn advise(job: &Job, file: &File) {
    let order = match job.advice {
        Advice::None => return,
        Advice::Noreuse => fs::Advice::NoReuse,
        Advice::ByOrder if job.rw.is_random() => fs::Advice::Random,
        Advice::Random => fs::Advice::Random,
        Advice::ByOrder | Advice::Sequential => fs::Advice::Sequential,
    };
    let _ = fadvise(file, 0, None, order);
}

/// The flags of an open file that change what its I/O means, as the kernel holds them.
pub(crate) fn read_flags(file: &File) -> io::Result<Vec<String>> {
    let flags = fcntl_getfl(file)?.bits().cast_signed();
    // O_SYNC is O_DSYNC and one bit more, so it is looked for first.
    let durability = if flags & libc::O_SYNC == libc::O_SYNC {
        Some("O_SYNC")
    } else {
        (flags & libc::O_DSYNC != 0).then_some("O_DSYNC")
    };
    let direct = (flags & libc::O_DIRECT != 0).then_some("O_DIRECT");
    Ok(direct.into_iter().chain(durability).map(str::to_owned).collect())
}

/// Whether the kernel can issue no request for this file without blocking, and so hands each of them to a worker thread
/// of the ring: zram, tmpfs, FUSE.
///
/// A read that must not wait is then refused as such (`EOPNOTSUPP`, `preadv2(2)`, `RWF_NOWAIT`), where a busy device or a
/// page that is not cached gives `EAGAIN`. A file that is open for writing only is taken not to be such.
pub(crate) fn lacks_nowait(file: &File) -> bool {
    let Ok(mut arena) = Arena::map(1, 4096, false) else { return false };
    let place = arena.place(0, 0);
    let mut block = [io::IoSliceMut::new(arena.block_mut(place))];
    rustix::io::preadv2(file, &mut block, 0, rustix::io::ReadWriteFlags::NOWAIT)
        == Err(rustix::io::Errno::OPNOTSUPP)
}

/// What `O_DIRECT` asks of offsets and lengths, before anything is opened with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectAlignment {
    /// A multiple of this many bytes.
    Multiple(u64),
    /// The filesystem has none.
    Unsupported,
    /// The kernel does not say (before 6.1, or the filesystem does not report it): try.
    Unknown,
}

/// Reads the alignment from statx(2), `STATX_DIOALIGN`, or of a block device from `BLKSSZGET`.
pub(crate) fn read_direct_alignment(file: &File, kind: TargetKind) -> io::Result<DirectAlignment> {
    let status = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    if let Ok(status) = status
        && status.stx_mask & StatxFlags::DIOALIGN.bits() != 0
    {
        return Ok(match u64::from(status.stx_dio_offset_align) {
            0 => DirectAlignment::Unsupported,
            bytes => DirectAlignment::Multiple(bytes),
        });
    }
    if kind == TargetKind::BlockDevice {
        return Ok(DirectAlignment::Multiple(u64::from(ioctl_blksszget(file)?)));
    }
    Ok(DirectAlignment::Unknown)
}

/// Refuses a `bs` that the target's `O_DIRECT` would refuse with a bare `EINVAL` later.
///
/// # Errors
/// [`EngineError::Unaligned`] with the alignment that is needed, or [`EngineError::NoDirect`].
pub(crate) fn check_direct_alignment(
    job: &Job,
    path: &Path,
    file: &File,
    kind: TargetKind,
    pins: &Pins,
) -> Result<(), EngineError> {
    let required = match read_direct_alignment(file, kind).map_err(fail(path, "read the alignment of"))? {
        DirectAlignment::Unsupported => return Err(EngineError::NoDirect { path: path.to_owned() }),
        DirectAlignment::Multiple(bytes) => Some(bytes),
        DirectAlignment::Unknown => try_alignments(&pins.way_to(path)),
    };
    let Some(required) = required else { return Ok(()) };
    if let Some(volume) = job.volume
        && let unit = unit_bytes(volume)
        && !unit.is_multiple_of(required)
    {
        return Err(EngineError::UnalignedPieces {
            path: path.to_owned(),
            volume: volume.word(),
            required: Bytes(required),
            unit: Bytes(unit),
        });
    }
    match job.block_sizes().find(|bs| !bs.0.is_multiple_of(required)) {
        Some(bs) => Err(EngineError::Unaligned { path: path.to_owned(), bs, required: Bytes(required) }),
        None => Ok(()),
    }
}

/// Finds the smallest length that a direct read takes, by trying; None when no answer can be had that way.
fn try_alignments(way: &Path) -> Option<u64> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(way).ok()?;
    (0..=16).map(|bits| 1u32 << bits).find_map(|bytes| {
        let mut arena = Arena::map(1, bytes, false).ok()?;
        let place = arena.place(0, 0);
        let taken = rustix::io::pread(&file, arena.block_mut(place), u64::from(bytes)).is_ok();
        taken.then_some(u64::from(bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_and_asking_agree_on_the_alignment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, vec![1; 1 << 18]).unwrap();
        let file = File::open(&path).unwrap();
        match read_direct_alignment(&file, TargetKind::RegularFile).unwrap() {
            DirectAlignment::Multiple(bytes) => assert_eq!(try_alignments(&path), Some(bytes)),
            other => eprintln!("skipped: the alignment here is {other:?}"),
        }
    }

    #[test]
    fn what_is_neither_file_nor_device_is_named() {
        let message = |path: &str| inspect(Path::new(path), &Pins::default()).unwrap_err().to_string();
        assert!(message("/proc/self").contains("`/proc/self` is a directory"));
        assert!(message("/dev/tty").contains("`/dev/tty` is a character device"));
        assert_eq!(inspect(Path::new("/dev/zero"), &Pins::default()).unwrap().0, TargetKind::MemoryDevice);
    }
}
