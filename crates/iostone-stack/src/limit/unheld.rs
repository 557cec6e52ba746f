//! Limits on the groups that this process is in that do not hold a container of an engine, whose groups are made at the top.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{Governor, Limit};
use iostone_model::units::{Bytes, Fraction};

use super::LimitRequest;
use super::above::{least, memory_of, processors_of, quota_of};
use crate::control_groups::{CgroupVersion, Controller, Hierarchies};

/// Files with limits on devices, by their version.
const OF_DEVICES_1: &[&str] = &[
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];
const OF_DEVICES_2: &[&str] = &["io.max"];

/// What holds this process and not a container beside it, in words: "memory to 1GiB by `/sys/fs/cgroup/memory/batch`".
/// Nothing of the hierarchies that the trial has groups in, `entered`: whoever works is in these, wherever it works.
pub(crate) fn unheld(machine: &Hierarchies, entered: &[PathBuf]) -> Vec<String> {
    let controllers = [Controller::Cpu, Controller::Memory, Controller::Cpuset, Controller::Io];
    let of_controller = |controller: Controller| {
        let line = machine.line_with(controller)?;
        let (top, below) = line.split_last()?;
        let is_entered = entered.iter().any(|group| group.starts_with(top));
        (!is_entered).then(|| limits_of(controller, machine.version_of(controller), below, top))
    };
    controllers.into_iter().filter_map(of_controller).flatten().collect()
}

/// Where the groups of a trial will be made; nothing where none will, or none can. Reading only.
pub(crate) fn places_entered(limit: &Limit, governor: Option<&Governor>, is_throttled: bool) -> Vec<PathBuf> {
    let of_limit =
        LimitRequest::of(limit, governor, is_throttled).ok().flatten().map(|asked| asked.controllers());
    let controllers =
        of_limit.unwrap_or_else(|| if is_throttled { vec![Controller::Io] } else { Vec::new() });
    let places = Hierarchies::look().and_then(|machine| machine.places(&controllers)).unwrap_or_default();
    places.into_iter().map(|place| place.parent).collect()
}

/// The limits of the groups of a line, without the group at its top, which holds everybody.
fn limits_of(controller: Controller, version: CgroupVersion, line: &[PathBuf], top: &Path) -> Vec<String> {
    let told = |what: String, group: &Path| format!("{what} by `{}`", group.display());
    match controller {
        Controller::Cpu => least(line, version, quota_of)
            .map(|(group, share)| told(format!("CPU time to {} of a processor", Fraction(share)), group))
            .into_iter()
            .collect(),
        Controller::Memory => least(line, version, memory_or_pressure_of)
            .map(|(group, bytes)| told(format!("memory to {}", Bytes(bytes)), group))
            .into_iter()
            .collect(),
        Controller::Cpuset => {
            let of_group = |group: &Path| processors_of(group, version);
            // A group that is not handed the controller down has none of its files, and what its nearest above has holds.
            let own = line.iter().find_map(|group| Some((group, of_group(group)?)));
            own.filter(|(_, own)| of_group(top).is_some_and(|all| all != *own))
                .map(|(group, own)| told(format!("processors to {own}"), group))
                .into_iter()
                .collect()
        }
        Controller::Io => {
            line.iter().filter_map(|group| Some(told(devices_of(group, version)?, group))).collect()
        }
        Controller::Cpuacct => Vec::new(),
    }
}

/// What memory is limited to, or what it is reclaimed above (`memory.high`), which slows down as well.
fn memory_or_pressure_of(group: &Path, version: CgroupVersion) -> Option<u64> {
    let high = fs::read_to_string(group.join("memory.high")).ok();
    let high = high.and_then(|text| text.trim().parse().ok());
    memory_of(group, version).into_iter().chain(high).min()
}

/// "devices to `io.max` 8:0 rbps=1048576 wbps=max riops=max wiops=max"; none where nothing is limited.
fn devices_of(group: &Path, version: CgroupVersion) -> Option<String> {
    let files = match version {
        CgroupVersion::One => OF_DEVICES_1,
        CgroupVersion::Two => OF_DEVICES_2,
    };
    let limits: Vec<String> = files
        .iter()
        .filter_map(|file| Some((file, fs::read_to_string(group.join(file)).ok()?)))
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(file, text)| format!("`{file}` {}", text.trim().replace('\n', ", ")))
        .collect();
    (!limits.is_empty()).then(|| format!("devices to {}", limits.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plant(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    /// What is told, without where the tree was planted.
    fn told(root: &tempfile::TempDir, entered: &[&str]) -> Vec<String> {
        let entered: Vec<PathBuf> = entered.iter().map(|group| root.path().join(group)).collect();
        let machine = Hierarchies::look_below(root.path()).unwrap();
        let place = root.path().display().to_string();
        unheld(&machine, &entered).iter().map(|text| text.replace(&place, "")).collect()
    }

    #[test]
    fn limits_below_the_top_group_of_version_2_are_told_until_the_trial_has_groups_of_its_own() {
        let root = plant(&[
            ("proc/self/cgroup", "0::/batch/run.scope\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/cpu.max", "1000 100000\n"),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n"),
            ("sys/fs/cgroup/batch/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/batch/memory.max", "max\n"),
            ("sys/fs/cgroup/batch/run.scope/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/batch/run.scope/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/batch/run.scope/memory.high", "536870912\n"),
            ("sys/fs/cgroup/batch/run.scope/cpuset.cpus.effective", "0-1\n"),
            ("sys/fs/cgroup/batch/run.scope/io.max", "8:0 rbps=1000 wbps=max riops=max wiops=max\n"),
        ]);
        assert_eq!(
            told(&root, &[]),
            [
                "CPU time to 50% of a processor by `/sys/fs/cgroup/batch`",
                "memory to 512MiB by `/sys/fs/cgroup/batch/run.scope`",
                "processors to 0-1 by `/sys/fs/cgroup/batch/run.scope`",
                "devices to `io.max` 8:0 rbps=1000 wbps=max riops=max wiops=max by `/sys/fs/cgroup/batch/run.scope`",
            ]
        );
        assert_eq!(told(&root, &["sys/fs/cgroup/batch/iostone-1"]), [""; 0]);
    }

    #[test]
    fn processors_are_those_of_the_nearest_group_that_has_the_controller() {
        let root = plant(&[
            ("proc/self/cgroup", "0::/batch/run.scope\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n"),
            ("sys/fs/cgroup/batch/cpuset.cpus.effective", "0-1\n"),
            ("sys/fs/cgroup/batch/run.scope/cgroup.procs", ""),
        ]);
        assert_eq!(told(&root, &[]), ["processors to 0-1 by `/sys/fs/cgroup/batch`"]);
    }

    #[test]
    fn each_hierarchy_of_version_1_is_looked_at_for_itself() {
        let root = plant(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/batch\n3:memory:/batch\n2:blkio:/\n0::/\n"),
            (
                "proc/self/mountinfo",
                "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 33 23 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
            ),
            ("sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "25000\n"),
            ("sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "1073741824\n"),
            // At the top, where it holds everybody.
            ("sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "8:0 1000\n"),
        ]);
        let memory = "memory to 1GiB by `/sys/fs/cgroup/memory/batch`";
        assert_eq!(
            told(&root, &[]),
            ["CPU time to 25% of a processor by `/sys/fs/cgroup/cpu/batch`", memory]
        );
        assert_eq!(told(&root, &["sys/fs/cgroup/cpu/batch/iostone-1"]), [memory]);
    }

    #[test]
    fn a_process_at_the_top_has_no_limits_of_its_own() {
        let root = plant(&[
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/memory.max", "1073741824\n"),
        ]);
        assert_eq!(told(&root, &[]), [""; 0]);
    }
}
