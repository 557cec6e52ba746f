//! `in-memory`: a workload whose files were memory, so that no figure of it is a device's.

use iostone_model::audit::Severity;
use iostone_model::evidence::{Evidence, Group};
use iostone_model::trial::MEMORY;

use super::{looked, quoted};
use crate::{Outcome, Rule, finding};

/// Work in a tmpfs.
pub(super) struct InMemory;

impl Rule for InMemory {
    fn name(&self) -> &'static str {
        "in-memory"
    }

    fn looks_for(&self) -> &'static str {
        "containers whose files were memory"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let contained = |group: &&Group<'_>| group.trials.iter().any(|trial| trial.container.is_some());
            run.groups.iter().find(contained)?;
            let in_memory = |group: &&Group<'_>| group.trials.iter().any(|trial| trial.works_in_memory());
            let groups = run.groups.iter().filter(in_memory);
            let names = quoted(groups.map(|group| group.configuration.name.as_str()));
            let message = format!(
                "under {names} the workload worked in memory (`container.place = \"{MEMORY}\"`): none of its bytes were to reach a \
                 device, and nothing outlives the container"
            );
            let advice = "Compare it with nothing that is durable.";
            let found = (!names.is_empty()).then(|| finding(self, Severity::Note, message, advice));
            Some(found.into_iter().collect())
        })
    }
}
