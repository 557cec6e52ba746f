//! What is known of an observation beside its labels and figures; what is not known is absent.

use serde::{Deserialize, Serialize};

use crate::cloud::{CatalogueDate, VolumeSpec};

/// What is known of how an observation came about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// What was done, so that equal work can be told: the command line, the workload's name and size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// Bytes that the tool says it read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_read_bytes: Option<u64>,
    /// Bytes that the tool says it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_written_bytes: Option<u64>,
    /// Bytes that the device served to reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_read_bytes: Option<u64>,
    /// Bytes that the device took by writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_written_bytes: Option<u64>,
    /// The instance type that it ran on, by its name in the catalogue: `c4.large`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The volumes that it ran on: `gp2:220GiB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeSpec>,
    /// When it was measured, so that the limits of then hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<CatalogueDate>,
    /// Size of the files or the part of a device that was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_set_bytes: Option<u64>,
    /// Memory of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Room on the volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<u64>,
    /// Whether the page cache was bypassed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<bool>,
    /// Whether what was written had reached the device before the clock was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushed: Option<bool>,
    /// What drops every fsync before it reaches a device, in words: an overlay mounted `volatile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syncs_dropped_by: Option<String>,
    /// Calls of fsync(2) and fdatasync(2) in a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syncs_per_second: Option<f64>,
    /// What turned flushes off on purpose, in words: the mount option `barrier=0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes_off_by: Option<String>,
    /// What compressed the data above the device, in words: then served bytes say nothing of the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed_by: Option<String>,
    /// Flushes that the device completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_flushes: Option<u64>,
    /// Whether the device says that it has a volatile write cache, which keeps nothing without a flush.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volatile_cache: Option<bool>,
    /// Where the data came from, as a path or a name: `/dev/urandom`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How fast that source is by itself, bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_bytes_per_second: Option<f64>,
    /// What the data is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataKind>,
    /// Share of all CPU time that the hypervisor kept for others, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Share of periods in which a quota held the work up, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// A quota of CPU time, in CPUs: 0.3 for 30 % of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// CPUs of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// CPUs that the tool itself kept busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_used: Option<f64>,
    /// CPU time in user mode that the work took, seconds, as the machine accounted for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_user_seconds: Option<f64>,
    /// The same in the kernel; none where it is not to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_system_seconds: Option<f64>,
    /// The command line, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What makes it certain that the timed part used a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// That it is no single execution but an average of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averaged: Option<Averaged>,
    /// Figures that the tool would not give because the phase was too fast to time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_fast: Vec<String>,
    /// What the tool complained of, and what is doubtful in its own arithmetic, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What data is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataKind {
    /// All zeros, or nearly so: compressible, dedupable, sometimes never stored.
    Zeros,
    /// Holes or extents never written.
    Sparse,
    /// The same blocks over and over.
    Repeated,
    /// Zeros in part, by half or more: it compresses to that much less.
    Compressible,
    /// Incompressible.
    Random,
}

/// The error number of a full disk (errno(3), `ENOSPC`).
pub const NO_SPACE: i32 = 28;
/// What strerror(3) and every tool that repeats it call that.
pub const DISK_FULL: &str = "No space left on device";

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how", content = "why")]
pub enum Ending {
    /// It did what it was asked.
    Completed,
    /// The disk was full before the end.
    DiskFull,
    /// Somebody gave up waiting: its time is a lower bound. Why and when.
    GivenUp(String),
    /// The tool failed. What it said.
    Failed(String),
}

/// That a figure stands for several executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Averaged {
    /// Over how many, where that is known.
    pub executions: Option<u32>,
    /// By which rule.
    pub by: Aggregate,
    /// Whether their spread is known.
    pub spread_known: bool,
}

/// How several figures became one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// The arithmetic mean.
    Mean,
    /// The median.
    Median,
    /// The best of them.
    Best,
    /// Not known.
    Unknown,
}
