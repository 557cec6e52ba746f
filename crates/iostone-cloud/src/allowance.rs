//! CPU allowances of instance types: the laws by which a processor is given and taken, and who says so.

mod law;
mod predict;
mod simulate;
mod table;
#[cfg(test)]
mod tests;

use iostone_model::diagnostic::nearest;
use iostone_model::experiment::Allowance;

pub use law::{CREDIT_SECONDS, LawState};
pub use predict::{Agreement, best_limit, hold_against, runs_out_after};
pub use simulate::{Demand, Point, Simulation, simulate, simulate_from, simulate_others};

/// Why an allowance is not known: one sentence without its point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownAllowance {
    /// No such instance type in the table.
    #[error(
        "no CPU allowance of `{instance}` is known{}; `iostone credits --list` shows those that are",
        nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
    )]
    Instance {
        /// The type asked for.
        instance: String,
        /// The one that is spelled most like it.
        nearest: Option<String>,
    },
    /// The type has no law of that name.
    #[error("`{instance}` has no law `{law}`, only {}", known.join(", "))]
    Law {
        /// The type asked for.
        instance: String,
        /// The law asked for.
        law: String,
        /// Those that it has.
        known: Vec<String>,
    },
}

/// The allowances that are known of an instance type, the one that fits its measurements best first.
///
/// # Errors
/// [`UnknownAllowance::Instance`].
pub fn allowances(instance: &str) -> Result<Vec<Allowance>, UnknownAllowance> {
    let table = table::table();
    table.get(instance).cloned().ok_or_else(|| UnknownAllowance::Instance {
        instance: instance.to_owned(),
        nearest: nearest(instance, table.keys().map(String::as_str)).map(str::to_owned),
    })
}

/// Every instance type of which an allowance is known, by name.
pub fn governed_types() -> impl Iterator<Item = &'static str> {
    table::table().keys().map(String::as_str)
}

/// The allowance of an instance type by that law, or by the one that fits its measurements best.
///
/// # Errors
/// [`UnknownAllowance`].
pub fn allowance(instance: &str, law: Option<&str>) -> Result<Allowance, UnknownAllowance> {
    let all = allowances(instance)?;
    let found = match law {
        None => all.first(),
        Some(name) => all.iter().find(|allowance| allowance.name == name),
    };
    found.cloned().ok_or_else(|| UnknownAllowance::Law {
        instance: instance.to_owned(),
        law: law.unwrap_or_default().to_owned(),
        known: all.iter().map(|allowance| allowance.name.clone()).collect(),
    })
}
