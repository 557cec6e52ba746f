//! Figures that are the source's: what is written came no faster than from where it was read.

use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::Flag;

/// The fact by which a trial says so.
const FACT: &str = "source_limited";

/// A flag for each configuration in most of whose trials the source was the limit.
pub(super) fn limited(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    plan.experiment
        .configurations
        .iter()
        .filter_map(|configuration| {
            let counted: Vec<&TrialRecord> = trials
                .iter()
                .filter(|trial| {
                    trial.configuration == configuration.name
                        && blocks.iter().any(|block| block.counted && block.number == trial.block)
                })
                .collect();
            let bound: Vec<&String> =
                counted.iter().filter_map(|trial| trial.workload.facts.get(FACT)).collect();
            let words = bound.last().filter(|_| bound.len() * 2 > counted.len())?;
            Some(Flag::new(
                "source-limited",
                format!(
                    "under {} the source was the limit in {} of {} trials; in the last, {words}",
                    configuration.name,
                    bound.len(),
                    counted.len()
                ),
            ))
        })
        .collect()
}
