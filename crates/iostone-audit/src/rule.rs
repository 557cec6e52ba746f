//! What a rule is, and every rule there is.

mod design;
mod physics;
mod run;

use iostone_model::dataset::Dataset;
use iostone_model::evidence::{Evidence, RunEvidence};

use crate::Outcome;

pub(crate) use physics::traffic;

/// Looks for one fault: by [`Self::look`] in figures from anywhere, by [`Self::judge`] where it takes a run to see it.
pub trait Rule: Sync {
    /// Its stable name: `identical-rows`.
    fn name(&self) -> &'static str;
    /// What it looks for, in one sentence for people.
    fn looks_for(&self) -> &'static str;
    /// Looks at a dataset.
    fn look(&self, _dataset: &Dataset) -> Outcome {
        Outcome::NotApplicable
    }
    /// Looks at a dataset and the run that it is of.
    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        self.look(evidence)
    }
}

/// Every rule, in the order in which findings of equal severity are told.
pub fn rules() -> impl Iterator<Item = &'static dyn Rule> {
    design::RULES.iter().chain(physics::RULES).chain(run::RULES).copied()
}

/// Those that are asked of a run, or of figures that are none's.
pub fn rules_for(run: Option<&RunEvidence<'_>>) -> impl Iterator<Item = &'static dyn Rule> {
    let is_rehearsal = run.is_some_and(|run| run.plan.quick);
    let design = if is_rehearsal { &[] } else { design::RULES };
    let of_run = if run.is_some() { run::RULES } else { &[] };
    design.iter().chain(physics::RULES).chain(of_run).copied()
}
