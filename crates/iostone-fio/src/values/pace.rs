//! When I/O happens and on which processors: rates, pauses, the end of a job, steady state.

use iostone_engine::{SteadyLimit, SteadyOf};

use crate::number::{real, size, whole};
use crate::values::KbBase;

/// Whom `exitall` ends; fio's `exit_what`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExitWhat {
    /// The jobs of the same group.
    #[default]
    Group,
    /// All that run; the next stonewalled group starts.
    Stonewall,
    /// All.
    All,
}

/// How the clones of a job share `cpus_allowed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuPolicy {
    /// Each may use all of them.
    #[default]
    Shared,
    /// Each gets one, in turn.
    Split,
}

/// What one entry of an averaged log holds; fio's `log_window_value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogWindow {
    /// The mean.
    #[default]
    Average,
    /// The largest.
    Largest,
    /// Both.
    Both,
}

/// The criterion of steady state; fio's `steadystate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyState {
    /// What is looked at.
    pub of: SteadyOf,
    /// The limit.
    pub limit: SteadyLimit,
}

/// Reads `iops:2%`, `bw_slope:1m`.
pub(crate) fn read_steady_state(text: &str, kb_base: KbBase) -> Result<SteadyState, String> {
    let (word, limit) = text.split_once(':').ok_or("a limit is missing, as in `iops:2%`")?;
    let of = match word {
        "iops" => SteadyOf::Iops,
        "iops_slope" => SteadyOf::IopsSlope,
        "bw" => SteadyOf::Bandwidth,
        "bw_slope" => SteadyOf::BandwidthSlope,
        "lat" | "lat_slope" => return Err("steady state is judged by iops or bw, not by latency".into()),
        _ => return Err("the criterion must be one of iops, iops_slope, bw, bw_slope, lat, lat_slope".into()),
    };
    let limit = match (limit.trim().strip_suffix('%'), of) {
        (Some(percent), _) => SteadyLimit::Percent(real(percent, 0.0, f64::MAX)?),
        (None, SteadyOf::Iops | SteadyOf::IopsSlope) => SteadyLimit::Absolute(real(limit, 0.0, f64::MAX)?),
        (None, SteadyOf::Bandwidth | SteadyOf::BandwidthSlope) => {
            SteadyLimit::Absolute(size(limit, kb_base)? as f64)
        }
    };
    Ok(SteadyState { of, limit })
}

/// The most processors that a set may name (`CPU_SETSIZE`).
const MOST_CPUS: u32 = 1024;

/// Reads `0,5,8-15`: ascending, each once.
pub(crate) fn read_cpus(text: &str) -> Result<Vec<u32>, String> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |digits: &str| {
            let number = digits.trim().parse::<u32>().ok().filter(|cpu| *cpu < MOST_CPUS);
            number.ok_or_else(|| format!("`{digits}` is not the number of a processor below {MOST_CPUS}"))
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("`{part}` runs backwards"));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Reads fio's `cpumask`: bit n is processor n, 32 at most.
pub(crate) fn read_cpu_mask(text: &str, kb_base: KbBase) -> Result<Vec<u32>, String> {
    let mask = whole(text, kb_base, 1, i64::from(u32::MAX))?;
    Ok((0..32).filter(|cpu| mask >> cpu & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn processors_are_read_from_lists_and_masks() {
        assert_eq!(read_cpus("0,5,8-10"), Ok(vec![0, 5, 8, 9, 10]));
        assert_eq!(read_cpus("3,1-3"), Ok(vec![1, 2, 3]));
        assert_eq!(read_cpu_mask("34", KbBase::Binary), Ok(vec![1, 5]));
        for text in ["", "a", "5-3", "0-99999", "1,"] {
            assert!(read_cpus(text).is_err(), "{text}");
        }
        assert!(read_cpu_mask("0", KbBase::Binary).is_err());
    }

    #[test]
    fn steady_state_has_a_metric_and_a_limit() {
        let read = |text| read_steady_state(text, KbBase::Binary);
        assert_eq!(read("iops:2%"), Ok(SteadyState { of: SteadyOf::Iops, limit: SteadyLimit::Percent(2.0) }));
        assert_eq!(
            read("bw_slope:1m"),
            Ok(SteadyState { of: SteadyOf::BandwidthSlope, limit: SteadyLimit::Absolute(1_048_576.0) })
        );
        assert!(read("lat:50us").unwrap_err().contains("not by latency"));
        for text in ["iops", "iops:", "speed:1%", "iops:x%", "bw:-1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9,:a-z_%. é]{0,24}") {
            let _ = read_cpus(&text);
            let _ = read_cpu_mask(&text, KbBase::Binary);
            let _ = read_steady_state(&text, KbBase::Binary);
        }
    }
}
