//! The run's journal: what happened, in order, one line of JSON an event, each durable before the next begins.

use iostone_model::covariate::DeclaredCovariate;
use iostone_model::units::Span;
use iostone_model::warm_up::{DeclaredRamp, PilotCut};
use serde::{Deserialize, Serialize};

/// One line of `journal.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub event: JournalEvent,
}

/// What can happen in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JournalEvent {
    /// A process took the run up.
    SessionBegun {
        /// Counted from 0.
        session: u32,
        /// Its process id.
        pid: u32,
        /// The version of iostone.
        iostone_version: String,
        /// SHA-256 of `plan.json`: what was declared before the first trial is what is judged by.
        #[serde(default)]
        plan_digest: String,
    },
    /// An unrecorded trial was made.
    WarmedUp {
        /// The configuration.
        configuration: String,
    },
    /// A pilot was recorded: its `pilot.json` is durable.
    PilotRecorded {
        /// Its number.
        pilot: u32,
        /// The configuration.
        configuration: String,
        /// How long it was to run.
        runtime: Span,
        /// Where its series is to be cut; null where it is too short to tell.
        cut: Option<PilotCut>,
    },
    /// The ramp of every trial was settled, before the first block.
    RampDeclared(DeclaredRamp),
    /// What verdicts are adjusted for was settled, before the first block.
    CovariatesDeclared {
        /// One for each of `decide.covariates`.
        covariates: Vec<DeclaredCovariate>,
    },
    /// A block was begun.
    BlockBegun {
        /// Its number in the seed's stream of orders.
        block: u32,
        /// The configurations in the order in which they are to run.
        order: Vec<String>,
    },
    /// A trial was recorded: its `trial.json` is durable.
    TrialRecorded {
        /// Its number.
        trial: u32,
        /// Its block.
        block: u32,
        /// The configuration.
        configuration: String,
        /// Whether every gate passed.
        valid: bool,
    },
    /// A block has ended.
    BlockEnded {
        /// Its number.
        block: u32,
        /// What becomes of it.
        #[serde(flatten)]
        end: BlockEnd,
    },
    /// The next trial needs another kernel than the one that runs: the session ends, and the block waits.
    RebootNeeded {
        /// The block that waits; none where a warm-up or a pilot does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<u32>,
        /// The configuration.
        configuration: String,
        /// What to boot.
        reason: String,
    },
    /// A block that waited for a reboot goes on where it stopped.
    BlockContinued {
        /// Its number.
        block: u32,
    },
    /// Too many blocks failed a gate: from now on they are all kept, and the environment is flagged.
    Unfit {
        /// Blocks that failed.
        failed: u32,
        /// Blocks begun.
        begun: u32,
    },
    /// The session ended before the run did.
    SessionEnded {
        /// Why: "interrupted", or the error.
        reason: String,
    },
    /// The run has ended.
    Finished {
        /// Why: "decided", "budget of blocks spent", "budget of time spent", "futile".
        reason: String,
    },
}

/// What becomes of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum BlockEnd {
    /// Its trials count.
    Counted,
    /// Its trials are kept but do not count; another block takes its place.
    Discarded {
        /// The gate that failed, with the configuration.
        reason: String,
        /// The configurations whose trials failed a gate.
        configurations: Vec<String>,
        /// Whether it was the workload itself that failed.
        #[serde(default)]
        workload_failed: bool,
    },
}
