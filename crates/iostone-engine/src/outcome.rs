//! What a job did: counts, latencies, a time series, processor time, and how it was done.

use std::time::Duration;

use iostone_model::load::PerDirection;
use iostone_model::units::{Bytes, Span};
use serde::Serialize;

use crate::fault::IoFault;
use crate::histogram::LatencyHistogram;
use crate::job::Stamp;
use crate::verify::VerifyReport;

/// Length of a bucket of the time series.
pub const SERIES_INTERVAL: Duration = Duration::from_millis(100);

/// An engine that was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// `io_uring`.
    IoUring,
    /// pread(2) and pwrite(2).
    Sync,
    /// A mapping, mmap(2).
    Mmap,
    /// Nothing at all.
    Null,
    /// `io_uring` with requests that do nothing.
    IoUringNop,
}

/// The engine that was used, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineReport {
    /// The engine.
    pub kind: EngineKind,
    /// Why this one.
    pub reason: String,
    /// What the kernel granted: ring setup flags by their names in `io_uring_setup(2)`, `registered-file`,
    /// `registered-buffers`, `registered-ring`.
    pub features: Vec<String>,
    /// What was tried and refused, with the reason; costs some of the rate.
    pub declined: Vec<String>,
}

/// The clock that stamped submissions and completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The processor's time-stamp counter, calibrated against `CLOCK_MONOTONIC`.
    Tsc,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
}

/// Blocks read, written or discarded within the measured window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Transfers {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// Service time: from submission to reaping.
    pub latency: LatencyHistogram,
    /// Response time: from the intended start to reaping, with the wait for room in the queue. Empty in a closed
    /// loop, which has no intended start. I/Os that were due within the window and completed after it count, and
    /// those never submitted with the time they had waited by its end.
    pub response: LatencyHistogram,
}

/// fsync and fdatasync calls within the measured window; never part of the I/O rate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Syncs {
    /// Calls completed.
    pub count: u64,
    /// Latency of each.
    pub latency: LatencyHistogram,
    /// With a sync after every write: from a write's submission to the completion of its sync, which is what a
    /// program that must not lose data waits for. Empty otherwise.
    pub durable_write: LatencyHistogram,
}

/// The latencies of an interval, in nanoseconds: response times in an open loop, else service times. Percentiles and
/// the maximum are at most 1.6 % off.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IntervalLatency {
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p99_9_ns: u64,
    /// Maximum.
    pub max_ns: u64,
}

/// What was completed in each 100 ms of the window; the last entry may cover less (see `Outcome::elapsed`).
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Series {
    /// I/Os completed.
    pub ios: Vec<u64>,
    /// Bytes transferred.
    pub bytes: Vec<u64>,
    /// Latencies; None where nothing completed.
    pub latency: Vec<Option<IntervalLatency>>,
}

/// Processor time used within the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CpuTime {
    /// In user mode.
    pub user: Span,
    /// In the kernel.
    pub system: Span,
}

impl CpuTime {
    /// User and system time together, in seconds.
    pub fn total_seconds(&self) -> f64 {
        (self.user.0 + self.system.0).as_secs_f64()
    }
}

/// What the threads that submit had to do with the scheduler and with memory, within the measured window; getrusage(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Scheduling {
    /// Voluntary context switches: waits.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

/// Whether a job's rate became steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Steadiness {
    /// Whether it did, which ended the job.
    pub attained: bool,
    /// What the rule looks at, as last seen: percent of the mean, or in its own unit.
    pub criterion: f64,
    /// Time from the opening of the window.
    pub after: Span,
}

/// Who used processor time. What the process used beyond its submitters went into the kernel's I/O workers
/// (and whatever else the process did meanwhile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CpuUse {
    /// The whole process, with the kernel's I/O workers: getrusage(2), `RUSAGE_SELF`.
    pub process: CpuTime,
    /// The threads that submit: `RUSAGE_THREAD`, summed.
    pub submitters: CpuTime,
}

/// What was done to a file before the I/O began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Layout {
    /// Whether the file was made.
    pub created: bool,
    /// Bytes of random data written into its missing end and its holes, and made durable.
    pub written: Bytes,
    /// How long that took, the final fsync included.
    pub took: Span,
    /// Whether holes remain, which reads get as zeros without touching the device (only with `layout` off).
    pub sparse: bool,
}

/// What a job did within its measured window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The engine that was used, why, and with which features.
    pub engine: EngineReport,
    /// Flags of the open target as fcntl(2) `F_GETFL` gave them back: `O_DIRECT`, `O_DSYNC`, `O_SYNC`.
    pub open_flags: Vec<String>,
    /// Threads that submitted.
    pub threads: u32,
    /// The seed that was used.
    pub seed: u64,
    /// Length of the measured window: as asked for when time ended it, else until the last thing counted.
    pub elapsed: Span,
    /// Blocks read.
    pub reads: Transfers,
    /// Blocks written.
    pub writes: Transfers,
    /// Blocks discarded.
    pub trims: Transfers,
    /// Syncs.
    pub syncs: Syncs,
    /// What was completed in each 100 ms, all directions together.
    pub series: Series,
    /// The same by direction; empty for directions that the job does not go in.
    pub series_of: PerDirection<Series>,
    /// Arrivals of an open loop that were due within the window and never submitted.
    pub unserved: u64,
    /// I/Os submitted at a depth of 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, 64 and more.
    pub depth_levels: [u64; 7],
    /// I/Os completed before the window opened, in no other figure.
    pub ramp_ios: u64,
    /// Processor time.
    pub cpu: CpuUse,
    /// Kernel I/O workers (`iou-wrk` threads) of the submitters alive at the end; see [`Outcome::punted`].
    pub io_workers: u32,
    /// How often the clock was read.
    pub stamp: Stamp,
    /// Which clock.
    pub clock: ClockKind,
    /// Whether the caller's stop flag ended it.
    pub interrupted: bool,
    /// The first failure, which ended the job unless it was to go on.
    pub error: Option<IoFault>,
    /// I/Os that failed.
    pub errors: u64,
    /// What verifying found, if blocks were verified.
    pub verify: Option<VerifyReport>,
    /// Whether the rate was found steady, if the job was to end then.
    pub steady: Option<Steadiness>,
    /// Context switches and page faults of the threads.
    pub scheduling: Scheduling,
    /// How the target was prepared.
    pub layout: Layout,
}

impl Outcome {
    /// I/Os counted: reads, writes and discards; syncs are not among them.
    pub fn ios(&self) -> u64 {
        self.reads.ios + self.writes.ios + self.trims.ios
    }

    /// Bytes read, written and discarded.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.reads.bytes.0 + self.writes.bytes.0 + self.trims.bytes.0)
    }

    /// I/Os per second over the measured window; 0 when the window never opened.
    pub fn iops(&self) -> f64 {
        self.per_second(self.ios())
    }

    /// Bytes per second over the measured window; 0 when the window never opened.
    pub fn throughput_bytes_per_second(&self) -> f64 {
        self.per_second(self.bytes().0)
    }

    fn per_second(&self, count: u64) -> f64 {
        let seconds = self.elapsed.0.as_secs_f64();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }

    /// The service times of all the job's I/Os.
    pub fn latency(&self) -> LatencyHistogram {
        self.merged(|transfers| &transfers.latency)
    }

    /// The response times of all the job's I/Os; empty in a closed loop.
    pub fn response(&self) -> LatencyHistogram {
        self.merged(|transfers| &transfers.response)
    }

    fn merged(&self, of: impl Fn(&Transfers) -> &LatencyHistogram) -> LatencyHistogram {
        let mut all = of(&self.reads).clone();
        all.merge(of(&self.writes));
        all.merge(of(&self.trims));
        all
    }

    /// Whether the job did what it was asked to: nothing failed, and everything that was verified matched.
    pub fn succeeded(&self) -> bool {
        self.error.is_none() && self.verify.as_ref().is_none_or(|verify| verify.mismatch_count == 0)
    }

    /// Whether the kernel handed reads or writes to its worker threads instead of starting them itself (it does
    /// on zram, on tmpfs, for buffered writes on ext4). A ring gains little there, and the workers' processor time
    /// is in `cpu.process` only. A sync always goes to a worker, so one worker per thread proves nothing in a job
    /// with syncs.
    pub fn punted(&self) -> bool {
        self.io_workers > if self.syncs.count > 0 { self.threads } else { 0 }
    }
}
