//! What is written into the files of a group, in either version, for each kind of limit.

use std::path::Path;
use std::time::Duration;

use iostone_model::units::Bytes;

use crate::control_groups::{CgroupVersion, Controller};

use super::LimitRequest;

/// So that other load of the machine, which has 1024 by default, hardly disturbs; 262144 is the most (`MAX_SHARES`,
/// kernel/sched/sched.h).
const SHARES: &str = "200000";
/// The most that version 2 takes (`CGROUP_WEIGHT_MAX`, include/linux/cgroup.h).
const WEIGHT: &str = "10000";

/// One line for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) file: &'static str,
    pub(super) value: String,
    /// Left out where the kernel has no such file.
    pub(super) is_optional: bool,
}

impl Setting {
    fn new(file: &'static str, value: impl Into<String>) -> Self {
        Self { file, value: value.into(), is_optional: false }
    }

    fn optional(file: &'static str, value: impl Into<String>) -> Self {
        Self { is_optional: true, ..Self::new(file, value) }
    }
}

/// Whole microseconds, which is what the kernel counts in.
pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What a group of a hierarchy with that controller gets, in the order in which it has to be written; devices have their
/// own way.
///
/// `parent` is the group above: with version 1 a cpuset has no memory nodes until somebody names them.
pub(super) fn settings(
    asked: &LimitRequest,
    controller: Controller,
    version: CgroupVersion,
    parent: &Path,
) -> Vec<Setting> {
    match controller {
        Controller::Cpu => cpu(asked, version),
        Controller::Memory => asked.limit.memory.map(|memory| memory_of(memory, version)).unwrap_or_default(),
        Controller::Cpuset => {
            let Some(processors) = asked.limit.processors() else { return Vec::new() };
            let mut settings = Vec::new();
            if version == CgroupVersion::One {
                settings.push(Setting::new("cpuset.mems", memory_nodes(parent)));
            }
            settings.push(Setting::new("cpuset.cpus", processors.to_string()));
            settings
        }
        Controller::Cpuacct | Controller::Io => Vec::new(),
    }
}

/// Only where a governor acts, which all levels of such an experiment have, is the weight raised: a level without a limit
/// has no group, and would be compared with levels that go before everybody else.
fn cpu(asked: &LimitRequest, version: CgroupVersion) -> Vec<Setting> {
    let mut settings = Vec::new();
    if asked.is_governed {
        settings.push(match version {
            CgroupVersion::One => Setting::new("cpu.shares", SHARES),
            CgroupVersion::Two => Setting::new("cpu.weight", WEIGHT),
        });
    }
    let Some(quota) = asked.limit.cpu.quota() else { return settings };
    let (time, period) = (micros(quota.quota), micros(quota.period));
    let burst = quota.burst.map(|burst| micros(burst).to_string());
    match version {
        CgroupVersion::One => {
            // Before the quota, which is refused when it is too large a share of the default period.
            settings.push(Setting::new("cpu.cfs_period_us", period.to_string()));
            settings.push(Setting::new("cpu.cfs_quota_us", time.to_string()));
            settings.extend(burst.map(|burst| Setting::new("cpu.cfs_burst_us", burst)));
        }
        CgroupVersion::Two => {
            settings.push(Setting::new("cpu.max", format!("{time} {period}")));
            settings.extend(burst.map(|burst| Setting::new("cpu.max.burst", burst)));
        }
    }
    settings
}

/// What is not allowed to stay in memory must not go to swap either.
fn memory_of(memory: Bytes, version: CgroupVersion) -> Vec<Setting> {
    let bytes = memory.0.to_string();
    match version {
        // Memory first: memory and swap together may not be less.
        CgroupVersion::One => vec![
            Setting::new("memory.limit_in_bytes", bytes.clone()),
            Setting::optional("memory.memsw.limit_in_bytes", bytes),
        ],
        CgroupVersion::Two => {
            vec![Setting::new("memory.max", bytes), Setting::optional("memory.swap.max", "0")]
        }
    }
}

/// The memory nodes of a group of version 1: those in effect, or those set by an old kernel.
fn memory_nodes(group: &Path) -> String {
    let read = |file: &str| std::fs::read_to_string(group.join(file)).ok();
    let nodes = read("cpuset.effective_mems").or_else(|| read("cpuset.mems")).unwrap_or_default();
    nodes.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::Limit;

    use super::*;

    fn lines(json: &str, controller: Controller, version: CgroupVersion) -> Vec<String> {
        lines_of(json, false, controller, version)
    }

    fn lines_of(
        json: &str,
        is_governed: bool,
        controller: Controller,
        version: CgroupVersion,
    ) -> Vec<String> {
        let limit: Limit = serde_json::from_str(json).unwrap();
        let asked = LimitRequest { limit, is_governed, is_throttled: false };
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cpuset.mems"), "0-1\n").unwrap();
        settings(&asked, controller, version, directory.path())
            .into_iter()
            .map(|one| format!("{} > {}", one.value, one.file))
            .collect()
    }

    #[test]
    fn a_quota_is_written_after_its_period_and_before_its_burst() {
        let json = r#"{"cpu":{"quota":"300ms","period":"1s","burst":"10ms"}}"#;
        assert_eq!(
            lines(json, Controller::Cpu, CgroupVersion::One),
            ["1000000 > cpu.cfs_period_us", "300000 > cpu.cfs_quota_us", "10000 > cpu.cfs_burst_us"]
        );
        assert_eq!(
            lines(json, Controller::Cpu, CgroupVersion::Two),
            ["300000 1000000 > cpu.max", "10000 > cpu.max.burst"]
        );
    }

    #[test]
    fn only_what_is_governed_goes_before_other_load() {
        let governed = |json: &str, version| lines_of(json, true, Controller::Cpu, version);
        assert_eq!(governed("{}", CgroupVersion::Two), ["10000 > cpu.weight"]);
        assert_eq!(governed(r#"{"cpu":"30%"}"#, CgroupVersion::One)[0], "200000 > cpu.shares");
        for version in [CgroupVersion::One, CgroupVersion::Two] {
            let plain = lines(r#"{"cpu":"30%"}"#, Controller::Cpu, version);
            assert!(
                plain.iter().all(|line| !line.contains("shares") && !line.contains("weight")),
                "{plain:?}"
            );
        }
    }

    #[test]
    fn memory_does_not_escape_into_swap_and_version_1_wants_memory_nodes() {
        let json = r#"{"memory":"64MiB","cpuset":"1,0"}"#;
        assert_eq!(
            lines(json, Controller::Memory, CgroupVersion::One),
            ["67108864 > memory.limit_in_bytes", "67108864 > memory.memsw.limit_in_bytes"]
        );
        assert_eq!(
            lines(json, Controller::Memory, CgroupVersion::Two),
            ["67108864 > memory.max", "0 > memory.swap.max"]
        );
        assert_eq!(
            lines(json, Controller::Cpuset, CgroupVersion::One),
            ["0-1 > cpuset.mems", "0-1 > cpuset.cpus"]
        );
        assert_eq!(lines(json, Controller::Cpuset, CgroupVersion::Two), ["0-1 > cpuset.cpus"]);
    }
}
