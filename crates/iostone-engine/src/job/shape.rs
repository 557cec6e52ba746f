//! The shape of a load: the order of blocks, and how several targets share the I/O.

use iostone_model::load::{PerDirection, RandomDistribution};
use iostone_model::units::Bytes;
use serde::Serialize;

use super::form::DistributionForm;

/// The order in which blocks are visited, beyond what `rw` says.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    #[serde(serialize_with = "DistributionForm::serialize")]
    pub distribution: RandomDistribution,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
            distribution: RandomDistribution::Random,
            revisits: false,
            align: None,
            strides: None,
            start: Bytes(0),
        }
    }
}

/// I/O within `range` bytes until `io` bytes of it are done, then on to the next range, `skip` bytes after its end
/// (fio's `zonemode=strided`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Strides {
    /// Length of a range; fio's `zonerange`.
    pub range: Bytes,
    /// I/O in a range before the next one; fio's `zonesize`.
    pub io: Bytes,
    /// Between ranges; fio's `zoneskip`.
    pub skip: Bytes,
}

/// How a job's targets take turns; fio's `file_service_type`.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceOrder {
    /// Each in turn.
    RoundRobin,
    /// The next when this one is done.
    Sequential,
    /// Drawn.
    Random(#[serde(serialize_with = "DistributionForm::serialize")] RandomDistribution),
}
