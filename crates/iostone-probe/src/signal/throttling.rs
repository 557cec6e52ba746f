//! How often the CPU quota of a control group stopped it, from `cpu.stat`.

use std::path::{Path, PathBuf};

use iostone_model::sample::Throttling;

use crate::error::ProbeError;
use crate::fields::find_value;
use crate::hierarchy::{Version, find_groups, read_quota};
use crate::kernel_file::KernelFile;
use crate::root::Root;

/// Version 2 with every controller has some 20 lines.
const CPU_STAT_BYTES: usize = 2048;

#[derive(Debug)]
pub(crate) struct ThrottlingSignal {
    file: KernelFile,
}

impl ThrottlingSignal {
    /// Watches `group` (a directory), or this process's own. A group's own `cpu.stat` does not show what the
    /// quota of an ancestor does to it, so the tightest quota on the way up is the one watched. `None` where there is
    /// no quota: an own count of zero would claim that one was looked at. A group that the caller names is watched
    /// without a quota too, because the caller may set one while the probe runs.
    pub(crate) fn open(root: &Root, group: Option<&Path>) -> Option<Self> {
        let (version, directories) = if let Some(group) = group {
            (detect_version(root, group), stat_directories(root, group))
        } else {
            let groups = find_groups(root, "cpu")?;
            (groups.version, groups.directories)
        };
        let tightest = directories
            .iter()
            .filter_map(|directory| Some((read_quota(root, version, directory)?, directory)))
            .min_by(|(one, _), (other, _)| one.total_cmp(other))
            .map(|(_, directory)| directory.as_path());
        let directory = tightest.or(group)?;
        let file = KernelFile::open(root.join(directory).join("cpu.stat"), CPU_STAT_BYTES).ok()?;
        let mut signal = Self { file };
        signal.take().ok()?;
        Some(signal)
    }

    pub(crate) fn take(&mut self) -> Result<Throttling, ProbeError> {
        let counts = match self.file.read_beginning() {
            Ok(text) => parse_cpu_stat(text),
            Err(source) => {
                return Err(ProbeError::Unreadable { path: self.file.path().to_path_buf(), source });
            }
        };
        counts.ok_or_else(|| ProbeError::Unexpected {
            path: self.file.path().to_path_buf(),
            wanted: "line `nr_periods`",
        })
    }
}

/// Only version 1 has the quota in a file of its own.
fn detect_version(root: &Root, group: &Path) -> Version {
    if root.exists(group.join("cpu.cfs_quota_us")) { Version::One } else { Version::Two }
}

/// The group and its ancestors as far as they are groups of a CPU controller.
fn stat_directories(root: &Root, group: &Path) -> Vec<PathBuf> {
    group
        .ancestors()
        .take_while(|directory| root.exists(directory.join("cpu.stat")))
        .map(Path::to_path_buf)
        .collect()
}

/// Reads `nr_periods`, `nr_throttled` and `throttled_time` (ns, version 1: Documentation/scheduler/sched-bwc.rst) or
/// `throttled_usec` (version 2: Documentation/admin-guide/cgroup-v2.rst). `None` for a group whose CPU controller is
/// off: its file counts usage only.
pub(crate) fn parse_cpu_stat(text: &[u8]) -> Option<Throttling> {
    let throttled_ns = match find_value(text, b"throttled_usec") {
        Some(microseconds) => microseconds.saturating_mul(1000),
        None => find_value(text, b"throttled_time")?,
    };
    Some(Throttling {
        periods: find_value(text, b"nr_periods")?,
        throttled_periods: find_value(text, b"nr_throttled")?,
        throttled_ns,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::plant;

    const V1: &str =
        "nr_periods 120\nnr_throttled 37\nthrottled_time 1500000000\nnr_bursts 0\nburst_time 0\n";
    const V2: &str = "usage_usec 99\nuser_usec 9\nsystem_usec 9\nnr_periods 120\nnr_throttled 37\n\
                      throttled_usec 1500000\nnr_bursts 0\nburst_usec 0\n";

    #[test]
    fn both_versions_say_the_same() {
        let expected = Throttling { periods: 120, throttled_periods: 37, throttled_ns: 1_500_000_000 };
        assert_eq!(parse_cpu_stat(V1.as_bytes()), Some(expected));
        assert_eq!(parse_cpu_stat(V2.as_bytes()), Some(expected));
    }

    #[test]
    fn a_group_without_the_cpu_controller_has_no_throttling() {
        assert_eq!(parse_cpu_stat(b"usage_usec 99\nuser_usec 9\nsystem_usec 9\n"), None);
    }

    #[test]
    fn without_a_quota_there_is_nothing_to_watch() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.stat", V2),
        ]);
        assert!(ThrottlingSignal::open(&root, None).is_none());
        let named = ThrottlingSignal::open(&root, Some(Path::new("/sys/fs/cgroup/a")));
        assert_eq!(named.unwrap().take().unwrap().periods, 120);
    }

    #[test]
    fn the_tightest_quota_on_the_way_up_is_watched() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "0::/pod/box\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/pod/box/cpu.max", "200000 100000\n"),
            ("sys/fs/cgroup/pod/box/cpu.stat", V2),
            ("sys/fs/cgroup/pod/cpu.max", "50000 100000\n"),
            ("sys/fs/cgroup/pod/cpu.stat", "nr_periods 7\nnr_throttled 1\nthrottled_usec 3\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
        ]);
        for group in [None, Some(Path::new("/sys/fs/cgroup/pod/box"))] {
            let mut signal = ThrottlingSignal::open(&root, group).unwrap();
            assert_eq!(signal.take().unwrap().periods, 7);
        }
    }

    #[test]
    fn a_version_1_quota_is_watched() {
        let (_folder, root) = plant(&[
            ("proc/self/cgroup", "1:cpu:/limited\n0::/\n"),
            ("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"),
            ("sys/fs/cgroup/cpu/limited/cpu.cfs_quota_us", "30000\n"),
            ("sys/fs/cgroup/cpu/limited/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu/limited/cpu.stat", V1),
        ]);
        assert_eq!(ThrottlingSignal::open(&root, None).unwrap().take().unwrap().throttled_periods, 37);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = parse_cpu_stat(&text);
        }
    }
}
