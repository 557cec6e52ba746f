//! What iostone's own load engine is asked to do, in fio's terms.

mod check;
mod demand;
mod words;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkingSet, WorkloadKind};
use super::{
    BlockRange, BlockSizes, BlockSplit, Ends, IoEngine, Preparation, RandomDistribution, RateProcess, Rates,
    RequestFlag, Rw, SyncFileRange, SyncMode, Verification, one,
};
use crate::dataset::DataKind;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::{Direction, Metric, Unit, metric};
use crate::omitted::is_default;
use crate::units::{ByteRate, Bytes, Span};

/// The load engine's shape. Names and meanings are fio's where fio has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoWorkload {
    /// Direction and order of the requests.
    pub rw: Rw,
    /// Share of reads in a mix of reads and writes, in percent; 50 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub rwmixread: Option<u32>,
    /// Block size of each request; 4 KiB when neither this nor `bsrange` nor `bssplit` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bs: Option<Bytes>,
    /// Block sizes drawn from a range, in place of `bs`: `4KiB-64KiB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bsrange: Option<BlockRange>,
    /// Block sizes drawn by their shares, in place of `bs`: `4KiB/60:64KiB/40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bssplit: Option<BlockSplit>,
    /// Where random requests lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_distribution: Option<RandomDistribution>,
    /// Random blocks are drawn without regard to which were visited; else each is visited once a pass.
    #[serde(default, skip_serializing_if = "is_default")]
    pub norandommap: bool,
    /// Requests in flight.
    #[serde(default = "one")]
    pub iodepth: u32,
    /// Threads, each with its own offsets and depth.
    #[serde(default = "one")]
    pub numjobs: u32,
    /// Where the used part of the file or device begins.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offset: Bytes,
    /// Size of the part of the file that is read or written, from `offset` on; it is laid out with incompressible data
    /// beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// How long figures are taken; `auto` lets the pilots find the length of least time to a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Timing>,
    /// How much is read or written at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_size: Option<Bytes>,
    /// Load before figures are taken; `auto` lets a pilot of each configuration find how much is needed.
    #[serde(default)]
    pub ramp_time: Timing,
    /// An open loop: each thread starts so many requests a second, whether or not those before have completed, and
    /// latency counts from the start that was intended. In a mix, of reads and of writes each, or `"1400,600"` apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_iops: Option<Rates<u32>>,
    /// As `rate_iops`, in bytes a second: `40MB/s`, or `40MB/s,10MB/s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rates<ByteRate>>,
    /// How the arrivals of an open loop follow each other; `linear` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_process: Option<RateProcess>,
    /// A pause after every `thinktime_blocks` requests, once they have completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinktime: Option<Span>,
    /// Requests between pauses; 1 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinktime_blocks: Option<u32>,
    /// A request that takes longer ends the trial, which has failed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latency: Option<Span>,
    /// Past the page cache (`O_DIRECT`).
    #[serde(default)]
    pub direct: bool,
    /// fsync(2) after every so many writes; 0 for never.
    #[serde(default)]
    pub fsync: u32,
    /// fdatasync(2) after every so many writes; 0 for never.
    #[serde(default)]
    pub fdatasync: u32,
    /// `sync_file_range(2)` after every so many writes; it makes nothing durable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_file_range: Option<SyncFileRange>,
    /// Open with `O_DSYNC` or `O_SYNC`.
    #[serde(default)]
    pub sync: SyncMode,
    /// Flags of each request, `preadv2(2)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<RequestFlag>,
    /// Which way requests reach the kernel.
    #[serde(default)]
    pub engine: IoEngine,
    /// Share of what is written that compresses to nothing, in percent; 0 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub buffer_compress_percentage: Option<u32>,
    /// What compresses is the end of each chunk of this length; 512 bytes when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_compress_chunk: Option<Bytes>,
    /// Share of written blocks that repeat an earlier one, in percent.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(range(max = 100))]
    pub dedupe_percentage: u32,
    /// Seals each block that is written with its place, its generation and this checksum, and checks blocks that are
    /// read, as well as all that was written once the figures are taken; a mismatch fails the trial.
    #[serde(default, skip_serializing_if = "is_unverified")]
    pub verify: Verification,
}

/// The shortest measured time that pilots may find.
pub const SHORTEST_FOUND: Span = Span(Duration::from_millis(2500));
/// The longest that pilots may find trials to be best measured.
const LONGEST_FOUND: Span = Span(Duration::from_secs(60));
/// How long the first pilot runs that is to find the measured time: enough to tell 2.5 s from 5 s where a trial costs a few
/// seconds beside them; longer ones follow where that does not do.
pub const FIRST_PILOT: Duration = Duration::from_secs(30);
/// From this share on data is what that share is.
const MOSTLY_PERCENT: u32 = 50;

impl IoWorkload {
    /// How long figures are taken; where pilots are to find that, the longest that they may.
    pub fn asked_runtime(&self) -> Option<Span> {
        self.runtime.map(|runtime| match runtime {
            Timing::Fixed(span) => span,
            Timing::Auto => LONGEST_FOUND,
        })
    }

    /// Whether pilots are to find how long figures are taken.
    pub fn is_runtime_auto(&self) -> bool {
        self.runtime == Some(Timing::Auto)
    }

    /// A load with everything else as it is when left out.
    pub fn new(rw: Rw) -> Self {
        Self {
            rw,
            rwmixread: None,
            bs: None,
            bsrange: None,
            bssplit: None,
            random_distribution: None,
            norandommap: false,
            iodepth: 1,
            numjobs: 1,
            offset: Bytes(0),
            size: None,
            runtime: None,
            io_size: None,
            ramp_time: Timing::default(),
            rate_iops: None,
            rate: None,
            rate_process: None,
            thinktime: None,
            thinktime_blocks: None,
            max_latency: None,
            direct: false,
            fsync: 0,
            fdatasync: 0,
            sync_file_range: None,
            sync: SyncMode::None,
            flags: Vec::new(),
            engine: IoEngine::Auto,
            buffer_compress_percentage: None,
            buffer_compress_chunk: None,
            dedupe_percentage: 0,
            verify: Verification::None,
        }
    }

    /// The sizes of its blocks.
    pub fn block_sizes(&self) -> BlockSizes {
        match (&self.bssplit, self.bsrange) {
            (Some(split), _) => BlockSizes::Split(split.clone()),
            (None, Some(range)) => BlockSizes::Range(range),
            (None, None) => BlockSizes::Fixed(self.bs.unwrap_or(DEFAULT_BLOCK)),
        }
    }

    /// The size that its file needs: up to the end of the part that is used.
    pub fn file_size(&self) -> Option<Bytes> {
        self.size.map(|size| Bytes(self.offset.0.saturating_add(size.0)))
    }

    /// Whether requests arrive by a clock, whatever becomes of those before them.
    pub fn is_open_loop(&self) -> bool {
        self.rate_iops.is_some() || self.rate.is_some()
    }

    /// Whether blocks are checked.
    pub fn verifies(&self) -> bool {
        self.verify != Verification::None
    }

    /// Where its random requests lie, if some places are likelier than others.
    pub fn skew(&self) -> Option<&RandomDistribution> {
        self.random_distribution.as_ref().filter(|distribution| distribution.is_skewed())
    }

    /// Whether it asks for durability itself, so that flushes are part of what is measured.
    pub fn syncs(&self) -> bool {
        let durable = self.sync != SyncMode::None || self.flags.iter().any(|flag| flag.is_durable());
        self.rw.writes() && (self.fsync > 0 || self.fdatasync > 0 || durable)
    }

    /// Whether all that it reads and writes must reach the device while it runs, so that the bytes it claims can be
    /// held against those served. Reads through the page cache need not, and neither do writes between two syncs
    /// that may hit a block twice.
    pub fn must_reach_device(&self) -> bool {
        let every_write = self.fsync <= 1 && self.fdatasync <= 1;
        let once_each = !self.norandommap && self.skew().is_none();
        self.direct || (self.syncs() && !self.rw.reads() && (every_write || once_each))
    }
    /// How long it works, at the least and at the most.
    fn takes(&self) -> Option<[Duration; 2]> {
        let Span(runtime) = self.asked_runtime()?;
        Some(if self.is_runtime_auto() {
            // The longest that may be found, behind the longest warm-up that pilots of that length show.
            [SHORTEST_FOUND.0, runtime + FIRST_PILOT / 2]
        } else if self.ramp_time.is_auto() {
            // A cut lies before half of a pilot, which is as long as two measured times.
            [runtime, runtime * 2]
        } else {
            [runtime + self.ramp_time.span().0; 2]
        })
    }

    fn data(&self) -> Option<DataKind> {
        match (self.buffer_compress_percentage.unwrap_or(0), self.dedupe_percentage) {
            (0, 0) => Some(DataKind::Random),
            (100.., _) => Some(DataKind::Zeros),
            (zeros, _) if zeros >= MOSTLY_PERCENT => Some(DataKind::Compressible),
            (_, repeated) if repeated >= MOSTLY_PERCENT => Some(DataKind::Repeated),
            // As compressible as was asked for, which is none of these.
            _ => None,
        }
    }
}

pub(super) const KIND: WorkloadKind = WorkloadKind::new("io", IO_METRICS);

impl Profiled for IoWorkload {
    fn profile(&self) -> Profile {
        let laid_out = |size| Preparation {
            words: format!("lay out a file of {size} with random data, sync it, drop it from the cache"),
            bytes: size,
        };
        Profile {
            direct: Some(self.direct),
            syncs: Some(self.syncs()),
            flushed: self.rw.writes().then(|| self.syncs()),
            reads: self.rw.reads(),
            writes: self.rw.writes(),
            must_reach_device: Some(self.must_reach_device()),
            data: self.data(),
            working_set: self.size.map_or(WorkingSet::Device, WorkingSet::Bytes),
            demand: demand::demand(self),
            ends: if self.runtime.is_some() { Ends::ByTime } else { Ends::ByWork },
            takes: self.takes(),
            ramp: Some(self.ramp_time),
            runs_here: true,
            needs_directory: false,
            room: self.file_size(),
            preparation: self.file_size().map(laid_out),
            ..Profile::of_program(words::summary(self), None)
        }
    }

    fn check(&self, configuration: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, configuration, findings);
    }

    fn rehearse(&mut self, rehearsal: Rehearsal) {
        const SHORTEST_RUNTIME: Span = Span(Duration::from_secs(1));
        const SHORTEST_RAMP: Span = Span(Duration::from_millis(200));
        // A part of the file for each thread, in whole blocks, as the engine takes them.
        let block = self.block_sizes().largest().0.max(1);
        let held = block.saturating_mul(u64::from(self.iodepth.max(self.numjobs)));
        let least = Rehearsal::file_of(block).max(Bytes(held));
        self.size = self.size.map(|size| size.min(least));
        if !rehearsal.bare {
            self.offset = self.offset.min(Rehearsal::FILE);
        }
        self.io_size = self.io_size.map(|size| size.min(least));
        self.runtime = self.asked_runtime().map(|runtime| Timing::Fixed(runtime.min(SHORTEST_RUNTIME)));
        if let Timing::Fixed(ramp) = self.ramp_time {
            self.ramp_time = Timing::Fixed(ramp.min(SHORTEST_RAMP));
        }
    }
}

/// What fio reads and writes where nothing else is said.
const DEFAULT_BLOCK: Bytes = Bytes(4096);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_unverified(verification: &Verification) -> bool {
    *verification == Verification::None
}

/// What the `io` workload yields.
pub const IO_METRICS: &[Metric] = &[
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("iops", Unit::PerSecond, Direction::Higher, "operations per second"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_p50", Unit::Seconds, Direction::Lower, "median latency"),
    metric("latency_p90", Unit::Seconds, Direction::Lower, "p90 latency"),
    metric("latency_p99", Unit::Seconds, Direction::Lower, "p99 latency"),
    metric("latency_p99_9", Unit::Seconds, Direction::Lower, "p99.9 latency"),
    metric("latency_p99_99", Unit::Seconds, Direction::Lower, "p99.99 latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("service_mean", Unit::Seconds, Direction::Lower, "mean service time"),
    metric("service_p50", Unit::Seconds, Direction::Lower, "median service time"),
    metric("service_p99", Unit::Seconds, Direction::Lower, "p99 service time"),
    metric("service_p99_9", Unit::Seconds, Direction::Lower, "p99.9 service time"),
];
