//! The synchronous engine: one pread(2), pwrite(2), fsync(2) or fdatasync(2) at a time.
#![expect(unsafe_code, reason = "no safe binding of sync_file_range(2) is at hand")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::Duration;

use iostone_model::load::Direction;
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2, pwrite, pwritev2};

use super::trim::discard;
use super::{Completion, Engine, SYNC_TAG, SyncKind, Transfer, write_rest};
use crate::arena::Arena;

#[derive(Debug, Clone, Copy)]
enum Call {
    Block(Transfer),
    Sync(u32, SyncKind),
}

/// One request at a time, done while [`Engine::enter`] is called.
#[derive(Debug)]
pub(crate) struct SyncEngine<'a> {
    files: &'a [File],
    arena: &'a mut Arena,
    flags: ReadWriteFlags,
    queued: Option<Call>,
    completed: Option<Completion>,
}

impl<'a> SyncEngine<'a> {
    /// `request_flags` are `RWF_*` flags of each request, `preadv2(2)`.
    pub(crate) fn new(files: &'a [File], arena: &'a mut Arena, request_flags: i32) -> Self {
        let flags = ReadWriteFlags::from_bits_retain(request_flags.cast_unsigned());
        Self { files, arena, flags, queued: None, completed: None }
    }

    #[inline]
    fn perform(&mut self, call: Call) -> Completion {
        match call {
            Call::Block(transfer) => self.perform_transfer(transfer),
            Call::Sync(target, kind) => Completion { tag: SYNC_TAG, result: self.perform_sync(target, kind) },
        }
    }

    #[inline]
    fn perform_transfer(&mut self, transfer: Transfer) -> Completion {
        let Transfer { slot, place, request } = transfer;
        let failed = Completion { tag: slot, result: -libc::EBADF };
        let Some(file) = self.files.get(request.target as usize) else { return failed };
        let offset = request.offset_bytes;
        let Some(block) = self.arena.bytes_mut(place, request.length_bytes as usize) else {
            return failed;
        };
        let result = match (request.direction, self.flags.is_empty()) {
            (Direction::Read, true) => pread(file, block, offset),
            (Direction::Write, true) => pwrite(file, block, offset),
            (Direction::Read, false) => preadv2(file, &mut [io::IoSliceMut::new(block)], offset, self.flags),
            (Direction::Write, false) => pwritev2(file, &[io::IoSlice::new(block)], offset, self.flags),
            (Direction::Trim, _) => return Completion { tag: slot, result: discard(file, &request) },
        };
        // The same form as a ring's completions: no call moves more than 2 GiB.
        let result = match result {
            Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Err(errno) => -Errno::raw_os_error(errno),
        };
        Completion { tag: slot, result }
    }

    fn perform_sync(&self, target: u32, kind: SyncKind) -> i32 {
        let Some(file) = self.files.get(target as usize) else { return -libc::EBADF };
        let result = match kind {
            SyncKind::All => rustix::fs::fsync(file),
            SyncKind::Data => rustix::fs::fdatasync(file),
            SyncKind::Range { flags, offset_bytes, length_bytes } => {
                return sync_range(file, offset_bytes, length_bytes, flags);
            }
        };
        result.map_or_else(|errno| -Errno::raw_os_error(errno), |()| 0)
    }
}

/// `sync_file_range(2)`; 0 or an errno negated.
fn sync_range(file: &File, offset_bytes: u64, length_bytes: u32, flags: u32) -> i32 {
    let offset = i64::try_from(offset_bytes).unwrap_or(i64::MAX);
    // SAFETY: the call takes numbers only; the descriptor is borrowed from an open file.
    let failed =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset, i64::from(length_bytes), flags) } != 0;
    if failed { -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { 0 }
}

impl Engine for SyncEngine<'_> {
    #[inline]
    fn room(&mut self) -> usize {
        usize::from(self.queued.is_none())
    }

    #[inline]
    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) {
        self.queued = Some(Call::Block(transfer));
    }

    fn queue_sync(&mut self, target: u32, kind: SyncKind) {
        self.queued = Some(Call::Sync(target, kind));
    }

    #[inline]
    fn enter(&mut self, _want: usize, at_most: Option<Duration>) -> io::Result<()> {
        if let Some(call) = self.queued.take() {
            self.completed = Some(self.perform(call));
        } else if let Some(duration) = at_most {
            sleep(duration);
        }
        Ok(())
    }

    fn write_rest(&mut self, transfer: Transfer, done_bytes: usize) -> io::Result<()> {
        write_rest(self.files, self.arena, transfer, done_bytes)
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
