//! `discard-imbalance`: trials that were discarded under one level more often. Discarding is then part of that level's effect
//! (a level that crashes, say), and what is left makes it look better than it is.

use iostone_model::audit::{Effect, Finding, Severity};
use iostone_model::evidence::{Evidence, Group};

use super::looked;
use crate::{Outcome, Rule, finding};

/// Gates that one level trips.
pub(super) struct DiscardImbalance;

impl Rule for DiscardImbalance {
    fn name(&self) -> &'static str {
        "discard-imbalance"
    }

    fn looks_for(&self) -> &'static str {
        "trials that were discarded under one level more often than under the others"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let discarded = |group: &Group<'_>| {
                let name = &group.configuration.name;
                let count = run.blocks.iter().filter(|block| block.failed(name)).count();
                (name.clone(), u32::try_from(count).unwrap_or(u32::MAX))
            };
            let counts: Vec<(String, u32)> = run.groups.iter().map(discarded).collect();
            let found = iostone_stats::flags::discard_imbalance(&counts).map(|flag| Finding {
                effect: Effect::Withhold,
                ..finding(
                    self,
                    Severity::Serious,
                    flag.message,
                    "Find out why that level trips the gate, and judge with those blocks kept.",
                )
            });
            Some(found.into_iter().collect())
        })
    }
}
