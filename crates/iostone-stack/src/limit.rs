//! The limit layer: control groups that hold a trial's workload to CPU time, memory, processors and device rates.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::throttle::CgroupVersion;

/// The control groups of a trial, as those need them who run the workload and watch it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialGroups {
    /// The interface that the `cpu` controller is in, or the one that the groups are in where it is not needed.
    pub version: CgroupVersion,
    /// The `cgroup.procs` of each hierarchy: a program of the workload writes `0` into every one of them before it begins.
    pub enter: Vec<PathBuf>,
    /// The group with the user's CPU quota, whose `cpu.stat` tells how long it was throttled; none without a quota.
    pub quota: Option<PathBuf>,
    /// The group within it whose quota the governor moves; none without one.
    pub governed: Option<PathBuf>,
    /// The group that counts the workload's CPU time: `cpuacct.usage` with version 1, `cpu.stat` with version 2.
    pub usage: Option<PathBuf>,
}
