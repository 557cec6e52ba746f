//! What to do to its targets: a job, in fio's words where fio has them.

mod check;
mod data;
mod form;
mod kinds;
mod pace;
mod shape;

use std::path::PathBuf;

use iostone_model::units::{Bytes, Span};
use serde::Serialize;

use iostone_model::load::{
    BlockSizes, Direction, IoEngine, PerDirection, RequestFlag, Rw, SyncFileRange, SyncMode,
};

pub(crate) use check::DEEPEST_QUEUE;
pub use data::{Checksum, Content, Data, Verify};
pub use kinds::{Advice, Preparation, Stamp};
pub use pace::{LeastRate, Pace, Rate, SteadyLimit, SteadyOf, SteadyRule, Think};
pub use shape::{Service, ServiceOrder, Strides, Volume, Walk};

/// One load on one or more targets, by one or more threads that all do the same.
///
/// With neither `runtime` nor `io_size` nor `ios`, each thread goes over its part of the span once. With `runtime`
/// alone it goes over it again and again until the time is up (fio's `time_based`). With several, whichever comes
/// first ends it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of fio's by itself")]
pub struct Job {
    /// Regular files (made if missing, see `preparation`), block devices, or `/dev/null`, `/dev/zero`, `/dev/full`.
    /// At least one.
    pub targets: Vec<PathBuf>,
    /// How several targets take turns.
    pub service: Service,
    /// The targets are one volume, instead of taking turns. They must exist, since their lengths say what lies where;
    /// `offset`, `size` and the places of I/O are in the volume then. An fsync of it is one of every target.
    pub volume: Option<Volume>,
    /// Direction and order.
    pub rw: Rw,
    /// Share of reads in a mix of reads and writes, in percent.
    pub rwmixread: u32,
    /// Bytes per I/O.
    #[serde(serialize_with = "form::block_sizes")]
    pub bs: PerDirection<BlockSizes>,
    /// The order of blocks beyond what `rw` says.
    pub walk: Walk,
    /// I/Os in flight per thread, at least 1.
    pub iodepth: u32,
    /// I/Os handed to the kernel at once, at most; fio's `iodepth_batch`.
    pub batch: u32,
    /// Once the queue is full, let it drain to this depth before filling it again; fio's `iodepth_low`.
    pub iodepth_low: Option<u32>,
    /// Where the span begins in each target, or in the volume.
    pub offset: Bytes,
    /// The span of each target, or of the volume, that is used. Default: all of a file or block device that exists, from `offset` on.
    pub size: Option<Bytes>,
    /// Goes around the page cache (`O_DIRECT`).
    pub direct: bool,
    /// fsync(2) after every this many writes, which waits for the writes before it; 0 is never.
    pub fsync: u32,
    /// fdatasync(2) after every this many writes, likewise; where both fall due, fsync covers both.
    pub fdatasync: u32,
    /// `sync_file_range(2)` over what was written since the last one; where several fall due, the stronger is done.
    #[serde(serialize_with = "form::sync_file_range")]
    pub sync_file_range: Option<SyncFileRange>,
    /// One fsync(2) of each target at the end.
    pub end_fsync: bool,
    /// Whether each write is durable before it completes.
    pub sync: SyncMode,
    /// Flags of each request.
    pub flags: Vec<RequestFlag>,
    /// Length of the measured window.
    pub runtime: Option<Span>,
    /// Bytes to transfer per thread in the measured window.
    pub io_size: Option<Bytes>,
    /// I/Os per thread in the measured window; fio's `number_ios`.
    pub ios: Option<u64>,
    /// I/O goes on for this long before the window opens, and no figure counts it.
    pub ramp_time: Span,
    /// The job begins this long after those it runs beside; fio's `startdelay`.
    pub start_delay: Span,
    /// Arrival rates: an open loop.
    pub pace: Pace,
    /// Pauses.
    pub think: Option<Think>,
    /// Ends the job once its rate is steady.
    pub steady: Option<SteadyRule>,
    /// Ends the job, as failed, when its rate falls short.
    pub least_rate: Option<LeastRate>,
    /// Ends the job, as failed, at the first I/O that takes longer.
    pub max_latency: Option<Span>,
    /// I/Os that fail are counted and the job goes on; fio's `continue_on_error`.
    pub continue_on_error: bool,
    /// When this job ends, so do those it runs beside; fio's `exitall`.
    pub exit_all: bool,
    /// Which engine issues the I/O.
    pub engine: IoEngine,
    /// How often the clock is read.
    pub stamp: Stamp,
    /// Seed of offsets and data; the same seed gives the same I/O.
    pub seed: u64,
    /// Threads. Random jobs each cover the whole span in an order of their own, sequential and verified ones a part
    /// each.
    pub numjobs: u32,
    /// What writes carry.
    pub data: Data,
    /// Whether and how blocks are checked.
    pub verify: Option<Verify>,
    /// How regular files are prepared.
    pub preparation: Preparation,
    /// Writes back and drops the targets' pages from the page cache before the I/O begins.
    pub invalidate: bool,
    /// What the kernel is told about the order of the I/O.
    pub advice: Advice,
    /// Reads the span into the page cache before the I/O begins; fio's `pre_read`.
    pub pre_read: bool,
    /// Processors that the threads may run on, numbered from 0; all that the process may when empty.
    pub cpus: Vec<u32>,
    /// Each thread gets one of `cpus` for itself, in turn; fio's `cpus_allowed_policy=split`.
    pub one_cpu_each: bool,
    /// nice(2) of the threads.
    pub nice: i32,
}

impl Job {
    /// A job with fio's defaults: 4 KiB blocks, depth 1, one thread, through the page cache.
    pub fn new(target: impl Into<PathBuf>, rw: Rw) -> Self {
        Self {
            targets: vec![target.into()],
            service: Service::default(),
            volume: None,
            rw,
            rwmixread: 50,
            bs: Bytes(4096).into(),
            walk: Walk::default(),
            iodepth: 1,
            batch: crate::engine::uring::BATCH,
            iodepth_low: None,
            offset: Bytes(0),
            size: None,
            direct: false,
            fsync: 0,
            fdatasync: 0,
            sync_file_range: None,
            end_fsync: false,
            sync: SyncMode::None,
            flags: Vec::new(),
            runtime: None,
            io_size: None,
            ios: None,
            ramp_time: Span::default(),
            start_delay: Span::default(),
            pace: Pace::default(),
            think: None,
            steady: None,
            least_rate: None,
            max_latency: None,
            continue_on_error: false,
            exit_all: false,
            engine: IoEngine::Auto,
            stamp: Stamp::PerBatch,
            seed: 0,
            numjobs: 1,
            data: Data::default(),
            verify: None,
            preparation: Preparation::Fill,
            invalidate: true,
            advice: Advice::ByOrder,
            pre_read: false,
            cpus: Vec::new(),
            one_cpu_each: false,
            nice: 0,
        }
    }

    /// Whether the job changes its targets; one that only checks what was written does not.
    pub fn changes_targets(&self) -> bool {
        self.rw.changes_target() && !self.verify.as_ref().is_some_and(|verify| verify.only)
    }

    /// The directions that this job's I/O goes in.
    pub(crate) fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        self.rw.directions()
    }

    /// Those of them that it really goes in: a mix of one direction only never goes in the other, rate or none.
    pub(crate) fn directions_taken(&self) -> impl Iterator<Item = Direction> + use<> {
        let (is_mixed, rwmixread) = (self.rw.is_mixed(), self.rwmixread);
        self.directions().filter(move |direction| match direction {
            Direction::Read => !is_mixed || rwmixread > 0,
            Direction::Write => !is_mixed || rwmixread < 100,
            Direction::Trim => true,
        })
    }

    /// The largest block that can be drawn: what each buffer must hold.
    pub(crate) fn largest_block(&self) -> Bytes {
        self.directions().map(|direction| self.bs.of(direction).largest()).max().unwrap_or(Bytes(0))
    }

    /// The smallest block that can be drawn.
    pub fn smallest_block(&self) -> Bytes {
        self.directions().map(|direction| self.bs.of(direction).smallest()).min().unwrap_or(Bytes(0))
    }

    /// The sizes that say how every block can be divided: a range's blocks are multiples of its smallest.
    pub(crate) fn block_sizes(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.directions().flat_map(|direction| self.bs.of(direction).written())
    }

    /// Whether the hot path can do without drawing anything but a place: one target, one direction, one block size.
    pub(crate) fn is_plain(&self) -> bool {
        let sizes: Vec<&BlockSizes> = self.directions().map(|direction| self.bs.of(direction)).collect();
        (self.targets.len() == 1 || self.volume.is_some())
            && matches!(sizes.as_slice(), [BlockSizes::Fixed(_)])
            && self.walk == Walk { revisits: self.walk.revisits, start: self.walk.start, ..Walk::default() }
            && !self.rw.trims()
    }
}

#[cfg(test)]
mod tests;
