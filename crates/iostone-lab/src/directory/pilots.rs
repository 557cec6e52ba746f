//! The pilots of a run directory, and the ramp that its journal declares.

use std::fs;
use std::path::Path;

use iostone_model::covariate::DeclaredCovariate;
use iostone_model::sample::Sample;
use iostone_model::warm_up::{DeclaredRamp, PilotRecord};
use iostone_workload::RawOutput;

use super::RunDirectory;
use super::files::{read_json, sync_directory, write_measured};
use crate::error::LabError;
use crate::journal::{Entry, JournalEvent};

/// Every pilot recorded, in order; none where there is no directory of them.
pub(super) fn read(path: &Path) -> Result<Vec<PilotRecord>, LabError> {
    let directory = path.join("pilots");
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(LabError::file("reading", &directory, error)),
    };
    let mut pilots: Vec<PilotRecord> = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let record = entry.path().join("pilot.json");
        if record.exists() {
            pilots.push(read_json(&record)?);
        }
    }
    pilots.sort_by_key(|pilot| pilot.number);
    Ok(pilots)
}

/// The ramp that was declared for every trial.
pub(crate) fn declared_ramp(entries: &[Entry]) -> Option<DeclaredRamp> {
    entries.iter().find_map(|entry| match &entry.event {
        JournalEvent::RampDeclared(ramp) => Some(ramp.clone()),
        _ => None,
    })
}

/// What was declared that verdicts are adjusted for; nothing where no covariates are asked for.
pub(crate) fn declared_covariates(entries: &[Entry]) -> Vec<DeclaredCovariate> {
    let declared = entries.iter().find_map(|entry| match &entry.event {
        JournalEvent::CovariatesDeclared { covariates } => Some(covariates.clone()),
        _ => None,
    });
    declared.unwrap_or_default()
}

impl RunDirectory {
    /// Writes a pilot with its samples and raw output, the record last.
    pub(crate) fn write_pilot(
        &self,
        record: &PilotRecord,
        samples: &[Sample],
        raw: &[RawOutput],
    ) -> Result<(), LabError> {
        let pilots = self.path().join("pilots");
        fs::create_dir_all(&pilots).map_err(|error| LabError::file("making", &pilots, error))?;
        sync_directory(self.path())?;
        write_measured(&pilots, record.number, "pilot.json", record, samples, raw)
    }

    /// Every pilot recorded so far, in order.
    pub(crate) fn pilots(&self) -> Result<Vec<PilotRecord>, LabError> {
        read(self.path())
    }

    /// What verdicts are adjusted for, once it was declared.
    pub(crate) fn declared_covariates(&self) -> Vec<DeclaredCovariate> {
        declared_covariates(self.entries())
    }

    /// The ramp that was declared for every trial, once it was.
    pub(crate) fn declared_ramp(&self) -> Option<DeclaredRamp> {
        declared_ramp(self.entries())
    }
}
