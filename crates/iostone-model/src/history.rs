//! Many runs of one experiment over time: where its figures changed, and what changed with them.

use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Unit};

/// The version of [`History`] as JSON.
pub const HISTORY_SCHEMA: &str = "iostone/history/1";

/// The history of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// [`HISTORY_SCHEMA`].
    pub schema: String,
    /// The experiment's name.
    pub experiment: String,
    /// The chance of a false alarm in each run of a series.
    pub false_alarms: f64,
    /// One a machine, configuration and metric.
    pub series: Vec<Series>,
    /// What was left out, and why, a sentence each.
    pub left_out: Vec<String>,
}

/// One figure of one configuration on one machine, run after run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What all its runs have in common: the host, or what else it is kept apart by.
    pub machine: String,
    /// The configuration.
    pub configuration: String,
    /// The metric.
    pub metric: String,
    /// What it is, for people.
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better; none where that is not known.
    pub better: Option<Direction>,
    /// The runs, in order of time.
    pub runs: Vec<RunPoint>,
    /// Where the figure changed, in order of time.
    pub changes: Vec<Change>,
    /// A change that the latest runs suggest and do not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspicion: Option<Change>,
    /// Runs depend on each other, so that changes are alarmed more often than promised (`runs-depend`).
    pub runs_depend: bool,
    /// How many runs more until a change since the last one can be seen at all; 0 where it can.
    pub runs_until_alarm: u32,
}

/// A run as a point of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunPoint {
    /// The name of its directory.
    pub directory: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The median of its trials.
    pub value: f64,
}

/// A change of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The first run of the new state, as an index into the series' runs.
    pub first: u32,
    /// The run at which it was seen.
    pub seen_at: u32,
    /// The typical ratio of a run after it to one before, of the metric's own values.
    pub ratio: f64,
    /// Whether that is worse; none where nobody knows which way is better.
    pub worse: Option<bool>,
    /// The statistic, in standard deviations.
    pub statistic: f64,
    /// What it had to exceed.
    pub limit: f64,
    /// The first run of which something was recorded otherwise than of the one before, at most three runs away from `first`, whose
    /// place is not exact; none where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circumstances_at: Option<u32>,
    /// What that was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circumstances: Vec<Circumstance>,
}

/// Something that was recorded of one run otherwise than of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstance {
    /// What: `kernel`, `nvme0n1 firmware`, `ext4 mount options`.
    pub name: String,
    /// As it was; none where it was not recorded.
    pub before: Option<String>,
    /// As it is.
    pub after: Option<String>,
}
