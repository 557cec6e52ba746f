//! The engine of mapped memory: blocks are copied from and to a mapping of the target, and synced by msync(2).
//!
//! What an I/O costs here is its page fault, if it has one, and a copy; the kernel never hears of the others. Its
//! errors come as SIGBUS, which [`fault`] turns into errnos.

mod fault;
mod mapping;

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use iostone_model::load::Direction;
use rustix::io::Errno;
use rustix::mm::Advice;

use self::mapping::Mapping;
use super::trim::discard;
use super::{Completion, Engine, SYNC_TAG, SyncKind, Transfer};
use crate::arena::Arena;
use crate::source::Part;

#[derive(Debug, Clone, Copy)]
enum Queued {
    Block(Transfer),
    Sync { target: u32, kind: SyncKind },
}

/// One request at a time, done while [`Engine::enter`] is called.
///
/// Results are as the other engines have them: the length, or an errno negated. A block that the kernel cannot give
/// (the file was truncated under the mapping, the medium failed) is `EIO`, a hole that the filesystem has no room to
/// fill `ENOSPC` (where it writes elsewhere than it reads, as btrfs does, having no room is `EIO`); how much of the block
/// was copied is not known. One outside of what is mapped is `EINVAL`, a write to a mapping for reading `EBADF`.
///
/// Memory comes in pages: of a file that ends within a page, the rest of that page reads as zeros, and what is written
/// there is lost without a word (mmap(2)). So targets must have their size before.
///
/// Syncs of all and of data alike are msync(2) with `MS_SYNC` over all that is mapped of the target (which is fdatasync
/// of it); a sync of a range is that of the pages it touches, whatever its flags, as msync knows none like them.
#[derive(Debug)]
pub(crate) struct MmapEngine<'a> {
    files: &'a [File],
    mappings: Vec<Mapping<'a>>,
    arena: &'a mut Arena,
    queued: Option<Queued>,
    completed: Option<Completion>,
}

impl<'a> MmapEngine<'a> {
    /// Maps of each file the part that belongs to it, as a whole. If `writable`, files must be open for reading *and*
    /// writing, else for reading.
    ///
    /// # Errors
    /// What mmap(2) said: `EACCES` if a file is not open for that, `ENODEV` if it cannot be mapped, `ENOMEM` if the
    /// address space is too small. `EINVAL` unless there are as many parts as files.
    pub(crate) fn new(
        files: &'a [File],
        writable: bool,
        parts: &[Part],
        arena: &'a mut Arena,
    ) -> io::Result<Self> {
        if files.len() != parts.len() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let map = |(file, part): (&'a File, &Part)| Mapping::map(file, *part, writable);
        let mappings = files.iter().zip(parts).map(map).collect::<io::Result<_>>()?;
        Ok(Self { files, mappings, arena, queued: None, completed: None })
    }

    /// Tells the kernel whether blocks are visited in random order, so that it reads nothing around the page that is
    /// touched, or in sequence, so that it reads ahead; madvise(2). fio does so unless `fadvise_hint` is 0, and
    /// random reads differ by a lot.
    ///
    /// # Errors
    /// What madvise(2) said.
    pub(crate) fn advise(&mut self, random: bool) -> io::Result<()> {
        let advice = if random { Advice::Random } else { Advice::Sequential };
        self.mappings.iter_mut().try_for_each(|mapping| mapping.advise(advice))
    }

    #[inline]
    fn transfer(&mut self, transfer: Transfer, done_bytes: usize) -> Result<(), Errno> {
        let request = transfer.request;
        let mapping = self.mappings.get_mut(request.target as usize).ok_or(Errno::BADF)?;
        let block = self.arena.block_mut(transfer.place);
        let block = block.get_mut(done_bytes..request.length_bytes as usize).ok_or(Errno::INVAL)?;
        let offset_bytes = request.offset_bytes + done_bytes as u64;
        match request.direction {
            Direction::Read => mapping.read(offset_bytes, block),
            Direction::Write => mapping.write(offset_bytes, block),
            Direction::Trim => Err(Errno::INVAL),
        }
    }

    fn sync(&mut self, target: u32, kind: SyncKind) -> Result<(), Errno> {
        let mapping = self.mappings.get(target as usize).ok_or(Errno::BADF)?;
        match kind {
            SyncKind::All | SyncKind::Data => mapping.sync(),
            SyncKind::Range { offset_bytes, length_bytes, .. } => {
                mapping.sync_range(offset_bytes, length_bytes)
            }
        }
    }

    #[inline]
    fn perform(&mut self, queued: Queued) -> Completion {
        match queued {
            Queued::Block(Transfer { slot, request, .. }) if request.direction == Direction::Trim => {
                let file = self.files.get(request.target as usize);
                Completion { tag: slot, result: file.map_or(-libc::EBADF, |file| discard(file, &request)) }
            }
            Queued::Block(transfer) => {
                let result = match self.transfer(transfer, 0) {
                    // No request is longer than 1 GiB.
                    Ok(()) => i32::try_from(transfer.request.length_bytes).unwrap_or(i32::MAX),
                    Err(errno) => -errno.raw_os_error(),
                };
                Completion { tag: transfer.slot, result }
            }
            Queued::Sync { target, kind } => {
                let result = self.sync(target, kind).map_or_else(|errno| -errno.raw_os_error(), |()| 0);
                Completion { tag: SYNC_TAG, result }
            }
        }
    }
}

impl Engine for MmapEngine<'_> {
    #[inline]
    fn room(&mut self) -> usize {
        // A completion that has not been reaped would be overwritten.
        usize::from(self.queued.is_none() && self.completed.is_none())
    }

    #[inline]
    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) {
        self.queued = Some(Queued::Block(transfer));
    }

    fn queue_sync(&mut self, target: u32, kind: SyncKind) {
        self.queued = Some(Queued::Sync { target, kind });
    }

    /// Does what is queued and returns; with nothing there at all, sleeps for `at_most`.
    #[inline]
    fn enter(&mut self, _want: usize, at_most: Option<Duration>) -> io::Result<()> {
        if let Some(queued) = self.queued.take() {
            self.completed = Some(self.perform(queued));
        } else if let (None, Some(pause)) = (&self.completed, at_most) {
            thread::sleep(pause);
        }
        Ok(())
    }

    /// Copies the rest into the mapping; no transfer of this engine is ever short.
    fn write_rest(&mut self, transfer: Transfer, done_bytes: usize) -> io::Result<()> {
        Ok(self.transfer(transfer, done_bytes)?)
    }

    #[inline]
    fn arrived(&mut self) -> usize {
        usize::from(self.completed.is_some())
    }

    #[inline]
    fn reap(&mut self, each: impl FnMut(Completion)) {
        self.completed.take().into_iter().for_each(each);
    }
}

#[cfg(test)]
mod tests;
