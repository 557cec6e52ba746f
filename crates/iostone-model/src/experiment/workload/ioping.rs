//! What ioping is asked to do.

mod check;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkingSet, WorkloadKind};
use super::{Ends, parts};
use crate::experiment::Configuration;
use crate::experiment::check::Findings;
use crate::metric::{Direction, Metric, Unit, metric};
use crate::omitted::is_default;
use crate::units::{Bytes, Span};

/// ioping: single requests, one after another, and how long each took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the tool")]
pub struct IopingWorkload {
    /// Requests in all, `-c`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// How long, `-w`; 10 s when neither this nor `count` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Span>,
    /// From the start of one request to that of the next, `-i`; 0 for at once. 1 s when left out, as ioping does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Bytes of each request, `-s`; 4 KiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Where requests lie, `-S`; 1 MiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_set: Option<Bytes>,
    /// One request behind the other, `-L`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub linear: bool,
    /// Writes, `-W`; into a temporary file of ioping's own.
    #[serde(default, skip_serializing_if = "is_default")]
    pub write: bool,
    /// `O_DIRECT`, `-D`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub direct: bool,
    /// Lets the page cache answer, `-C`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cached: bool,
    /// `O_SYNC`, `-Y`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sync: bool,
}

impl IopingWorkload {
    /// How long it works, where it was told.
    pub fn asked_time(&self) -> Option<Duration> {
        match (self.runtime, self.count) {
            (Some(runtime), _) => Some(runtime.0),
            (None, None) => Some(Duration::from_secs(10)),
            (None, Some(count)) => Some(
                self.interval.map_or(Duration::from_secs(1), |interval| interval.0).saturating_mul(count),
            ),
        }
    }

    fn summary(&self) -> Vec<String> {
        let set = |set: bool, word: &str| set.then(|| word.to_owned());
        parts([
            Some("ioping".to_owned()),
            Some(format!(
                "{}{} of {}",
                if self.linear { "linear " } else { "" },
                if self.write { "writes" } else { "reads" },
                self.size.unwrap_or(Bytes(4096))
            )),
            self.count.map(|count| format!("{count} requests")),
            self.asked_time().filter(|_| self.count.is_none()).map(|time| Span(time).to_string()),
            self.interval.map(|interval| format!("every {interval}")),
            self.working_set.map(|size| format!("within {size}")),
            set(self.direct, "O_DIRECT"),
            set(self.cached, "cached"),
            set(self.sync, "O_SYNC"),
        ])
    }
}

/// Where requests lie unless ioping is told otherwise.
const USUAL_SET: Bytes = Bytes(1 << 20);

pub(super) const KIND: WorkloadKind =
    WorkloadKind { program: Some("ioping"), ..WorkloadKind::new("ioping", IOPING_METRICS) };

impl Profiled for IopingWorkload {
    fn profile(&self) -> Profile {
        let set = self.working_set.unwrap_or(USUAL_SET);
        Profile {
            // What it reads is dropped from the page cache before each request unless told not to, `posix_fadvise(2)`.
            direct: (!self.write || self.direct).then_some(self.direct || !self.cached),
            syncs: Some(self.sync),
            flushed: self.write.then_some(self.sync),
            reads: !self.write,
            writes: self.write,
            must_reach_device: Some(self.direct),
            working_set: WorkingSet::Bytes(set),
            demand: Err("it measures latency, and waits between requests"),
            ends: Ends::ByTime,
            pauses: true,
            takes: self.asked_time().map(|time| [time; 2]),
            room: Some(set),
            ..Profile::of_program(self.summary(), KIND.program)
        }
    }

    fn check(&self, _: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, findings);
    }

    fn rehearse(&mut self, _: Rehearsal) {
        let second = Span(Duration::from_secs(1));
        self.count = self.count.map(|count| count.min(10));
        self.runtime = Some(self.runtime.unwrap_or_default())
            .filter(|runtime| !runtime.0.is_zero())
            .or(self.count.is_none().then_some(second))
            .map(|runtime| runtime.min(second));
        self.interval = Some(self.interval.unwrap_or(second).min(Span(Duration::from_millis(20))));
        self.working_set =
            self.working_set.map(|size| size.min(Rehearsal::FILE.max(self.size.unwrap_or_default())));
    }
}

/// What ioping yields.
const IOPING_METRICS: &[Metric] = &[
    metric("iops", Unit::PerSecond, Direction::Higher, "operations per second"),
    metric("throughput", Unit::BytesPerSecond, Direction::Higher, "throughput"),
    metric("latency_mean", Unit::Seconds, Direction::Lower, "mean latency"),
    metric("latency_min", Unit::Seconds, Direction::Lower, "minimum latency"),
    metric("latency_max", Unit::Seconds, Direction::Lower, "maximum latency"),
    metric("latency_mdev", Unit::Seconds, Direction::Lower, "mean deviation of latency"),
];
