//! Finds tools that kept just one CPU busy where there are more: their one thread may be the limit.

use iostone_model::audit::Severity;
use iostone_model::dataset::Dataset;
use iostone_model::units::three_digits;

use super::case::{Case, concluded};
use super::traffic;
use crate::Outcome;
use crate::rule::Rule;

/// What counts as one CPU kept busy.
const ONE: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// One thread as the limit.
pub(super) struct OneCore;

impl Rule for OneCore {
    fn name(&self) -> &'static str {
        "one-core"
    }

    fn looks_for(&self) -> &'static str {
        "a tool that kept one CPU busy on a machine that has more"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut looked = false;
        let mut cases = Vec::new();
        for (index, observation) in dataset.observations.iter().enumerate() {
            let facts = &observation.facts;
            let (Some(used), Some(cpus)) = (facts.cpus_used, facts.cpus) else { continue };
            looked = true;
            if cpus < 2.0 || !ONE.contains(&used) {
                continue;
            }
            // A build on one CPU is slow, but it is its own figure; a rate of I/O is taken for the device's.
            let of_io = traffic::rates(dataset, observation).next().is_some();
            let severity = if of_io { Severity::Warning } else { Severity::Note };
            let text = format!("{} of {} CPUs kept busy", number(used), number(cpus));
            cases.push(Case { index, severity, text });
        }
        let message = cases
            .first()
            .map(|case| format!("{}: the tool's one thread may be the limit, not the storage", case.text));
        concluded(
            looked,
            self,
            dataset,
            cases,
            message,
            "Run several threads or processes of the tool and see whether the figure grows.",
        )
    }
}

/// Whole numbers without decimals.
fn number(value: f64) -> String {
    if value.fract().abs() < 0.005 { format!("{value:.0}") } else { three_digits(value) }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;
    use iostone_model::dataset::Observation;

    fn used(used: f64, cpus: f64, metric: &str) -> Observation {
        let mut made = observation(&[("mix", "read")], &[(metric, 100.0)]);
        made.facts.cpus_used = Some(used);
        made.facts.cpus = Some(cpus);
        made
    }

    #[test]
    fn one_busy_cpu_of_two_is_doubted_for_io_and_noted_for_times() {
        let found = only(&OneCore, &dataset(vec![used(1.0, 2.0, "iops")]));
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(
            found.message,
            "1 of 2 CPUs kept busy: the tool's one thread may be the limit, not the storage"
        );
        assert_eq!(only(&OneCore, &dataset(vec![used(0.98, 8.0, "wall_time")])).severity, Severity::Note);
    }

    #[test]
    fn less_more_or_all_of_the_cpus_are_clear() {
        let set = dataset(vec![used(0.3, 2.0, "iops"), used(1.8, 2.0, "iops"), used(1.0, 1.0, "iops")]);
        assert!(findings(&OneCore, &set).is_empty());
        assert!(silent(&OneCore, &dataset(vec![observation(&[], &[("iops", 1.0)])])));
    }
}
