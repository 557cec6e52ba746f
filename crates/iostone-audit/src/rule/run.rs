//! Rules that it takes a run's plan and trials to apply: what was built, what stood below, what differed between levels.

mod cached_below;
mod circumstances;
mod confounded_levels;
mod discard_imbalance;
mod in_memory;
mod kernel_changed;
mod members;
mod mixed_machines;
mod no_flush;
mod not_interleaved;
mod not_steady;

use iostone_model::audit::Finding;
use iostone_model::evidence::{Evidence, RunEvidence};

use super::Rule;
use crate::Outcome;

/// These rules.
pub(super) const RULES: &[&dyn Rule] = &[
    &no_flush::NoFlush,
    &discard_imbalance::DiscardImbalance,
    &cached_below::CachedBelow,
    &in_memory::InMemory,
    &members::SlowMember,
    &members::IdleMember,
    &kernel_changed::KernelChanged,
    &mixed_machines::MixedMachines,
    &not_interleaved::NotInterleaved,
    &confounded_levels::ConfoundedLevels,
    &circumstances::ConfoundedCircumstances,
    &not_steady::NotSteady,
];

/// What a look at a run comes to; nothing to look at where there is none, or where it has not what is looked for.
fn looked(evidence: &Evidence<'_>, look: impl FnOnce(&RunEvidence<'_>) -> Option<Vec<Finding>>) -> Outcome {
    evidence.run.as_ref().and_then(look).map_or(Outcome::NotApplicable, Outcome::Looked)
}

/// Names in backticks, by commas.
fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
