//! `no-spread`: averages of which neither the scatter nor perhaps the number of runs is told.

use std::collections::BTreeSet;

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Aggregate, Dataset};

use super::conditions::{at, tables};
use super::wording::{in_table, row};
use crate::{Outcome, Rule, finding};

/// So many rows are shown.
const MOST_LINES: usize = 3;

pub(super) struct NoSpread;

impl Rule for NoSpread {
    fn name(&self) -> &'static str {
        "no-spread"
    }

    fn looks_for(&self) -> &'static str {
        "averages whose spread, or number of runs, is not known"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut applies = false;
        let mut findings = Vec::new();
        for table in tables(dataset) {
            let averaged: Vec<_> = table
                .members
                .iter()
                .filter_map(|place| Some((*place, at(dataset, *place)?.facts.averaged?)))
                .collect();
            applies |= !averaged.is_empty();
            let bare: Vec<_> =
                averaged.into_iter().filter(|(_, of)| !of.spread_known && of.executions != Some(1)).collect();
            let Some((_, first)) = bare.first() else { continue };
            let numbers: BTreeSet<Option<u32>> = bare.iter().map(|(_, of)| of.executions).collect();
            let number = match (numbers.len(), first.executions) {
                (1, Some(count)) => format!("of {count} runs"),
                (_, None) => "of an unstated number of runs".to_owned(),
                (_, Some(_)) => "of several runs".to_owned(),
            };
            let (one, many) = match first.by {
                Aggregate::Mean | Aggregate::Unknown => ("an average", "averages"),
                Aggregate::Median => ("a median", "medians"),
                Aggregate::Best => ("a best result", "best results"),
            };
            // Rows, not figures: each row may have several, or none where it only tells what was run.
            let (rows, are) = match bare.len() {
                1 => ("1 row".to_owned(), format!("is {one}")),
                count => (format!("{count} rows"), format!("are {many}")),
            };
            let message = format!(
                "{rows}{} {are} {number} whose spread is not given: whether a difference is more than noise cannot be \
                 told",
                in_table(&table)
            );
            let places: Vec<usize> = bare.iter().map(|(place, _)| *place).collect();
            findings.push(Finding {
                evidence: places.iter().take(MOST_LINES).map(|place| row(dataset, *place)).collect(),
                observations: places,
                ..finding(
                    self,
                    Severity::Warning,
                    message,
                    "Publish and import every single run; failing that, the number of runs and their range.",
                )
            });
        }
        if applies { Outcome::Looked(findings) } else { Outcome::NotApplicable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};
    use iostone_model::dataset::Averaged;

    fn averages(executions: Option<u32>, spread_known: bool) -> Dataset {
        let mut dataset = two_conditions(&[28_395_000.0], &[34_970_000.0]);
        for observation in &mut dataset.observations {
            observation.facts.averaged = Some(Averaged { executions, by: Aggregate::Mean, spread_known });
        }
        dataset
    }

    #[test]
    fn bare_averages_are_found() {
        let found = findings(&NoSpread, &averages(None, false));
        assert_eq!(found[0].severity, Severity::Warning);
        let start = "2 rows are averages of an unstated number of runs whose spread is not given: ";
        assert!(found[0].message.starts_with(start), "{}", found[0].message);
        let mut bare = averages(None, false);
        bare.observations[0].figures.clear();
        assert_eq!(findings(&NoSpread, &bare)[0].evidence[0], "t.csv, line 2, run 1");
        assert!(findings(&NoSpread, &averages(Some(5), false))[0].message.contains("averages of 5 runs"));
    }

    #[test]
    fn a_known_spread_is_clear_and_single_runs_are_not_looked_at() {
        assert!(findings(&NoSpread, &averages(Some(5), true)).is_empty());
        assert_eq!(NoSpread.look(&two_conditions(&[1.0], &[2.0])), Outcome::NotApplicable);
    }
}
