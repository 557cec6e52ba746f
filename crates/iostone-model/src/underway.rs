//! A run in progress: how far it is, and its last trials.

use crate::metric::Unit;

/// How far a run is, by what it has recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Underway {
    /// The experiment's name.
    pub experiment: String,
    /// The metric that is decided by.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// Blocks that count.
    pub counted: u32,
    /// Blocks that failed a gate.
    pub discarded: u32,
    /// Blocks at most.
    pub most_blocks: u32,
    /// Trials recorded.
    pub trials: u32,
    /// Configurations of the block in progress that are still to run, in their order.
    pub waiting: Vec<String>,
    /// The last trials, the latest first.
    pub recent: Vec<RecentTrial>,
    /// The answer so far, once a block counts.
    pub headline: Option<String>,
    /// When the last event happened, RFC 3339 in UTC.
    pub last_event: Option<String>,
    /// Why its last session ended; none while it goes on.
    pub ended: Option<String>,
}

/// One of the last trials.
#[derive(Debug, Clone, PartialEq)]
pub struct RecentTrial {
    /// Its number.
    pub trial: u32,
    /// Its block.
    pub block: u32,
    /// The configuration.
    pub configuration: String,
    /// Whether every gate passed.
    pub valid: bool,
    /// When it was recorded.
    pub at: String,
    /// The metric that is decided by, in its base unit; none where the trial has none.
    pub value: Option<f64>,
}
