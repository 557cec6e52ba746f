//! The figures a trial can be judged by: their names, units and which way is better.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::WORKLOAD_KINDS;

pub use crate::experiment::{
    BONNIE_METRICS, COMMAND_METRICS, DBENCH_METRICS, DBENCH_OPERATIONS, FIO_METRICS, IO_METRICS,
};

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better: throughput, IOPS.
    Higher,
    /// Less is better: latency, elapsed time.
    Lower,
}

impl Direction {
    /// +1 where higher is better, -1 where lower is: the sign put before a log ratio so that above zero is better.
    pub fn sign(self) -> f64 {
        match self {
            Self::Higher => 1.0,
            Self::Lower => -1.0,
        }
    }
}

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes a second.
    BytesPerSecond,
    /// Operations a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share of a whole, as a fraction of 1; written in percent.
    Share,
    /// No unit that iostone knows: figures from elsewhere.
    Plain,
}

/// A figure's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The name used in `decide.metric` and as key of a trial's metrics.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
    /// What it is, for people.
    pub title: &'static str,
}

pub(crate) const fn metric(
    name: &'static str,
    unit: Unit,
    direction: Direction,
    title: &'static str,
) -> Metric {
    Metric { name, unit, direction, title }
}

/// The figures of every kind of workload, a table each, and those that all have. A name means the same figure wherever it
/// stands.
pub fn tables() -> impl Iterator<Item = &'static [Metric]> {
    WORKLOAD_KINDS.iter().flat_map(|kind| [kind.metrics, kind.on_request]).chain([COMMON_METRICS])
}

/// Finds a metric by name among those of any workload.
pub fn find(name: &str) -> Option<&'static Metric> {
    tables().flatten().find(|metric| metric.name == name)
}

/// What every workload yields beside its own figures, where the machine told what they are reckoned from.
pub const COMMON_METRICS: &[Metric] = &[
    metric("cores_used", Unit::Plain, Direction::Lower, "CPU seconds of the workload a second"),
    metric("cpu_per_io", Unit::Seconds, Direction::Lower, "CPU time of the workload for an I/O"),
    metric(
        "written_per_claimed_byte",
        Unit::Plain,
        Direction::Lower,
        "bytes the device wrote for each claimed",
    ),
    metric("read_per_claimed_byte", Unit::Plain, Direction::Lower, "bytes the device read for each claimed"),
    metric("space_per_file_byte", Unit::Plain, Direction::Lower, "bytes taken up for each of the files"),
    metric("extents_per_gib", Unit::Plain, Direction::Lower, "extents of the files for each GiB"),
];

impl Unit {
    /// The base unit in writing, as tables for programs have it: `B/s`, `/s`, `s`, `B`, `1` for a share, nothing for plain numbers.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::BytesPerSecond => "B/s",
            Self::PerSecond => "/s",
            Self::Seconds => "s",
            Self::Bytes => "B",
            Self::Share => "1",
            Self::Plain => "",
        }
    }

    /// Nothing, in the unit without a prefix: `0.00 ns` would tell of a precision that no clock has.
    fn zero(self) -> &'static str {
        match self {
            Self::BytesPerSecond => "0 B/s",
            Self::PerSecond => "0 /s",
            Self::Seconds => "0 s",
            Self::Bytes => "0 B",
            Self::Share => "0 %",
            Self::Plain => "0",
        }
    }

    /// A value with its unit, scaled for people: `61.7 MB/s`, `1.45 k/s`, `4.40 ms`.
    pub fn format(self, value: f64) -> String {
        use crate::figures::group_digits;
        use crate::units::three_digits;
        // Each step: from this magnitude on, divide by that, and write this unit.
        let scaled = |steps: &[(f64, f64, &str)]| {
            let (_, divisor, name) = steps
                .iter()
                .find(|(from, _, _)| value.abs() >= *from * 0.9995)
                .or(steps.last())
                .copied()
                .unwrap_or((1.0, 1.0, ""));
            format!("{}{name}", group_digits(&three_digits(value / divisor)))
        };
        if value == 0.0 {
            return self.zero().to_owned();
        }
        match self {
            Self::BytesPerSecond => {
                scaled(&[(1e9, 1e9, " GB/s"), (1e6, 1e6, " MB/s"), (1e3, 1e3, " kB/s"), (1.0, 1.0, " B/s")])
            }
            // Four digits without a prefix read better than `1.45 k/s`.
            Self::PerSecond => scaled(&[(1e6, 1e6, " M/s"), (1e4, 1e3, " k/s"), (1.0, 1.0, " /s")]),
            Self::Seconds => {
                scaled(&[(1.0, 1.0, " s"), (1e-3, 1e-3, " ms"), (1e-6, 1e-6, " µs"), (1e-9, 1e-9, " ns")])
            }
            Self::Bytes => {
                scaled(&[(1e9, 1e9, " GB"), (1e6, 1e6, " MB"), (1e3, 1e3, " kB"), (1.0, 1.0, " B")])
            }
            Self::Share => format!("{} %", group_digits(&three_digits(value * 100.0))),
            Self::Plain => {
                if value.abs() >= 1e6 || value.abs() < 1e-3 {
                    format!("{value:.3e}")
                } else if value.abs() < 0.995 {
                    let decimals = if value.abs() < 0.00995 {
                        5
                    } else if value.abs() < 0.0995 {
                        4
                    } else {
                        3
                    };
                    format!("{value:.decimals$}")
                } else {
                    group_digits(&three_digits(value))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_scaled_for_people() {
        assert_eq!(Unit::BytesPerSecond.format(61_730_000.0), "61.7 MB/s");
        assert_eq!(Unit::PerSecond.format(1449.0), "1\u{202f}449 /s");
        assert_eq!(Unit::PerSecond.format(14_600.0), "14.6 k/s");
        assert_eq!(Unit::Seconds.format(0.0044), "4.40 ms");
        assert_eq!(Unit::Seconds.format(0.0), "0 s");
        assert_eq!(Unit::Plain.format(0.001_068_2), "0.00107");
        assert_eq!(Unit::Plain.format(0.25), "0.250");
        assert_eq!(Unit::Plain.format(198.003), "198");
    }

    #[test]
    fn a_name_means_the_same_in_every_workload() {
        let metrics: Vec<_> = tables().flatten().collect();
        for metric in &metrics {
            let twin = find(metric.name).unwrap();
            assert_eq!((twin.unit, twin.direction), (metric.unit, metric.direction), "{}", metric.name);
        }
        for table in tables() {
            let mut names: Vec<_> = table.iter().map(|metric| metric.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
