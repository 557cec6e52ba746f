//! Where a volume's bytes lie: a file or a block device, through the page cache or past it, or memory.

mod direct;

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use iostone_engine::Pins;
use rustix::fs::{FallocateFlags, FlockOperation, MemfdFlags, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use self::direct::Direct;
use crate::counters::StoreFailures;
use crate::error::DiskError;
use crate::plan::{Store, VolumePlan};

/// A store in use. All its methods may be called by several threads at once.
#[derive(Debug)]
pub(crate) struct OpenStore {
    file: File,
    size_bytes: u64,
    way: Way,
    /// Whether a flush goes on to what is below. Not for a volume that stands for a cloud's: that has what it acknowledged, and
    /// what this machine's disk takes for a flush is no part of it.
    hands_flushes_on: bool,
    /// Reads, writes, flushes and discards that failed in the store.
    failed: AtomicU64,
    /// Why the first of them did; 0 for none.
    first_errno: AtomicI32,
}

#[derive(Debug)]
enum Way {
    /// A `memfd`: pages come into being as they are written.
    Memory,
    /// Through the page cache.
    Buffered,
    /// Past the page cache.
    Direct(Direct),
}

/// What a read that must not wait came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The bytes are there.
    Done,
    /// They have to be fetched; somebody who may wait should do it.
    WouldWait,
}

impl OpenStore {
    /// Opens what a volume lies on, by its pin where it has one, and locks it against a second server. A file keeps its
    /// content and has to be large enough.
    ///
    /// # Errors
    /// When it cannot be opened, is locked, or is smaller than the volume.
    pub(crate) fn open(volume: &VolumePlan, pins: &Pins) -> Result<Self, DiskError> {
        let size_bytes = volume.model.size.0;
        let opened = match &volume.store {
            Store::Memory => Self::in_memory(&volume.name, size_bytes)?,
            Store::File { path, direct } => Self::in_file((path, &pins.way_to(path)), *direct, size_bytes)?,
        };
        Ok(Self { hands_flushes_on: opened.hands_flushes_on && volume.model.stands_for.is_none(), ..opened })
    }

    fn in_memory(name: &str, size_bytes: u64) -> Result<Self, DiskError> {
        let path = Path::new(name);
        let memory = rustix::fs::memfd_create(format!("iostone-{name}"), MemfdFlags::CLOEXEC)
            .map_err(|errno| DiskError::store("get memory for", path)(errno.into()))?;
        let file = File::from(memory);
        file.set_len(size_bytes).map_err(DiskError::store("get memory for", path))?;
        Ok(Self::over(file, size_bytes, Way::Memory, false))
    }

    fn over(file: File, size_bytes: u64, way: Way, hands_flushes_on: bool) -> Self {
        let (failed, first_errno) = (AtomicU64::new(0), AtomicI32::new(0));
        Self { file, size_bytes, way, hands_flushes_on, failed, first_errno }
    }

    /// `path` is for messages; the file is opened by `way`.
    fn in_file((path, way): (&Path, &Path), direct: bool, size_bytes: u64) -> Result<Self, DiskError> {
        let is_device = way.metadata().map_err(DiskError::store("open", path))?.file_type().is_block_device();
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, direct);
        // An exclusive open of a device fails while it is mounted or held.
        flags.set(OFlags::EXCL, is_device);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
            .open(way)
            .map_err(DiskError::store("open", path))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(DiskError::Locked(path.to_owned())),
            locked => locked.map_err(|errno| DiskError::store("lock", path)(errno.into()))?,
        }
        // The size of a block device is where its end is.
        let found_bytes = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))
            .map_err(|errno| DiskError::store("size", path)(errno.into()))?;
        if found_bytes < size_bytes {
            return Err(DiskError::TooSmall { path: path.to_owned(), found_bytes, wanted_bytes: size_bytes });
        }
        let way = if direct { Way::Direct(Direct::new(found_bytes)) } else { Way::Buffered };
        Ok(Self::over(file, size_bytes, way, true))
    }

    /// The bytes of the volume.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether reads and writes go through memory, so that they may be done by whoever must not wait.
    pub(crate) fn is_quick(&self) -> bool {
        !matches!(self.way, Way::Direct(_))
    }

    /// Whether it is memory, in which nothing waits.
    pub(crate) fn is_memory(&self) -> bool {
        matches!(self.way, Way::Memory)
    }

    /// Whether a flush is more than an answer.
    pub(crate) fn hands_flushes_on(&self) -> bool {
        self.hands_flushes_on
    }

    /// What the store itself could not do since it was opened.
    pub(crate) fn failures(&self) -> StoreFailures {
        let errno = self.first_errno.load(Ordering::Relaxed);
        StoreFailures {
            requests: self.failed.load(Ordering::Relaxed),
            first_errno: (errno != 0).then_some(errno),
        }
    }

    fn note<T>(&self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done {
            let errno = error.raw_os_error().unwrap_or(libc::EIO);
            // Kept from the first on: what follows from it tells less.
            let _ = self.first_errno.compare_exchange(0, errno, Ordering::Relaxed, Ordering::Relaxed);
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Reads if all the bytes are in memory.
    pub(crate) fn try_read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<Attempt> {
        match self.way {
            Way::Direct(_) => return Ok(Attempt::WouldWait),
            Way::Memory => return self.read(offset, bytes).map(|()| Attempt::Done),
            Way::Buffered => {}
        }
        let wanted = bytes.len();
        let buffers = &mut [io::IoSliceMut::new(bytes)];
        match rustix::io::preadv2(&self.file, buffers, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) if read == wanted => Ok(Attempt::Done),
            // A filesystem that cannot promise not to wait is one more reason to let somebody else do it.
            Ok(_) | Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::INTR) => Ok(Attempt::WouldWait),
            Err(errno) => self.note(Err(errno.into())),
        }
    }

    /// Fills the whole of `bytes`. A hole is read as the zeros it stands for.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.note(match &self.way {
            Way::Memory | Way::Buffered => self.file.read_exact_at(bytes, offset),
            Way::Direct(direct) => direct.read(&self.file, offset, bytes),
        })
    }

    /// Writes all of `bytes`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.note(match &self.way {
            Way::Memory | Way::Buffered => self.file.write_all_at(bytes, offset),
            Way::Direct(direct) => direct.write(&self.file, offset, bytes),
        })
    }

    /// Makes everything written durable, by `fdatasync(2)`, where flushes are handed on.
    pub(crate) fn flush(&self) -> io::Result<()> {
        if self.hands_flushes_on { self.note(self.file.sync_data()) } else { Ok(()) }
    }

    /// Gives room back where the store can; the bytes are zeros then. Where it cannot, nothing changes: the protocol has a
    /// discard for a hint.
    pub(crate) fn discard(&self, offset: u64, length: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, flags, offset, length) {
            // INVAL is a device's answer to a range that does not fit its blocks.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::NODEV) | Ok(()) => Ok(()),
            Err(errno) => self.note(Err(errno.into())),
        }
    }
}
