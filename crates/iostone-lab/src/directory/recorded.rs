//! A run read back from its directory, with the verdicts that it has, or concluded anew against another baseline.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::environment::Environment;
use iostone_model::experiment::{ConfoundedLevel, Override, read as read_experiment};
use iostone_model::run::{Plan, RunRecord};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::Verdicts;

use super::{
    block_records, ended, integrity, is_finished, pilots, read_journal, read_json, read_plan, read_trials,
};
use crate::error::LabError;
use crate::journal::Entry;

/// Reads a run, its own or another machine's.
///
/// # Errors
/// Not a run, or damaged.
pub fn read_run(path: &Path) -> Result<RunRecord, LabError> {
    let records = Records::read(path)?;
    let Records { path, plan, entries, trials } = &records;
    let verdicts_path = path.join("verdicts.json");
    let verdicts = if verdicts_path.exists() {
        Some(read_json(&verdicts_path)?)
    } else if trials.is_empty() {
        None
    } else {
        // They follow from the records, so they can be had again.
        Some(crate::conclude::conclude(plan, trials, entries, false)?)
    };
    records.with(verdicts)
}

/// Reads a run and concludes its trials anew, their levels held against another baseline. The directory stays as it is.
///
/// # Errors
/// As [`read_run`], and a baseline that there is not.
pub fn read_run_against(path: &Path, baseline: &str) -> Result<RunRecord, LabError> {
    let mut records = Records::read(path)?;
    let own = &records.plan.experiment;
    let other = own.with_baseline(baseline).map_err(|error| LabError::Baseline(Box::new(error)))?;
    if (&other.baseline_factor, &other.baseline_level) == (&own.baseline_factor, &own.baseline_level) {
        return read_run(path);
    }
    let confounded = Some(confounded_against(baseline, &records)?);
    let plan = Plan { experiment: other, confounded, ..records.plan.clone() };
    let verdicts = if records.trials.is_empty() {
        None
    } else {
        Some(crate::conclude::look_again(&plan, own, &records.trials, &records.entries)?)
    };
    records.plan = plan;
    records.with(verdicts)
}

/// The levels that change more than one thing, seen from another baseline: of the experiment file, as when the plan was
/// made. Where the file does not have the level, as in a run of identical levels, they stay as they are.
fn confounded_against(baseline: &str, records: &Records) -> Result<Vec<ConfoundedLevel>, LabError> {
    let split = |typed: &String| {
        let (path, value) = typed.split_once('=')?;
        Some(Override { path: path.trim().to_owned(), value: value.trim().to_owned() })
    };
    let overrides: Vec<Override> = records.plan.overrides.iter().filter_map(split).collect();
    let experiment = read_experiment(&records.text()?, &overrides).ok();
    let other = experiment.and_then(|experiment| experiment.with_baseline(baseline).ok());
    Ok(other.map_or_else(|| records.plan.confounded_levels().into_owned(), |other| other.confounded_levels()))
}

/// What was recorded of a run, before anything is concluded.
struct Records {
    path: PathBuf,
    plan: Plan,
    entries: Vec<Entry>,
    trials: Vec<TrialRecord>,
}

impl Records {
    fn read(path: &Path) -> Result<Self, LabError> {
        let path = fs::canonicalize(path).map_err(|_| LabError::NotARun { path: path.to_owned() })?;
        let plan = read_plan(&path)?;
        let entries = read_journal(&path.join("journal.jsonl"))?;
        let trials = read_trials(&path)?;
        Ok(Self { path, plan, entries, trials })
    }

    /// The experiment file as it was written.
    fn text(&self) -> Result<String, LabError> {
        let text_path = self.path.join("experiment.toml");
        fs::read_to_string(&text_path).map_err(|error| LabError::file("reading", &text_path, error))
    }

    /// The run with what was concluded from it.
    fn with(self, verdicts: Option<Verdicts>) -> Result<RunRecord, LabError> {
        let environment_path = self.path.join("environment.json");
        let environment =
            if environment_path.exists() { read_json(&environment_path)? } else { Environment::default() };
        let pilots = pilots::read(&self.path)?;
        let experiment_text = self.text()?;
        let Self { path, plan, entries, trials } = self;
        Ok(RunRecord {
            directory: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            plan,
            experiment_text,
            environment,
            blocks: block_records(&entries),
            finished: is_finished(&entries),
            ended: ended(&entries),
            defects: integrity::find_defects(&entries, &trials)
                .into_iter()
                .chain(integrity::find_pilot_defects(&entries, &pilots))
                .filter(|defect| !defect.mendable || is_finished(&entries))
                .map(|defect| defect.sentence)
                .collect(),
            trials,
            pilots,
            declared_ramp: pilots::declared_ramp(&entries),
            verdicts,
            audit: None,
            explanation: None,
        })
    }
}
