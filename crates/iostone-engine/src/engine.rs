//! What an engine is: something that takes blocks, gets them to the kernel, and hands completions back.
//!
//! The loop in [`driver`](crate::driver) is written once against this trait and compiled once per engine, so
//! nothing is dispatched at run time and nothing is allocated, locked or copied per I/O.

pub(crate) mod mmap;
pub(crate) mod null;
pub(crate) mod sync;
pub(crate) mod trim;
pub(crate) mod uring;
pub(crate) mod volume;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use iostone_model::load::IoEngine;

use crate::arena::{Arena, Place};
use crate::error::EngineError;
use crate::job::{Job, Volume};
use crate::outcome::EngineKind;
use crate::source::Request;

/// The tag of a sync; slots of blocks are below it.
pub(crate) const SYNC_TAG: u32 = u32::MAX;

/// One block to transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    /// Comes back with the completion.
    pub(crate) slot: u32,
    /// The memory it goes from or to.
    pub(crate) place: Place,
    /// What is to be done.
    pub(crate) request: Request,
}

/// Which kind of sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncKind {
    /// fsync(2).
    All,
    /// fdatasync(2).
    Data,
    /// `sync_file_range(2)` with these flags.
    Range { flags: u32, offset_bytes: u64, length_bytes: u32 },
}

/// What the kernel said about one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completion {
    /// The slot of a block, or [`SYNC_TAG`].
    pub(crate) tag: u32,
    /// Bytes transferred, or an errno negated.
    pub(crate) result: i32,
}

/// A way to get I/O done. One engine belongs to one thread.
pub(crate) trait Engine {
    /// How many more requests can be queued before the next [`enter`](Self::enter).
    fn room(&mut self) -> usize;

    /// The memory that blocks lie in. Nobody may touch a block that is in flight.
    fn arena(&mut self) -> &mut Arena;

    /// Queues a block. There must be [room](Self::room).
    fn queue(&mut self, transfer: Transfer);

    /// Queues a sync of a target. There must be [room](Self::room).
    fn queue_sync(&mut self, target: u32, kind: SyncKind);

    /// Hands what is queued to the kernel and waits until at least `want` requests have completed, or for as long as
    /// `at_most` says. With nothing to wait for it returns at once, unless `at_most` is given.
    ///
    /// # Errors
    /// What the kernel said, unless trying again can help.
    fn enter(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()>;

    /// Writes what a write left over after `done_bytes`, at once and synchronously.
    ///
    /// # Errors
    /// What pwrite(2) said.
    fn write_rest(&mut self, transfer: Transfer, done_bytes: usize) -> io::Result<()>;

    /// Which request to a target is behind a failed transfer, and what it transferred: the transfer itself, but for
    /// engines that cut it into several.
    fn blame(&mut self, transfer: Transfer, done_bytes: u32) -> (Request, u32) {
        (transfer.request, done_bytes)
    }

    /// How many completions are there to be reaped.
    fn arrived(&mut self) -> usize;

    /// Takes the completions that [`arrived`](Self::arrived) counted.
    fn reap(&mut self, each: impl FnMut(Completion));
}

/// Writes what a write left over after `done_bytes`, pwrite(2).
fn write_rest(files: &[File], arena: &mut Arena, transfer: Transfer, done_bytes: usize) -> io::Result<()> {
    let Transfer { place, request, .. } = transfer;
    let block = arena.bytes_mut(place, request.length_bytes as usize).unwrap_or_default();
    let rest = block.get(done_bytes..).unwrap_or_default();
    let Some(file) = files.get(request.target as usize) else { return Ok(()) };
    file.write_all_at(rest, request.offset_bytes + done_bytes as u64)
}

/// Which engine a job gets, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) kind: EngineKind,
    pub(crate) reason: String,
}

/// Chooses the engine of a job; `probe` says whether there is a ring, and if not why.
///
/// # Errors
/// [`EngineError::NoRing`] or [`EngineError::DepthNeedsRing`] when the job cannot do without one.
pub(crate) fn select(
    job: &Job,
    probe: impl FnOnce() -> Result<(), String>,
) -> Result<Selection, EngineError> {
    let selected = |kind, reason: String| Ok(Selection { kind, reason });
    match job.engine {
        IoEngine::Sync => selected(EngineKind::Sync, "asked for".into()),
        IoEngine::Mmap => selected(EngineKind::Mmap, "asked for".into()),
        IoEngine::Null => selected(EngineKind::Null, "asked for".into()),
        IoEngine::IoUring | IoEngine::IoUringNop => match probe() {
            Ok(()) if job.engine == IoEngine::IoUringNop => {
                selected(EngineKind::IoUringNop, "asked for".into())
            }
            Ok(()) => selected(EngineKind::IoUring, "asked for".into()),
            Err(reason) => Err(EngineError::NoRing { reason }),
        },
        IoEngine::Auto if job.iodepth == 1 && cuts_blocks(job) => match probe() {
            Ok(()) => {
                selected(EngineKind::IoUring, "available, and a block goes to several members at once".into())
            }
            Err(reason) => selected(
                EngineKind::Sync,
                format!("a block goes to one member after the other, for want of `io_uring`: {reason}"),
            ),
        },
        IoEngine::Auto if job.iodepth == 1 => {
            selected(EngineKind::Sync, "io_uring gains nothing at depth 1".into())
        }
        IoEngine::Auto => match probe() {
            Ok(()) => selected(EngineKind::IoUring, "available, and the depth is above 1".into()),
            Err(reason) => Err(EngineError::DepthNeedsRing { iodepth: job.iodepth, reason }),
        },
    }
}

/// Whether blocks are larger than what lies on one member of their volume at a stretch.
fn cuts_blocks(job: &Job) -> bool {
    matches!(job.volume, Some(Volume::Raid0 { chunk }) if job.targets.len() > 1 && job.largest_block() > chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::load::Rw;
    use iostone_model::units::Bytes;

    fn job(engine: IoEngine, iodepth: u32) -> Job {
        Job { iodepth, engine, ..Job::new("/dev/zero", Rw::Read) }
    }

    fn missing() -> Result<(), String> {
        Err("`kernel.io_uring_disabled` is 2".into())
    }

    #[test]
    fn auto_uses_a_ring_only_where_depth_needs_one() {
        let kind = |depth| select(&job(IoEngine::Auto, depth), || Ok(())).unwrap().kind;
        assert_eq!((kind(1), kind(2)), (EngineKind::Sync, EngineKind::IoUring));
    }

    #[test]
    fn depth_without_a_ring_is_an_error_that_names_the_reason() {
        let error = select(&job(IoEngine::Auto, 32), missing).unwrap_err().to_string();
        assert_eq!(error, "`iodepth` of `32` needs `io_uring`: `kernel.io_uring_disabled` is 2");
        let error = select(&job(IoEngine::IoUring, 1), missing).unwrap_err().to_string();
        assert_eq!(error, "`io_uring` is not available: `kernel.io_uring_disabled` is 2");
    }

    #[test]
    fn a_block_over_several_members_gets_a_ring_where_there_is_one() {
        let striped = |chunk| {
            let mut job = job(IoEngine::Auto, 1);
            job.targets.push("/dev/null".into());
            job.volume = Some(Volume::Raid0 { chunk: Bytes(chunk) });
            job
        };
        let kind = |job, probe: fn() -> Result<(), String>| select(&job, probe).unwrap().kind;
        assert_eq!(kind(striped(2048), || Ok(())), EngineKind::IoUring);
        assert_eq!(kind(striped(2048), missing), EngineKind::Sync);
        assert_eq!(kind(striped(4096), || Ok(())), EngineKind::Sync);
    }

    #[test]
    fn depth_one_needs_no_ring() {
        assert_eq!(select(&job(IoEngine::Auto, 1), missing).unwrap().kind, EngineKind::Sync);
    }
}
