//! The synchronous engine: one pread(2), pwrite(2), fsync(2) or fdatasync(2) at a time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::io::{Errno, pread, pwrite};

use super::{Completion, Engine, SYNC_TAG, SyncKind, Transfer};
use crate::arena::{Arena, Place};

#[derive(Debug, Clone, Copy)]
enum Request {
    Block(Transfer),
    Sync(SyncKind),
}

/// One request at a time, done while [`Engine::enter`] is called.
#[derive(Debug)]
pub(crate) struct SyncEngine<'a> {
    file: &'a File,
    arena: &'a mut Arena,
    writes: bool,
    queued: Option<Request>,
    completed: Option<Completion>,
}

impl<'a> SyncEngine<'a> {
    pub(crate) fn new(file: &'a File, arena: &'a mut Arena, writes: bool) -> Self {
        Self { file, arena, writes, queued: None, completed: None }
    }

    #[inline]
    fn perform(&mut self, request: Request) -> Completion {
        let (tag, result) = match request {
            Request::Block(Transfer { slot, place, offset_bytes }) => {
                let block = self.arena.block_mut(place);
                let result = if self.writes {
                    pwrite(self.file, block, offset_bytes)
                } else {
                    pread(self.file, block, offset_bytes)
                };
                (slot, result)
            }
            Request::Sync(SyncKind::All) => (SYNC_TAG, rustix::fs::fsync(self.file).map(|()| 0)),
            Request::Sync(SyncKind::Data) => (SYNC_TAG, rustix::fs::fdatasync(self.file).map(|()| 0)),
        };
        // The same form as a ring's completions: no call moves more than 2 GiB.
        let result = match result {
            Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
            Err(errno) => -Errno::raw_os_error(errno),
        };
        Completion { tag, result }
    }
}

impl Engine for SyncEngine<'_> {
    #[inline]
    fn room(&mut self) -> usize {
        usize::from(self.queued.is_none())
    }

    #[inline]
    fn place(&self, slot: u32, turn: u32) -> Place {
        self.arena.place(slot, turn)
    }

    #[inline]
    fn block_mut(&mut self, place: Place) -> &mut [u8] {
        self.arena.block_mut(place)
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) {
        self.queued = Some(Request::Block(transfer));
    }

    fn queue_sync(&mut self, kind: SyncKind) {
        self.queued = Some(Request::Sync(kind));
    }

    #[inline]
    fn enter(&mut self, _want: usize) -> io::Result<()> {
        if let Some(request) = self.queued.take() {
            self.completed = Some(self.perform(request));
        }
        Ok(())
    }

    fn write_rest(&mut self, transfer: Transfer, done_bytes: usize) -> io::Result<()> {
        let rest = self.arena.block_mut(transfer.place).get(done_bytes..).unwrap_or_default();
        self.file.write_all_at(rest, transfer.offset_bytes + done_bytes as u64)
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
