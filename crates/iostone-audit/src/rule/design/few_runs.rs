//! `few-runs`: fewer than six runs of a condition cannot decide anything at 95 % without assumptions on the noise.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::conditions::{Table, at, executions, tables};
use super::wording::{condition_name, in_table, list};
use crate::{Outcome, Rule, finding};

/// The fewest runs from which a two-sided question can be decided at 95 % whatever the noise: 2 / 2^6 is below 5 %,
/// and so is the chance that the median lies outside the range of six runs; of five, 6.25 %.
const FEWEST_RUNS: u32 = 6;

pub(super) struct FewRuns;

impl Rule for FewRuns {
    fn name(&self) -> &'static str {
        "few-runs"
    }

    fn looks_for(&self) -> &'static str {
        "comparisons of conditions with two to five runs"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        if dataset.raced {
            return Outcome::NotApplicable;
        }
        let tables = tables(dataset);
        let compared: Vec<&Table<'_>> = tables.iter().filter(|table| table.compares).collect();
        let findings = compared.iter().filter_map(|table| describe(self, dataset, table));
        if compared.is_empty() { Outcome::NotApplicable } else { Outcome::Looked(findings.collect()) }
    }
}

fn describe(rule: &dyn Rule, dataset: &Dataset, table: &Table<'_>) -> Option<Finding> {
    let runs = |members: &[usize]| -> Option<u32> {
        members.iter().filter_map(|place| at(dataset, *place)).map(executions).sum()
    };
    let mut few = Vec::new();
    for condition in &table.conditions {
        // Single runs have a rule of their own.
        let is_few = |count: &u32| {
            (2..FEWEST_RUNS).contains(count) && (dataset.superblock == 0 || *count < dataset.superblock)
        };
        if let Some(count) = runs(&condition.members).filter(is_few) {
            few.push((condition, count));
        }
    }
    let fewest = few.iter().map(|(_, count)| *count).min()?;
    let names: Vec<String> = few
        .iter()
        .map(|(condition, count)| format!("{} ({count})", condition_name(table, condition)))
        .collect();
    // The range of n runs misses the median with a chance of 2 / 2^n.
    let covered = 100.0 * (1.0 - 2.0 * 0.5_f64.powf(f64::from(fewest)));
    let message = format!(
        "too few runs for a verdict{}: {}; the range of {fewest} holds the true median with a certainty of {covered:.1} %, and no \
         test within pairs can reach 95 % before six",
        in_table(table),
        list(&names)
    );
    Some(Finding {
        observations: few.iter().flat_map(|(condition, _)| condition.members.clone()).collect(),
        ..finding(
            rule,
            Severity::Warning,
            message,
            "Add blocks until there are six runs of each condition or more.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};
    use iostone_model::dataset::{Aggregate, Averaged};

    #[test]
    fn five_runs_each_are_too_few() {
        let found =
            findings(&FewRuns, &two_conditions(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(found[0].severity, Severity::Warning);
        assert!(found[0].message.contains("`barrier=1` (5) and `barrier=0` (5)"), "{}", found[0].message);
        assert!(found[0].message.contains("93.8 %"), "{}", found[0].message);
    }

    #[test]
    fn six_runs_or_an_average_of_many_are_enough() {
        assert!(findings(&FewRuns, &two_conditions(&[1.0; 6], &[2.0; 6])).is_empty());
        let mut averages = two_conditions(&[1.0], &[2.0]);
        for observation in &mut averages.observations {
            observation.facts.averaged =
                Some(Averaged { executions: Some(10), by: Aggregate::Mean, spread_known: true });
        }
        assert!(findings(&FewRuns, &averages).is_empty());
    }

    #[test]
    fn conditions_that_left_a_race_are_no_fault() {
        let raced = Dataset { raced: true, ..two_conditions(&[1.0; 9], &[2.0; 2]) };
        assert_eq!(FewRuns.look(&raced), Outcome::NotApplicable);
    }

    #[test]
    fn where_nothing_is_compared_the_rule_does_not_apply() {
        assert_eq!(FewRuns.look(&two_conditions(&[1.0, 2.0], &[])), Outcome::NotApplicable);
    }
}
