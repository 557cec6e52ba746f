//! The words of a load, in fio's terms: experiments are written in them, fio's job files are read into them, and the
//! load engine takes them as they are.

mod access;
mod blocks;
mod distribution;
mod durability;
mod request;

pub use access::{Direction, PerDirection, Rw};
pub use blocks::{BlockRange, BlockSizes, BlockSplit};
pub use distribution::{Extent, RandomDistribution, Zone};
pub use durability::{SyncFileRange, SyncMode};
pub use request::{IoEngine, RateProcess, RequestFlag};
