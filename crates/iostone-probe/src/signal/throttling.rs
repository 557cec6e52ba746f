//! How often the CPU quota of a control group stopped it, from `cpu.stat`.

use std::path::Path;

use iostone_model::sample::Throttling;

use crate::error::ProbeError;
use crate::fields::find_value;
use crate::hierarchy::{find_groups, read_quota};
use crate::kernel_file::KernelFile;
use crate::root::Root;

/// Version 2 with every controller has some 20 lines.
const CPU_STAT_BYTES: usize = 2048;

#[derive(Debug)]
pub(crate) struct ThrottlingSignal {
    file: KernelFile,
}

impl ThrottlingSignal {
    /// Watches this process. A group's own `cpu.stat` does not show what the quota of an ancestor does to it, so the
    /// tightest quota on the way up is the one watched. `None` where there is no quota: an own count of zero would
    /// claim that one was looked at.
    pub(crate) fn open_own(root: &Root) -> Option<Self> {
        let groups = find_groups(root, "cpu")?;
        let quotas = groups
            .directories
            .iter()
            .filter_map(|directory| Some((read_quota(root, groups.version, directory)?, directory)));
        let (_, tightest) = quotas.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        Self::open_exactly(root, tightest)
    }

    /// Watches that group and no other, without a quota too: one may be set while the probe runs.
    pub(crate) fn open_exactly(root: &Root, directory: &Path) -> Option<Self> {
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

    /// As kernels from the first with quotas on print it; `(periods, throttled, nanoseconds)`.
    const KERNELS: [(&str, &str, (u64, u64, u64)); 6] = [
        (
            "3.2, version 1",
            "nr_periods 41\nnr_throttled 17\nthrottled_time 210419286\n",
            (41, 17, 210_419_286),
        ),
        (
            "4.15, version 2",
            "usage_usec 4008\nuser_usec 4000\nsystem_usec 8\nnr_periods 41\nnr_throttled 17\nthrottled_usec 210419\n",
            (41, 17, 210_419_000),
        ),
        (
            "5.14, version 1, with bursts",
            "nr_periods 41\nnr_throttled 17\nthrottled_time 210419286\nnr_bursts 3\nburst_time 99\n",
            (41, 17, 210_419_286),
        ),
        (
            "5.15, version 2, with bursts",
            "usage_usec 4008\nuser_usec 4000\nsystem_usec 8\nnr_periods 41\nnr_throttled 17\nthrottled_usec 210419\n\
             nr_bursts 3\nburst_usec 99\n",
            (41, 17, 210_419_000),
        ),
        (
            "6.1, version 2, with core scheduling",
            "usage_usec 4008\nuser_usec 4000\nsystem_usec 8\ncore_sched.force_idle_usec 0\nnr_periods 41\n\
             nr_throttled 17\nthrottled_usec 210419\nnr_bursts 0\nburst_usec 0\n",
            (41, 17, 210_419_000),
        ),
        (
            "6.12, version 2, with nice time",
            "usage_usec 4008\nuser_usec 4000\nsystem_usec 8\nnice_usec 7\ncore_sched.force_idle_usec 0\n\
             nr_periods 41\nnr_throttled 17\nthrottled_usec 210419\nnr_bursts 0\nburst_usec 0\n",
            (41, 17, 210_419_000),
        ),
    ];

    #[test]
    fn what_each_generation_of_kernels_prints_is_read() {
        for (kernel, text, (periods, throttled_periods, throttled_ns)) in KERNELS {
            let expected = Throttling { periods, throttled_periods, throttled_ns };
            assert_eq!(parse_cpu_stat(text.as_bytes()), Some(expected), "{kernel}");
            let used = crate::signal::group::parse_usage_lines(text.as_bytes());
            let is_two = kernel.contains("version 2");
            assert_eq!(used, is_two.then_some((4_008_000, 4_000_000)), "{kernel}");
        }
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
        assert!(ThrottlingSignal::open_own(&root).is_none());
        let named = ThrottlingSignal::open_exactly(&root, Path::new("/sys/fs/cgroup/a"));
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
        assert_eq!(ThrottlingSignal::open_own(&root).unwrap().take().unwrap().periods, 7);
        let mut named = ThrottlingSignal::open_exactly(&root, Path::new("/sys/fs/cgroup/pod/box")).unwrap();
        assert_eq!(named.take().unwrap().periods, 120);
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
        assert_eq!(ThrottlingSignal::open_own(&root).unwrap().take().unwrap().throttled_periods, 37);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = parse_cpu_stat(&text);
        }
    }
}
