//! `mixed-machines`: levels that differ in the kind of their machine; what that alone costs is part of every ratio.

use iostone_model::audit::Severity;
use iostone_model::evidence::{Evidence, Group};

use super::looked;
use crate::{Outcome, Rule, finding};

/// Host and guest, or guests of different kinds.
pub(super) struct MixedMachines;

impl Rule for MixedMachines {
    fn name(&self) -> &'static str {
        "mixed-machines"
    }

    fn looks_for(&self) -> &'static str {
        "levels on different kinds of machines: the host, guests by KVM, guests that QEMU translates"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
            for group in &run.groups {
                let Some(kind) = kind(group) else { continue };
                let name = format!("`{}`", group.configuration.name);
                match kinds.iter_mut().find(|(known, _)| *known == kind) {
                    Some((_, names)) => names.push(name),
                    None => kinds.push((kind, vec![name])),
                }
            }
            let what = if kinds.iter().any(|(kind, _)| *kind == HOST) {
                "host and guest compared"
            } else {
                "guests of different kinds compared"
            };
            let told: Vec<String> =
                kinds.iter().map(|(kind, names)| format!("{} {kind}", names.join(", "))).collect();
            let message = format!("{what}: {}; the ratios hold that difference too", told.join(", "));
            let advice = "Run all levels on one kind of machine.";
            let found = (kinds.len() > 1).then(|| finding(self, Severity::Warning, message, advice));
            Some(found.into_iter().collect())
        })
    }
}

const HOST: &str = "on the host";

/// What its last trial ran on; none where nothing tells.
fn kind(group: &Group<'_>) -> Option<&'static str> {
    match group.trials.last()?.guest.as_deref().map(|guest| guest.accelerator.as_str()) {
        None if group.configuration.machine.guest().is_some() => None,
        None => Some(HOST),
        Some("kvm") => Some("in guests by KVM"),
        Some("tcg") => Some("in guests by TCG, which translates every instruction"),
        Some(_) => Some("in guests"),
    }
}
