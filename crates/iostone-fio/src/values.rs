//! The types that option values are read into.

mod access;
mod blocks;
mod content;
mod distribution;
mod engine;
mod pace;
mod place_on_disk;

pub use access::{Access, RwSequencer};
pub(crate) use access::{read_shape, read_sync_file_range};
pub(crate) use blocks::read_block_shares;
pub use content::{ContinueOn, Pattern, Verify};
pub(crate) use content::{VERIFY_CHOICES, read_pattern};
pub(crate) use distribution::read_distribution;
pub(crate) use engine::find_engine;
#[cfg(test)]
pub(crate) use engine::is_engine;
pub use engine::{DEFAULT_ENGINE, Engine, ForeignEngine, foreign_engines};
pub use pace::{CpuPolicy, ExitWhat, LogWindow, SteadyState};
pub(crate) use pace::{read_cpu_mask, read_cpus, read_steady_state};
pub(crate) use place_on_disk::read_file_service;
pub use place_on_disk::{FileName, FilenameFormat, Portion, SizeRange, ZoneMode, split_names};

/// What `k` means in a size; fio's `kb_base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KbBase {
    /// `k` is 1024 and `kib` 1000: fio's default, which turns the standard round.
    #[default]
    Binary,
    /// `k` is 1000 and `kib` 1024, as IEC 80000-13 has it.
    Decimal,
}
