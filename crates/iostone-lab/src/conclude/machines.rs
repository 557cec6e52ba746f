//! Which machines the figures are of: this host, guests of it, or a mixture that should not be compared.

use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::Flag;

use super::evidence::counted;

/// What the figures hold for.
pub(super) fn scope(plan: &Plan) -> String {
    let configurations = &plan.experiment.configurations;
    let guests =
        configurations.iter().filter(|configuration| configuration.machine.guest().is_some()).count();
    match guests {
        0 => "measured on this host",
        all if all == configurations.len() => "measured in guests of this host",
        _ => "measured on this host and in guests of it",
    }
    .to_owned()
}

/// A flag where levels differ in the kind of their machine: what that alone costs is part of every ratio.
pub(super) fn mixed(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<Flag> {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for configuration in &plan.experiment.configurations {
        let Some(trial) = counted(&configuration.name, trials, blocks).last() else { continue };
        let kind = match trial.guest.as_deref().map(|guest| guest.accelerator.as_str()) {
            None if configuration.machine.guest().is_some() => continue,
            None => "on the host",
            Some("kvm") => "in guests by KVM",
            Some("tcg") => "in guests by TCG, which translates every instruction",
            Some(_) => "in guests",
        };
        let name = format!("`{}`", configuration.name);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, names)) => names.push(name),
            None => kinds.push((kind, vec![name])),
        }
    }
    let what = if kinds.iter().any(|(kind, _)| *kind == "on the host") {
        "host and guest compared"
    } else {
        "guests of different kinds compared"
    };
    (kinds.len() > 1).then(|| {
        let told: Vec<String> =
            kinds.iter().map(|(kind, names)| format!("{} {kind}", names.join(", "))).collect();
        Flag::new(
            "mixed-machines",
            format!("{what}: {}; the ratios hold that difference too", told.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use iostone_model::trial::GuestFacts;

    use super::super::tests::{plan, trial};
    use super::*;

    #[test]
    fn a_guest_beside_the_host_is_flagged() {
        let (plan, blocks) =
            (plan("", ""), [BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None }]);
        let mut trials = [trial(1, 0, 0, "on", 1.0, 0), trial(2, 0, 1, "off", 1.0, 0)];
        assert_eq!(mixed(&plan, &trials, &blocks), None);
        trials[1].guest =
            Some(Box::new(GuestFacts { accelerator: "kvm".to_owned(), ..GuestFacts::default() }));
        let flag = mixed(&plan, &trials, &blocks).unwrap();
        assert_eq!(
            (flag.name.as_str(), flag.message.as_str()),
            (
                "mixed-machines",
                "host and guest compared: `on` on the host, `off` in guests by KVM; the ratios hold that \
                 difference too"
            )
        );
    }
}
