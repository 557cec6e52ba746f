//! The warm-up of a run: its pilots, the ramp they led to, and whether the trials were steady behind it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::covariate::Taken;
use crate::trial::{Check, GateOutcome, SignalSummary, WorkloadReport};
use crate::units::Span;
use crate::verdict::Flag;

/// The version of [`PilotRecord`] as JSON.
pub const PILOT_SCHEMA: &str = "iostone/pilot/1";

/// Everything kept of a pilot, `pilots/NNNNNN/pilot.json`: a trial that only shows how long the warm-up lasts. It has no
/// block, and its figures are never judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PilotRecord {
    /// [`PILOT_SCHEMA`].
    pub schema: String,
    /// Counted from 1 over the pilots of the run.
    pub number: u32,
    /// The configuration's name.
    pub configuration: String,
    /// The session that ran it, counted from 0.
    pub session: u32,
    /// Start of the workload, RFC 3339 in UTC.
    pub started_at: String,
    /// Seconds from the first step of building the stack to the end of undoing it.
    pub total_seconds: f64,
    /// How long the workload was to run; it ran without any ramp.
    pub runtime: Span,
    /// Where its series is to be cut; none where it is too short to tell.
    pub cut: Option<PilotCut>,
    /// The figures by metric name in SI units, the warm-up in them.
    pub metrics: BTreeMap<String, f64>,
    /// What the workload reported in full.
    pub workload: WorkloadReport,
    /// What was asked of each layer and what the kernel reported back.
    pub checks: Vec<Check>,
    /// Notes of the layers.
    pub notes: Vec<String>,
    /// What the machine did during the workload.
    pub signals: SignalSummary,
    /// Every declared gate with its outcome; a pilot is used whatever it says.
    pub gates: Vec<GateOutcome>,
    /// Second by second what it completed and what others took, with `decide.covariates`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<PilotSecond>,
}

/// One second of a pilot, from the start of its workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PilotSecond {
    /// Operations completed.
    pub operations: u64,
    /// What others took meanwhile.
    pub taken: Taken,
}

/// Where MSER-5 cuts a pilot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PilotCut {
    /// From the start of the workload.
    pub after: Span,
    /// Whether no later cut was admissible, so that the warm-up may last longer than this.
    pub at_limit: bool,
}

/// The ramp of every trial of a run, declared before its first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeclaredRamp {
    /// How long.
    pub ramp: Span,
    /// How it follows from the cuts: "largest", or "90th percentile".
    pub rule: String,
    /// How many pilots it rests on, one a configuration.
    pub pilots: u32,
    /// A configuration whose pilot asked for it.
    pub asked_by: String,
    /// Whether a cut stood at its limit, so that the ramp may be too short: only in a rehearsal.
    #[serde(default)]
    pub at_limit: bool,
    /// How long trials are measured, where that was left to the pilots too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<DeclaredRuntime>,
}

/// The measured time of every trial of a run: that of least time to a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeclaredRuntime {
    /// How long.
    pub runtime: Span,
    /// Seconds that a trial costs beside it, its ramp included.
    pub gap_seconds: f64,
    /// The spread of a block's log ratio at that length; none where the pilots were too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// The blocks that equivalence is then expected to take, at most the budget.
    pub blocks: u32,
    /// How long the shortest pilot ran that it rests on.
    pub pilot: Span,
}

impl fmt::Display for DeclaredRuntime {
    /// "runtime 5s: shortest expected time to a verdict, about 14 blocks at 8.2 s a trial (...)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trial = self.runtime.0.as_secs_f64() + self.gap_seconds;
        write!(f, "runtime {}", self.runtime)?;
        match self.spread {
            Some(spread) => write!(
                f,
                ": shortest expected time to a verdict, about {} blocks at {trial:.1} s per trial (standard deviation of the \
                 block ratios {:.1} %)",
                self.blocks,
                100.0 * spread
            ),
            None => write!(
                f,
                ": the shortest with 500 operations; pilots of {} are too short to choose a runtime",
                self.pilot
            ),
        }
    }
}

/// Whether the rate of a trial was steady over its measured time: five equal windows within the limits of the SNIA
/// Performance Test Specification, 20 % for their excursion and 10 % for their slope, both as shares of the mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SteadyState {
    /// Both limits were kept.
    Steady {
        /// Excursion of the windows' means.
        range_fraction: f64,
        /// Change of the fitted line from the first window to the last; below zero where the rate fell.
        slope_fraction: f64,
    },
    /// A limit was broken. The trial counts all the same: each level of a block gets the same treatment.
    NotSteady {
        /// Excursion of the windows' means.
        range_fraction: f64,
        /// Change of the fitted line from the first window to the last.
        slope_fraction: f64,
        /// The limits that were broken: "it falls by 12.0 % of its mean (limit 10 %)".
        reason: String,
    },
    /// The trial bears no check.
    NotChecked {
        /// Why: "too short: 1.0 s measured, 2.5 s needed".
        reason: String,
    },
}

impl SteadyState {
    /// The flag on a trial that was checked and is not steady.
    pub fn flag(&self) -> Option<Flag> {
        match self {
            Self::NotSteady { reason, .. } => Some(Flag::new("not-steady", format!("not steady: {reason}"))),
            Self::Steady { .. } | Self::NotChecked { .. } => None,
        }
    }
}
