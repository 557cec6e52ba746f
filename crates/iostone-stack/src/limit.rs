//! The limit layer: control groups that hold a trial's workload to CPU time, memory, processors and device rates.
//!
//! The user's limit is a group, and the governor's is a group within it: version 1 refuses a quota above that of the
//! group above it, so the one that moves has to be the inner one. On version 1 each controller has a hierarchy, and a
//! group, of its own.

mod above;
mod arrangement;
mod examine;
mod layer;
mod observed;
mod planned;
mod read_back;
mod settings;
mod unheld;

use std::path::PathBuf;

use iostone_model::experiment::{Governor, Limit};
use iostone_model::trial::Check;
use serde::{Deserialize, Serialize};

use crate::control_groups::{CgroupVersion, Controller};
use crate::error::StackError;
use crate::governor::GovernorLayer;
use crate::layer::Layer;

pub use examine::LimitControllers;
pub(crate) use examine::examine;
pub(crate) use layer::LimitLayer;
pub(crate) use planned::plan;
pub(crate) use unheld::{places_entered, unheld};

/// The name of the group that the governor moves, within the one of the user's limit.
const GOVERNED: &str = "governed";

/// The control groups of a trial, as those need them who run the workload and watch it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialGroups {
    /// The interface that the `cpu` controller is in, or the one that counts CPU time where it is not needed.
    pub version: CgroupVersion,
    /// The `cgroup.procs` of each hierarchy: a program of the workload writes `0` into every one of them before it begins.
    pub enter: Vec<PathBuf>,
    /// The group with the user's CPU quota, whose `cpu.stat` tells how long it was throttled; none without a quota.
    pub quota: Option<PathBuf>,
    /// Where there is a `quota`: the group above with the smallest one, which holds back whatever is below it too.
    #[serde(default)]
    pub above: Option<PathBuf>,
    /// The group within it whose quota the governor moves; none without one.
    pub governed: Option<PathBuf>,
    /// The group that counts the workload's CPU time: `cpuacct.usage` with version 1, `cpu.stat` with version 2.
    pub usage: Option<PathBuf>,
}

/// Limits that stand without a volume under them, each proven from the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppliedLimits {
    /// The groups to enter; none where nothing limits or governs.
    pub groups: Option<TrialGroups>,
    /// Every setting, asked and read back.
    pub checks: Vec<Check>,
    /// What is worth repeating: "within 50% of `/sys/fs/cgroup/cpu/batch`".
    pub notes: Vec<String>,
}

/// What the limit layer is for, checked for what no machine could do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LimitRequest {
    pub(crate) limit: Limit,
    /// Whether a governor acts within the limit.
    pub(crate) is_governed: bool,
    /// Whether the volumes have limits in a group of their own, which the workload is then in too.
    pub(crate) is_throttled: bool,
}

impl LimitRequest {
    /// None where nothing limits or governs.
    ///
    /// # Errors
    /// [`StackError::Usage`] for what no machine could do.
    pub(crate) fn of(
        limit: &Limit,
        governor: Option<&Governor>,
        is_throttled: bool,
    ) -> Result<Option<Self>, StackError> {
        StackError::refuse_settings("limit", limit.problems())?;
        if limit.is_empty() && governor.is_none() {
            return Ok(None);
        }
        Ok(Some(Self { limit: limit.clone(), is_governed: governor.is_some(), is_throttled }))
    }

    /// Whether the `cpu` controller is needed.
    fn needs_cpu(&self) -> bool {
        !self.limit.cpu.is_none() || self.is_governed
    }

    fn limits_io(&self) -> bool {
        self.limit.io.is_some_and(|io| !io.is_empty())
    }

    /// The controllers that the limits need; counting CPU time comes beside them.
    pub(crate) fn controllers(&self) -> Vec<Controller> {
        let needs = [
            (Controller::Cpu, self.needs_cpu()),
            (Controller::Memory, self.limit.memory.is_some()),
            (Controller::Cpuset, self.limit.cpuset.is_some()),
            (Controller::Io, self.limits_io() || self.is_throttled),
        ];
        needs.into_iter().filter_map(|(controller, needed)| needed.then_some(controller)).collect()
    }
}

/// The layers of limits without a volume.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be built, on whatever machine.
pub(crate) fn layers_of_limits(
    limit: &Limit,
    governor: Option<&Governor>,
) -> Result<Vec<Box<dyn Layer>>, StackError> {
    if limit.io.is_some_and(|io| !io.is_empty()) {
        return Err(StackError::usage("limit.io", "there is no volume device to limit"));
    }
    let mut layers: Vec<Box<dyn Layer>> = Vec::new();
    push_layers(&mut layers, limit, governor, false)?;
    Ok(layers)
}

/// Adds the layers of a limit and a governor on top of a stack.
pub(crate) fn push_layers(
    layers: &mut Vec<Box<dyn Layer>>,
    limit: &Limit,
    governor: Option<&Governor>,
    is_throttled: bool,
) -> Result<(), StackError> {
    if let Some(asked) = LimitRequest::of(limit, governor, is_throttled)? {
        layers.push(Box::new(LimitLayer::new(asked)));
    }
    if let Some(governor) = governor {
        layers.push(Box::new(GovernorLayer::new(governor, limit)));
    }
    Ok(())
}
