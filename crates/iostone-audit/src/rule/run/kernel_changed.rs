//! `kernel-changed`: guests of one configuration that ran under different kernels.

use iostone_model::audit::{Finding, Severity, Subject};
use iostone_model::evidence::{Evidence, Group};

use super::{looked, quoted};
use crate::{Outcome, Rule, finding};

/// Guests that were not the same.
pub(super) struct KernelChanged;

impl Rule for KernelChanged {
    fn name(&self) -> &'static str {
        "kernel-changed"
    }

    fn looks_for(&self) -> &'static str {
        "guests of one configuration under different kernels"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let guests = |group: &&Group<'_>| group.trials.iter().any(|trial| trial.guest.is_some());
            run.groups.iter().find(guests)?;
            Some(run.groups.iter().filter_map(|group| self.changed(group)).collect())
        })
    }
}

impl KernelChanged {
    fn changed(&self, group: &Group<'_>) -> Option<Finding> {
        let guests = group.trials.iter().filter_map(|trial| trial.guest.as_deref());
        let mut unames: Vec<&str> = guests.map(|guest| guest.uname.as_str()).collect();
        unames.sort_unstable();
        unames.dedup();
        let name = &group.configuration.name;
        let message = format!(
            "the trials of `{name}` did not run under one kernel: {}",
            quoted(unames.iter().copied())
        );
        let advice = "Name the kernel of the guest by its package and version, and repeat the run.";
        (unames.len() > 1).then(|| Finding {
            subject: Subject::Configuration { name: name.clone() },
            ..finding(self, Severity::Warning, message, advice)
        })
    }
}
