//! Trials that are not recorded, so that no block repeats them: warm-ups, pilots, and what conditions a trial.

use std::time::Duration;

use iostone_machine::FailureKind;
use iostone_model::experiment::Configuration;

use super::trial::{self, Outcome};
use super::{Conductor, Progress};
use crate::error::LabError;
use crate::pilot;

/// So often one is carried out whose container fails: a trial of a block gets a new container, too.
const ATTEMPTS: u32 = 3;

impl Conductor<'_> {
    /// Runs a level's own workload before its trial, where the experiment asks for that, and says how long it took.
    ///
    /// A trial feels what the one before it left behind; with this both trials of a pair follow a trial of their own level.
    /// What it does itself is nobody's figure, and if it fails the trial after it will tell.
    pub(super) fn condition(&mut self, configuration: &Configuration) -> Result<Option<Duration>, LabError> {
        if !self.plan.experiment.decide.conditioning {
            return Ok(None);
        }
        let outcome = self.carry_out_unrecorded(&pilot::as_conditioning(configuration))?;
        self.check_stop()?;
        Ok(Some(outcome.total))
    }

    /// Carries one out, again where its container died.
    pub(super) fn carry_out_unrecorded(
        &mut self,
        configuration: &Configuration,
    ) -> Result<Outcome, LabError> {
        let mut attempt = 1;
        loop {
            let outcome = trial::carry_out(&mut self.link, self.plan, configuration, trial::WARM_UP)?;
            match &outcome.failure {
                // The workload is not to blame, and may well work the next time.
                Some(failure) if failure.kind == FailureKind::Governor => {
                    return Err(failure.clone().into());
                }
                Some(failure) if failure.kind == FailureKind::Container && attempt < ATTEMPTS => {
                    self.observer.observe(Progress::Repeated {
                        configuration: &configuration.name,
                        reason: &failure.message,
                    });
                }
                _ => return Ok(outcome),
            }
            self.check_stop()?;
            attempt += 1;
        }
    }
}
