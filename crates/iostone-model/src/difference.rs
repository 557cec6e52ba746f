//! Runs held against one of them: what was recorded of them differently, then their figures, each with what may be said.

use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Unit};

/// The version of [`Difference`] as JSON.
pub const DIFFERENCE_SCHEMA: &str = "iostone/diff/1";

/// Several runs, or groups of them, side by side; the first is the one that the others are held against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// [`DIFFERENCE_SCHEMA`].
    pub schema: String,
    /// The confidence of each statement.
    pub confidence: f64,
    /// The columns.
    pub columns: Vec<Column>,
    /// What is not the same in all of them.
    pub circumstances: Vec<Row>,
    /// The figures.
    pub figures: Vec<FigureRow>,
}

/// A run, or the runs of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The directory of the run, or the host.
    pub name: String,
    /// The experiment.
    pub experiment: String,
    /// When the run, or the first of them, began.
    pub started_at: String,
    /// How many runs.
    pub runs: u32,
}

/// A circumstance and what it was in each column; none where it was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What.
    pub name: String,
    /// In each column.
    pub values: Vec<Option<String>>,
}

/// A figure, and how it stands in each column to the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureRow {
    /// The configuration, or of ratios the level with its baseline: `off / on`.
    pub configuration: String,
    /// The metric.
    pub metric: String,
    /// What it is, for people.
    pub title: String,
    /// Its unit; that of a ratio is plain.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Option<Direction>,
    /// The median of each column; none where it has no such figure.
    pub values: Vec<Option<f64>>,
    /// What may be said of each column but the first.
    pub answers: Vec<Answer>,
}

/// What may be said of a figure of one column against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// On what ground.
    pub ground: Ground,
    /// The ratio of the metric's own values, or of two ratios to a common level.
    pub ratio: Option<f64>,
    /// Its interval; none where there is no ground.
    pub interval: [Option<f64>; 2],
    /// Whether the difference is shown; none where nothing may be said.
    pub differs: Option<bool>,
    /// Runs that the spread between runs was taken from, where that is the ground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
}

/// What a statement about two runs rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// Both hold the same level beside it, in the same blocks: what sets the runs apart cancels out.
    CommonLevel,
    /// The spread between runs of the same experiment on the same machine is known, from at least five of them.
    History,
    /// Each column is several runs: ranks of runs.
    Runs,
    /// None: a difference may be one of the day.
    None,
}
