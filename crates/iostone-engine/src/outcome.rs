//! What a job did: counts, latencies, a time series, processor time, and how it was done.

use std::time::Duration;

use iostone_model::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::fault::IoFault;
use crate::histogram::LatencyHistogram;
use crate::job::Stamp;

/// Length of a bucket of the time series.
pub const SERIES_INTERVAL: Duration = Duration::from_millis(100);

/// An engine that was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// `io_uring`.
    IoUring,
    /// pread(2) and pwrite(2).
    Sync,
}

/// The engine that was used, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The processor's time-stamp counter, calibrated against `CLOCK_MONOTONIC`.
    Tsc,
    /// `CLOCK_MONOTONIC`.
    Monotonic,
}

/// Blocks read or written within the measured window.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Transfers {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// From submission to reaping.
    pub latency: LatencyHistogram,
}

/// fsync and fdatasync calls within the measured window; never part of the I/O rate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Syncs {
    /// Calls completed.
    pub count: u64,
    /// Latency of each.
    pub latency: LatencyHistogram,
    /// With a sync after every write: from a write's submission to the completion of its sync, which is what a
    /// program that must not lose data waits for. Empty otherwise.
    pub durable_write: LatencyHistogram,
}

/// What was completed in each 100 ms of the window; the last entry may cover less (see `Outcome::elapsed`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Series {
    /// I/Os completed.
    pub ios: Vec<u64>,
    /// Bytes transferred.
    pub bytes: Vec<u64>,
}

/// Processor time used within the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// Who used processor time. What the process used beyond its submitters went into the kernel's I/O workers
/// (and whatever else the process did meanwhile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// The whole process, with the kernel's I/O workers: getrusage(2), `RUSAGE_SELF`.
    pub process: CpuTime,
    /// The threads that submit: `RUSAGE_THREAD`, summed.
    pub submitters: CpuTime,
}

/// What was done to a file before the I/O began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The engine that was used, why, and with which features.
    pub engine: EngineReport,
    /// Flags of the open target as fcntl(2) `F_GETFL` gave them back: `O_DIRECT`, `O_DSYNC`, `O_SYNC`.
    pub open_flags: Vec<String>,
    /// Threads that submitted.
    pub threads: u32,
    /// Bytes per I/O.
    pub bs: Bytes,
    /// The seed that was used.
    pub seed: u64,
    /// Length of the measured window: as asked for when time ended it, else until the last thing counted.
    pub elapsed: Span,
    /// Blocks read.
    pub reads: Transfers,
    /// Blocks written.
    pub writes: Transfers,
    /// Syncs.
    pub syncs: Syncs,
    /// What was completed in each 100 ms.
    pub series: Series,
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
    /// What ended it, if an I/O failed.
    pub error: Option<IoFault>,
    /// How the target was prepared.
    pub layout: Layout,
}

impl Outcome {
    /// I/Os counted, reads and writes; syncs are not among them.
    pub fn ios(&self) -> u64 {
        self.reads.ios + self.writes.ios
    }

    /// Bytes transferred, reads and writes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.reads.bytes.0 + self.writes.bytes.0)
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

    /// The latencies of the job's reads or writes, whichever it did.
    pub fn latency(&self) -> &LatencyHistogram {
        if self.writes.latency.is_empty() { &self.reads.latency } else { &self.writes.latency }
    }

    /// The latency that a share `q` (0 to 1) of the job's reads or writes does not exceed, at most 0.4 % off.
    /// None when none completed.
    pub fn percentile(&self, q: f64) -> Option<Span> {
        self.latency().percentile_ns(q).map(|ns| Span(Duration::from_nanos(ns)))
    }

    /// Whether the kernel handed reads or writes to its worker threads instead of starting them itself (it does
    /// on zram, on tmpfs, for buffered writes on ext4). A ring gains little there, and the workers' processor time
    /// is in `cpu.process` only. A sync always goes to a worker, so one worker per thread proves nothing in a job
    /// with syncs.
    pub fn punted(&self) -> bool {
        self.io_workers > if self.syncs.count > 0 { self.threads } else { 0 }
    }
}
