//! Runs the pilots of a run, each once, and declares the ramp that they lead to.

use iostone_model::experiment::Configuration;
use iostone_model::units::Span;
use iostone_model::warm_up::{PILOT_SCHEMA, PilotRecord};

use super::{Conductor, Progress, fitness, taken, trial};
use crate::covariate;
use crate::error::LabError;
use crate::gates;
use crate::journal::JournalEvent;
use crate::pilot::{NextPilot, as_pilot, cut_of, next_pilot};

impl Conductor<'_> {
    /// Settles the ramp of every trial, where the plan leaves it to pilots: those of earlier sessions count, and a
    /// ramp that was declared stays.
    pub(super) fn settle_ramp(&mut self) -> Result<(), LabError> {
        let plan = self.plan;
        if !plan.needs_pilots() {
            return Ok(());
        }
        self.mend_pilots()?;
        let declared = loop {
            if let Some(declared) = self.directory.declared_ramp() {
                break declared;
            }
            match next_pilot(plan, &self.directory.pilots()?)? {
                NextPilot::Run(configuration, runtime) => self.run_pilot(configuration, runtime)?,
                NextPilot::Declare(ramp) => self.directory.log(JournalEvent::RampDeclared(ramp))?,
            }
        };
        self.observer.observe(Progress::RampDeclared { ramp: &declared });
        self.declared = Some(declared);
        self.settle_covariates()
    }

    /// Settles what verdicts are adjusted for. A rehearsal has no verdicts.
    fn settle_covariates(&mut self) -> Result<(), LabError> {
        let wanted = &self.plan.experiment.decide.covariates;
        if wanted.is_empty() || self.plan.quick {
            return Ok(());
        }
        let known = self.directory.declared_covariates();
        if known.is_empty() {
            let covariates = covariate::declare(wanted, &self.directory.pilots()?);
            self.directory.log(JournalEvent::CovariatesDeclared { covariates: covariates.clone() })?;
            self.covariates = covariates;
        } else {
            self.covariates = known;
        }
        self.observer.observe(Progress::CovariatesDeclared { covariates: &self.covariates });
        Ok(())
    }

    fn run_pilot(&mut self, configuration: &Configuration, runtime: Span) -> Result<(), LabError> {
        self.check_stop()?;
        self.require_boot(configuration, None)?;
        self.observer.observe(Progress::PilotBegun { configuration: &configuration.name, runtime });
        let number = self.directory.pilots()?.last().map_or(1, |pilot| pilot.number.saturating_add(1));
        let as_run = as_pilot(configuration, runtime);
        let outcome = self.carry_out_unrecorded(&as_run)?;
        let report = &outcome.measured.report;
        if let Some(reason) = report.error.clone() {
            let reason = fitness::with_last_words(reason, report.stderr_tail.as_deref());
            return Err(LabError::Workload { configuration: configuration.name.clone(), reason });
        }
        let gates = gates::evaluate(&self.plan.experiment, &as_run, &outcome.settled, &outcome.measured, &[]);
        let wanted = !self.plan.experiment.decide.covariates.is_empty();
        let seconds = if wanted { taken::by_second(&outcome.measured, &outcome.samples) } else { Vec::new() };
        let trial::Outcome { measured, samples, checks, notes, total, .. } = outcome;
        let record = PilotRecord {
            schema: PILOT_SCHEMA.to_owned(),
            number,
            configuration: configuration.name.clone(),
            session: self.session,
            started_at: measured.started_at,
            total_seconds: total.as_secs_f64(),
            runtime,
            cut: cut_of(&measured.report),
            metrics: measured.metrics,
            workload: measured.report,
            checks,
            notes,
            signals: measured.signals,
            gates,
            seconds,
        };
        self.directory.write_pilot(&record, &samples, &measured.raw)?;
        self.directory.log(recorded(&record))?;
        self.observer.observe(Progress::PilotRecorded { record: &record });
        Ok(())
    }

    /// A crash between a pilot's record and the journal's line for it leaves the line missing.
    fn mend_pilots(&mut self) -> Result<(), LabError> {
        let known: Vec<u32> = self
            .directory
            .entries()
            .iter()
            .filter_map(|entry| match entry.event {
                JournalEvent::PilotRecorded { pilot, .. } => Some(pilot),
                _ => None,
            })
            .collect();
        for pilot in self.directory.pilots()?.iter().filter(|pilot| !known.contains(&pilot.number)) {
            self.directory.log(recorded(pilot))?;
        }
        Ok(())
    }
}

fn recorded(pilot: &PilotRecord) -> JournalEvent {
    JournalEvent::PilotRecorded {
        pilot: pilot.number,
        configuration: pilot.configuration.clone(),
        runtime: pilot.runtime,
        cut: pilot.cut,
    }
}
