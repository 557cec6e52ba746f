//! What a trial's groups tell of those who were in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::TrialGroups;

/// The most that was held at once: version 1 (Documentation/admin-guide/cgroup-v1/memory.rst), and version 2 since
/// Linux 5.19 (Documentation/admin-guide/cgroup-v2.rst).
const PEAKS: [&str; 2] = ["memory.max_usage_in_bytes", "memory.peak"];
/// Where the processes that the kernel killed for want of memory are counted, as `oom_kill 1`: version 1 since Linux 4.13,
/// version 2 (the same documents).
const KILLS: [&str; 2] = ["memory.oom_control", "memory.events"];

impl TrialGroups {
    /// How long the group above with the smallest quota stood still so far, nanoseconds summed over processors, whoever of
    /// those in it had used up its quota; none without one.
    pub fn throttled_above_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(self.above.as_ref()?.join("cpu.stat")).ok()?;
        let figure = |name: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
        };
        // Version 1 (Documentation/scheduler/sched-bwc.rst), and 2 (Documentation/admin-guide/cgroup-v2.rst).
        figure("throttled_time").or_else(|| Some(figure("throttled_usec")?.saturating_mul(1000)))
    }

    /// The most memory that the group held at once, page cache included, bytes; none where no group of the trial's counts
    /// memory, or the kernel keeps no peak.
    pub fn peak_memory_bytes(&self) -> Option<u64> {
        self.texts(PEAKS).find_map(|text| text.trim().parse().ok())
    }

    /// How many processes of the group the kernel killed for want of memory since it was made; none where no group of the
    /// trial's counts memory.
    pub fn memory_kills(&self) -> Option<u64> {
        let count =
            |text: &str| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok());
        self.texts(KILLS).find_map(|text| count(&text))
    }

    /// What such files say in each group, that around the governor's included, which may not count memory itself.
    fn texts<const FILES: usize>(&self, files: [&'static str; FILES]) -> impl Iterator<Item = String> {
        let entered = self.enter.iter().filter_map(|procs| procs.parent());
        let around = self.governed.as_deref().and_then(Path::parent);
        entered
            .chain(around)
            .flat_map(move |directory| files.map(|file| directory.join(file)))
            .filter_map(|file| fs::read_to_string(file).ok())
    }

    /// How many processes are in the groups now, those that have ended left out.
    pub fn processes(&self) -> usize {
        let texts = self.enter.iter().filter_map(|procs| fs::read_to_string(procs).ok());
        let inside: BTreeSet<u32> = texts
            .flat_map(|text| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<_>>())
            .collect();
        inside.into_iter().filter(|pid| is_alive(*pid)).count()
    }
}

/// A zombie has no memory map, so its command line is empty (`proc_pid_cmdline(5)`).
fn is_alive(pid: u32) -> bool {
    fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).is_ok_and(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_groups::CgroupVersion;

    #[test]
    fn the_group_that_counts_memory_tells_its_peak_and_each_process_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        let groups: Vec<_> = ["cpu", "memory"].iter().map(|name| directory.path().join(name)).collect();
        for group in &groups {
            fs::create_dir(group).unwrap();
            let own = std::process::id();
            // The second can be nobody: process numbers end below (proc(5), `pid_max`).
            fs::write(group.join("cgroup.procs"), format!("{own}\n4194305\n")).unwrap();
        }
        let enter = groups.iter().map(|group| group.join("cgroup.procs")).collect();
        let version = CgroupVersion::One;
        let groups_of_trial =
            TrialGroups { version, enter, quota: None, above: None, governed: None, usage: None };
        assert_eq!(groups_of_trial.peak_memory_bytes(), None);
        fs::write(groups[1].join("memory.peak"), "4096\n").unwrap();
        assert_eq!(groups_of_trial.peak_memory_bytes(), Some(4096));
        assert_eq!(groups_of_trial.processes(), 1);
        assert_eq!(groups_of_trial.memory_kills(), None);
        fs::write(groups[1].join("memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
            .unwrap();
        assert_eq!(groups_of_trial.memory_kills(), Some(2));
    }

    #[test]
    fn what_the_group_above_held_back_is_told_in_either_version() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cpu.stat");
        let (version, above) = (CgroupVersion::One, Some(directory.path().to_owned()));
        let groups = TrialGroups {
            version,
            enter: Vec::new(),
            quota: above.clone(),
            above,
            governed: None,
            usage: None,
        };
        assert_eq!(groups.throttled_above_ns(), None);
        fs::write(&file, "nr_periods 3\nnr_throttled 2\nthrottled_time 1500\n").unwrap();
        assert_eq!(groups.throttled_above_ns(), Some(1500));
        fs::write(&file, "usage_usec 9\nnr_throttled 2\nthrottled_usec 7\n").unwrap();
        assert_eq!(groups.throttled_above_ns(), Some(7000));
    }
}
