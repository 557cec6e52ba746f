//! CPU allowances of instance types: the laws by which a processor is given and taken, and who says so.

mod law;
mod predict;
mod simulate;
mod table;
#[cfg(test)]
mod tests;

use iostone_model::diagnostic::nearest;
use iostone_model::experiment::{Allowance, MachineProblem, MachineSpec};

use crate::catalogue::catalogue;

pub use law::{CREDIT_SECONDS, LawState};
pub use predict::{Agreement, best_limit, hold_against, runs_out_after};
pub use simulate::{Demand, Point, Simulation, simulate, simulate_from, simulate_others};

/// Why an allowance is not known: one sentence without its point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownAllowance {
    /// No such instance type in the table.
    #[error(
        "{}`iostone credits --list` shows those that are",
        match nearest {
            Some(name) => format!("no CPU allowance of `{instance}` is known, did you mean `{name}`? "),
            None if is_well_formed(instance) => format!("`{instance}` is not one whose CPU is limited, as far as the table knows; "),
            None => format!("no CPU allowance of `{instance}` is known; "),
        }
    )]
    Instance {
        /// The type asked for.
        instance: String,
        /// The one that it is a misspelling of.
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

impl UnknownAllowance {
    /// The key of a governed machine that says so: `cpu` or `law`.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Instance { .. } => "cpu",
            Self::Law { .. } => "law",
        }
    }

    /// The machine's problem with it, for whoever reads an experiment file.
    pub fn problem(&self) -> MachineProblem {
        let (message, expected) = match self {
            Self::Instance { instance, nearest } => (
                format!("no CPU allowance of `{instance}` is known"),
                match nearest {
                    Some(nearest) => format!("did you mean \"{nearest}\"?"),
                    None => "`iostone credits --list` shows those that are".to_owned(),
                },
            ),
            Self::Law { instance, law, known } => {
                let names: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
                (format!("`{instance}` has no law `{law}`"), format!("expected {}", names.join(", ")))
            }
        };
        MachineProblem { key: self.key(), message, expected }
    }
}

/// What is wrong with the allowance that a machine is to have, or with the instance that it is to stand for; none if it is
/// known, or none is asked for.
pub fn problem_of_machine(machine: &MachineSpec) -> Option<MachineProblem> {
    if let Some(emulated) = machine.emulated() {
        let unknown = catalogue().instance(&emulated.emulate).err()?;
        return Some(MachineProblem {
            key: "emulate",
            message: format!("the catalogue knows no instance type `{}`", unknown.instance),
            expected: match unknown.nearest {
                Some(nearest) => format!("did you mean \"{nearest}\"?"),
                None => "`iostone catalog search` lists what it knows".to_owned(),
            },
        });
    }
    let governed = machine.governed()?;
    allowance(&governed.cpu, governed.law.as_deref()).err().map(|unknown| unknown.problem())
}

/// The allowances that are known of an instance type, the one that fits its measurements best first.
///
/// # Errors
/// [`UnknownAllowance::Instance`].
pub fn allowances(instance: &str) -> Result<Vec<Allowance>, UnknownAllowance> {
    let table = table::table();
    table.get(instance).cloned().ok_or_else(|| UnknownAllowance::Instance {
        instance: instance.to_owned(),
        nearest: nearest(instance, table.keys().map(String::as_str))
            .filter(|_| !is_well_formed(instance))
            .map(str::to_owned),
    })
}

/// Whether it is written as types are, `m5.large`: then it is more likely another type than a misspelt one.
fn is_well_formed(instance: &str) -> bool {
    const SIZES: [&str; 7] = ["nano", "micro", "small", "medium", "large", "xlarge", "metal"];
    let Some((family, size)) = instance.split_once('.') else { return false };
    let letters = family.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let generation = letters.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let named = letters.len() < family.len() && generation.len() < letters.len();
    named
        && generation.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        && SIZES.contains(&size.trim_start_matches(|digit: char| digit.is_ascii_digit()))
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
