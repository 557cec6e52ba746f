//! `not-interleaved`: levels that stand in different boots. Randomising within blocks cannot tell them from what differs between
//! two boots.

use iostone_model::audit::Severity;
use iostone_model::evidence::Evidence;

use super::{looked, quoted};
use crate::{Outcome, Rule, finding};

/// Levels of different boots.
pub(super) struct NotInterleaved;

impl Rule for NotInterleaved {
    fn name(&self) -> &'static str {
        "not-interleaved"
    }

    fn looks_for(&self) -> &'static str {
        "levels that needed a reboot between them, so that they were not interleaved"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let in_boot = |boot| {
                let ran = run.measured().map(|group| group.configuration);
                let own = ran.filter(|one| one.machine.boot().as_ref() == Some(&boot));
                quoted(own.map(|one| one.name.as_str()))
            };
            let groups: Vec<String> =
                run.plan.boots().into_iter().map(in_boot).filter(|names| !names.is_empty()).collect();
            let message = format!(
                "levels that need a reboot were not interleaved: {} each stood in a boot of their own, in alternating order \
                 from block to block; drift between boots and levels cannot be told apart within a block",
                groups.join(" and ")
            );
            let advice = "Compare kernels in guests, where every trial boots its own.";
            groups.first()?;
            let found = (groups.len() > 1).then(|| finding(self, Severity::Warning, message, advice));
            Some(found.into_iter().collect())
        })
    }
}
