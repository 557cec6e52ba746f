//! Trials that are not recorded, so that no block repeats them: warm-ups and pilots.

use iostone_machine::FailureKind;
use iostone_model::experiment::Configuration;

use super::trial::{self, Outcome};
use super::{Conductor, Progress};
use crate::error::LabError;

/// So often one is carried out whose container fails: a trial of a block gets a new container, too.
const ATTEMPTS: u32 = 3;

impl Conductor<'_> {
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
