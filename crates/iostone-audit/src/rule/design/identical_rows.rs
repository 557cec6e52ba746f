//! `identical-rows`: repetitions that agree to the last printed digit are copies, not repetitions.

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::Dataset;

use super::coincidence::{Coincidence, chance_among, keys, measured, not_of_copies, same_files, twins};
use super::conditions::tables;
use super::equal_figures;
use super::wording::{condition_name, in_table, one_in, row};
use crate::{Outcome, Rule, finding};

/// Above this chance, over all pairs of repetitions, agreement is put down to few digits.
const LARGEST_CHANCE: f64 = 0.01;
/// Below it, it is no chance.
const SURELY_COPIED: f64 = 0.001;
/// More conditions with copies are counted.
const MOST_CONDITIONS: usize = 12;

pub(super) struct IdenticalRows;

impl Rule for IdenticalRows {
    fn name(&self) -> &'static str {
        "identical-rows"
    }

    fn looks_for(&self) -> &'static str {
        "repetitions under one condition that agree in every printed figure, where digits and noise make that unlikely"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let tables = tables(dataset);
        let sizes =
            tables.iter().flat_map(|table| &table.conditions).map(|condition| condition.members.len() as f64);
        let pairs: f64 = sizes.map(|size| size * (size - 1.0) / 2.0).sum();
        if pairs < 1.0 {
            return Outcome::NotApplicable;
        }
        let keys = keys(dataset);
        let files = same_files(dataset);
        let coincidence = Coincidence::of(dataset, &tables);
        let mut findings = Vec::new();
        for table in &tables {
            for condition in &table.conditions {
                let copied: Vec<(Vec<usize>, f64)> =
                    twins(&keys, &not_of_copies(dataset, &files, &condition.members))
                        .into_iter()
                        .filter_map(|group| {
                            let first = *group.first()?;
                            let chance = chance_among(&coincidence, dataset, first, pairs)?;
                            (chance < LARGEST_CHANCE).then_some((group, chance))
                        })
                        .collect();
                if copied.is_empty() {
                    continue;
                }
                let chance: f64 = copied.iter().map(|(_, chance)| chance).product();
                let rows: Vec<usize> = copied.into_iter().flat_map(|(group, _)| group).collect();
                let severity = match chance < SURELY_COPIED {
                    true if measured(dataset, &rows) => Severity::Serious,
                    true => Severity::Warning,
                    false => Severity::Note,
                };
                let name = condition_name(table, condition);
                let message = format!(
                    "{} of the {} rows under {name}{} agree in every printed figure, which independent runs do with a \
                     chance of {}",
                    rows.len(),
                    condition.members.len(),
                    in_table(table),
                    one_in(chance)
                );
                findings.push(Finding {
                    evidence: rows.iter().take(6).map(|place| row(dataset, *place)).collect(),
                    observations: rows,
                    ..finding(
                        self,
                        severity,
                        message,
                        "Count each of them once, find out from the raw output which run it belongs to, and judge the \
                         rest again.",
                    )
                });
            }
        }
        let more = findings.len().saturating_sub(MOST_CONDITIONS);
        findings.truncate(MOST_CONDITIONS);
        if let Some(last) = findings.last_mut().filter(|_| more > 0) {
            last.evidence.push(format!("and {more} more conditions with rows that agree"));
        }
        findings.extend(equal_figures::look(self, dataset, &tables, &keys));
        Outcome::Looked(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};

    #[test]
    fn a_row_copied_to_the_last_digit_is_found() {
        let dataset =
            two_conditions(&[58.7519, 60.9603, 58.7519, 63.2337, 61.4362], &[195.168, 196.525, 196.241]);
        let found = findings(&IdenticalRows, &dataset);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].severity, found[0].observations.as_slice()), (Severity::Serious, &[0, 2][..]));
        assert!(
            found[0].message.starts_with("2 of the 5 rows under `barrier=1` agree"),
            "{}",
            found[0].message
        );
        assert!(found[0].evidence[0].starts_with("t.csv, line 2, run 1: throughput 58.7519"));
    }

    #[test]
    fn coarse_or_steady_figures_may_agree() {
        assert!(
            findings(&IdenticalRows, &two_conditions(&[58.8, 61.0, 58.8, 63.2], &[195.2, 196.5])).is_empty()
        );
        assert!(
            findings(&IdenticalRows, &two_conditions(&[62.5, 62.5, 62.5], &[62.5, 62.4, 62.5])).is_empty()
        );
    }

    #[test]
    fn rows_that_are_all_copies_are_found_by_their_digits_alone() {
        let mut dataset = two_conditions(&[198.832_17, 198.832_17], &[]);
        assert_eq!(findings(&IdenticalRows, &dataset).len(), 1);
        for observation in &mut dataset.observations {
            observation.figures.insert("throughput".to_owned(), 198.8.into());
        }
        assert!(findings(&IdenticalRows, &dataset).is_empty());
    }

    #[test]
    fn one_value_five_times_is_doubtful_even_beside_other_figures_that_differ() {
        let mut dataset =
            two_conditions(&[61.2, 61.2, 61.2, 61.2, 61.2, 61.2], &[70.1, 71.3, 69.4, 70.8, 72.2, 70.5]);
        for (index, row) in dataset.observations.iter_mut().enumerate() {
            row.figures.insert("iops".to_owned(), (1000.0 + (index * index * 7 % 31) as f64).into());
        }
        let found = findings(&IdenticalRows, &dataset);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning), "{found:#?}");
        assert!(
            found[0].message.starts_with("6 of the 6 values of throughput under `barrier=1`"),
            "{}",
            found[0].message
        );
        let steady =
            two_conditions(&[61.2, 61.2, 61.2, 61.2, 61.2, 61.3], &[70.1, 70.1, 70.1, 70.2, 70.1, 70.1]);
        assert!(findings(&IdenticalRows, &steady).is_empty());
    }

    #[test]
    fn figures_without_a_unit_that_come_in_lumps_are_no_copies() {
        let mut prices = two_conditions(&[9.8, 4.9, 9.8, 7.9, 4.9, 7.9, 9.8], &[4.9, 9.8, 4.9, 8.9]);
        prices.metrics.clear();
        assert!(findings(&IdenticalRows, &prices).iter().all(|finding| finding.severity < Severity::Serious));
    }

    #[test]
    fn single_rows_cannot_be_looked_at() {
        assert_eq!(IdenticalRows.look(&two_conditions(&[1.0], &[2.0])), Outcome::NotApplicable);
    }
}
