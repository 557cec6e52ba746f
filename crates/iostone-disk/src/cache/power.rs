//! The power of a volume with a cache: who may cut it, and what is told afterwards.

use std::io;

use iostone_model::units::Fraction;
use serde::{Deserialize, Serialize};

/// The power of a volume with a cache, for whoever steers it.
pub trait PowerSwitch {
    /// Cuts the power: of the blocks that were not flushed a random share, rounded to whole blocks, still reaches the
    /// medium, the others are lost. From then on everything fails with `EIO`. With the power off nothing happens.
    fn power_cut(&mut self, keep: Fraction) -> io::Result<PowerCut>;
    /// Power again; the cache is empty.
    fn restore(&mut self);
    /// What the cache has done.
    fn cache_counters(&self) -> CacheCounters;
}

/// What became of the blocks that were not flushed when the power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PowerCut {
    /// Blocks of 4 KiB that reached the medium.
    pub kept_blocks: u64,
    /// Blocks of 4 KiB that are lost.
    pub lost_blocks: u64,
}

/// What a cache has done since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CacheCounters {
    /// Blocks that it can hold.
    pub capacity_blocks: u64,
    /// Blocks in it that the medium does not have yet.
    pub dirty_blocks: u64,
    /// Blocks that went to the medium because it was full.
    pub evicted_blocks: u64,
    /// Blocks that went to the medium by and by.
    pub destaged_blocks: u64,
    /// Blocks that went to the medium by a flush, or a write with FUA.
    pub flushed_blocks: u64,
    /// Blocks lost in power cuts.
    pub lost_blocks: u64,
}
