//! The summary of a run: made of plan, records and verdicts, kept beside them, and made again where it is not of today.
//!
//! It is a cache. Whatever is wrong with it, the records are the truth and are read instead.

mod figures;
mod import;
mod machine;

use std::path::Path;

use iostone_model::experiment::{Configuration, declared_text};
use iostone_model::run::{BlockRecord, ImportRecord, RunRecord};
use iostone_model::summary::{
    ComparisonSummary, Decided, FactorSummary, RunState, RunSummary, SUMMARY_SCHEMA, SweepSummary,
};
use iostone_model::verdict::{Comparison, CurveVerdict, Flag, Verdicts};
use sha2::{Digest, Sha256};

use crate::directory::{
    RunDirectory, WAITS_FOR_REBOOT, hexadecimal, read_journal, read_record, read_run, write_compact,
};
use crate::error::LabError;
use crate::imported::{self, is_import, read_import};

pub use import::summarize_import;

/// The file of a summary in its run directory.
pub const SUMMARY: &str = "summary.json";

/// Some kB are usual; curves of many blocks and imports of many conditions take more.
const LARGEST_BYTES: u64 = 16 << 20;

/// Summarises a run that was read back, whose journal has so many bytes and ended with an event at that time.
pub fn summarize(run: &RunRecord, ended_at: Option<String>, journal_bytes: u64) -> RunSummary {
    let plan = &run.plan;
    let experiment = &plan.experiment;
    let verdicts = run.verdicts.as_ref();
    let (configurations, metrics) = figures::of_run(run);
    RunSummary {
        schema: SUMMARY_SCHEMA.to_owned(),
        record_bytes: journal_bytes,
        run_id: plan.run_id.clone(),
        experiment: experiment.name.clone(),
        experiment_digest: Some(digest(run)),
        question: experiment.question.clone(),
        tags: plan.tags.iter().cloned().collect(),
        state: state(run),
        ended: run.ended.clone(),
        rehearsal: plan.quick,
        identical_levels: plan.identical_levels,
        started_at: plan.created_at.clone(),
        ended_at,
        iostone_version: plan.iostone_version.clone(),
        machine: machine::of_run(run),
        factors: experiment
            .factors
            .iter()
            .map(|factor| FactorSummary { name: factor.name.clone(), levels: factor.levels.clone() })
            .collect(),
        trials: count(run.trials.len()),
        blocks: BlockRecord::count_complete(&run.blocks),
        decided: Some(Decided {
            metric: experiment.decide.metric.clone(),
            margin: experiment.decide.margin.0,
            confidence: experiment.decide.confidence.0,
            factor: experiment.baseline_factor.clone(),
            baseline: experiment.baseline_level.clone(),
        }),
        metrics,
        configurations,
        headline: verdicts.map(|verdicts| verdicts.headline.clone()),
        comparisons: verdicts.map(comparisons).unwrap_or_default(),
        sweep: verdicts.and_then(|verdicts| verdicts.sweep.as_ref()).map(|sweep| SweepSummary {
            outcome: sweep.outcome,
            best: sweep.best.clone(),
            not_shown_worse: sweep.not_shown_worse.clone(),
        }),
        flags: verdicts.map(|verdicts| names(&verdicts.flags)).unwrap_or_default(),
    }
}

/// The summary of a run directory: the one that it has, or one made of its records, which takes as long as reading them.
///
/// # Errors
/// Not a run, or damaged.
pub fn read_or_make(path: &Path) -> Result<RunSummary, LabError> {
    match read(path) {
        Some(summary) => Ok(summary),
        None => make(path),
    }
}

/// The summary that a directory has, where that is of the records as they stand.
fn read(path: &Path) -> Option<RunSummary> {
    let bytes = read_record(&path.join(SUMMARY), LARGEST_BYTES).ok()?;
    let summary: RunSummary = serde_json::from_slice(&bytes).ok()?;
    let is_of_today = summary.schema == SUMMARY_SCHEMA && record_bytes(path) == Some(summary.record_bytes);
    is_of_today.then_some(summary)
}

/// The length of what a summary is made of: of a run the journal, which tells of every trial and every end.
fn record_bytes(path: &Path) -> Option<u64> {
    let record = if is_import(path) { imported::RECORD } else { "journal.jsonl" };
    let metadata = path.join(record).symlink_metadata().ok()?;
    metadata.is_file().then_some(metadata.len())
}

fn make(path: &Path) -> Result<RunSummary, LabError> {
    let bytes = record_bytes(path).unwrap_or_default();
    if is_import(path) {
        return Ok(summarize_import(&read_import(path)?, bytes));
    }
    let entries = read_journal(&path.join("journal.jsonl"))?;
    let ended_at = entries.last().map(|entry| entry.at.clone());
    Ok(summarize(&read_run(path)?, ended_at, bytes))
}

impl RunDirectory {
    /// Writes the summary beside the records, durably.
    pub(crate) fn write_summary(&self) -> Result<(), LabError> {
        write_compact(&self.path().join(SUMMARY), &make(self.path())?)
    }
}

/// Writes the summary of an import into its directory.
pub(crate) fn write_of_import(directory: &Path, record: &ImportRecord) -> Result<(), LabError> {
    let bytes = record_bytes(directory).unwrap_or_default();
    write_compact(&directory.join(SUMMARY), &summarize_import(record, bytes))
}

fn state(run: &RunRecord) -> RunState {
    match run.ended.as_deref() {
        _ if run.finished => RunState::Finished,
        None => RunState::Unfinished,
        Some("interrupted") => RunState::Interrupted,
        Some(reason) if reason.starts_with(WAITS_FOR_REBOOT) => RunState::Waiting,
        Some(_) => RunState::Failed,
    }
}

/// What tells one declared experiment from another. A rehearsal, and levels that are identical, are declared otherwise.
fn digest(run: &RunRecord) -> String {
    let plan = &run.plan;
    let mut text = declared_text(&run.experiment_text, &plan.overrides);
    for (is_so, word) in [(plan.quick, "--quick\n"), (plan.identical_levels, "--aa\n")] {
        text.push_str(if is_so { word } else { "" });
    }
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn comparisons(verdicts: &Verdicts) -> Vec<ComparisonSummary> {
    let curves = verdicts.curves.iter().map(of_curve);
    curves.chain(verdicts.comparisons.iter().map(of_comparison)).collect()
}

fn of_curve(curve: &CurveVerdict) -> ComparisonSummary {
    ComparisonSummary {
        level: curve.level.clone(),
        baseline: curve.baseline.clone(),
        stratum: curve.stratum.clone(),
        verdict: Some(curve.verdict),
        flags: names(&curve.flags),
        ..ComparisonSummary::default()
    }
}

fn of_comparison(comparison: &Comparison) -> ComparisonSummary {
    ComparisonSummary {
        level: comparison.level.clone(),
        baseline: comparison.baseline.clone(),
        stratum: comparison.stratum.clone(),
        point: comparison.point.clone(),
        verdict: comparison.verdict,
        withheld: comparison.is_withheld(),
        ratio: comparison.ratio,
        ratio_interval: comparison.ratio_interval,
        equivalence_interval: comparison.equivalence_interval,
        spread: comparison.spread,
        blocks: comparison.blocks,
        flags: names(&comparison.flags),
    }
}

fn names<C: FromIterator<String>>(flags: &[Flag]) -> C {
    flags.iter().map(|flag| flag.name.clone()).collect()
}

/// Whether a configuration has the level that the others are held against.
fn is_baseline(run: &RunRecord, configuration: &Configuration) -> bool {
    let experiment = &run.plan.experiment;
    experiment.compared_level(configuration) == experiment.baseline_level
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
