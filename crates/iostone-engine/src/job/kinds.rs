//! The kinds a job chooses from: direction and order, durability of writes, engine, clock, preparation of files.

use serde::{Deserialize, Serialize};

/// Direction and order of the I/O; fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Sequential discards.
    Trim,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Random discards.
    RandTrim,
    /// Sequential reads and writes, mixed by `rwmixread`.
    #[serde(rename = "rw", alias = "readwrite")]
    ReadWrite,
    /// Random reads and writes, mixed by `rwmixread`.
    RandRw,
    /// Each block is discarded, then written, in sequence.
    TrimWrite,
    /// Each block is discarded, then written, in random order.
    RandTrimWrite,
}

impl Rw {
    /// Whether some of the I/O reads.
    pub fn reads(self) -> bool {
        matches!(self, Self::Read | Self::RandRead | Self::ReadWrite | Self::RandRw)
    }

    /// Whether some of the I/O writes.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead | Self::Trim | Self::RandTrim)
    }

    /// Whether some of the I/O discards.
    pub fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::RandTrim | Self::TrimWrite | Self::RandTrimWrite)
    }

    /// Whether the job changes its target.
    pub fn changes_target(self) -> bool {
        self.writes() || self.trims()
    }

    /// Whether blocks are visited in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandTrim | Self::RandRw | Self::RandTrimWrite)
    }

    /// Whether reads and writes are drawn by a percentage.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::ReadWrite | Self::RandRw)
    }

    /// fio's word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
            Self::RandTrim => "randtrim",
            Self::ReadWrite => "rw",
            Self::RandRw => "randrw",
            Self::TrimWrite => "trimwrite",
            Self::RandTrimWrite => "randtrimwrite",
        }
    }
}

/// What one I/O does to its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Reads it.
    Read = 0,
    /// Writes it.
    Write = 1,
    /// Discards it: afterwards it holds no data.
    Trim = 2,
}

impl Direction {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];
}

/// One value for each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For discards.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// The value for one direction.
    pub fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl<T: Clone> PerDirection<T> {
    /// The same value for all directions.
    pub fn all(value: T) -> Self {
        Self { read: value.clone(), write: value.clone(), trim: value }
    }
}

/// Whether each write is durable before it completes; fio's `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteSync {
    /// Writes complete when the kernel has taken them.
    #[default]
    None,
    /// `O_DSYNC`: data, and the metadata needed to read it back, are durable; see open(2).
    Dsync,
    /// `O_SYNC`: all metadata as well; see open(2).
    Sync,
}

/// Which engine issues the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// Synchronous calls at depth 1, where a ring can only add cost; above that `io_uring`.
    #[default]
    Auto,
    /// `io_uring`, or an error that says why not.
    IoUring,
    /// pread(2), pwrite(2), fsync(2) and fdatasync(2); depth 1 only.
    Sync,
    /// Copies from and to a mapping of the target, mmap(2), with msync(2) for syncs; depth 1 only.
    Mmap,
    /// Every I/O completes at once and nothing is touched: the cost of the loop itself.
    Null,
    /// A ring that is sent `IORING_OP_NOP`: the cost of the loop and of the ring.
    IoUringNop,
}

/// What the kernel is told about the order of the I/O, `posix_fadvise(2)`; fio's `fadvise_hint`. Without advice, the
/// kernel reads ahead of buffered reads that only look sequential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Random or sequential, as the job is.
    #[default]
    ByOrder,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    Noreuse,
    /// Nothing.
    None,
}

/// How often the clock is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// Once per batch of completions reaped together; writes are stamped again before they are submitted.
    /// A completion is late by at most the time it takes to reap its batch.
    #[default]
    PerBatch,
    /// Once per batch submitted and once per completion. Costs several per cent of the rate.
    PerIo,
    /// No latency is recorded at all; only to measure what recording costs.
    None,
}

/// How a regular file that is missing, short or sparse is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preparation {
    /// Its missing end and holes are filled with data and made durable, so that reads come from the device and
    /// writes meet allocated blocks. Data that is there is never overwritten by it.
    #[default]
    Fill,
    /// Its blocks are allocated and its length set, fallocate(2); where the filesystem cannot, as `Extend`.
    Allocate,
    /// Its blocks are allocated beyond its length (`FALLOC_FL_KEEP_SIZE`); writes extend it.
    Reserve,
    /// Its length is set, ftruncate(2): a sparse file.
    Extend,
    /// It is made if it is missing, and otherwise left as it is; writes extend it.
    Leave,
}
