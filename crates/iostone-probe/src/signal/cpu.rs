//! CPU time of the whole machine, with what the hypervisor stole, from `/proc/stat`.

use iostone_model::sample::CpuTimes;

use crate::error::ProbeError;
use crate::fields::{parse_decimal, split_fields, split_lines};
use crate::kernel_file::KernelFile;
use crate::root::Root;

/// The first line: `cpu` and ten numbers of at most 20 digits.
const FIRST_LINE_BYTES: usize = 512;

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct CpuSignal {
    file: KernelFile,
    nanoseconds_a_tick: u64,
}

impl CpuSignal {
    pub(crate) fn open(root: &Root) -> Result<Self, ProbeError> {
        let path = root.join("/proc/stat");
        let file = KernelFile::open(path.clone(), FIRST_LINE_BYTES)
            .map_err(|source| ProbeError::Unreadable { path, source })?;
        // USER_HZ, 100 on every common architecture, and sysconf(_SC_CLK_TCK) is the way to know.
        let nanoseconds_a_tick = NANOSECONDS_A_SECOND / rustix::param::clock_ticks_per_second().max(1);
        let mut signal = Self { file, nanoseconds_a_tick };
        signal.take()?;
        Ok(signal)
    }

    pub(crate) fn take(&mut self) -> Result<CpuTimes, ProbeError> {
        let text = match self.file.read_beginning() {
            Ok(text) => parse_cpu_line(text, self.nanoseconds_a_tick),
            Err(source) => {
                return Err(ProbeError::Unreadable { path: self.file.path().to_path_buf(), source });
            }
        };
        text.ok_or_else(|| ProbeError::Unexpected {
            path: self.file.path().to_path_buf(),
            wanted: "line `cpu`",
        })
    }
}

/// Reads the line `cpu user nice system idle iowait irq softirq steal guest guest_nice` (`proc_stat(5)`).
///
/// The fields grew with the kernel: four of them are in all, `iowait` since 2.5.41, `irq` and `softirq` since 2.6.0,
/// `steal` since 2.6.11; what a kernel does not count is 0, as nothing was counted. Guest time is left out because
/// `user` and `nice` contain it already.
pub(crate) fn parse_cpu_line(text: &[u8], nanoseconds_a_tick: u64) -> Option<CpuTimes> {
    let line = split_lines(text).find(|line| line.starts_with(b"cpu "))?;
    let mut fields = split_fields(line).skip(1);
    let mut ticks = [0_u64; 8];
    for (place, slot) in ticks.iter_mut().enumerate() {
        match fields.next() {
            Some(field) => *slot = parse_decimal(field)?,
            None if place >= 4 => break,
            None => return None,
        }
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let to_ns = |ticks: u64| ticks.saturating_mul(nanoseconds_a_tick);
    Some(CpuTimes {
        user_ns: to_ns(user.saturating_add(nice)),
        system_ns: to_ns(system.saturating_add(irq).saturating_add(softirq)),
        idle_ns: to_ns(idle),
        iowait_ns: to_ns(iowait),
        steal_ns: to_ns(steal),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK_NS: u64 = 10_000_000;

    #[test]
    fn a_current_line_is_read() {
        let text = b"cpu  100 5 40 900 30 2 3 17 50 1\ncpu0 100 5 40 900 30 2 3 17 50 1\nintr 0\n";
        let times = parse_cpu_line(text, TICK_NS).unwrap();
        assert_eq!(times.user_ns, 105 * TICK_NS);
        assert_eq!(times.system_ns, 45 * TICK_NS);
        assert_eq!(times.idle_ns, 900 * TICK_NS);
        assert_eq!(times.iowait_ns, 30 * TICK_NS);
        assert_eq!(times.steal_ns, 17 * TICK_NS);
    }

    #[test]
    fn what_each_generation_of_kernels_prints_is_read() {
        for (kernel, text, idle, iowait, system, steal) in [
            ("2.4", "cpu  11 5 7 900\ncpu0 11 5 7 900\n", 900, 0, 7, 0),
            ("2.6.8", "cpu  11 5 7 900 30 2 3\ncpu0 11 5 7 900 30 2 3\n", 900, 30, 12, 0),
            ("2.6.18", "cpu  11 5 7 900 30 2 3 17\ncpu0 11 5 7 900 30 2 3 17\n", 900, 30, 12, 17),
            ("2.6.32", "cpu  11 5 7 900 30 2 3 17 4\ncpu0 11 5 7 900 30 2 3 17 4\n", 900, 30, 12, 17),
            (
                "6.18",
                "cpu  11 5 7 900 30 2 3 17 4 1\ncpu0 11 5 7 900 30 2 3 17 4 1\nintr 9\n",
                900,
                30,
                12,
                17,
            ),
        ] {
            let expected = CpuTimes {
                user_ns: 16 * TICK_NS,
                system_ns: system * TICK_NS,
                idle_ns: idle * TICK_NS,
                iowait_ns: iowait * TICK_NS,
                steal_ns: steal * TICK_NS,
            };
            assert_eq!(parse_cpu_line(text.as_bytes(), TICK_NS), Some(expected), "{kernel}");
        }
    }

    #[test]
    fn a_kernel_that_counts_no_steal_has_none() {
        let times = parse_cpu_line(b"cpu  100 5 40 900 30 2 3\ncpu0 1 2 3 4 5 6 7\n", TICK_NS).unwrap();
        assert_eq!(times.steal_ns, 0);
        assert_eq!(times.system_ns, 45 * TICK_NS);
        let times = parse_cpu_line(b"cpu 100 5 40 900\n", TICK_NS).unwrap();
        assert_eq!(times.idle_ns, 900 * TICK_NS);
    }

    #[test]
    fn a_line_of_another_form_is_none() {
        for text in [&b""[..], b"cpu0 1 2 3 4\n", b"cpu  1 2 3\n", b"cpu  1 2 x 4 5\n", b"cpu  1 -2 3 4\n"] {
            assert_eq!(parse_cpu_line(text, TICK_NS), None);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text: Vec<u8>) {
            let _ = parse_cpu_line(&text, u64::MAX);
        }

        #[test]
        fn no_line_of_numbers_makes_it_panic(numbers in proptest::collection::vec(any::<u64>(), 0..12)) {
            let fields: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let line = format!("cpu  {}\n", fields.join(" "));
            prop_assert_eq!(parse_cpu_line(line.as_bytes(), TICK_NS).is_some(), numbers.len() >= 4);
        }
    }
}
