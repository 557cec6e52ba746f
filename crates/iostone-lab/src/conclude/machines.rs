//! Which machines the figures are of: this host, guests of it, or a mixture that should not be compared.

use iostone_model::run::Plan;

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
