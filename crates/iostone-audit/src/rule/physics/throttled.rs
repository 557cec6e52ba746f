//! Finds work that a CPU quota held up, where the quota is not what was varied.

use iostone_model::audit::Severity;
use iostone_model::dataset::Dataset;

use super::case::{Case, concluded, of_all, percent};
use crate::Outcome;
use crate::rule::Rule;

/// Fewer periods than this are a burst at the start.
const NOTED: f64 = 0.01;
/// From here on the quota shapes the figure.
const WARNED: f64 = 0.05;
/// From here on it is mostly the quota's.
const GRAVE: f64 = 0.25;

/// Throttling by a quota.
pub(super) struct Throttled;

impl Rule for Throttled {
    fn name(&self) -> &'static str {
        "throttled"
    }

    fn looks_for(&self) -> &'static str {
        "periods in which a CPU quota held the work up"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        if dataset.limits_cpu {
            return Outcome::NotApplicable;
        }
        let shares: Vec<(usize, f64)> = dataset
            .observations
            .iter()
            .enumerate()
            .filter_map(|(index, observation)| Some((index, observation.facts.throttled?)))
            .collect();
        // A quota under test throttles by design.
        let tested = quota_varies(dataset);
        let mut cases = Vec::new();
        for (index, share) in &shares {
            let severity = match *share {
                share if share <= NOTED => continue,
                share if tested || share <= WARNED => Severity::Note,
                share if share < GRAVE => Severity::Warning,
                _ => Severity::Serious,
            };
            cases.push(Case {
                index: *index,
                severity,
                text: format!("throttled in {} of its periods", percent(*share)),
            });
        }
        let most = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
        let rows = of_all(cases.len(), shares.len(), "observation");
        let why = if tested { "; the quota is what was varied" } else { "" };
        let message = format!(
            "a CPU quota held the work up in as many as {} of its periods, in {rows}{why}",
            percent(most)
        );
        concluded(
            !shares.is_empty(),
            self,
            dataset,
            cases,
            message,
            "Lift the quota, or make it a factor, so that its effect is not taken for that of something else.",
        )
    }
}

/// Whether observations ran under different quotas, none being one of them.
fn quota_varies(dataset: &Dataset) -> bool {
    let mut quotas = dataset.observations.iter().map(|observation| observation.facts.cpu_quota);
    let first = quotas.next();
    quotas.any(|quota| Some(quota) != first)
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;
    use iostone_model::dataset::Observation;

    fn throttled(share: f64, quota: Option<f64>) -> Observation {
        let mut made = observation(&[("barrier", "on")], &[("throughput", 1e6)]);
        made.facts.throttled = Some(share);
        made.facts.cpu_quota = quota;
        made
    }

    #[test]
    fn a_quota_that_holds_work_up_is_found_by_its_share_of_periods() {
        let severity = |share| only(&Throttled, &dataset(vec![throttled(share, Some(0.5))])).severity;
        assert_eq!(severity(0.02), Severity::Note);
        assert_eq!(severity(0.10), Severity::Warning);
        assert_eq!(severity(0.60), Severity::Serious);
    }

    #[test]
    fn a_quota_under_test_is_only_noted() {
        let set = dataset(vec![throttled(0.9, Some(0.3)), throttled(0.0, None)]);
        assert_eq!(only(&Throttled, &set).severity, Severity::Note);
    }

    #[test]
    fn an_experiment_that_limits_cpu_time_itself_is_not_looked_at() {
        let set = dataset(vec![throttled(0.9, Some(0.3))]);
        assert!(silent(&Throttled, &Dataset { limits_cpu: true, ..set }));
    }

    #[test]
    fn no_throttling_is_clear_and_unknown_throttling_not_looked_at() {
        assert!(findings(&Throttled, &dataset(vec![throttled(0.0, Some(0.5))])).is_empty());
        assert!(silent(&Throttled, &dataset(vec![observation(&[], &[])])));
    }
}
