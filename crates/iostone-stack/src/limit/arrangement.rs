//! Which groups a limit needs: one in each hierarchy that has a controller of its.

use std::path::PathBuf;

use super::{GOVERNED, LimitRequest, TrialGroups, above};
use crate::control_groups::{CgroupVersion, Controller, GroupPlace, Hierarchies};
use crate::error::StackError;

/// The groups of a limit, where they are or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrangement {
    /// One for each hierarchy.
    pub(super) groups: Vec<LimitGroup>,
    is_governed: bool,
    has_quota: bool,
}

/// One group of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LimitGroup {
    pub(super) place: GroupPlace,
    pub(super) path: PathBuf,
}

impl LimitGroup {
    pub(super) fn has(&self, controller: Controller) -> bool {
        self.place.controllers.contains(&controller)
    }
}

impl Arrangement {
    /// Finds the places for groups of that name. Reading only.
    ///
    /// # Errors
    /// [`StackError::Unexpected`] with what is missing and the next command.
    pub(super) fn find(asked: &LimitRequest, machine: &Hierarchies, name: &str) -> Result<Self, StackError> {
        let places = places_of(asked, machine)?;
        let groups =
            places.into_iter().map(|place| LimitGroup { path: place.parent.join(name), place }).collect();
        Ok(Self { groups, is_governed: asked.is_governed, has_quota: !asked.limit.cpu.is_none() })
    }

    /// The group with that controller.
    pub(super) fn with(&self, controller: Controller) -> Option<&LimitGroup> {
        self.groups.iter().find(|group| group.has(controller))
    }

    /// The group that the governor moves; none without one.
    pub(super) fn governed(&self) -> Option<PathBuf> {
        self.with(Controller::Cpu).filter(|_| self.is_governed).map(|group| group.path.join(GOVERNED))
    }

    /// What others need to know of the groups.
    pub(super) fn trial_groups(&self) -> TrialGroups {
        let cpu = self.with(Controller::Cpu);
        let usage = match cpu {
            // Every group of version 2 counts.
            Some(group) if group.place.version == CgroupVersion::Two => Some(group),
            _ => self.with(Controller::Cpuacct),
        };
        let version =
            cpu.or(usage).or(self.groups.first()).map_or(CgroupVersion::Two, |one| one.place.version);
        let governed = self.governed();
        let enter = self.groups.iter().map(|group| {
            let inner = governed.as_ref().filter(|_| group.has(Controller::Cpu));
            inner.unwrap_or(&group.path).join("cgroup.procs")
        });
        TrialGroups {
            version,
            enter: enter.collect(),
            quota: cpu.filter(|_| self.has_quota).map(|group| group.path.clone()),
            above: above::with_quota(self).filter(|_| self.has_quota),
            usage: usage.map(|group| group.path.clone()),
            governed,
        }
    }
}

/// Where the controllers are, that of CPU time used among them where it is of the same version as the quota's.
fn places_of(asked: &LimitRequest, machine: &Hierarchies) -> Result<Vec<GroupPlace>, StackError> {
    let needed = asked.controllers();
    let counting = machine.version_of(Controller::Cpuacct);
    if asked.needs_cpu() && machine.version_of(Controller::Cpu) != counting {
        return match counting {
            // The group with the quota counts by itself.
            CgroupVersion::One => machine.places(&needed),
            CgroupVersion::Two if !asked.is_governed => machine.places(&needed),
            CgroupVersion::Two => Err(StackError::unexpected(
                "/proc/self/cgroup",
                "the `cpuacct` controller of cgroup v1, which CPU time is counted by, is not in use while `cpu` is; \
                 next: `mount -t cgroup -o cpuacct cgroup /sys/fs/cgroup/cpuacct`",
            )),
        };
    }
    let with_counting: Vec<Controller> = needed.iter().copied().chain([Controller::Cpuacct]).collect();
    match machine.places(&with_counting) {
        // A limit holds whether it is counted or not; a governor has to know.
        Err(_) if !asked.is_governed => machine.places(&needed),
        other => other,
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::control_groups::fixture::machine;

    fn asked(json: &str, is_governed: bool) -> LimitRequest {
        LimitRequest { limit: serde_json::from_str(json).unwrap(), is_governed, is_throttled: false }
    }

    fn groups(machine: &tempfile::TempDir, asked: &LimitRequest) -> TrialGroups {
        let hierarchies = Hierarchies::look_below(machine.path()).unwrap();
        Arrangement::find(asked, &hierarchies, "iostone-t").unwrap().trial_groups()
    }

    #[test]
    fn version_1_has_a_group_in_each_hierarchy_and_the_governors_is_within_that_of_the_quota() {
        let machine = machine(&[
            ("proc/self/cgroup", "3:memory:/\n2:cpuacct:/\n1:cpu:/batch\n0::/\n"),
            (
                "proc/self/mountinfo",
                "31 23 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                 32 23 0:2 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n\
                 33 23 0:3 / /cg/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("cg/cpu/batch/cpu.cfs_quota_us", "-1\n"),
            ("cg/cpuacct/cpuacct.usage", "0\n"),
            ("cg/memory/memory.limit_in_bytes", "0\n"),
        ]);
        let found = groups(&machine, &asked(r#"{"cpu":"30%","memory":"64MiB"}"#, true));
        let cg = machine.path().join("cg");
        let quota = cg.join("cpu/batch/iostone-t");
        assert_eq!(found.version, CgroupVersion::One);
        assert_eq!(
            found.enter,
            [
                quota.join("governed/cgroup.procs"),
                cg.join("memory/iostone-t/cgroup.procs"),
                cg.join("cpuacct/iostone-t/cgroup.procs"),
            ]
        );
        assert_eq!(found.governed, Some(quota.join("governed")));
        assert_eq!((found.quota, found.usage), (Some(quota), Some(cg.join("cpuacct/iostone-t"))));
        let memory = groups(&machine, &asked(r#"{"memory":"64MiB"}"#, false));
        assert_eq!((memory.version, memory.quota, memory.governed), (CgroupVersion::One, None, None));
        assert_eq!(memory.enter.len(), 2, "CPU time is counted beside it");
    }

    #[test]
    fn version_2_has_one_group_for_everything() {
        let machine = machine(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/cgroup.controllers", "cpu io memory\n"),
            ("cg/cgroup.subtree_control", "memory\n"),
        ]);
        let found = groups(&machine, &asked(r#"{"cpu":"30%","memory":"64MiB"}"#, false));
        let group = machine.path().join("cg/iostone-t");
        assert_eq!(found.enter, [group.join("cgroup.procs")]);
        assert_eq!(found.version, CgroupVersion::Two);
        assert_eq!(
            (found.quota, found.governed, found.usage),
            (Some(group.clone()), None, Some(group.clone()))
        );
        let governed = groups(&machine, &asked("{}", true));
        assert_eq!(governed.enter, [group.join("governed/cgroup.procs")]);
        assert_eq!((governed.quota, governed.governed), (None, Some(group.join("governed"))));
    }
}
