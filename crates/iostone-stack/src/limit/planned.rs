//! The steps of a limit in words, for a dry run.

use std::path::PathBuf;

use super::arrangement::Arrangement;
use super::settings::{Setting, settings};
use super::{GOVERNED, LimitRequest};
use crate::control_groups::{CgroupVersion, Controller, Hierarchies, in_words};
use crate::plan::Plan;
use crate::site::own_directory_name;

/// Adds the steps that make the groups, and what removes them to the front of `undo`: with the paths of this machine or,
/// for a machine that is not there yet, without.
pub(crate) fn plan(plan: &mut Plan, asked: &LimitRequest, here: bool, undo: &mut Vec<String>) {
    let name = own_directory_name("TOKEN");
    let found = Hierarchies::look().and_then(|machine| Arrangement::find(asked, &machine, &name));
    match found {
        Ok(arrangement) if here => plan_groups(plan, asked, &arrangement, undo),
        _ => plan_in_words(plan, asked, &name, undo),
    }
}

fn plan_groups(plan: &mut Plan, asked: &LimitRequest, arrangement: &Arrangement, undo: &mut Vec<String>) {
    for group in &arrangement.groups {
        // That of the volumes' limits is in the plan already.
        let is_made = asked.is_throttled && group.has(Controller::Io);
        let path = group.path.display().to_string();
        if !is_made {
            if !group.place.hand_down.is_empty() {
                let file = group.place.parent.join("cgroup.subtree_control").display().to_string();
                plan.add(
                    "limit",
                    format!("echo {} > {file}", in_words(&group.place.hand_down, '+')),
                    None,
                    0,
                );
                undo.insert(0, format!("echo {} > {file}", in_words(&group.place.hand_down, '-')));
            }
            plan.add("limit", format!("mkdir {path}"), Some(path.clone()), 0);
            undo.insert(0, format!("rmdir {path}"));
        }
        for &controller in &group.place.controllers {
            let is_there = |one: &Setting| !one.is_optional || group.place.parent.join(one.file).exists();
            let all = settings(asked, controller, group.place.version, &group.place.parent);
            for setting in all.into_iter().filter(is_there) {
                let value =
                    if setting.value.contains(' ') { format!("'{}'", setting.value) } else { setting.value };
                plan.add("limit", format!("echo {value} > {path}/{}", setting.file), None, 0);
            }
        }
        if group.has(Controller::Io) {
            plan_devices(plan, asked, &path);
        }
        if asked.is_governed && group.has(Controller::Cpu) {
            if group.place.version == CgroupVersion::Two {
                plan.add("limit", format!("echo +cpu > {path}/cgroup.subtree_control"), None, 0);
            }
            let governed = format!("{path}/{GOVERNED}");
            plan.add("limit", format!("mkdir {governed}"), Some(governed.clone()), 0);
            undo.insert(0, format!("rmdir {governed}"));
        }
    }
}

fn plan_devices(plan: &mut Plan, asked: &LimitRequest, group: &str) {
    if let Some(io) = asked.limit.io.filter(|io| !io.is_empty()) {
        plan.add("limit", format!("limit the stack's device in {group}: {io}"), None, 0);
    }
}

fn plan_in_words(plan: &mut Plan, asked: &LimitRequest, name: &str, undo: &mut Vec<String>) {
    if !asked.is_throttled {
        plan.add("limit", format!("create the cgroup {name}"), Some(name.to_owned()), 0);
        undo.insert(0, format!("remove the cgroup {name}"));
    }
    let limit = &asked.limit;
    let quota = limit.cpu.quota().map(|quota| format!("CPU time in it to {quota}"));
    let memory = limit.memory.map(|memory| format!("memory in it to {memory}"));
    let processors = limit.processors().map(|processors| format!("processors in it to {processors}"));
    for what in [quota, memory, processors].into_iter().flatten() {
        plan.add("limit", format!("limit {what}"), None, 0);
    }
    plan_devices(plan, asked, name);
    if asked.is_governed {
        let governed = PathBuf::from(name).join(GOVERNED).display().to_string();
        plan.add("limit", format!("create the cgroup {governed}"), Some(governed), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_groups::fixture::machine;

    fn texts(asked: &LimitRequest, machine: Option<&tempfile::TempDir>) -> Vec<String> {
        let mut plan = Plan { steps: Vec::new() };
        let mut undo = Vec::new();
        match machine {
            Some(machine) => {
                let hierarchies = Hierarchies::look_below(machine.path()).unwrap();
                let arrangement = Arrangement::find(asked, &hierarchies, "iostone-TOKEN").unwrap();
                plan_groups(&mut plan, asked, &arrangement, &mut undo);
            }
            None => plan_in_words(&mut plan, asked, "iostone-TOKEN", &mut undo),
        }
        let top = machine.map(|machine| format!("{}/", machine.path().display())).unwrap_or_default();
        let steps = plan.steps.into_iter().map(|step| step.text).chain(undo);
        steps.map(|text| if top.is_empty() { text } else { text.replace(&top, "/") }).collect()
    }

    fn asked(json: &str, is_governed: bool) -> LimitRequest {
        LimitRequest { limit: serde_json::from_str(json).unwrap(), is_governed, is_throttled: false }
    }

    #[test]
    fn the_steps_are_those_that_would_be_typed() {
        let one = machine(&[
            ("proc/self/cgroup", "2:cpuacct:/\n1:cpu:/\n"),
            (
                "proc/self/mountinfo",
                "31 23 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
                 32 23 0:2 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n",
            ),
            ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
            ("cg/cpuacct/cpuacct.usage", "0\n"),
        ]);
        assert_eq!(
            texts(&asked(r#"{"cpu":"30%"}"#, true), Some(&one)),
            [
                "mkdir /cg/cpu/iostone-TOKEN",
                "echo 200000 > /cg/cpu/iostone-TOKEN/cpu.shares",
                "echo 100000 > /cg/cpu/iostone-TOKEN/cpu.cfs_period_us",
                "echo 30000 > /cg/cpu/iostone-TOKEN/cpu.cfs_quota_us",
                "mkdir /cg/cpu/iostone-TOKEN/governed",
                "mkdir /cg/cpuacct/iostone-TOKEN",
                "rmdir /cg/cpuacct/iostone-TOKEN",
                "rmdir /cg/cpu/iostone-TOKEN/governed",
                "rmdir /cg/cpu/iostone-TOKEN",
            ]
        );
        let two = machine(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/cgroup.controllers", "cpu io memory\n"),
            ("cg/cgroup.subtree_control", "\n"),
        ]);
        assert_eq!(
            texts(&asked(r#"{"cpu":"30%"}"#, false), Some(&two)),
            [
                "echo +cpu > /cg/cgroup.subtree_control",
                "mkdir /cg/iostone-TOKEN",
                "echo '30000 100000' > /cg/iostone-TOKEN/cpu.max",
                "rmdir /cg/iostone-TOKEN",
                "echo -cpu > /cg/cgroup.subtree_control",
            ]
        );
    }

    #[test]
    fn a_machine_that_is_not_there_yet_is_spoken_of_without_paths() {
        assert_eq!(
            texts(&asked(r#"{"cpu":"30%","memory":"64MiB"}"#, true), None),
            [
                "create the cgroup iostone-TOKEN",
                "limit CPU time in it to 30%",
                "limit memory in it to 64MiB",
                "create the cgroup iostone-TOKEN/governed",
                "remove the cgroup iostone-TOKEN",
            ]
        );
    }
}
