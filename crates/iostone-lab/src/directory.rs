//! The run directory: everything of a run, durable piece by piece, readable by anybody with a text editor.

mod files;
mod integrity;
mod pilots;
mod recorded;

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use iostone_model::environment::Environment;
use iostone_model::run::{BlockLoss, BlockRecord, PLAN_SCHEMA, Plan, RunRecord};
use iostone_model::sample::Sample;
use iostone_model::trial::{DROPS_SYNCS, TrialRecord};
use iostone_model::verdict::Verdicts;
use iostone_workload::RawOutput;
use rustix::fs::{FlockOperation, flock};

use crate::error::{LabError, refuse_exposed};
use crate::journal::{BlockEnd, Entry, JournalEvent};
use crate::steadiness;
pub(crate) use files::{read_json, read_record, read_text, sync_directory, write_compact, write_json};
use files::{write_durably, write_measured, write_raw};
pub(crate) use integrity::hexadecimal;
pub(crate) use pilots::{declared_covariates, declared_ramp};
pub use recorded::{read_run, read_run_against};

/// A run directory that this process writes.
pub struct RunDirectory {
    path: PathBuf,
    journal: File,
    entries: Vec<Entry>,
}

impl RunDirectory {
    /// Makes a new run directory below `parent`: `2026-11-21-name-id`.
    ///
    /// # Errors
    /// The file system's.
    pub fn create(parent: &Path, plan: &Plan, experiment_text: &str) -> Result<Self, LabError> {
        refuse_exposed(parent)?;
        let date = plan.created_at.get(..10).unwrap_or("undated");
        let path = parent.join(format!("{date}-{}-{}", plan.experiment.name, plan.run_id));
        fs::create_dir_all(path.join("trials")).map_err(|error| LabError::file("making", &path, error))?;
        // Absolute, so that the undo journal finds it from anywhere.
        let path = fs::canonicalize(&path).map_err(|error| LabError::file("making", &path, error))?;
        write_durably(&path.join("experiment.toml"), experiment_text.as_bytes())?;
        write_json(&path.join("plan.json"), plan)?;
        Self::lock(path)
    }

    /// Takes an unfinished run up again.
    ///
    /// # Errors
    /// Not a run, damaged, finished, or in use by another process.
    pub fn resume(path: &Path) -> Result<(Self, Plan, String), LabError> {
        let path = fs::canonicalize(path).map_err(|_| LabError::NotARun { path: path.to_owned() })?;
        refuse_exposed(&path)?;
        let plan = read_plan(&path)?;
        let text_path = path.join("experiment.toml");
        let text =
            fs::read_to_string(&text_path).map_err(|error| LabError::file("reading", &text_path, error))?;
        let directory = Self::lock(path)?;
        if directory.is_finished() {
            return Err(LabError::Finished { path: directory.path });
        }
        directory.check_resumable()?;
        Ok((directory, plan, text))
    }

    fn lock(path: PathBuf) -> Result<Self, LabError> {
        let journal_path = path.join("journal.jsonl");
        let mut journal = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(&journal_path)
            .map_err(|error| LabError::file("opening", &journal_path, error))?;
        match flock(&journal, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LabError::Busy { path }),
            Err(error) => return Err(LabError::file("locking", &journal_path, error)),
        }
        let entries = read_journal(&journal_path)?;
        // A line that a crash cut short would run into the next one.
        let length = journal
            .seek(SeekFrom::End(0))
            .map_err(|error| LabError::file("reading", &journal_path, error))?;
        let whole = whole_lines(&journal_path)?;
        if whole < length {
            journal.set_len(whole).map_err(|error| LabError::file("mending", &journal_path, error))?;
        }
        Ok(Self { path, journal, entries })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends to the journal, durably.
    pub(crate) fn log(&mut self, event: JournalEvent) -> Result<(), LabError> {
        let entry = Entry { at: jiff::Timestamp::now().to_string(), event };
        let mut line = serde_json::to_vec(&entry).map_err(|error| self.damaged_journal(&error))?;
        line.push(b'\n');
        self.journal
            .write_all(&line)
            .and_then(|()| self.journal.sync_data())
            .map_err(|error| LabError::file("writing", &self.path.join("journal.jsonl"), error))?;
        self.entries.push(entry);
        Ok(())
    }

    fn damaged_journal(&self, error: &serde_json::Error) -> LabError {
        LabError::Damaged { path: self.path.join("journal.jsonl"), reason: error.to_string() }
    }

    /// Everything that has happened.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn is_finished(&self) -> bool {
        is_finished(&self.entries)
    }

    /// Writes the environment of a session.
    pub(crate) fn write_environment(&self, session: u32, environment: &Environment) -> Result<(), LabError> {
        let name =
            if session == 0 { "environment.json".to_owned() } else { format!("environment-{session}.json") };
        write_json(&self.path.join(name), environment)
    }

    /// Writes a trial with its samples and raw output. The record comes last: where it is, all of it is.
    pub(crate) fn write_trial(
        &self,
        record: &TrialRecord,
        samples: &[Sample],
        raw: &[RawOutput],
    ) -> Result<(), LabError> {
        write_measured(&self.path.join("trials"), record.number, "trial.json", record, samples, raw)
    }

    /// Keeps what a guest printed that failed in its warm-up, which has no record of its own; the last one alone.
    pub(crate) fn keep_failed_warm_up(&self, raw: &[RawOutput]) -> Result<PathBuf, LabError> {
        let kept = self.path.join("failed-warm-up");
        write_raw(&kept, raw)?;
        Ok(kept)
    }

    /// Writes what was concluded so far.
    pub fn write_verdicts(&self, verdicts: &Verdicts) -> Result<(), LabError> {
        write_json(&self.path.join("verdicts.json"), verdicts)
    }

    /// Writes a report beside the records.
    pub fn write_report(&self, name: &str, content: &str) -> Result<PathBuf, LabError> {
        let path = self.path.join(name);
        write_durably(&path, content.as_bytes())?;
        Ok(path)
    }

    /// Reads the records back.
    pub fn record(&self) -> Result<RunRecord, LabError> {
        read_run(&self.path)
    }

    /// SHA-256 of the plan as it stands on the disk, in hexadecimal.
    pub(crate) fn plan_digest(&self) -> Result<String, LabError> {
        integrity::digest_file(&self.path.join("plan.json"))
    }

    /// What is resumed must be what was begun: the same plan, with all that was recorded.
    fn check_resumable(&self) -> Result<(), LabError> {
        let plan = self.path.join("plan.json");
        let declared = self.entries.iter().find_map(|entry| match &entry.event {
            JournalEvent::SessionBegun { plan_digest, .. } => Some(plan_digest.as_str()),
            _ => None,
        });
        let digest = self.plan_digest()?;
        if declared.is_some_and(|declared| !declared.is_empty() && declared != digest) {
            let reason = "it was changed after the first trial; what was declared before cannot be changed";
            return Err(LabError::Damaged { path: plan, reason: reason.to_owned() });
        }
        let mut defects = integrity::find_defects(&self.entries, &read_trials(&self.path)?);
        defects.extend(integrity::find_pilot_defects(&self.entries, &self.pilots()?));
        // What is on the disk but not in the journal is what a crash leaves; the journal is mended.
        match defects.into_iter().find(|defect| declared.is_none() || !defect.mendable) {
            Some(defect) => Err(LabError::Damaged { path: self.path.clone(), reason: defect.sentence }),
            None => Ok(()),
        }
    }

    /// A run goes on where it was begun: figures of two machines or kernels cannot be compared.
    /// Where levels differ in the kernel of this host, it may be another one.
    pub(crate) fn check_same_machine(&self, now: &Environment, reboots: bool) -> Result<(), LabError> {
        let path = self.path.join("environment.json");
        if !path.exists() {
            return Ok(());
        }
        let before: Environment = read_json(&path)?;
        match integrity::describe_change(&before, now, reboots) {
            None => Ok(()),
            Some(change) => Err(LabError::Plan(format!(
                "the run was begun on another machine or kernel ({change}); figures from here cannot be added to it, \
                 so start a new run of its `experiment.toml`"
            ))),
        }
    }

    /// The environment of the first session.
    pub(crate) fn environment(&self) -> Result<Environment, LabError> {
        read_environment(&self.path)
    }

    /// Every trial recorded so far, in order.
    pub(crate) fn trials(&self) -> Result<Vec<TrialRecord>, LabError> {
        read_trials(&self.path)
    }
}

/// Why the last session ended; none while one is going on, or after a crash.
fn ended(entries: &[Entry]) -> Option<String> {
    entries.iter().rev().find_map(|entry| match &entry.event {
        JournalEvent::Finished { reason } | JournalEvent::SessionEnded { reason } => {
            Some(Some(reason.clone()))
        }
        JournalEvent::SessionBegun { .. } => Some(None),
        _ => None,
    })?
}

fn is_finished(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry.event, JournalEvent::Finished { .. }))
}

/// Every block begun, and whether its trials count. From the moment the environment was found unfit all complete
/// blocks count, the earlier ones included.
pub(crate) fn block_records(entries: &[Entry]) -> Vec<BlockRecord> {
    let unfit = entries.iter().any(|entry| matches!(entry.event, JournalEvent::Unfit { .. }));
    let mut blocks: Vec<BlockRecord> = Vec::new();
    for entry in entries {
        match &entry.event {
            JournalEvent::BlockBegun { block, order } => blocks.push(BlockRecord {
                number: *block,
                order: order.clone(),
                counted: false,
                reason: Some("interrupted".to_owned()),
                loss: Some(BlockLoss::Interrupted),
            }),
            JournalEvent::BlockEnded { block, end } => {
                if let Some(record) = blocks.iter_mut().find(|record| record.number == *block) {
                    (record.counted, record.reason, record.loss) = match end {
                        BlockEnd::Counted => (true, None, None),
                        BlockEnd::Discarded { reason, configurations, .. } => {
                            let configurations = configurations.clone();
                            (unfit, Some(reason.clone()), Some(BlockLoss::GateFailed { configurations }))
                        }
                    };
                }
            }
            JournalEvent::RebootNeeded { block: Some(block), .. } => {
                if let Some(record) = blocks.iter_mut().find(|record| record.number == *block) {
                    record.reason = Some(WAITS_FOR_REBOOT.to_owned());
                    record.loss = Some(BlockLoss::WaitsForReboot);
                }
            }
            _ => {}
        }
    }
    keep_last_superblock(&mut blocks);
    blocks
}

/// A run has one superblock. Where an unfit environment makes discarded blocks count, it is the last one: the run went on to
/// blocks after it.
fn keep_last_superblock(blocks: &mut [BlockRecord]) {
    let superblocks = blocks.iter_mut().rev().filter(|block| block.counted && block.is_superblock());
    for earlier in superblocks.skip(1) {
        earlier.counted = false;
    }
}

/// Why a block does not count that stands between two boots. It is continued, whatever ends a session meanwhile.
pub(crate) const WAITS_FOR_REBOOT: &str = "waits for a reboot";

pub(crate) fn read_plan(path: &Path) -> Result<Plan, LabError> {
    let plan_path = path.join("plan.json");
    if !plan_path.exists() {
        return Err(LabError::NotARun { path: path.to_owned() });
    }
    let plan: Plan = read_json(&plan_path)?;
    if plan.schema != PLAN_SCHEMA {
        let reason = format!("it is of version `{}`, and this iostone reads `{PLAN_SCHEMA}`", plan.schema);
        return Err(LabError::Damaged { path: plan_path, reason });
    }
    Ok(plan)
}

/// The environment of the first session; nothing is known of one before it.
fn read_environment(path: &Path) -> Result<Environment, LabError> {
    let path = path.join("environment.json");
    if path.exists() { read_json(&path) } else { Ok(Environment::default()) }
}

fn read_trials(path: &Path) -> Result<Vec<TrialRecord>, LabError> {
    let directory = path.join("trials");
    let mut trials: Vec<TrialRecord> = Vec::new();
    let entries = fs::read_dir(&directory).map_err(|error| LabError::file("reading", &directory, error))?;
    for entry in entries.filter_map(Result::ok) {
        let record = entry.path().join("trial.json");
        if record.exists() {
            let mut trial: TrialRecord = read_json(&record)?;
            trial.workload.read_words();
            // Records of version 0.1.0 have the words and the series, and not what they say.
            let in_words = || trial.notes.iter().any(|note| note.contains(DROPS_SYNCS));
            trial.syncs_dropped_below = trial.syncs_dropped_below.or_else(|| Some(in_words()));
            trial.steady_state = trial.steady_state.or_else(|| steadiness::check(&trial.workload));
            trials.push(trial);
        }
    }
    trials.sort_by_key(|trial| trial.number);
    Ok(trials)
}

pub(crate) fn read_journal(path: &Path) -> Result<Vec<Entry>, LabError> {
    let text = match read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LabError::file("reading", path, error)),
    };
    // What follows the last line feed was cut short by a crash: the event was never promised to anybody.
    let whole = text.rfind('\n').map_or("", |end| text.get(..end).unwrap_or_default());
    whole
        .lines()
        .enumerate()
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| LabError::Damaged {
                path: path.to_owned(),
                reason: format!("line {}: {error}", index + 1),
            })
        })
        .collect()
}

/// The length of the journal up to and with its last line feed.
fn whole_lines(path: &Path) -> Result<u64, LabError> {
    let bytes = fs::read(path).map_err(|error| LabError::file("reading", path, error))?;
    Ok(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end as u64 + 1))
}
