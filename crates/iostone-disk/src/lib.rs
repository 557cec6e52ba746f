//! The emulated disk: an NBD server with a cloud volume's limits, bursts and latencies, a volatile cache, faults, and a
//! switch for its power.
//!
//! [`serve`] carries out a [`DiskPlan`] until it is told to end; [`Client`] speaks NBD to it, [`Control`] steers it.

mod accounting;
mod bucket;
mod cache;
mod client;
mod control;
mod counters;
mod device;
mod error;
mod fault;
#[doc(hidden)]
pub mod fuzzing;
mod latency;
mod model;
mod plan;
mod protocol;
mod server;
mod store;

pub use cache::{BLOCK_BYTES, CacheCounters, Medium, PowerCut, PowerSwitch, VolatileCache};
pub use client::{Answer, Client};
pub use control::{
    Control, ControlError, ControlReply, ControlRequest, CutReport, LONGEST_REQUEST_BYTES, ServerReport,
    Setting, SettingError, SteeredVolume, Steering, VolumeReport, handle,
};
pub use counters::{Counters, OperationCounters, StoreFailures};
pub use error::DiskError;
pub use model::{Admission, EIO, LinkCounters, LinkState, Operation, VolumeState};
pub use plan::{DiskPlan, Store, VolumePlan};
pub use protocol::{Command, LARGEST_PAYLOAD_BYTES, Request};
pub use server::{Server, serve};
