//! Finds units that were mixed up: in limits written twice, in predictions, in rates against bytes and seconds.

mod predictions;
mod rates;
mod restated;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::case::outcome;
use super::slip::Slip;
use crate::rule::Rule;
use crate::{Outcome, finding};

/// Nobody writes limits and expectations down more exactly than this.
const AGREES: f64 = 0.005;
/// How near a ratio must come to a mix-up's factor.
const NEAR: f64 = 0.01;

/// Unit slips.
pub(super) struct UnitSlip;

impl Rule for UnitSlip {
    fn name(&self) -> &'static str {
        "unit-slip"
    }

    fn looks_for(&self) -> &'static str {
        "units mixed up: Mbps, MB/s and MiB/s, prefixes of 1000 and of 1024"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let parts = [restated::look(dataset), predictions::look(dataset), rates::look(dataset)];
        let looked = parts.iter().any(Option::is_some);
        let findings = parts.into_iter().flatten().flatten().map(|slipped| slipped.told(self));
        outcome(looked, findings.collect())
    }
}

/// A mix-up found.
struct Slipped {
    severity: Severity,
    message: String,
    evidence: Vec<String>,
    observations: Vec<usize>,
}

impl Slipped {
    fn told(self, rule: &UnitSlip) -> Finding {
        let advice =
            "Write every quantity with its unit, MB (10^6) and MiB (2^20) told apart, and calculate again.";
        let mut told = finding(rule, self.severity, self.message, advice);
        told.evidence = self.evidence;
        told.observations = self.observations;
        told
    }
}

/// What to call a mismatch, and how grave it is: a conclusion is off by as much.
fn named(slip: Option<Slip>) -> (Severity, String) {
    match slip {
        Some(slip) if slip.gross => (Severity::Serious, format!("just as with {}", slip.what)),
        Some(slip) => (Severity::Warning, format!("as with {}", slip.what)),
        None => (Severity::Warning, "which no mix-up of units explains".to_owned()),
    }
}
