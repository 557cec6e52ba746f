//! What is sampled during a trial, and the snapshot of the machine beside it; read-only, and it never prints.
//!
//! [`Probe`] samples ten times a second what the machine does while a workload runs; [`watch_idle`] looks at the
//! devices before one starts; [`snapshot`] writes down what machine this is and [`describe`] says it in plain words.

pub mod environment;
mod error;
mod fields;
#[cfg(test)]
mod fixture;
#[doc(hidden)]
pub mod fuzzing;
pub mod glance;
pub mod hierarchy;
mod idle;
mod kernel_file;
pub mod nvme;
pub mod platform;
mod probe;
pub mod programs;
mod root;
mod signal;
mod steal;

pub use environment::describe::describe;
pub use environment::tools::{PrintedOn, ToolQuery, VersionLine, tool_versions};
pub use environment::{snapshot, snapshot_in, snapshot_of};
pub use error::ProbeError;
pub use idle::{IdleDevice, Idleness, watch_idle, watch_idle_in};
pub use probe::{DEFAULT_INTERVAL, DeviceEnd, DeviceRecord, Probe, ProbePlan, Recording, WatchedGroups};
pub use root::Root;
pub use signal::disk::{Role, WatchedDevice};
pub use steal::read_steal_sight;
