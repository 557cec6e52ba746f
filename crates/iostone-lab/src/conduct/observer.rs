//! What is told while a run goes on, and to whom.

use std::time::Duration;

use iostone_model::covariate::DeclaredCovariate;
use iostone_model::trial::TrialRecord;
use iostone_model::units::Span;
use iostone_model::verdict::Verdicts;
use iostone_model::warm_up::{DeclaredRamp, PilotRecord};

/// What is told while a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress<'a> {
    /// The stacks were checked; these are the remarks on them.
    Checked {
        /// Remarks, each once.
        notes: &'a [String],
    },
    /// A warm-up begins.
    WarmUp {
        /// The configuration.
        configuration: &'a str,
    },
    /// A warm-up or a pilot is carried out once more, for its container failed.
    Repeated {
        /// The configuration.
        configuration: &'a str,
        /// Why it failed.
        reason: &'a str,
    },
    /// A pilot begins.
    PilotBegun {
        /// The configuration.
        configuration: &'a str,
        /// How long it is to run.
        runtime: Span,
    },
    /// A pilot was recorded.
    PilotRecorded {
        /// The record.
        record: &'a PilotRecord,
    },
    /// What verdicts are adjusted for was declared, in this session or in an earlier one.
    CovariatesDeclared {
        /// One for each that the experiment names.
        covariates: &'a [DeclaredCovariate],
    },
    /// The ramp of every trial was declared, in this session or in an earlier one.
    RampDeclared {
        /// How long, and why.
        ramp: &'a DeclaredRamp,
    },
    /// A trial begins.
    TrialBegun {
        /// Its block, counted from 1 over the blocks begun in this run.
        block: u32,
        /// The configuration.
        configuration: &'a str,
    },
    /// A trial was recorded.
    TrialRecorded {
        /// The record.
        record: &'a TrialRecord,
        /// Blocks that count so far, without this one.
        blocks: u32,
        /// The most blocks.
        budget: u32,
        /// How long the rest takes at most, at the pace so far.
        at_most: Option<Duration>,
        /// How long a block takes, at the pace so far.
        a_block: Option<Duration>,
    },
    /// A block was discarded.
    BlockDiscarded {
        /// Why.
        reason: &'a str,
    },
    /// Too many blocks failed a gate; from now on all are kept.
    Unfit {
        /// Blocks that failed.
        failed: u32,
        /// Blocks begun.
        begun: u32,
    },
    /// What the blocks so far say.
    Looked {
        /// The verdicts.
        verdicts: &'a Verdicts,
    },
}

/// Who is told.
pub trait Observer {
    /// Takes note.
    fn observe(&mut self, progress: Progress<'_>);
}
