//! ORION's options with their defaults, as its manual and its `-help` give them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

/// `-run`: which loads are put on the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunLevel {
    /// Small random I/O at several loads, then large random I/O at several loads.
    Simple,
    /// All combinations of the two.
    Normal,
    /// What the other options say.
    Advanced,
    /// Small random I/O at loads up to 20 per disk: the most IOPS.
    Oltp,
    /// Large random I/O at growing loads: the most MBPS.
    Dss,
}

/// `-type`: what the large I/O is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LargeIo {
    /// At random places.
    #[default]
    Rand,
    /// Sequential streams.
    Seq,
}

/// `-simulate`: how the LUNs make one volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SimulatedArray {
    /// One behind the other.
    #[default]
    Concat,
    /// Striped over, `-stripe` at a time.
    Raid0,
}

/// `-matrix`: which part of the matrix is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Matrix {
    /// The first row and the first column: small and large loads each alone.
    #[default]
    Basic,
    /// All of it.
    Detailed,
    /// The one point (`-num_small`, `-num_large`).
    Point,
    /// Small loads beside the large load `-num_large`.
    Row,
    /// Large loads beside the small load `-num_small`.
    Col,
    /// All of it, up to `-num_small` and `-num_large`.
    Max,
}

/// One test as it was asked for, with ORION's defaults for what was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrionTest {
    /// `-run`.
    pub run: RunLevel,
    /// `-testname`: `NAME.lun` lists the LUNs, and the files written begin with it. May hold a path.
    pub test_name: String,
    /// `-num_disks`: scales the range of loads; the number of LUNs when left out.
    pub num_disks: Option<u32>,
    /// `-size_small`, which ORION counts in KiB.
    pub size_small: Bytes,
    /// `-size_large`, likewise.
    pub size_large: Bytes,
    /// `-type`.
    pub large_io: LargeIo,
    /// `-num_streamIO`: I/Os in flight per sequential stream.
    pub num_stream_io: u32,
    /// `-simulate`.
    pub simulate: SimulatedArray,
    /// `-stripe`, in KiB: what lies on one LUN before the next one's turn.
    pub stripe: Bytes,
    /// `-write`: the percentage of I/Os that write; of streams, where the large I/O is sequential.
    pub write_percent: u32,
    /// `-cache_size`, in MiB: how much is moved unmeasured before each large sequential point. Zero for none; two minutes
    /// of it when left out.
    pub cache_size: Option<Bytes>,
    /// `-duration`, in seconds: how long each point is measured.
    pub duration: Span,
    /// `-matrix`.
    pub matrix: Matrix,
    /// `-num_small`: outstanding small I/Os, with the matrices `point`, `col` and `max`.
    pub num_small: Option<u32>,
    /// `-num_large`: outstanding large I/Os or streams, with the matrices `point`, `row` and `max`.
    pub num_large: Option<u32>,
    /// `-verbose`: a line for each point as it begins.
    pub verbose: bool,
}

impl OrionTest {
    /// A test of that level with ORION's defaults.
    pub fn new(run: RunLevel) -> Self {
        Self {
            run,
            test_name: "orion".to_owned(),
            num_disks: None,
            size_small: Bytes(8 << 10),
            size_large: Bytes(1 << 20),
            large_io: LargeIo::Rand,
            num_stream_io: 4,
            simulate: SimulatedArray::Concat,
            stripe: Bytes(1 << 20),
            write_percent: 0,
            cache_size: None,
            duration: Span(std::time::Duration::from_secs(60)),
            matrix: Matrix::Basic,
            num_small: None,
            num_large: None,
            verbose: false,
        }
    }

    /// Whether any of its I/O writes.
    pub fn writes(&self) -> bool {
        self.write_percent > 0
    }

    /// How many of `streams` sequential streams only write: the share `-write`, rounded half up. A stream writes or reads as
    /// a whole, so that of few streams none may write, or more than were asked.
    pub fn writing_streams(&self, streams: u32) -> u32 {
        u32::try_from((u64::from(streams) * u64::from(self.write_percent) + 50) / 100).unwrap_or(streams)
    }
}

impl RunLevel {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Normal => "normal",
            Self::Advanced => "advanced",
            Self::Oltp => "oltp",
            Self::Dss => "dss",
        }
    }
}

impl LargeIo {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rand => "rand",
            Self::Seq => "seq",
        }
    }
}

impl SimulatedArray {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Concat => "concat",
            Self::Raid0 => "raid0",
        }
    }
}

impl Matrix {
    /// The word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Detailed => "detailed",
            Self::Point => "point",
            Self::Row => "row",
            Self::Col => "col",
            Self::Max => "max",
        }
    }
}

/// What the data files of a test hold, and what it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileData {
    /// Data that does not compress and does not repeat.
    #[default]
    Random,
    /// Zeros that were written, as from `dd if=/dev/zero`: storage that compresses or deduplicates keeps next to nothing of
    /// them.
    Zeros,
}

impl FileData {
    /// Whether it is what a test has that says nothing about it.
    pub fn is_random(&self) -> bool {
        *self == Self::Random
    }
}
