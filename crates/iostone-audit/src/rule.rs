//! What a rule is, and every rule there is.

mod design;
mod physics;

use iostone_model::dataset::Dataset;

use crate::Outcome;

pub(crate) use physics::traffic;

/// Looks for one fault.
pub trait Rule: Sync {
    /// Its stable name: `identical-rows`.
    fn name(&self) -> &'static str;
    /// What it looks for, in one sentence for people.
    fn looks_for(&self) -> &'static str;
    /// Looks at a dataset.
    fn look(&self, dataset: &Dataset) -> Outcome;
}

/// Every rule, in the order in which findings of equal severity are told.
pub fn rules() -> impl Iterator<Item = &'static dyn Rule> {
    design::RULES.iter().chain(physics::RULES).copied()
}
