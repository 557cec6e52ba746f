//! The emulated disk: an NBD server with a cloud volume's limits, bursts and latencies, a volatile cache, faults, and a
//! switch for its power.
//!
//! [`serve`] carries out a [`DiskPlan`] until it is told to end; [`Client`] speaks NBD to it, [`Control`] steers it.

mod plan;

pub use plan::{DiskPlan, Store, VolumePlan};
