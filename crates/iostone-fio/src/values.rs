//! The types that option values are read into.

mod access;
mod blocks;
mod content;
mod distribution;
mod engine;
mod pace;
mod place_on_disk;

use iostone_model::units::Bytes;
use serde::Serialize;

pub use access::{Access, Rw, RwSequencer, SyncFileRange, SyncIo};
pub(crate) use access::{read_shape, read_sync_file_range};
pub(crate) use blocks::read_block_shares;
pub use blocks::{BlockChoice, BlockShare};
pub use content::{ContinueOn, Pattern, Verify};
pub(crate) use content::{VERIFY_CHOICES, read_pattern};
pub(crate) use distribution::read_distribution;
pub use distribution::{Distribution, Zone, ZoneSize};
pub(crate) use engine::find_engine;
#[cfg(test)]
pub(crate) use engine::is_engine;
pub use engine::{DEFAULT_ENGINE, Engine, ForeignEngine, foreign_engines};
pub use pace::{CpuPolicy, ExitWhat, LogWindow, RateProcess, SteadyLimit, SteadyMetric, SteadyState};
pub(crate) use pace::{read_cpu_mask, read_cpus, read_steady_state};
pub(crate) use place_on_disk::read_file_service;
pub use place_on_disk::{
    Fadvise, Fallocate, FileName, FileService, FilenameFormat, Portion, SizeRange, ZoneMode, split_names,
};

/// What `k` means in a size; fio's `kb_base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KbBase {
    /// `k` is 1024 and `kib` 1000: fio's default, which turns the standard round.
    #[default]
    Binary,
    /// `k` is 1000 and `kib` 1024, as IEC 80000-13 has it.
    Decimal,
}

/// One value each for reads, writes and trims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ByDirection<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

/// Which way data moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the target.
    Read,
    /// To the target.
    Write,
    /// Discarded on the target.
    Trim,
}

impl<T> ByDirection<T> {
    /// The value of one direction.
    pub fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// The values in the order reads, writes, trims.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.read, &self.write, &self.trim].into_iter()
    }
}

impl<T> ByDirection<Option<T>> {
    /// Whether any direction has a value.
    pub fn is_given(&self) -> bool {
        self.iter().any(Option::is_some)
    }

    /// Lays what was typed over what is there: `500k,` leaves writes and trims as they were.
    pub(crate) fn lay_over(&mut self, typed: [Option<T>; 3]) {
        let [read, write, trim] = typed;
        for (slot, value) in [(&mut self.read, read), (&mut self.write, write), (&mut self.trim, trim)] {
            if value.is_some() {
                *slot = value;
            }
        }
    }
}

/// A range of block sizes, its ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BlockRange {
    /// The smallest.
    pub least: Bytes,
    /// The largest.
    pub most: Bytes,
}
