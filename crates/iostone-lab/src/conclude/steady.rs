//! A flag where trials were not steady over their measured time often enough to matter for what may be said.

use iostone_model::experiment::Workload;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::Span;
use iostone_model::verdict::Flag;
use iostone_model::warm_up::SteadyState;

use crate::pilot::needs_pilots;
use crate::steadiness;

/// One trial may fail by chance.
const FEWEST: usize = 2;

/// How the trials of a configuration fared.
struct Count<'a> {
    configuration: &'a str,
    checked: usize,
    /// Slopes of those that were not steady.
    slopes: Vec<f64>,
}

/// `not-steady`: more than a fifth of the checked trials of a configuration, and at least two.
pub(super) fn not_steady(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<Flag> {
    let counted = |trial: &&TrialRecord| blocks.iter().any(|b| b.counted && b.number == trial.block);
    let counts: Vec<Count<'_>> = plan
        .experiment
        .configurations
        .iter()
        .map(|configuration| {
            let own = trials.iter().filter(counted).filter(|trial| trial.configuration == configuration.name);
            let mut count = Count { configuration: &configuration.name, checked: 0, slopes: Vec::new() };
            for state in own.filter_map(steadiness::of_trial) {
                match state {
                    SteadyState::Steady { .. } => count.checked += 1,
                    SteadyState::NotSteady { slope_fraction, .. } => {
                        count.checked += 1;
                        count.slopes.push(slope_fraction);
                    }
                    SteadyState::NotChecked { .. } => {}
                }
            }
            count
        })
        .collect();
    let matters = |count: &Count<'_>| count.slopes.len() >= FEWEST && count.slopes.len() * 5 > count.checked;
    if !counts.iter().any(matters) {
        return None;
    }
    let shares: Vec<String> = counts
        .iter()
        .map(|count| format!("{} of {} under `{}`", count.slopes.len(), count.checked, count.configuration))
        .collect();
    let slopes: Vec<f64> = counts.iter().flat_map(|count| count.slopes.iter().copied()).collect();
    Some(Flag::new(
        "not-steady",
        format!(
            "trials whose rate is not steady: {}{}; they count, so the figures are those of {}, not of a steady state; {}",
            shares.join(", "),
            direction(&slopes),
            measured(plan),
            advice(plan, direction(&slopes))
        ),
    ))
}

/// Where most of them go the same way, which way.
fn direction(slopes: &[f64]) -> &'static str {
    let falling = slopes.iter().filter(|slope| **slope < 0.0).count();
    match (falling * 4, slopes.len()) {
        (falling, all) if falling >= all * 3 => " (it falls)",
        (falling, all) if falling <= all => " (it rises)",
        _ => "",
    }
}

fn measured(plan: &Plan) -> String {
    let runtime = |workload: &Workload| match workload {
        Workload::Io(io) => io.asked_runtime(),
        _ => None,
    };
    let mut times: Vec<Span> =
        plan.experiment.configurations.iter().filter_map(|c| runtime(&c.workload)).collect();
    times.dedup();
    match times.as_slice() {
        [one] => format!("the {one} behind the ramp"),
        _ => "the time behind the ramp".to_owned(),
    }
}

/// Where the rate goes one way the warm-up may be to blame; where it goes to and fro only time helps.
fn advice(plan: &Plan, direction: &str) -> &'static str {
    if direction.is_empty() || needs_pilots(plan) {
        "a longer `workload.runtime` averages over more"
    } else {
        "`workload.ramp_time = \"auto\"` lets pilots find how long the warm-up lasts"
    }
}
