//! What a gate asks: whether a level is proven not to be worse than the baseline by more than the margin.

use serde::{Deserialize, Serialize};

use super::Verdicts;

/// How a level stands to the one question of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateState {
    /// Proven not to be worse by more than the margin.
    NotWorse,
    /// Neither.
    Unsettled,
    /// Shown to be worse, and not to be so by less than the margin.
    Worse,
}

impl GateState {
    /// The word itself, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotWorse => "not-worse",
            Self::Unsettled => "unsettled",
            Self::Worse => "worse",
        }
    }

    /// What one-sided bounds of the ratio show, each at the declared confidence; above 1 is better.
    pub fn of_bounds([lower, upper]: [Option<f64>; 2], margin: f64) -> Self {
        if lower.is_some_and(|lower| lower > 1.0 / (1.0 + margin)) {
            Self::NotWorse
        } else if upper.is_some_and(|upper| upper < 1.0) {
            Self::Worse
        } else {
            Self::Unsettled
        }
    }
}

impl Verdicts {
    /// What a gate over all comparisons comes to: worse if one is, not worse if all are. None where the run was not asked.
    pub fn gate(&self) -> Option<GateState> {
        self.comparisons.iter().filter_map(|comparison| comparison.gate).max()
    }
}
