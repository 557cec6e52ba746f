//! Whether what lies in a run directory is what was written into it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use iostone_model::environment::Environment;
use iostone_model::trial::TrialRecord;
use iostone_model::warm_up::{PilotCut, PilotRecord};
use sha2::{Digest, Sha256};

use super::block_records;
use crate::error::LabError;
use crate::journal::{Entry, JournalEvent};

/// Something that does not fit.
pub(super) struct Defect {
    /// What, in a sentence.
    pub(super) sentence: String,
    /// Whether it is what a crash leaves, which the next session mends by itself.
    pub(super) mendable: bool,
}

pub(super) fn digest_file(path: &Path) -> Result<String, LabError> {
    let content = fs::read(path).map_err(|error| LabError::file("reading", path, error))?;
    Ok(hexadecimal(&Sha256::digest(&content)))
}

/// Bytes as a digest is written.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Holds the trials on the disk against the journal.
pub(super) fn find_defects(entries: &[Entry], trials: &[TrialRecord]) -> Vec<Defect> {
    let recorded: Vec<(u32, u32, &str)> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            JournalEvent::TrialRecorded { trial, block, configuration, .. } => {
                Some((*trial, *block, configuration.as_str()))
            }
            _ => None,
        })
        .collect();
    let grave = |sentence: String| Defect { sentence, mendable: false };
    let mut defects = Vec::new();
    for (number, block, configuration) in &recorded {
        match trials.iter().find(|trial| trial.number == *number) {
            None => defects.push(grave(format!("trial {number} is in the journal, but its record is gone"))),
            Some(trial) if trial.block != *block || trial.configuration != *configuration => {
                defects.push(grave(format!(
                    "trial {number} was {configuration} in block {}, but its record says {} in block {}",
                    block + 1,
                    trial.configuration,
                    trial.block + 1
                )));
            }
            Some(_) => {}
        }
    }
    for pair in trials.windows(2) {
        if let [left, right] = pair
            && left.number == right.number
        {
            defects.push(grave(format!("two records claim to be trial {}", left.number)));
        }
    }
    let blocks = block_records(entries);
    for trial in trials.iter().filter(|trial| !recorded.iter().any(|(number, _, _)| *number == trial.number))
    {
        // Only the last trial of a session that was cut short can lack its line.
        let in_a_block = blocks.iter().any(|block| block.number == trial.block && !block.counted);
        defects.push(Defect {
            sentence: format!("trial {} has a record, but the journal does not know it", trial.number),
            mendable: in_a_block,
        });
    }
    defects
}

/// Holds the pilots on the disk against the journal: the ramp of every trial rests on them.
pub(super) fn find_pilot_defects(entries: &[Entry], pilots: &[PilotRecord]) -> Vec<Defect> {
    let recorded: Vec<(u32, Option<PilotCut>)> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            JournalEvent::PilotRecorded { pilot, cut, .. } => Some((*pilot, *cut)),
            _ => None,
        })
        .collect();
    let grave = |sentence: String| Defect { sentence, mendable: false };
    let mut defects = Vec::new();
    for (number, cut) in &recorded {
        match pilots.iter().find(|pilot| pilot.number == *number) {
            None => defects.push(grave(format!("pilot {number} is in the journal, but its record is gone"))),
            Some(pilot) if pilot.cut != *cut => {
                defects.push(grave(format!(
                    "pilot {number} is cut otherwise in the journal than in its record"
                )));
            }
            Some(_) => {}
        }
    }
    let unknown = pilots.iter().filter(|pilot| !recorded.iter().any(|(number, _)| *number == pilot.number));
    let declared = entries.iter().any(|entry| matches!(entry.event, JournalEvent::RampDeclared(_)));
    defects.extend(unknown.map(|pilot| Defect {
        sentence: format!("pilot {} has a record, but the journal does not know it", pilot.number),
        mendable: !declared,
    }));
    defects
}

/// What of a machine is not as it was; none where figures can go on beside each other.
pub(super) fn describe_change(before: &Environment, now: &Environment, reboots: bool) -> Option<String> {
    let facts = |environment: &Environment| {
        [
            ("kernel", environment.kernel.release.clone()),
            ("processor", environment.cpu.model.clone()),
            ("processors", environment.cpu.logical.to_string()),
            ("architecture", environment.cpu.architecture.clone()),
            ("host", environment.host.clone()),
        ]
    };
    let changes: Vec<String> = facts(before)
        .into_iter()
        .zip(facts(now))
        .filter(|((what, before), (_, now))| before != now && !(reboots && *what == "kernel"))
        .map(|((what, before), (_, now))| format!("{what} `{before}`, now `{now}`"))
        .collect();
    (!changes.is_empty()).then(|| changes.join(", "))
}
