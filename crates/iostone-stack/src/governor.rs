//! The governor: an emulated CPU allowance, as an inner control group whose quota a process of ours moves by the law.
//!
//! The kernel knows fixed quotas only, so somebody has to look at what the group used and to set the quota to what the law
//! then gives. That somebody is a process of its own, `iostone governor`, outside of the group: it is never throttled
//! itself, and when whoever started it is killed, its standard input ends and it lets go of the quota.

mod active_law;
mod layer;
mod priority;
mod process;
mod quota;
mod series;
mod serve;

use std::path::PathBuf;

use iostone_model::experiment::Governor;
use iostone_model::trial::GovernorRecord;
use serde::{Deserialize, Serialize};

use crate::control_groups::CgroupVersion;

pub(crate) use layer::{GovernorLayer, examine, plan_step};
pub(crate) use process::GovernorProcess;
pub use serve::{ServeError, serve};

/// What the governor's process is told, as one line of JSON on its standard input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GovernorPlan {
    /// The interface of the two groups.
    pub version: CgroupVersion,
    /// The group whose quota is moved.
    pub governed: PathBuf,
    /// The group that counts the CPU time: `cpuacct.usage` with version 1, `cpu.stat` with version 2.
    pub usage: PathBuf,
    /// The law, its figures and the speed.
    pub governor: Governor,
}

/// What the governor's process says, each as one line of JSON on its standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// The quota stands as the law begins; waiting for [`BEGIN`].
    Ready,
    /// The law runs from now on.
    Begun,
    /// The law has ended; what it gave.
    Record(Box<GovernorRecord>),
    /// It cannot govern, and why: the group is gone, the kernel refuses the quota.
    Failed(String),
}

/// The command that starts the law.
pub(crate) const BEGIN: &str = "begin\n";
/// The command that ends the law and asks for the record. After it stands when that was, in nanoseconds of the monotonic
/// clock: a governor that was held up is not to count the time until it heard of it.
pub(crate) const END: &str = "end";

#[cfg(test)]
mod tests;
