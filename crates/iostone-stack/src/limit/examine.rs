//! What can be known about a limit before anything is touched.

use std::path::PathBuf;

use iostone_model::experiment::{CpuQuota, LEAST_EXACT_PERIOD};
use iostone_model::units::Span;

use super::arrangement::Arrangement;
use super::{LimitRequest, above};
use crate::control_groups::{CgroupVersion, Controller, Hierarchies};
use crate::error::StackError;

/// The name of groups that are only looked for.
const UNNAMED: &str = "iostone-TOKEN";

/// Looks for the controllers and compares with the groups above. Reading only.
///
/// # Errors
/// What stands in the way, with the next command.
pub(crate) fn examine(asked: &LimitRequest) -> Result<Vec<String>, StackError> {
    let arrangement = Arrangement::find(asked, &Hierarchies::look()?, UNNAMED)?;
    check_burst(asked, &arrangement)?;
    let mut notes = above::check(asked, &arrangement)?;
    notes.extend(self::notes(asked, &arrangement));
    Ok(notes)
}

/// Where a group has files for quotas, it shows whether the kernel knows bursts; the root of version 2 has none.
fn check_burst(asked: &LimitRequest, arrangement: &Arrangement) -> Result<(), StackError> {
    if asked.limit.cpu.quota().is_none_or(|quota| quota.burst.is_none()) {
        return Ok(());
    }
    let Some(group) = arrangement.with(Controller::Cpu) else { return Ok(()) };
    let (quota, burst) = match group.place.version {
        CgroupVersion::One => ("cpu.cfs_quota_us", "cpu.cfs_burst_us"),
        CgroupVersion::Two => ("cpu.max", "cpu.max.burst"),
    };
    let parent = &group.place.parent;
    if parent.join(quota).exists() && !parent.join(burst).exists() {
        let reason = format!("`{}` has no `{burst}`: CPU bursts need Linux 5.14", parent.display());
        return Err(StackError::usage("limit.cpu", reason));
    }
    Ok(())
}

/// What the report repeats: which version limits what, where.
pub(super) fn notes(asked: &LimitRequest, arrangement: &Arrangement) -> Vec<String> {
    let mut notes = Vec::new();
    let mut add = |controller: Controller, what: String| {
        if let Some(group) = arrangement.with(controller) {
            let (version, parent) = (group.place.version.name(), group.place.parent.display());
            notes.push(format!("{what} limited by {version} in `{parent}`"));
        }
    };
    if let Some(quota) = asked.limit.cpu.quota() {
        add(Controller::Cpu, format!("CPU time to {quota}"));
    }
    if let Some(memory) = asked.limit.memory {
        add(Controller::Memory, format!("memory to {memory}"));
    }
    if let Some(processors) = asked.limit.processors() {
        add(Controller::Cpuset, format!("processors to {processors}"));
    }
    if let Some(io) = asked.limit.io.filter(|io| !io.is_empty()) {
        add(Controller::Io, format!("the stack's device to {io}"));
    }
    if let Some(quota) = asked.limit.cpu.quota()
        && let Ok(processors) = std::thread::available_parallelism()
        && quota.share() >= processors.get() as f64
    {
        notes.push(format!("{quota} is all of the {processors} processors here: it limits nothing"));
    }
    if let Some(quota) = asked.limit.cpu.quota().filter(CpuQuota::is_inexact) {
        notes.push(format!(
            "a period of {} is only a few kernel ticks: the share may be off by a third; use {} or more",
            Span(quota.period),
            Span(LEAST_EXACT_PERIOD)
        ));
    }
    if asked.limit.memory.is_some() && has_swap() && !counts_swap(arrangement) {
        notes.push(
            "memory above the limit may be swapped: this kernel does not account swap per cgroup".to_owned(),
        );
    }
    notes
}

fn has_swap() -> bool {
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().nth(1).is_some())
}

/// The root of version 2 has no such file, whether its children have it or not.
fn counts_swap(arrangement: &Arrangement) -> bool {
    arrangement.with(Controller::Memory).is_none_or(|group| match group.place.version {
        CgroupVersion::One => group.place.parent.join("memory.memsw.limit_in_bytes").exists(),
        CgroupVersion::Two => {
            !group.place.parent.join("memory.max").exists()
                || group.place.parent.join("memory.swap.max").exists()
        }
    })
}

/// Where a workload can be limited on this machine, as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitControllers {
    /// The version that has the `cpu` controller.
    pub version: CgroupVersion,
    /// The group below which the group with a quota is made.
    pub cpu: PathBuf,
    /// What else can be limited: "memory", "processors".
    pub others: Vec<&'static str>,
    /// What cannot, with the reason and the next command.
    pub lacking: Vec<String>,
}

impl LimitControllers {
    /// Looks for the controllers of CPU time, memory and processors. Reading only.
    ///
    /// # Errors
    /// [`StackError::Unexpected`] for that of CPU time, with the next command.
    pub fn find() -> Result<Self, StackError> {
        let machine = Hierarchies::look()?;
        let place = |controller| {
            machine.places(&[controller])?.into_iter().next().ok_or_else(|| {
                StackError::unexpected("/proc/self/cgroup", "it names no cgroup of this process")
            })
        };
        let cpu = place(Controller::Cpu)?;
        let mut found =
            Self { version: cpu.version, cpu: cpu.parent, others: Vec::new(), lacking: Vec::new() };
        for (controller, what) in [(Controller::Memory, "memory"), (Controller::Cpuset, "processors")] {
            match place(controller) {
                Ok(_) => found.others.push(what),
                Err(error) => found.lacking.push(error.to_string()),
            }
        }
        Ok(found)
    }
}
