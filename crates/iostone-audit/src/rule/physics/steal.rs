//! Finds CPU time that the hypervisor kept for others while the figures were taken.

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};

use super::case::{Case, concluded, of_all, percent};
use crate::Outcome;
use crate::rule::Rule;

/// Less is rounding, or a neighbour's moment.
const NOTED: f64 = 0.01;
/// What iostone's own gate lets pass by default.
const WARNED: f64 = 0.05;
/// From here on the figure is of the neighbours as much as of what was varied.
const GRAVE: f64 = 0.20;

/// Steal.
pub(super) struct Steal;

impl Rule for Steal {
    fn name(&self) -> &'static str {
        "steal"
    }

    fn looks_for(&self) -> &'static str {
        "CPU time stolen by the hypervisor while figures were taken"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let shares: Vec<(usize, f64)> = dataset
            .observations
            .iter()
            .enumerate()
            .filter_map(|(index, observation)| Some((index, share(observation)?)))
            .collect();
        let mut stolen: Vec<(usize, f64, Severity)> =
            shares.iter().filter_map(|(index, share)| Some((*index, *share, severity(*share)?))).collect();
        // Limits under test may show as a little steal.
        if dataset.limits_cpu {
            stolen.retain(|(_, share, _)| *share > WARNED);
        }
        stolen.sort_by(|(_, one, _), (_, other, _)| other.total_cmp(one));
        let message = stolen.first().map(|(_, most, _)| {
            let rows = of_all(stolen.len(), shares.len(), "observation");
            let beside = if dataset.limits_cpu {
                "; that came on top of the limits of this experiment, and no gate judged it"
            } else {
                ""
            };
            format!(
                "the hypervisor kept up to {} of all CPU time for others, in {rows}{beside}",
                percent(*most)
            )
        });
        let cases = stolen.iter().map(|(index, share, severity)| Case {
            index: *index,
            severity: *severity,
            text: format!("steal {}", percent(*share)),
        });
        concluded(
            !shares.is_empty(),
            self,
            dataset,
            cases.collect(),
            message,
            "Repeat these on an instance that is not throttled or shared, or gate trials on steal before they count.",
        )
    }
}

fn severity(share: f64) -> Option<Severity> {
    match share {
        share if share >= GRAVE => Some(Severity::Serious),
        share if share > WARNED => Some(Severity::Warning),
        share if share > NOTED => Some(Severity::Note),
        _ => None,
    }
}

/// Its steal: as told, or a figure or the mean of a series of that name.
fn share(observation: &Observation) -> Option<f64> {
    let series = || {
        let values = &observation.series.get("steal")?.values;
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    observation.facts.steal.or_else(|| observation.value("steal")).or_else(series)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;
    use iostone_model::dataset::Series;
    use iostone_model::metric::Unit;

    fn stolen(share: f64) -> Observation {
        let mut made = observation(&[("instance", "m3.medium")], &[("wall_time", 1902.8)]);
        made.facts.steal = Some(share);
        made
    }

    #[test]
    fn severity_goes_by_the_share_stolen() {
        let severity = |share| only(&Steal, &dataset(vec![stolen(share)])).severity;
        assert_eq!(severity(0.03), Severity::Note);
        assert_eq!(severity(0.07), Severity::Warning);
        assert_eq!(severity(0.45), Severity::Serious);
        let found = only(&Steal, &dataset(vec![stolen(0.0), stolen(0.45)]));
        assert_eq!(
            found.message,
            "the hypervisor kept up to 45.0 % of all CPU time for others, in 1 of 2 observations"
        );
    }

    #[test]
    fn a_series_of_steal_is_read_by_its_mean() {
        let mut made = observation(&[], &[]);
        let series = Series { unit: Unit::Share, at_seconds: vec![0.0, 1.0], values: vec![0.97, 0.03] };
        made.series.insert("steal".to_owned(), series);
        assert!(only(&Steal, &dataset(vec![made])).message.contains("50.0 %"));
    }

    #[test]
    fn steal_below_an_experiment_that_limits_cpu_time_comes_on_top_of_its_limits() {
        let limited = |share| Dataset { limits_cpu: true, ..dataset(vec![stolen(share), stolen(0.01)]) };
        assert!(findings(&Steal, &limited(0.04)).is_empty());
        assert_eq!(
            only(&Steal, &limited(0.25)).message,
            "the hypervisor kept up to 25.0 % of all CPU time for others, in 1 of 2 observations; that came on top of the \
             limits of this experiment, and no gate judged it"
        );
    }

    #[test]
    fn hardly_any_steal_is_clear_and_unknown_steal_not_looked_at() {
        assert!(findings(&Steal, &dataset(vec![stolen(0.004)])).is_empty());
        assert!(silent(&Steal, &dataset(vec![observation(&[], &[])])));
    }
}
