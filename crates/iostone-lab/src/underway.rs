//! How far a run in progress is, from its journal and the records of its last trials: the process that conducts it is not asked.

use std::path::Path;

use iostone_model::run::Plan;
use iostone_model::trial::TrialRecord;
use iostone_model::underway::{RecentTrial, Underway};
use iostone_model::verdict::Verdicts;

use crate::directory::{read_journal, read_json, read_plan};
use crate::error::LabError;
use crate::index::is_at_work;
use crate::journal::{BlockEnd, Entry, JournalEvent};

/// So many trials are shown.
const RECENT: usize = 12;

/// Reads how far a run is.
///
/// # Errors
/// Not a run, or damaged.
pub fn read_underway(path: &Path) -> Result<Underway, LabError> {
    let plan = read_plan(path)?;
    let entries = read_journal(&path.join("journal.jsonl"))?;
    // Replaced as a whole after each counted block, and not there before the first.
    let verdicts: Option<Verdicts> = read_json(&path.join("verdicts.json")).ok();
    let mut underway = counted(&plan, &entries);
    underway.headline = verdicts.map(|verdicts| verdicts.headline);
    if underway.ended.is_none() && !is_at_work(path) {
        underway.ended = Some("no process is at work on it".to_owned());
    }
    for recent in &mut underway.recent {
        let file = path.join("trials").join(format!("{:06}", recent.trial)).join("trial.json");
        let record: Option<TrialRecord> = read_json(&file).ok();
        recent.value = record.and_then(|record| record.metrics.get(&underway.metric).copied());
    }
    Ok(underway)
}

fn counted(plan: &Plan, entries: &[Entry]) -> Underway {
    let experiment = &plan.experiment;
    let mut underway = Underway {
        experiment: experiment.name.clone(),
        metric: experiment.decide.metric.clone(),
        unit: plan.unit,
        most_blocks: experiment.decide.blocks.max,
        counted: 0,
        discarded: 0,
        trials: 0,
        waiting: Vec::new(),
        recent: Vec::new(),
        headline: None,
        last_event: None,
        ended: None,
    };
    for entry in entries {
        underway.last_event = Some(entry.at.clone());
        match &entry.event {
            JournalEvent::SessionBegun { .. } => underway.ended = None,
            JournalEvent::BlockBegun { order, .. } => underway.waiting.clone_from(order),
            JournalEvent::TrialRecorded { trial, block, configuration, valid } => {
                if let Some(at) = underway.waiting.iter().position(|one| one == configuration) {
                    underway.waiting.remove(at);
                }
                underway.trials += 1;
                underway.recent.push(RecentTrial {
                    trial: *trial,
                    block: *block,
                    configuration: configuration.clone(),
                    valid: *valid,
                    at: entry.at.clone(),
                    value: None,
                });
            }
            JournalEvent::BlockEnded { end, .. } => {
                underway.waiting.clear();
                match end {
                    BlockEnd::Counted => underway.counted += 1,
                    BlockEnd::Discarded { .. } => underway.discarded += 1,
                }
            }
            JournalEvent::SessionEnded { reason } | JournalEvent::Finished { reason } => {
                underway.ended = Some(reason.clone());
            }
            _ => {}
        }
    }
    underway.recent.reverse();
    underway.recent.truncate(RECENT);
    underway
}
