//! CPU time and waiting for I/O of the workload's control group.

use std::path::Path;

use crate::error::ProbeError;
use crate::fields::find_value;
use crate::kernel_file::KernelFile;
use crate::root::Root;
use crate::signal::pressure::parse_total;

/// Version 2 with every controller has some 20 lines.
const STAT_BYTES: usize = 2048;
/// One number, or two lines of pressure.
const SHORT_BYTES: usize = 512;

/// What a group used since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GroupUse {
    pub(crate) cpu_ns: u64,
    /// The part of it in user mode; the rest is the kernel's.
    pub(crate) user_ns: u64,
    /// Some task of the group waited for I/O, microseconds.
    pub(crate) io_some_us: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct GroupSignal {
    files: Files,
    io_pressure: Option<KernelFile>,
}

#[derive(Debug)]
enum Files {
    /// `cpuacct.usage` in nanoseconds; `cpuacct.stat`, in ticks, tells how it divides
    /// (Documentation/admin-guide/cgroup-v1/cpuacct.rst).
    One { usage: KernelFile, stat: KernelFile },
    /// `cpu.stat`, which is there with and without the controller (Documentation/admin-guide/cgroup-v2.rst).
    Two { stat: KernelFile },
}

impl GroupSignal {
    /// Watches the group in `directory`, of either version. None where it counts no CPU time.
    pub(crate) fn open(root: &Root, directory: &Path) -> Option<Self> {
        let open = |name: &str, bytes| KernelFile::open(root.join(directory).join(name), bytes).ok();
        let files = match open("cpuacct.usage", SHORT_BYTES) {
            Some(usage) => Files::One { usage, stat: open("cpuacct.stat", SHORT_BYTES)? },
            None => Files::Two { stat: open("cpu.stat", STAT_BYTES)? },
        };
        let mut signal = Self { files, io_pressure: open("io.pressure", SHORT_BYTES) };
        signal.take().ok()?;
        Some(signal)
    }

    pub(crate) fn take(&mut self) -> Result<GroupUse, ProbeError> {
        let (cpu_ns, user_ns) = match &mut self.files {
            Files::One { usage, stat } => {
                let cpu_ns = read(usage, "a number of nanoseconds", parse_usage)?;
                let (user, system) = read(stat, "lines `user` and `system`", parse_acct_stat)?;
                (cpu_ns, divide(cpu_ns, user, system))
            }
            Files::Two { stat } => read(stat, "line `usage_usec`", parse_usage_lines)?,
        };
        // With `psi=0` the file exists and refuses to be read.
        let io_some_us =
            self.io_pressure.as_mut().and_then(|file| parse_total(file.read_beginning().ok()?, b"some"));
        if io_some_us.is_none() {
            self.io_pressure = None;
        }
        Ok(GroupUse { cpu_ns, user_ns, io_some_us })
    }
}

fn read<T>(
    file: &mut KernelFile,
    wanted: &'static str,
    parse: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, ProbeError> {
    let parsed = match file.read_beginning() {
        Ok(text) => parse(text),
        Err(source) => return Err(ProbeError::Unreadable { path: file.path().to_path_buf(), source }),
    };
    parsed.ok_or_else(|| ProbeError::Unexpected { path: file.path().to_path_buf(), wanted })
}

/// `cpuacct.usage`: `123456789`.
pub(crate) fn parse_usage(text: &[u8]) -> Option<u64> {
    crate::fields::parse_decimal(text.trim_ascii())
}

/// `cpuacct.stat`: `user 12`, `system 3`, in ticks.
pub(crate) fn parse_acct_stat(text: &[u8]) -> Option<(u64, u64)> {
    Some((find_value(text, b"user")?, find_value(text, b"system")?))
}

/// `cpu.stat` of version 2: all and user, nanoseconds.
pub(crate) fn parse_usage_lines(text: &[u8]) -> Option<(u64, u64)> {
    let microseconds = |key: &[u8]| Some(find_value(text, key)?.saturating_mul(1000));
    let all = microseconds(b"usage_usec")?;
    Some((all, microseconds(b"user_usec")?.min(all)))
}

/// The part of `all` that the ticks say was user time, as the kernel itself divides exact time (`cputime_adjust`,
/// kernel/sched/cputime.c).
fn divide(all: u64, user: u64, system: u64) -> u64 {
    let ticks = u128::from(user) + u128::from(system);
    if ticks == 0 {
        return all;
    }
    u64::try_from(u128::from(all) * u128::from(user) / ticks).unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::plant;

    #[test]
    fn both_versions_are_read() {
        let (_folder, root) = plant(&[
            ("one/cpuacct.usage", "4000000000\n"),
            ("one/cpuacct.stat", "user 300\nsystem 100\n"),
            ("two/cpu.stat", "usage_usec 4000000\nuser_usec 3000000\nsystem_usec 1000000\nnice_usec 0\n"),
            (
                "two/io.pressure",
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
            ),
        ]);
        let expected = GroupUse { cpu_ns: 4_000_000_000, user_ns: 3_000_000_000, io_some_us: None };
        let take = |directory: &str| GroupSignal::open(&root, Path::new(directory)).unwrap().take().unwrap();
        assert_eq!(take("/one"), expected);
        assert_eq!(take("/two"), GroupUse { io_some_us: Some(77), ..expected });
    }

    #[test]
    fn a_group_of_another_controller_counts_no_time() {
        let (_folder, root) = plant(&[
            ("cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
            ("memory/memory.stat", "cache 0\n"),
        ]);
        for directory in ["/cpu", "/memory", "/none"] {
            assert!(GroupSignal::open(&root, Path::new(directory)).is_none(), "{directory}");
        }
    }

    #[test]
    fn pressure_that_refuses_to_be_read_is_given_up() {
        let (_folder, root) =
            plant(&[("g/cpu.stat", "usage_usec 4\nuser_usec 3\nsystem_usec 1\n"), ("g/io.pressure", "")]);
        let taken = GroupSignal::open(&root, Path::new("/g")).unwrap().take().unwrap();
        assert_eq!(taken, GroupUse { cpu_ns: 4000, user_ns: 3000, io_some_us: None });
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = (parse_usage(&text), parse_acct_stat(&text), parse_usage_lines(&text));
        }

        #[test]
        fn a_part_is_never_more_than_the_whole(all: u64, user: u64, system: u64) {
            prop_assert!(divide(all, user, system) <= all);
        }
    }
}
