//! The limit layer: what a trial's workload may use of processors, memory and devices.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::processors::MOST;
use super::{DirectionLimits, Limits, ProcessorSet, SettingProblem};
use crate::units::{Bytes, Fraction, Span};

/// The period of a quota for which none is said: the kernel's own default (Documentation/scheduler/sched-bwc.rst).
pub const DEFAULT_PERIOD: Duration = Duration::from_millis(100);
/// The kernel takes no shorter period, and no smaller quota (`min_cfs_quota_period`, kernel/sched/core.c).
pub const SHORTEST_PERIOD: Duration = Duration::from_millis(1);
/// The kernel takes no longer period (`max_cfs_quota_period`, kernel/sched/core.c).
pub const LONGEST_PERIOD: Duration = Duration::from_secs(1);

/// Over shorter periods a share is not kept: the kernel looks at its clock's ticks, which are 1 ms to 10 ms apart, and a
/// period that holds few of them ends before it was noticed that its quota was not used (2 ms with ticks of 4 ms gave
/// 35 % for 50 %, 10 ms gave 50 %).
pub const LEAST_EXACT_PERIOD: Duration = Duration::from_millis(10);

/// Beyond this the kernel counts no pages (`PAGE_COUNTER_MAX`, `include/linux/page_counter.h`, is 2^63 bytes) and takes a
/// limit for none; what lies between is more than any machine has.
pub const MOST_MEMORY: Bytes = Bytes(1 << 62);

/// With less a program hardly starts: its own pages and those of the libraries that it maps count.
pub const LEAST_MEMORY: Bytes = Bytes(4 << 20);

/// What the workload may use, as control groups enforce it; what is left out is not limited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// CPU time: `"none"`, a share of one processor (`"30%"`, `"150%"`), or
    /// `{ quota = "30ms", period = "100ms", burst = "10ms" }`.
    #[serde(default, skip_serializing_if = "CpuLimit::is_none")]
    pub cpu: CpuLimit,
    /// Memory, page cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The processors that may be used, as cpuset(7) lists them: `0`, `0-1`, `0,2-3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// What the device of the stack serves, for each direction apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<Limits>,
}

impl Limit {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.cpu.is_none()
            && self.memory.is_none()
            && self.cpuset.is_none()
            && self.io.is_none_or(|io| io.is_empty())
    }

    /// The processors that may be used; none where nothing is said, or something else than a list of them.
    pub fn processors(&self) -> Option<ProcessorSet> {
        self.cpuset.as_deref()?.parse().ok().filter(|set: &ProcessorSet| !set.0.is_empty())
    }

    /// What no machine could do of this.
    ///
    /// The bounds of quotas are the kernel's (`tg_set_bandwidth`, kernel/sched/core.c).
    pub fn problems(&self) -> Vec<SettingProblem> {
        let mut problems = Vec::new();
        let mut add = |key, message: String, expected: &str| {
            problems.push(SettingProblem { key, message, expected: expected.to_owned() });
        };
        if let Some(quota) = self.cpu.quota() {
            if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(&quota.period) {
                add(
                    "cpu",
                    format!("the kernel does not accept a period of {}", Span(quota.period)),
                    "1ms to 1s",
                );
            }
            if quota.quota < SHORTEST_PERIOD {
                let (quota, period) = (Span(quota.quota), Span(quota.period));
                add(
                    "cpu",
                    format!("a quota of {quota} in {period} is below the kernel's minimum"),
                    "at least 1ms in each period; a longer period allows a smaller share",
                );
            }
            if quota.share() > f64::from(MOST) {
                let message = format!("that is more than {MOST} processors, the kernel's maximum");
                add("cpu", message, "at most 819200%");
            }
            if quota.burst.is_some_and(|burst| burst > quota.quota) {
                let message = "the burst is above the quota, which the kernel refuses".to_owned();
                add("cpu", message, "at most the quota");
            }
        }
        if let Some(memory) = self.memory.filter(|memory| *memory < LEAST_MEMORY) {
            add("memory", format!("{memory} of memory is too little to start a program"), "at least 4MiB");
        }
        if let Some(memory) = self.memory.filter(|memory| *memory > MOST_MEMORY) {
            add("memory", format!("the kernel does not accept a limit of {memory}"), "at most 4194304TiB");
        }
        if let Some(cpuset) = &self.cpuset {
            let expected = "processors as `0`, `0-1` or `0,2-3`";
            match cpuset.parse::<ProcessorSet>() {
                Err(reason) => add("cpuset", reason, expected),
                Ok(set) if set.0.is_empty() => add("cpuset", "the list is empty".to_owned(), expected),
                Ok(_) => {}
            }
        }
        if let Some(io) = &self.io {
            if io.is_empty() {
                let expected = "expected `throughput`, `iops`, or those of reads or writes";
                add("io", "no limit is set here".to_owned(), expected);
            }
            let [reads, writes] = [io.reads(), io.writes()];
            let is_zero =
                |one: &DirectionLimits| one.iops == Some(0) || one.throughput.is_some_and(|rate| rate.0 == 0);
            if is_zero(&reads) || is_zero(&writes) {
                add("io", "the kernel takes a limit of 0 as no limit".to_owned(), "at least 1");
            }
        }
        problems
    }
}

/// How much CPU time there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CpuLimit {
    /// As much as the machine has.
    #[default]
    None,
    /// A quota in each period.
    Quota(CpuQuota),
}

/// CPU time of all processors together in each period of wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuQuota {
    /// CPU time.
    pub quota: Duration,
    /// Wall time.
    pub period: Duration,
    /// Unused quota that may be kept for later, since Linux 5.14 (`cpu.cfs_burst_us`, `cpu.max.burst`).
    pub burst: Option<Duration>,
}

impl CpuQuota {
    /// A share of one processor over the default period, to the microsecond, which is what the kernel takes.
    pub fn of_share(share: Fraction) -> Self {
        Self::over(share, DEFAULT_PERIOD)
    }

    /// A share of one processor over that period, to the microsecond.
    pub fn over(share: Fraction, period: Duration) -> Self {
        let seconds = (period.as_secs_f64() * share.0.max(0.0)).min(1e6);
        let quota = Duration::from_secs_f64((seconds * 1e6).round() / 1e6);
        Self { quota, period, burst: None }
    }

    /// The share of one processor: 1.5 for one and a half processors.
    pub fn share(&self) -> f64 {
        // Whole figures: 5 ms of 100 ms are 0.05 exactly as it is written.
        self.quota.as_nanos() as f64 / self.period.as_nanos() as f64
    }

    /// Whether its period is so short that the kernel does not keep the share, see [`LEAST_EXACT_PERIOD`].
    pub fn is_inexact(&self) -> bool {
        self.period < LEAST_EXACT_PERIOD
    }

    fn is_plain(&self) -> bool {
        self.period == DEFAULT_PERIOD && self.burst.is_none()
    }
}

impl CpuLimit {
    /// Whether there is no limit.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// The quota, if there is one.
    pub fn quota(&self) -> Option<CpuQuota> {
        match self {
            Self::None => None,
            Self::Quota(quota) => Some(*quota),
        }
    }
}

impl fmt::Display for CpuQuota {
    /// `30%`; `30% (300ms in 1s)` where the period is not the default; `30%, burst 10ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Fraction(self.share()))?;
        if self.period != DEFAULT_PERIOD {
            write!(f, " ({} in {})", Span(self.quota), Span(self.period))?;
        }
        match self.burst {
            Some(burst) => write!(f, ", burst {}", Span(burst)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CpuLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Quota(quota) => quota.fmt(f),
        }
    }
}

/// The table form.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuotaTable {
    /// CPU time in each period.
    quota: Span,
    /// 1ms to 1s; 100ms if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    period: Option<Span>,
    /// Unused quota that may be kept for later, at most the quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst: Option<Span>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Word(String),
    Table(QuotaTable),
}

impl Serialize for CpuLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match self {
            Self::None => Written::Word("none".to_owned()),
            // A share in words may lose digits of a quota in microseconds.
            Self::Quota(quota)
                if quota.is_plain()
                    && Fraction(quota.share()).to_string().parse().map(CpuQuota::of_share) == Ok(*quota) =>
            {
                Written::Word(Fraction(quota.share()).to_string())
            }
            Self::Quota(quota) => Written::Table(QuotaTable {
                quota: Span(quota.quota),
                period: Some(Span(quota.period)),
                burst: quota.burst.map(Span),
            }),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CpuLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = CpuLimit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`none`, a share of a processor such as `30%`, or { quota = \"30ms\", period = \"100ms\" }")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<CpuLimit, E> {
                if text == "none" {
                    return Ok(CpuLimit::None);
                }
                let share: Fraction = text.parse().map_err(E::custom)?;
                Ok(CpuLimit::Quota(CpuQuota::of_share(share)))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<CpuLimit, A::Error> {
                let table = QuotaTable::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                let period = table.period.map_or(DEFAULT_PERIOD, |period| period.0);
                if period.is_zero() {
                    return Err(A::Error::custom("the period is 0s; expected 1ms to 1s"));
                }
                let burst = table.burst.map(|burst| burst.0);
                Ok(CpuLimit::Quota(CpuQuota { quota: table.quota.0, period, burst }))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for CpuLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CpuLimit".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let word = schemars::json_schema!({
            "type": "string",
            "pattern": "^(none|[0-9.]+%)$",
            "examples": ["none", "30%", "150%"]
        });
        let table = generator.subschema_for::<QuotaTable>();
        schemars::json_schema!({ "anyOf": [word, table] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(json: &str) -> Result<CpuLimit, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_share_and_a_table_say_the_same() {
        let share = read("\"30%\"").unwrap();
        assert_eq!(share, read("{\"quota\":\"30ms\"}").unwrap());
        assert_eq!(share.to_string(), "30%");
        assert_eq!(read("\"none\"").unwrap(), CpuLimit::None);
        let long = read("{\"quota\":\"300ms\",\"period\":\"1s\",\"burst\":\"10ms\"}").unwrap();
        assert_eq!(long.to_string(), "30% (300ms in 1s), burst 10ms");
        assert!(read("\"lots\"").is_err() && read("{\"quota\":\"1ms\",\"period\":\"0s\"}").is_err());
    }

    #[test]
    fn what_no_machine_could_do_is_said() {
        let of = |json: &str| -> Vec<String> {
            let limit: Limit = serde_json::from_str(json).unwrap();
            limit.problems().into_iter().map(|one| format!("{}: {}", one.key, one.message)).collect()
        };
        assert!(of("{\"cpu\":\"190%\",\"memory\":\"64MiB\",\"cpuset\":\"0-1\"}").is_empty());
        let least = of("{\"cpu\":\"0.5%\"}");
        assert!(least[0].contains("below the kernel's minimum"), "{least:?}");
        let burst = of("{\"cpu\":{\"quota\":\"5ms\",\"burst\":\"6ms\"}}");
        assert_eq!(burst, ["cpu: the burst is above the quota, which the kernel refuses"]);
        assert_eq!(of("{\"cpu\":{\"quota\":\"5ms\",\"period\":\"2s\"}}").len(), 1);
        assert_eq!(of("{\"memory\":\"1MiB\",\"cpuset\":\"1-0\",\"io\":{}}").len(), 3);
        assert!(of("{\"cpu\":\"819200%\",\"memory\":\"4194304TiB\"}").is_empty());
        let beyond = of("{\"cpu\":\"9999999999999999999999%\",\"memory\":\"9999999TiB\"}");
        assert!(beyond[0].contains("more than 8192 processors"), "{beyond:?}");
        assert_eq!(beyond[1], "memory: the kernel does not accept a limit of 9999999TiB");
        assert_eq!(of("{\"cpuset\":\"\"}"), ["cpuset: the list is empty"]);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(quota in 1_000u64..4_000_000, period in 1_000u64..=1_000_000, burst: Option<u16>) {
            let micros = Duration::from_micros;
            let burst = burst.map(|burst| micros(burst.into()));
            let limit = CpuLimit::Quota(CpuQuota { quota: micros(quota), period: micros(period), burst });
            let text = serde_json::to_string(&limit).unwrap();
            prop_assert_eq!(read(&text).unwrap(), limit);
        }
    }
}
