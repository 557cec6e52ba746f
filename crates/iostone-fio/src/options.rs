//! What a section asks for, by type: one field per option that shapes the work, after inheritance.
//!
//! `None` is "not given", and the field says what fio does then. Options that come in a switch and its opposite
//! (`direct` and `buffered`, `rwmixread` and `rwmixwrite`) share a field, as they do in fio; the later one wins.

use iostone_engine::{Advice, Preparation, Service};
use iostone_model::load::{
    BlockRange, BlockSizes, BlockSplit, Direction, PerDirection, RandomDistribution, RateProcess,
    SyncFileRange, SyncMode,
};
use iostone_model::units::{Bytes, Span};

use crate::values::{
    Access, ContinueOn, CpuPolicy, DEFAULT_ENGINE, Engine, ExitWhat, FileName, FilenameFormat, KbBase,
    LogWindow, Pattern, Portion, RwSequencer, SizeRange, SteadyState, Verify, ZoneMode,
};

/// A log that was asked for; fio's `write_bw_log` and its like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The prefix of its name; none is the name of the job.
    pub prefix: Option<String>,
}

/// The options of one section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FioOptions {
    // Units and description.
    /// What `k` means in the values that follow; default 1024.
    pub kb_base: Option<KbBase>,
    /// The name printed instead of the section's.
    pub name: Option<String>,
    /// A text for people.
    pub description: Option<String>,

    // Targets.
    /// `filename`. Names add up: those of `[global]` come first, repeats are files of their own. Empty: names are made up
    /// by `filename_format`, or, where `nrfiles` is 1 and a device or other special file is called as the section is, it
    /// is that.
    pub filename: Vec<FileName>,
    /// `directory`: clones of the job take turns with them. They go in front of made-up names.
    pub directory: Option<Vec<String>>,
    /// How made-up names are built.
    pub filename_format: Option<FilenameFormat>,
    /// Files per clone where `filename` is empty; default 1.
    pub nrfiles: Option<u32>,
    /// Files open at a time; default all, and never more than all.
    pub openfiles: Option<u32>,
    /// Which file is next; default round robin.
    pub file_service_type: Option<Service>,
    /// Whether missing files may be made; default yes.
    pub allow_file_create: Option<bool>,
    /// What the kernel is told of the order to come; default by the job's.
    pub fadvise_hint: Option<Advice>,
    /// Reads the files into the page cache first, which turns `invalidate` off; default no.
    pub pre_read: Option<bool>,
    /// Deletes the files at the end; default no.
    pub unlink: Option<bool>,
    /// How space is reserved when a file is laid out; default native.
    pub fallocate: Option<Preparation>,

    // Region and amount.
    /// The region and, without `io_size`, the amount per clone, all files together; default all of what exists.
    pub size: Option<Portion>,
    /// The amount per clone; default `size`.
    pub io_size: Option<Portion>,
    /// The size of each file, drawn from the range; default `size` divided by the files.
    pub filesize: Option<SizeRange>,
    /// Where the region begins; default 0. A percentage is rounded up to `offset_align`, or the smallest block.
    pub offset: Option<Portion>,
    /// See `offset`; 0 is the smallest block.
    pub offset_align: Option<u64>,
    /// Added to `offset` once per clone; default 0.
    pub offset_increment: Option<Portion>,
    /// Ends the job after this many I/Os; 0 or none does not.
    pub number_ios: Option<u64>,
    /// The whole job this many times; default 1.
    pub loops: Option<u32>,

    // Direction and order.
    /// `rw`; default sequential reads.
    pub rw: Option<Access>,
    /// What the number of `rw` does to random offsets; default sequential.
    pub rw_sequencer: Option<RwSequencer>,
    /// Per cent of reads in a mixed job (writes are the rest); default 50.
    pub rwmixread: Option<u32>,
    /// Where random I/O goes; default everywhere alike.
    pub random_distribution: Option<PerDirection<RandomDistribution>>,
    /// Per cent of a random job's I/Os that are random, the others follow in sequence; default 100.
    pub percentage_random: PerDirection<Option<u32>>,
    /// Draws offsets without a map of visited blocks, so that some come twice and some never; default no.
    pub norandommap: Option<bool>,
    /// The same offsets and data in each run; default yes.
    pub randrepeat: Option<bool>,
    /// The seed; default 0x89 where `randrepeat` holds.
    pub randseed: Option<u64>,
    /// How the region is cut; default none, which goes with no `zonesize`.
    pub zonemode: Option<ZoneMode>,
    /// Bytes moved in a zone before the next.
    pub zonesize: Option<Bytes>,
    /// Size of a zone; default `zonesize`.
    pub zonerange: Option<Bytes>,
    /// Bytes between zones; default 0.
    pub zoneskip: Option<Bytes>,

    // Block sizes; see [`FioOptions::block_sizes`] for which of the three holds.
    /// One size; default 4 KiB.
    pub bs: PerDirection<Option<Bytes>>,
    /// Between two sizes.
    pub bsrange: PerDirection<Option<BlockRange>>,
    /// Sizes by share.
    pub bssplit: PerDirection<Option<BlockSplit>>,
    /// Sequential I/O takes the sizes of reads, random I/O those of writes; default no.
    pub bs_is_seq_rand: Option<bool>,
    /// Random offsets are multiples of it, and the map of visited blocks is off where it differs from the smallest
    /// block; default the smallest block.
    pub blockalign: PerDirection<Option<Bytes>>,

    // Engine.
    /// Default psync.
    pub ioengine: Option<Engine>,
    /// Goes around the page cache; default no. `buffered` is its opposite.
    pub direct: Option<bool>,
    /// Whole writes or none after a crash (`RWF_ATOMIC`); default no.
    pub atomic: Option<bool>,
    /// `O_SYNC` or `O_DSYNC`; default neither.
    pub sync: Option<SyncMode>,
    /// Polls for completions; default no.
    pub hipri: Option<bool>,
    /// Drops pages from the cache once the I/O is done (`RWF_DONTCACHE`); default no.
    pub uncached: Option<bool>,
    /// Fails instead of waiting (`RWF_NOWAIT`); default no.
    pub nowait: Option<bool>,

    // Depth.
    /// I/Os in flight, without effect on synchronous engines; default 1.
    pub iodepth: Option<u32>,
    /// I/Os submitted at a time; default 1, 0 is `iodepth`, and never more than that.
    pub iodepth_batch: Option<u32>,
    /// How far the queue drains before it is filled again; default `iodepth`, and never more.
    pub iodepth_low: Option<u32>,

    // Durability.
    /// `fsync(2)` after this many writes; 0 or none is never.
    pub fsync: Option<u32>,
    /// `fdatasync(2)` after this many writes; 0 or none is never.
    pub fdatasync: Option<u32>,
    /// `sync_file_range(2)`; default never.
    pub sync_file_range: Option<SyncFileRange>,
    /// `fsync(2)` at the end; default no.
    pub end_fsync: Option<bool>,
    /// `fsync(2)` at each close of a file; default no.
    pub fsync_on_close: Option<bool>,
    /// Makes files when they are opened instead of laying them out; default no.
    pub create_on_open: Option<bool>,
    /// Lays a file out before it is written; default no, but yes where the job reads.
    pub overwrite: Option<bool>,
    /// Drops the target's pages from the cache first; default yes.
    pub invalidate: Option<bool>,

    // Time and clones.
    /// The longest that a clone runs; 0 or none is no limit.
    pub runtime: Option<Span>,
    /// Starts over until `runtime` is up; default no. Without `runtime` it means nothing.
    pub time_based: Option<bool>,
    /// Before the measurement, in addition to `runtime`; default 0.
    pub ramp_time: Option<Span>,
    /// Each clone waits for a time between the two before it starts; default 0.
    pub startdelay: Option<(Span, Span)>,
    /// Clones of the job; default 1.
    pub numjobs: Option<u32>,

    // Pace.
    /// Pause after `thinktime_blocks` I/Os; default 0.
    pub thinktime: Option<Span>,
    /// How much of the pause is spent computing, `thinktime` at most; default 0.
    pub thinktime_spin: Option<Span>,
    /// Default 1.
    pub thinktime_blocks: Option<u32>,
    /// Pause after this much time of I/O; 0 or none does not.
    pub thinktime_iotime: Option<Span>,
    /// Bytes per second per clone; 0 or none is no limit.
    pub rate: PerDirection<Option<Bytes>>,
    /// The job fails below this many bytes per second.
    pub rate_min: PerDirection<Option<Bytes>>,
    /// I/Os per second per clone; 0 or none is no limit.
    pub rate_iops: PerDirection<Option<u32>>,
    /// The job fails below this many I/Os per second.
    pub rate_iops_min: PerDirection<Option<u32>>,
    /// How arrivals are spread; default evenly.
    pub rate_process: Option<RateProcess>,
    /// Over how long the smallest rates are looked at; default 1 s.
    pub rate_cycle: Option<Span>,
    /// Ends the job with `ETIMEDOUT` above it; 0 or none does not.
    pub max_latency: PerDirection<Option<Span>>,
    /// Ends the job at steady state; only with `steadystate_duration`.
    pub steadystate: Option<SteadyState>,
    /// The window that is judged; 0 or none turns steady state off.
    pub steadystate_duration: Option<Span>,
    /// Before the first window; default 0.
    pub steadystate_ramp_time: Option<Span>,
    /// Between measurements; default 1 s.
    pub steadystate_check_interval: Option<Span>,

    // Data.
    /// Zeros; default random data.
    pub zero_buffers: Option<bool>,
    /// New data for each write; default no, but yes under `verify`, compression (below 100) and deduplication.
    pub refill_buffers: Option<bool>,
    /// Changes a little of each block where it is not refilled; default yes.
    pub scramble_buffers: Option<bool>,
    /// How far the data compresses, per cent; 0 or none does not.
    pub buffer_compress_percentage: Option<u32>,
    /// The piece that random data and its filling alternate in; default 512, 0 is the block.
    pub buffer_compress_chunk: Option<u64>,
    /// What buffers are filled with.
    pub buffer_pattern: Option<Pattern>,
    /// Per cent of writes that repeat another; 0 or none is none.
    pub dedupe_percentage: Option<u32>,

    // Verification.
    /// Default none; a `verify_pattern` alone makes it `Pattern`.
    pub verify: Option<Verify>,
    /// Reads back and checks after writing; default yes.
    pub do_verify: Option<bool>,
    /// Checks what an earlier run wrote, without writing; default no.
    pub verify_only: Option<bool>,
    /// Bytes between headers; default the block.
    pub verify_interval: Option<u32>,
    /// What blocks are filled with.
    pub verify_pattern: Option<Pattern>,
    /// Ends at the first block that does not verify; default no.
    pub verify_fatal: Option<bool>,
    /// Keeps what was written where a later run can check against it; only where it is asked for by name.
    pub verify_state_save: Option<bool>,
    /// Checks against what an earlier run kept; default no.
    pub verify_state_load: Option<bool>,
    /// Verifies after this many writes instead of at the end; 0 or none is at the end.
    pub verify_backlog: Option<u64>,

    // Order of jobs.
    /// Waits for all jobs above it and begins a group of reports; default no.
    pub stonewall: Option<bool>,
    /// Waits for the job of this name.
    pub wait_for: Option<String>,
    /// Begins a group of reports; default no.
    pub new_group: Option<bool>,
    /// The jobs of a group are reported together; default no.
    pub group_reporting: Option<bool>,
    /// The end of this job ends others; default no. Any job's holds for all of the run.
    pub exitall: Option<bool>,
    /// Which others; default its group.
    pub exit_what: Option<ExitWhat>,

    // Processors and priorities.
    /// Processors that the job may use; default all.
    pub cpus_allowed: Option<Vec<u32>>,
    /// How clones share them; default all alike.
    pub cpus_allowed_policy: Option<CpuPolicy>,
    /// `nice(2)`; default 0.
    pub nice: Option<i32>,

    // Errors.
    /// Which errors the job outlives; default none.
    pub continue_on_error: Option<ContinueOn>,

    // Reports.
    /// Percentiles of submission latency; default no.
    pub slat_percentiles: Option<bool>,
    /// Percentiles of completion latency; default yes.
    pub clat_percentiles: Option<bool>,
    /// Percentiles of total latency; default no.
    pub lat_percentiles: Option<bool>,
    /// Which ones; default 1 5 10 20 30 40 50 60 70 80 90 95 99 99.5 99.9 99.95 99.99. Ascending.
    pub percentile_list: Option<Vec<f64>>,
    /// Reports this job at all; default yes.
    pub stats: Option<bool>,
    /// Reports what the devices did; default yes.
    pub disk_util: Option<bool>,
    /// A log of bandwidth.
    pub write_bw_log: Option<Log>,
    /// Logs of latency: submission, completion, total.
    pub write_lat_log: Option<Log>,
    /// A log of I/Os per second.
    pub write_iops_log: Option<Log>,
    /// One file per clone, its number in the name; default yes.
    pub per_job_logs: Option<bool>,
    /// Averages over this long; 0 or none logs each I/O.
    pub log_avg_msec: Option<Span>,
    /// What an averaged entry holds; default the mean.
    pub log_window_value: Option<LogWindow>,
    /// Times of logs count from 1970 instead of from the start; default no.
    pub log_alternate_epoch: Option<bool>,
    /// Over how long bandwidth is averaged; default 500 ms.
    pub bwavgtime: Option<Span>,
    /// Over how long I/Os per second are averaged; default 500 ms.
    pub iopsavgtime: Option<Span>,
}

impl FioOptions {
    /// Direction and order, fio's default filled in.
    pub fn access(&self) -> Access {
        self.rw.unwrap_or_default()
    }

    /// The engine, fio's default filled in.
    pub fn engine(&self) -> Engine {
        self.ioengine.unwrap_or(DEFAULT_ENGINE)
    }

    /// The block sizes of a direction. As in fio, a split outranks a range and a range outranks `bs`, wherever each was
    /// given: `bs` in a job does not undo the `bsrange` of its `[global]`.
    pub fn block_sizes(&self, direction: Direction) -> BlockSizes {
        if let Some(split) = self.bssplit.of(direction) {
            return BlockSizes::Split(split.clone());
        }
        match self.bsrange.of(direction) {
            Some(range) if range.min == range.max => BlockSizes::Fixed(range.min),
            Some(range) => BlockSizes::Range(*range),
            None => BlockSizes::Fixed(self.bs.of(direction).unwrap_or(Bytes(4096))),
        }
    }
}
