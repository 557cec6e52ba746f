//! What an experiment measures: the workload and its shape, in fio's terms.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Ramp;
use crate::metric::{COMMAND_METRICS, IO_METRICS, Metric};
use crate::units::{Bytes, Span};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Workload {
    /// iostone's own load engine.
    Io(IoWorkload),
    /// Any program, run without a shell.
    Command(CommandWorkload),
}

impl Workload {
    /// The word used in the experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Io(_) => "io",
            Self::Command(_) => "command",
        }
    }

    /// The figures it yields.
    pub fn metrics(&self) -> &'static [Metric] {
        match self {
            Self::Io(_) => IO_METRICS,
            Self::Command(_) => COMMAND_METRICS,
        }
    }

    /// Whether it asks for durability itself, so that flushes are part of what is measured.
    pub fn syncs(&self) -> bool {
        match self {
            Self::Io(io) => io.fsync > 0 || io.fdatasync > 0 || io.sync != SyncMode::None,
            Self::Command(_) => false,
        }
    }
}

/// The load engine's shape. Names are fio's where fio has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoWorkload {
    /// read, write, randread or randwrite.
    pub rw: ReadWrite,
    /// Block size of each request.
    #[serde(default = "default_block_size")]
    pub bs: Bytes,
    /// Requests in flight.
    #[serde(default = "one")]
    pub iodepth: u32,
    /// Threads, each with its own offsets and depth.
    #[serde(default = "one")]
    pub numjobs: u32,
    /// Size of the file that is read or written; it is laid out with incompressible data beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// How long figures are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Span>,
    /// How much is read or written at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_size: Option<Bytes>,
    /// Load before figures are taken; `auto` lets a pilot of each configuration find how much is needed.
    #[serde(default)]
    pub ramp_time: Ramp,
    /// Past the page cache (`O_DIRECT`).
    #[serde(default)]
    pub direct: bool,
    /// fsync(2) after every so many writes; 0 for never.
    #[serde(default)]
    pub fsync: u32,
    /// fdatasync(2) after every so many writes; 0 for never.
    #[serde(default)]
    pub fdatasync: u32,
    /// Open with `O_DSYNC` or `O_SYNC`.
    #[serde(default)]
    pub sync: SyncMode,
    /// Which way requests reach the kernel.
    #[serde(default)]
    pub engine: IoEngine,
}

/// The direction and order of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReadWrite {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    Randread,
    /// Random writes.
    Randwrite,
}

impl ReadWrite {
    /// Whether it writes.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Randwrite)
    }

    /// fio's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Randread => "randread",
            Self::Randwrite => "randwrite",
        }
    }
}

/// Synchronous open flags, open(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncMode {
    /// Neither.
    #[default]
    None,
    /// `O_DSYNC`: each write returns when its data is durable.
    Dsync,
    /// `O_SYNC`: data and all metadata.
    Sync,
}

/// Which way requests reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum IoEngine {
    /// io_uring where the kernel lets us, else synchronous calls; which it was is recorded.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// io_uring or an error.
    #[serde(rename = "io_uring")]
    IoUring,
    /// pread(2) and pwrite(2).
    #[serde(rename = "sync")]
    Sync,
}

/// A program to be timed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandWorkload {
    /// The program and its arguments; never a shell's line. It starts in the mounted filesystem or the directory.
    pub argv: Vec<String>,
    /// Further environment variables. `IOSTONE_TRIAL`, `IOSTONE_CONFIGURATION` and `IOSTONE_MOUNT` are always set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// A trial that takes longer is ended and counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
}

fn default_block_size() -> Bytes {
    Bytes(4096)
}

fn one() -> u32 {
    1
}
