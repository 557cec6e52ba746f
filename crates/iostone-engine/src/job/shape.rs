//! The shape of a load: block sizes, where blocks lie, and how several targets share the I/O.

use iostone_model::units::Bytes;
use serde::{Deserialize, Serialize};

use super::kinds::PerDirection;

/// The sizes of one direction's blocks; fio's `bs`, `bsrange`, `bssplit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BlockSize {
    /// Always the same.
    Fixed(Bytes),
    /// Drawn uniformly from the multiples of `min` up to `max`, both included.
    Range {
        /// The smallest.
        min: Bytes,
        /// The largest.
        max: Bytes,
    },
    /// Drawn by weight.
    Split(Vec<SizeShare>),
}

/// One size of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// The size.
    pub bs: Bytes,
    /// Its share of the I/Os; shares of a split add up to 100.
    pub percent: u32,
}

impl BlockSize {
    /// The smallest size that can be drawn.
    pub fn smallest(&self) -> Bytes {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { min, .. } => *min,
            Self::Split(shares) => shares.iter().map(|share| share.bs).min().unwrap_or(Bytes(0)),
        }
    }

    /// The largest size that can be drawn.
    pub fn largest(&self) -> Bytes {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { max, .. } => *max,
            Self::Split(shares) => shares.iter().map(|share| share.bs).max().unwrap_or(Bytes(0)),
        }
    }
}

/// The block sizes of a job.
pub type BlockSizes = PerDirection<BlockSize>;

impl From<Bytes> for BlockSizes {
    fn from(bytes: Bytes) -> Self {
        Self::all(BlockSize::Fixed(bytes))
    }
}

/// Where a random job's blocks lie; fio's `random_distribution`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Every block is as likely as every other.
    Uniform,
    /// Zipf's law: the block of rank k with probability proportional to `1 / k^theta`.
    Zipf {
        /// Above 0 and not 1.
        theta: f64,
        /// Where in the span (0 to 1) the likeliest block lies; scattered when not given.
        center: Option<f64>,
    },
    /// Self-similar: a share `1 - h` of the I/O goes to the first `h` of the blocks, and so on within them; 0.2 is the
    /// rule of 80 to 20
    /// (Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994).
    Pareto {
        /// From 0 to 1, not included.
        h: f64,
        /// As with `Zipf`.
        center: Option<f64>,
    },
    /// A normal distribution around the middle of the span.
    Normal {
        /// Standard deviation, in percent of the span.
        deviation_percent: f64,
        /// Where in the span (0 to 1) its mean lies; 0.5 when not given.
        center: Option<f64>,
    },
    /// Parts of the span, in order, each with a share of the I/O and uniform within; hot and cold data.
    Zoned(Vec<Zone>),
}

/// A part of the span and its share of the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Its share of the I/Os in percent.
    pub access_percent: f64,
    /// How much of the span it is.
    pub extent: Extent,
}

/// A length, as a share or absolute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// Percent of the span.
    Percent(f64),
    /// Bytes.
    Bytes(Bytes),
}

/// The order in which blocks are visited, beyond what `rw` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Walk {
    /// Random jobs draw a new place after this many I/Os, and go on sequentially in between; fio's `rw=randread:8`.
    pub run_length: u32,
    /// With `run_length`, the same place again and again instead of going on; fio's `rw_sequencer=identical`.
    pub repeat_place: bool,
    /// Sequential jobs skip this many bytes after every I/O, backwards when negative; fio's `rw=write:4k`.
    pub skip_bytes: i64,
    /// Share of a random job's I/O that is random, in percent; the rest goes on where the last I/O ended.
    pub percentage_random: PerDirection<u32>,
    /// Where random blocks lie.
    pub distribution: Distribution,
    /// Blocks are drawn without regard to which were visited (fio's `norandommap`); else each pass of a uniform
    /// walk visits every block once.
    pub revisits: bool,
    /// Random places are multiples of this; of the block size when not given (fio's `blockalign`).
    pub align: Option<Bytes>,
    /// Zones that sequential and random I/O stays in for a while.
    pub strides: Option<Strides>,
    /// Where in the span a sequential job begins, rounded down to a multiple of its smallest block; at its end it goes
    /// on at the span's start. For one thread, and one target or volume.
    pub start: Bytes,
}

/// Several targets as one volume, whose places are those that the job's offsets mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Volume {
    /// One behind the other; of each target only whole 4 KiB are used.
    Concat,
    /// Striped: `chunk` bytes on one target, then the next one's turn. As large as the whole chunks of the smallest
    /// target, times their number.
    Raid0 {
        /// What lies on one target at a stretch.
        chunk: Bytes,
    },
}

impl Default for Walk {
    fn default() -> Self {
        Self {
            run_length: 1,
            repeat_place: false,
            skip_bytes: 0,
            percentage_random: PerDirection::all(100),
            distribution: Distribution::Uniform,
            revisits: false,
            align: None,
            strides: None,
            start: Bytes(0),
        }
    }
}

/// I/O within `range` bytes until `io` bytes of it are done, then on to the next range, `skip` bytes after its end
/// (fio's `zonemode=strided`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strides {
    /// Length of a range; fio's `zonerange`.
    pub range: Bytes,
    /// I/O in a range before the next one; fio's `zonesize`.
    pub io: Bytes,
    /// Between ranges; fio's `zoneskip`.
    pub skip: Bytes,
}

/// How a job's targets take turns; fio's `file_service_type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Which target is next.
    pub order: ServiceOrder,
    /// After this many I/Os.
    pub every: u32,
}

impl Default for Service {
    fn default() -> Self {
        Self { order: ServiceOrder::RoundRobin, every: 1 }
    }
}

/// Which of a job's targets is next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceOrder {
    /// Each in turn.
    RoundRobin,
    /// The next when this one is done.
    Sequential,
    /// Drawn.
    Random(Distribution),
}
