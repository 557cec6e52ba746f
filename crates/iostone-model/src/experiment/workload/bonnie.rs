//! What bonnie++ is asked to do.

mod check;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkingSet, WorkloadKind};
use super::{DeclaredMetric, Ends, one, parts};
use crate::dataset::DataKind;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::metric::{Direction, Metric, Unit, metric};
use crate::omitted::is_default;
use crate::units::Bytes;

/// bonnie++ 1.98 or 2.00: writing, rewriting, reading and seeking in one file, then many small files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BonnieWorkload {
    /// Size of the file, `-s`; twice the memory when left out, because the page cache would serve a smaller one. `0B`
    /// leaves the file part out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Size of each read and write, a power of two from 256 B to 1 MiB; 8 KiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Seeks in all; 8192 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeks: Option<u32>,
    /// Threads that seek; 5 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seekers: Option<u32>,
    /// Small files, in units of 1024, `-n`; 16 when left out, 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Largest of the small files; empty files when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_max: Option<Bytes>,
    /// Smallest of the small files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_min: Option<Bytes>,
    /// Directories that the small files are spread over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directories: Option<u32>,
    /// Memory that bonnie++ is told of, `-r`; the machine's when left out. A `size` below twice this is refused, as
    /// bonnie++ does; `0B` turns the check off, and the audit then says what that means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Repetitions within a trial, `-x`; the trial's figures are their medians.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub runs: u32,
    /// The user, or `user:group`, to run as, `-u`; the one that iostone runs as when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Leaves out reading and writing by the byte, `-f`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fast: bool,
    /// fsync(2) after creating and deleting each small file, and after the writes among the seeks, `-b`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_write_buffering: bool,
    /// `O_DIRECT` for the block writes, `-D`; needs `fast`. bonnie++ reads through the page cache all the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub direct: bool,
    /// The seed of its seeks and names, `-z`; the trial's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// After bonnie++ has ended, iostone lays out a file of this size and reads it once in order with `O_DIRECT`, 1 MiB
    /// at a time, 4 in flight: `direct_read_throughput` then shows what the volume gives beside what the page cache
    /// gives. Not done when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_read: Option<Bytes>,
}

/// Files in a unit of `files`.
const FILES_OF_A_UNIT: u64 = 1024;
/// Units of small files when nothing is said, as bonnie++ has it.
const DEFAULT_UNITS: u32 = 16;
/// The smallest file that bonnie++ takes for a machine of whatever memory.
const SMALLEST_DEFAULT_MIB: u64 = 300;

impl BonnieWorkload {
    /// The size of its file on a machine of that memory: the one that is asked for, or bonnie++'s own choice: twice the
    /// memory that it is told of, at least 300 MiB, rounded up to whole GiB where more than 512 MiB are over
    /// (bonnie++.cpp).
    pub fn file_size(&self, memory: Bytes) -> Bytes {
        if let Some(size) = self.size {
            return size;
        }
        let memory_mib = self.memory.filter(|memory| memory.0 > 0).unwrap_or(memory).0 >> 20;
        let mut size_mib = memory_mib.saturating_mul(2).max(SMALLEST_DEFAULT_MIB);
        if size_mib % 1024 > 512 {
            size_mib = size_mib.next_multiple_of(1024);
        }
        Bytes(size_mib << 20)
    }

    /// The room that the small files take at most, without what the filesystem needs for each.
    pub fn small_files_room(&self) -> Bytes {
        let count = u64::from(self.files.unwrap_or(DEFAULT_UNITS)).saturating_mul(FILES_OF_A_UNIT);
        Bytes(count.saturating_mul(self.file_max.unwrap_or_default().0))
    }

    fn summary(&self) -> Vec<String> {
        let size = match self.size {
            Some(Bytes(0)) => "no file".to_owned(),
            Some(size) => format!("a file of {size}"),
            None => match self.memory {
                Some(memory) => format!("a file of twice {memory}"),
                None => "a file of twice the memory".to_owned(),
            },
        };
        let files = match self.files {
            Some(0) => "no small files".to_owned(),
            files => {
                format!("{} small files", u64::from(files.unwrap_or(DEFAULT_UNITS)) * FILES_OF_A_UNIT)
            }
        };
        let set = |set: bool, word: &str| set.then(|| word.to_owned());
        parts([
            Some("bonnie++".to_owned()),
            Some(size),
            Some(files),
            self.chunk.map(|chunk| format!("chunks of {chunk}")),
            self.file_max.map(|largest| format!("up to {largest} each")),
            (self.runs > 1).then(|| format!("median of {}", self.runs)),
            set(self.fast, "not by the byte"),
            set(self.no_write_buffering, "fsync after every file"),
            set(self.direct, "O_DIRECT writes"),
            self.direct_read.map(|size| format!("then {size} read with O_DIRECT")),
        ])
    }
}

pub(super) const KIND: WorkloadKind = WorkloadKind {
    program: Some("bonnie++"),
    on_request: BONNIE_DIRECT_METRICS,
    ..WorkloadKind::new("bonnie", BONNIE_METRICS)
};

impl Profiled for BonnieWorkload {
    fn profile(&self) -> Profile {
        let memory = self.memory.filter(|memory| memory.0 > 0);
        Profile {
            // It reads through the page cache whatever is asked, and each phase that writes ends with fsync(2).
            direct: Some(false),
            syncs: Some(true),
            flushed: Some(true),
            // It increments one byte of each block of zeros.
            data: Some(DataKind::Zeros),
            working_set: match self.size {
                Some(Bytes(0)) => WorkingSet::Unknown,
                Some(size) => WorkingSet::Bytes(size),
                None => WorkingSet::TwiceMemory(memory),
            },
            demand: Err("it is several tests, of which each has a ceiling of its own"),
            ends: Ends::ByWork,
            ramp: Some(Timing::default()),
            runs_here: self.direct_read.is_some(),
            needs_memory: true,
            // The file is gone before the small ones are made.
            room: self
                .size
                .map(|size| size.max(self.small_files_room()).max(self.direct_read.unwrap_or_default())),
            ..Profile::of_program(self.summary(), KIND.program)
        }
    }

    fn check(&self, _: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, findings);
    }

    /// The file is small and memory is said to be smaller, so that bonnie++ does not refuse it; the page cache then
    /// serves its reads, and phases may be too fast to time.
    fn rehearse(&mut self, _: Rehearsal) {
        /// Long enough that a limit of a hundred MB/s can be told.
        const DIRECT_READ: Bytes = Bytes(128 << 20);
        if self.size != Some(Bytes(0)) {
            self.size = Some(self.size.unwrap_or(Rehearsal::FILE).min(Rehearsal::FILE));
            self.memory = Some(Bytes(0));
        }
        self.files = Some(self.files.unwrap_or(1).min(1));
        self.file_max = self.file_max.map(|size| size.min(Bytes(4096)));
        self.file_min = self.file_min.map(|size| size.min(Bytes(4096)));
        self.seeks = Some(self.seeks.unwrap_or(512).min(512));
        self.runs = 1;
        self.direct_read = self.direct_read.map(|size| size.min(DIRECT_READ));
    }

    fn settle_metrics<'a>(&'a self, metrics: &mut Vec<DeclaredMetric<'a>>) {
        if self.direct_read.is_some() {
            metrics.extend(BONNIE_DIRECT_METRICS.iter().map(DeclaredMetric::of));
        }
    }
}

/// The rates of all phases, then the CPU shares, then the longest single operations.
macro_rules! phases {
    ($($name:literal, $unit:ident, $title:literal;)+) => {
        &[
            $(metric($name, Unit::$unit, Direction::Higher, $title),)+
            $(metric(concat!($name, ".cpu"), Unit::Share, Direction::Lower, concat!("CPU share of ", $title)),)+
            $(metric(
                concat!($name, ".latency_max"),
                Unit::Seconds,
                Direction::Lower,
                concat!("maximum latency of ", $title),
            ),)+
        ]
    };
}

/// What bonnie++ yields: a rate, a share of one CPU and the longest single operation of each phase.
pub const BONNIE_METRICS: &[Metric] = phases! {
    "char_write", BytesPerSecond, "writing by the byte";
    "block_write", BytesPerSecond, "block writes";
    "rewrite", BytesPerSecond, "rewriting";
    "char_read", BytesPerSecond, "reading by the byte";
    "block_read", BytesPerSecond, "block reads";
    "random_seeks", PerSecond, "random seeks";
    "sequential_create", PerSecond, "files created in order";
    "sequential_stat", PerSecond, "files looked up in order";
    "sequential_delete", PerSecond, "files deleted in order";
    "random_create", PerSecond, "files created at random";
    "random_stat", PerSecond, "files looked up at random";
    "random_delete", PerSecond, "files deleted at random";
};

/// What follows bonnie++ where `direct_read` is asked for.
const BONNIE_DIRECT_METRICS: &[Metric] =
    &[metric("direct_read_throughput", Unit::BytesPerSecond, Direction::Higher, "reads past the page cache")];
