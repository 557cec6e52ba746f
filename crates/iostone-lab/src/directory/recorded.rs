//! A run read back from its directory, with the verdicts that it has, or concluded anew against another baseline.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::environment::Environment;
use iostone_model::experiment::{ConfoundedLevel, Experiment, Override, read as read_experiment};
use iostone_model::figures::counted;
use iostone_model::run::{Plan, RunRecord};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::Verdicts;

use super::{
    block_records, ended, integrity, is_finished, pilots, read_environment, read_journal, read_json,
    read_plan, read_text, read_trials,
};
use crate::conclude::mark_flags_of_rules;
use crate::error::LabError;
use crate::journal::{Entry, JournalEvent};

/// Reads a run, its own or another machine's.
///
/// # Errors
/// Not a run, or damaged.
pub fn read_run(path: &Path) -> Result<RunRecord, LabError> {
    let records = Records::read(path)?;
    let Records { path, plan, entries, trials, environment } = &records;
    let verdicts_path = path.join("verdicts.json");
    let verdicts = if verdicts_path.exists() {
        Some(read_json(&verdicts_path)?)
    } else if trials.is_empty() {
        None
    } else {
        // They follow from the records, so they can be had again.
        Some(crate::conclude::conclude(plan, trials, entries, environment, false)?)
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
    let confounded = Some(confounded_against(&other, &records)?);
    let plan = Plan { experiment: other, confounded, ..records.plan.clone() };
    let verdicts = if records.trials.is_empty() {
        None
    } else {
        Some(crate::conclude::look_again(
            &plan,
            own,
            &records.trials,
            &records.entries,
            &records.environment,
        )?)
    };
    records.plan = plan;
    records.with(verdicts)
}

/// The levels that change more than one thing, seen from the baseline of `other`: of the experiment file, as when the plan
/// was made, and only levels that the run has. Where nobody can read the file today, those of the experiment as it was
/// settled.
fn confounded_against(other: &Experiment, records: &Records) -> Result<Vec<ConfoundedLevel>, LabError> {
    // What the file varies is not varied here, though levels may have the same names.
    if records.plan.identical_levels {
        return Ok(Vec::new());
    }
    let split = |typed: &String| {
        let (path, value) = typed.split_once('=')?;
        Some(Override { path: path.trim().to_owned(), value: value.trim().to_owned() })
    };
    let overrides: Vec<Override> = records.plan.overrides.iter().filter_map(split).collect();
    let written = read_experiment(&records.text()?, &overrides).ok();
    let written = written.and_then(|written| written.with_baseline(&other.decide.baseline).ok());
    let mut levels = if let Some(written) = written {
        written.confounded_levels()
    } else {
        let settled = Plan { experiment: other.clone(), confounded: None, ..records.plan.clone() };
        settled.confounded_levels().into_owned()
    };
    levels.retain(|one| {
        let mut factors = other.factors.iter().filter(|factor| factor.name == one.factor);
        factors.any(|factor| [&one.level, &one.against].iter().all(|level| factor.levels.contains(level)))
    });
    Ok(levels)
}

/// What was recorded of a run, before anything is concluded.
struct Records {
    path: PathBuf,
    plan: Plan,
    entries: Vec<Entry>,
    trials: Vec<TrialRecord>,
    environment: Environment,
}

impl Records {
    fn read(path: &Path) -> Result<Self, LabError> {
        let path = fs::canonicalize(path).map_err(|_| LabError::NotARun { path: path.to_owned() })?;
        let plan = read_plan(&path)?;
        let entries = read_journal(&path.join("journal.jsonl"))?;
        let trials = read_trials(&path)?;
        // A session is in the journal before its first trial is on the disk.
        let begun = |entry: &Entry| matches!(entry.event, JournalEvent::SessionBegun { .. });
        if !trials.is_empty() && !entries.iter().any(begun) {
            let reason = format!("it tells of no session, but {} are there", counted(trials.len(), "trial"));
            return Err(LabError::Damaged { path: path.join("journal.jsonl"), reason });
        }
        let environment = read_environment(&path)?;
        Ok(Self { path, plan, entries, trials, environment })
    }

    /// The experiment file as it was written.
    fn text(&self) -> Result<String, LabError> {
        let text_path = self.path.join("experiment.toml");
        read_text(&text_path).map_err(|error| LabError::file("reading", &text_path, error))
    }

    /// The run with what was concluded from it.
    fn with(self, verdicts: Option<Verdicts>) -> Result<RunRecord, LabError> {
        let pilots = pilots::read(&self.path)?;
        let experiment_text = self.text()?;
        let Self { path, plan, entries, trials, environment } = self;
        let mut run = RunRecord {
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
            covariates: pilots::declared_covariates(&entries),
            verdicts,
            audit: None,
            explanation: None,
        };
        let audit = iostone_audit::judge(&iostone_audit::evidence_of_run(&run));
        if let Some(verdicts) = &mut run.verdicts {
            mark_flags_of_rules(verdicts, &audit.findings);
        }
        run.audit = Some(audit);
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanOptions, make_plan};

    const THREE: &str = r#"name = "three"
[stack]
volume = { kind = "directory" }
[[factor]]
name = "load"
levels = { light = { workload.bs = "4KiB" }, middle = { workload = { bs = "8KiB", iodepth = 8 } }, heavy = { workload = { bs = "16KiB", iodepth = 16 } } }
[workload]
kind = "io"
rw = "randwrite"
size = "1MiB"
runtime = "1s"
[decide]
metric = "iops"
baseline = "light"
"#;

    #[test]
    fn levels_that_a_rehearsal_left_out_are_held_against_nothing() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("experiment.toml"), THREE).unwrap();
        let plan = make_plan(read_experiment(THREE, &[]).unwrap(), PlanOptions::default()).unwrap();
        let mut records = Records {
            path: place.path().to_owned(),
            plan,
            entries: Vec::new(),
            trials: Vec::new(),
            environment: Environment::default(),
        };
        let levels = |records: &Records| {
            let other = records.plan.experiment.with_baseline("heavy").unwrap();
            let found = confounded_against(&other, records).unwrap();
            found.into_iter().map(|one| [one.level, one.against]).collect::<Vec<_>>()
        };
        assert_eq!(levels(&records), [["light", "heavy"], ["middle", "heavy"]]);
        let experiment = &mut records.plan.experiment;
        experiment.configurations.retain(|one| one.levels["load"] != "middle");
        experiment.factors[0].levels.retain(|level| level != "middle");
        assert_eq!(levels(&records), [["light", "heavy"]]);
    }

    #[test]
    fn words_and_series_of_the_first_version_are_read_as_what_they_say() {
        let place = tempfile::tempdir().unwrap();
        let mut trial = crate::conclude::tests::trial(1, 0, 0, "on", 1.0, 0);
        trial.notes =
            vec!["backing file on overlay (overlay), mounted volatile, which drops every fsync".to_owned()];
        trial.workload.operations_per_100ms = vec![100; 50];
        trial.workload.measured_seconds = 5.0;
        let mut old = serde_json::to_value(&trial).unwrap();
        assert!(old.get("syncs_dropped_below").is_none() && old.get("steady_state").is_none());
        let directory = place.path().join("trials/000001");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("trial.json"), old.to_string()).unwrap();
        let read = read_trials(place.path()).unwrap().remove(0);
        assert_eq!(read.syncs_dropped_below, Some(true));
        assert!(read.syncs_dropped_by().is_some_and(|by| by.contains("mounted volatile")));
        assert!(matches!(read.steady_state, Some(iostone_model::warm_up::SteadyState::Steady { .. })));
        old["notes"] = serde_json::json!([]);
        fs::write(directory.join("trial.json"), old.to_string()).unwrap();
        assert_eq!(read_trials(place.path()).unwrap()[0].syncs_dropped_by(), None);
    }

    #[test]
    fn flags_of_the_first_version_that_rules_raise_today_are_known_as_such() {
        let (trials, entries) = (Vec::new(), Vec::new());
        let plan = make_plan(read_experiment(THREE, &[]).unwrap(), PlanOptions::default()).unwrap();
        let environment = Environment::default();
        let mut verdicts = crate::conclude::conclude(&plan, &trials, &entries, &environment, false).unwrap();
        verdicts.flags = ["page-cache", "host-steal", "carry-over"]
            .map(|name| iostone_model::verdict::Flag::new(name, "as it was told then"))
            .into();
        mark_flags_of_rules(&mut verdicts, &[]);
        let known: Vec<bool> = verdicts.flags.iter().map(|flag| flag.severity.is_some()).collect();
        assert_eq!(known, [true, true, false]);
    }
}
