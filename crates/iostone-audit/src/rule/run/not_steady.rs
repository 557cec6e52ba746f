//! `not-steady`: trials that were not steady over their measured time, often enough to matter for what may be said.

use iostone_model::audit::Severity;
use iostone_model::evidence::{Evidence, Group, RunEvidence};
use iostone_model::experiment::Workload;
use iostone_model::run::Plan;
use iostone_model::units::Span;
use iostone_model::warm_up::SteadyState;

use super::looked;
use crate::{Outcome, Rule, finding};

/// One trial may fail by chance.
const FEWEST: usize = 2;

/// How the trials of a configuration fared.
struct Count<'a> {
    configuration: &'a str,
    checked: usize,
    /// Slopes of those that were not steady.
    slopes: Vec<f64>,
}

/// More than a fifth of the checked trials of a configuration, and at least two.
pub(super) struct NotSteady;

impl Rule for NotSteady {
    fn name(&self) -> &'static str {
        "not-steady"
    }

    fn looks_for(&self) -> &'static str {
        "trials whose rate drifts over their measured time"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let counts: Vec<Count<'_>> = run.groups.iter().map(Count::of).collect();
            counts.iter().find(|count| count.checked > 0)?;
            let slopes: Vec<f64> = counts.iter().flat_map(|count| count.slopes.iter().copied()).collect();
            let direction = direction(&slopes);
            let found = counts.iter().any(Count::matters).then(|| {
                let message = message(run, &counts, direction);
                finding(self, Severity::Warning, message, advice(run.plan, direction))
            });
            Some(found.into_iter().collect())
        })
    }
}

impl<'a> Count<'a> {
    fn of(group: &Group<'a>) -> Self {
        let mut count = Count { configuration: &group.configuration.name, checked: 0, slopes: Vec::new() };
        for state in group.trials.iter().filter_map(|trial| trial.steady_state.as_ref()) {
            match state {
                SteadyState::Steady { .. } => count.checked += 1,
                SteadyState::NotSteady { slope_fraction, .. } => {
                    count.checked += 1;
                    count.slopes.push(*slope_fraction);
                }
                SteadyState::NotChecked { .. } => {}
            }
        }
        count
    }

    fn matters(&self) -> bool {
        self.slopes.len() >= FEWEST && self.slopes.len() * 5 > self.checked
    }
}

fn message(run: &RunEvidence<'_>, counts: &[Count<'_>], direction: &str) -> String {
    let shares: Vec<String> = counts
        .iter()
        .map(|count| format!("{} of {} under `{}`", count.slopes.len(), count.checked, count.configuration))
        .collect();
    format!(
        "rates drift within trials: {}{direction}; these are averages over {}, not a steady state",
        shares.join(", "),
        measured(run.plan)
    )
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
        [one] => format!("the {one} after the ramp"),
        _ => "the time after the ramp".to_owned(),
    }
}

/// Where the rate goes one way the warm-up may be to blame; where it goes to and fro only time helps.
fn advice(plan: &Plan, direction: &str) -> &'static str {
    if direction.is_empty() || plan.needs_pilots() {
        "Average over more with a longer `workload.runtime`."
    } else {
        "Let pilots find how long the warm-up lasts: `workload.ramp_time = \"auto\"`."
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_slopes_give_the_direction() {
        assert_eq!(direction(&[-0.2, -0.3, -0.1, 0.1]), " (it falls)");
        assert_eq!(direction(&[0.2, 0.3, 0.1]), " (it rises)");
        assert_eq!(direction(&[0.2, -0.3]), "");
    }
}
