//! What a sweep found: the best level of an ordered factor, and how sure that is.

use serde::{Deserialize, Serialize};

/// The outcome of racing the levels of an ordered factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepVerdict {
    /// The factor.
    pub factor: String,
    /// What the race came to.
    pub outcome: SweepOutcome,
    /// The best level, or the one shown to be within the margin of the best; none while it is open.
    pub best: Option<String>,
    /// The level that looks best so far: the same as `best` where there is one. None before the first block.
    pub leader: Option<String>,
    /// Levels that were not shown to be worse than the best (while it is open: than any other) by more than the margin,
    /// the best among them, in order.
    pub not_shown_worse: Vec<String>,
    /// While it is open: blocks that it will take still, at the spread seen; none where the budget will not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks_to_go: Option<u32>,
    /// Every level, in order.
    pub levels: Vec<SweepLevel>,
    /// A curve through the figures, as a description: no level is chosen by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<SweepFit>,
    /// Trials that count.
    pub trials: u32,
    /// Trials that racing all levels, none passed over, would have taken to the same guarantee at the spread seen.
    pub trials_of_racing_all: Option<u32>,
    /// Dips of the curve in each of which one optimum is taken for granted: one, or all near the best that the first passes
    /// showed.
    #[serde(default = "one")]
    pub optima: u32,
    /// What was taken for granted about the curve, in sentences.
    pub assumption: String,
}

fn one() -> u32 {
    1
}

/// What a sweep came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweepOutcome {
    /// Every other level was shown to be worse than the best.
    UniqueBest,
    /// The best that is named was shown to be within the margin of whichever level is the best.
    WithinMargin,
    /// Nothing has been decided, or a rehearsal decides nothing.
    Open,
    /// Levels were shown to be worse than each other: the effect changed during the run.
    Unstable,
}

/// One level of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepLevel {
    /// Its name.
    pub level: String,
    /// Where it stands on the axis.
    pub position: f64,
    /// Trials that count.
    pub trials: u32,
    /// Median of the metric.
    pub median: Option<f64>,
    /// Interval of the median by order statistics; null where there are too few trials.
    pub median_interval: [Option<f64>; 2],
    /// The typical ratio to the leader within blocks; below 1 is worse. Null for the leader itself.
    pub ratio: Option<f64>,
    /// Its interval, simultaneous over all levels and looks; null where unbounded.
    pub ratio_interval: [Option<f64>; 2],
    /// How it stands.
    pub state: SweepState,
}

/// How a level of a sweep stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweepState {
    /// The best.
    Best,
    /// Not shown to be worse than the best by more than the margin.
    NotShownWorse,
    /// Shown to be worse than the best by more than the margin.
    Worse,
    /// Beyond a level that was shown to be worse by more than the margin, on the side away from the best, and so worse as
    /// well, without a race of its own.
    BeyondWorse,
    /// Nothing has been shown yet.
    Open,
}

/// A parabola through the levels around the best, in the logarithms of both axes where positions are above zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepFit {
    /// Where it has its optimum, on the axis.
    pub optimum: f64,
    /// What it gives there, in the metric's unit.
    pub value: f64,
    /// Positions and values along it, for drawing.
    pub points: Vec<(f64, f64)>,
}
