//! An experiment on a host at a glance: how many runs, the latest, and how the figure that decides went.

use crate::summary::RunListing;

/// The runs of an experiment on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// All of them, rehearsals too.
    pub runs: u32,
    /// The latest.
    pub latest: RunListing,
    /// The figure that decides, a line for each configuration.
    pub lines: Vec<OverviewLine>,
}

/// A configuration's figure from run to run.
#[derive(Debug, Clone, PartialEq)]
pub struct OverviewLine {
    /// The configuration.
    pub configuration: String,
    /// Medians of runs, the oldest first.
    pub values: Vec<f64>,
}
