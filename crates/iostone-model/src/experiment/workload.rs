//! What an experiment measures: the workload and its shape, in fio's terms.

mod bonnie;
mod claims;
mod command;
mod copy_up;
mod dbench;
mod dd;
mod fio;
mod ioping;
mod orion;
mod pace;
mod sysbench;
mod verification;

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timing;
use crate::metric::{
    BONNIE_DIRECT_METRICS, BONNIE_METRICS, COMMAND_METRICS, COMMON_METRICS, COPY_UP_METRICS, DBENCH_METRICS,
    DD_METRICS, Direction, FIO_METRICS, IO_METRICS, IOPING_METRICS, Metric, SYSBENCH_METRICS, Unit,
};
use crate::omitted::is_default;
use crate::orion::LoadPoint;
use crate::units::{ByteRate, Bytes, Span};

pub use crate::load::{
    BlockRange, BlockSizes, BlockSplit, IoEngine, RandomDistribution, RateProcess, RequestFlag, Rw,
    SyncFileRange, SyncMode,
};
pub use bonnie::BonnieWorkload;
pub use command::{CommandWorkload, OutputStream, PickedMetric};
pub use copy_up::{CopyUpWorkload, LARGE_FILE, LowerFiles, small_file};
pub use dbench::DbenchWorkload;
pub use dd::{DdDirection, DdWorkload};
pub use fio::FioWorkload;
pub use ioping::IopingWorkload;
pub use orion::{MOST_POINTS, OrionWorkload, Precision, point_metric};
pub use pace::Rates;
pub use sysbench::{SysbenchTest, SysbenchWorkload};
pub use verification::Verification;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// iostone's own load engine.
    Io(Box<IoWorkload>),
    /// Any program, run without a shell.
    Command(CommandWorkload),
    /// dbench: the file operations of an office server, replayed.
    Dbench(DbenchWorkload),
    /// bonnie++: sequential access, seeks, and many small files.
    Bonnie(BonnieWorkload),
    /// The installed fio, with a job file of its own.
    Fio(FioWorkload),
    /// dd: one stream of blocks.
    Dd(DdWorkload),
    /// sysbench: its fileio and cpu tests.
    Sysbench(SysbenchWorkload),
    /// ioping: the latency of single requests.
    Ioping(IopingWorkload),
    /// Oracle ORION's test on iostone's own engine: a matrix of loads.
    Orion(Box<OrionWorkload>),
    /// What touching files for the first time costs that a container's image brings: opening, creating, copying up.
    #[serde(rename = "copy-up")]
    CopyUp(CopyUpWorkload),
}

/// A figure that a workload yields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredMetric<'a> {
    /// The name used in `decide.metric` and as key of a trial's metrics.
    pub name: Cow<'a, str>,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
}

impl DeclaredMetric<'_> {
    /// A figure as its table defines it.
    pub(crate) fn of(metric: &'static Metric) -> Self {
        Self { name: Cow::Borrowed(metric.name), unit: metric.unit, direction: metric.direction }
    }
}

/// A figure of a curve: one load point's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurvePoint {
    /// The key of a trial's metrics: `iops@4,0`.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// Where in the matrix it lies.
    pub point: LoadPoint,
}

impl Workload {
    /// The points that a metric is made of, where it is a whole curve; they are compared one by one.
    pub fn curve(&self, metric: &str) -> Option<Vec<CurvePoint>> {
        match self {
            Self::Orion(orion) => orion.curve(metric),
            _ => None,
        }
    }

    /// Files that must lie in the lowest layer of a container, or in the workload's directory without one, before it begins.
    pub fn lower_files(&self) -> Option<LowerFiles> {
        match self {
            Self::CopyUp(touches) => Some(touches.lower_files()),
            _ => None,
        }
    }

    /// The word used in the experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::Command(_) => "command",
            Self::Dbench(_) => "dbench",
            Self::Bonnie(_) => "bonnie",
            Self::Fio(_) => "fio",
            Self::Dd(_) => "dd",
            Self::Sysbench(_) => "sysbench",
            Self::Ioping(_) => "ioping",
            Self::Orion(_) => "orion",
            Self::CopyUp(_) => "copy-up",
        }
    }

    /// The figures it yields, and those that every workload has beside its own.
    pub fn metrics(&self) -> Vec<DeclaredMetric<'_>> {
        let mut metrics = self.own_metrics();
        // One that is wrong itself has no figures, of whatever kind.
        if !metrics.is_empty() {
            metrics.extend(COMMON_METRICS.iter().map(DeclaredMetric::of));
        }
        metrics
    }

    /// The figures that are its own.
    pub fn own_metrics(&self) -> Vec<DeclaredMetric<'_>> {
        let table: &'static [Metric] = match self {
            Self::Io(_) => IO_METRICS,
            Self::Command(_) => COMMAND_METRICS,
            Self::Dbench(_) => DBENCH_METRICS,
            Self::Bonnie(_) => BONNIE_METRICS,
            Self::Fio(_) => FIO_METRICS,
            Self::Dd(_) => DD_METRICS,
            Self::Sysbench(_) => SYSBENCH_METRICS,
            Self::Ioping(_) => IOPING_METRICS,
            Self::Orion(orion) => return orion.metrics(),
            Self::CopyUp(_) => COPY_UP_METRICS,
        };
        let own = table.iter().map(DeclaredMetric::of);
        let picked = match self {
            Self::Command(command) => Some(&command.metrics),
            _ => None,
        };
        let picked = picked.into_iter().flatten().map(|(name, picked)| DeclaredMetric {
            name: Cow::Borrowed(name),
            unit: picked.unit.kind,
            direction: picked.better,
        });
        let direct: &'static [Metric] = match self {
            Self::Bonnie(bonnie) if bonnie.direct_read.is_some() => BONNIE_DIRECT_METRICS,
            _ => &[],
        };
        own.chain(direct.iter().map(DeclaredMetric::of)).chain(picked).collect()
    }

    /// The figure of that name, if it yields one.
    pub fn metric(&self, name: &str) -> Option<DeclaredMetric<'_>> {
        if let Self::Orion(orion) = self
            && !COMMON_METRICS.iter().any(|common| common.name == name)
        {
            return orion.metric(name);
        }
        self.metrics().into_iter().find(|metric| metric.name == name)
    }

    /// The program that must be installed; none for iostone's own engine, and for what the file itself names.
    pub fn program(&self) -> Option<&'static str> {
        Some(match self {
            Self::Io(_) | Self::Command(_) | Self::Orion(_) | Self::CopyUp(_) => return None,
            Self::Dbench(_) => "dbench",
            Self::Bonnie(_) => "bonnie++",
            Self::Fio(_) => "fio",
            Self::Dd(_) => "dd",
            Self::Sysbench(_) => "sysbench",
            Self::Ioping(_) => "ioping",
        })
    }

    /// Whether it asks for durability itself, so that flushes are part of what is measured.
    pub fn syncs(&self) -> bool {
        match self {
            Self::Io(io) => io.syncs(),
            Self::Command(_) | Self::Fio(_) | Self::Orion(_) => false,
            // dbench's loadfile calls fsync(2), `Flush` in its own words, thousands of times a pass; bonnie++ syncs each
            // phase that writes.
            Self::Dbench(_) | Self::Bonnie(_) => true,
            Self::Dd(dd) => dd.syncs(),
            Self::Sysbench(sysbench) => sysbench.syncs(),
            Self::Ioping(ioping) => ioping.sync,
            Self::CopyUp(touches) => touches.sync,
        }
    }

    /// What it is asked to do, in a line for people: `dbench, 5 clients, 20 s`. The engine's load and programs are told
    /// by who shows them.
    pub fn summary(&self) -> Option<String> {
        match self {
            Self::Io(_) | Self::Command(_) => None,
            Self::Dbench(dbench) => Some(dbench.summary()),
            Self::Bonnie(bonnie) => Some(bonnie.summary()),
            Self::Fio(fio) => Some(fio.summary()),
            Self::Dd(dd) => Some(dd.summary()),
            Self::Sysbench(sysbench) => Some(sysbench.summary()),
            Self::Ioping(ioping) => Some(ioping.summary()),
            Self::Orion(orion) => Some(orion.summary()),
            Self::CopyUp(touches) => Some(touches.summary()),
        }
    }

    /// The room that its files take, where that can be told beforehand.
    pub fn room(&self) -> Option<Bytes> {
        match self {
            Self::Io(io) => io.file_size(),
            Self::Command(_) | Self::Fio(_) => None,
            Self::Dbench(dbench) => dbench.room(),
            Self::Bonnie(bonnie) => bonnie.room(),
            Self::Dd(dd) => Some(dd.size),
            Self::Sysbench(sysbench) => sysbench.room(),
            Self::Ioping(ioping) => Some(ioping.working_set.unwrap_or(Bytes(1 << 20))),
            Self::Orion(orion) => orion.room(),
            Self::CopyUp(touches) => Some(touches.room()),
        }
    }

    /// How long a foreign tool, or a matrix of loads, was told to work, where it was.
    pub fn asked_time(&self) -> Option<Duration> {
        let seconds = |seconds: u32| Some(Duration::from_secs(u64::from(seconds)));
        match self {
            Self::Io(_)
            | Self::Bonnie(_)
            | Self::Fio(_)
            | Self::Dd(_)
            | Self::Command(_)
            | Self::CopyUp(_) => None,
            Self::Dbench(dbench) => seconds(dbench.warm_up_seconds().saturating_add(dbench.seconds)),
            Self::Sysbench(sysbench) => seconds(sysbench.seconds),
            Self::Ioping(ioping) => ioping.asked_time(),
            Self::Orion(orion) => orion.asked_time(),
        }
    }

    /// Whether it works for a time and not for an amount of work, so that a slower machine makes it do less and not take
    /// longer. Of a job file in another place nobody knows here: it is taken to.
    pub fn is_timed(&self) -> bool {
        match self {
            Self::Io(io) => io.runtime.is_some(),
            Self::Fio(fio) => fio.job.as_deref().is_none_or(|job| job.contains("runtime")),
            Self::Command(_) | Self::Bonnie(_) | Self::Dd(_) | Self::CopyUp(_) => false,
            Self::Dbench(_) | Self::Sysbench(_) | Self::Ioping(_) | Self::Orion(_) => true,
        }
    }

    /// How long it may work at the most before it is ended; none where no such bound is given.
    pub fn timeout(&self) -> Option<Duration> {
        match self {
            Self::Command(command) => command.timeout.map(|timeout| timeout.0),
            Self::Fio(fio) => fio.timeout.map(|timeout| timeout.0),
            _ => None,
        }
    }
}

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

/// The longest that pilots may find trials to be best measured.
const LONGEST_FOUND: Span = Span(Duration::from_secs(60));

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
}

/// What fio reads and writes where nothing else is said.
const DEFAULT_BLOCK: Bytes = Bytes(4096);

fn one() -> u32 {
    1
}

/// A list of pieces of a summary, those that there are.
fn sentence(pieces: impl IntoIterator<Item = Option<String>>) -> String {
    pieces.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_unverified(verification: &Verification) -> bool {
    *verification == Verification::None
}
