//! `same-data`: the same rows reported under two conditions.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::audit::{Finding, Severity};
use iostone_model::dataset::{Dataset, Observation};

use super::coincidence::{Coincidence, chance_among, keys, measured, not_of_copies, same_files, twins};
use super::conditions::{Table, at, levels, tables};
use super::wording::{condition_name, in_table, list, one_in, reworded, row};
use crate::{Outcome, Rule, finding};

/// Above this chance, over all pairs of rows, agreement is put down to few digits.
const LARGEST_CHANCE: f64 = 0.01;

/// Of one row under more conditions than this, and of more pairs of conditions, not every one is told.
const MOST_CONDITIONS: usize = 12;

/// So many groups of equal files are listed.
const MOST_FILES: usize = 6;

/// Where an observation stands: its table, and its condition within it.
type Spot = (usize, usize);

pub(super) struct SameData;

impl Rule for SameData {
    fn name(&self) -> &'static str {
        "same-data"
    }

    fn looks_for(&self) -> &'static str {
        "the same rows under two conditions, in one table or in two"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let tables = tables(dataset);
        let mut spots: BTreeMap<usize, Spot> = BTreeMap::new();
        for (t, table) in tables.iter().enumerate() {
            for (c, condition) in table.conditions.iter().enumerate() {
                spots.extend(condition.members.iter().map(|place| (*place, (t, c))));
            }
        }
        let conditions: usize = tables.iter().map(|table| table.conditions.len()).sum();
        let files = same_files(dataset);
        if conditions < 2 && files.is_empty() {
            return Outcome::NotApplicable;
        }
        let keys = keys(dataset);
        let all: Vec<usize> = (0..dataset.observations.len()).collect();
        // For each pair of conditions, the pairs of rows that agree.
        let mut shared: BTreeMap<(Spot, Spot), Vec<(usize, usize)>> = BTreeMap::new();
        for group in twins(&keys, &not_of_copies(dataset, &files, &all)) {
            let mut one_of_each: BTreeMap<Spot, usize> = BTreeMap::new();
            for place in group {
                if let Some(spot) = spots.get(&place) {
                    one_of_each.entry(*spot).or_insert(place);
                }
            }
            let of: Vec<(&Spot, &usize)> = one_of_each.iter().take(MOST_CONDITIONS).collect();
            for (index, (spot, place)) in of.iter().enumerate() {
                for (other, twin) in of.iter().skip(index + 1) {
                    shared.entry((**spot, **other)).or_default().push((**place, **twin));
                }
            }
        }
        let coincidence = Coincidence::of(dataset, &tables);
        let pairs = (all.len() * all.len().saturating_sub(1) / 2) as f64;
        let findings = shared.into_iter().filter_map(|(spots, rows)| {
            let chances =
                rows.iter().filter_map(|(place, _)| chance_among(&coincidence, dataset, *place, pairs));
            let chance = chances.fold(1.0, |product: f64, chance| product * chance);
            (chance < LARGEST_CHANCE)
                .then(|| describe(self, dataset, &tables, spots, &rows, chance))
                .flatten()
        });
        let mut findings: Vec<Finding> = findings.collect();
        let more = findings.len().saturating_sub(MOST_CONDITIONS);
        findings.truncate(MOST_CONDITIONS);
        if let Some(last) = findings.last_mut().filter(|_| more > 0) {
            last.evidence.push(format!("and {more} more pairs of conditions that share rows"));
        }
        Outcome::Looked(tell_files(self, dataset, &files).into_iter().chain(findings).collect())
    }
}

/// Copies of whole files, in one finding; no chance is needed for it.
fn tell_files(rule: &dyn Rule, dataset: &Dataset, files: &[Vec<&str>]) -> Option<Finding> {
    let named = |names: &Vec<&str>| list(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>());
    let first = files.first()?;
    let others = match files.len() {
        1 => String::new(),
        2 => "; so are those of another group".to_owned(),
        more => format!("; so are those of {} other groups", more - 1),
    };
    let message = format!("the files {} are byte for byte the same{others}", named(first));
    let equal: BTreeSet<&str> = files.iter().flatten().copied().collect();
    let of_copies = |(_, observation): &(usize, &Observation)| equal.contains(observation.file.as_str());
    let rows = dataset.observations.iter().enumerate().filter(of_copies);
    let evidence = files.iter().take(MOST_FILES).map(|names| format!("{}: the same SHA-256", named(names)));
    let advice = "Count one of them only: a copied file is no second measurement, and what the other names should have \
                  stood for is missing.";
    Some(Finding {
        evidence: evidence.collect(),
        observations: rows.map(|(place, _)| place).collect(),
        ..finding(rule, Severity::Serious, message, advice)
    })
}

fn describe(
    rule: &dyn Rule,
    dataset: &Dataset,
    tables: &[Table<'_>],
    (first, second): (Spot, Spot),
    rows: &[(usize, usize)],
    chance: f64,
) -> Option<Finding> {
    let spot = |(t, c): Spot| Some((tables.get(t)?, tables.get(t)?.conditions.get(c)?));
    let ((table, one), (other_table, two)) = (spot(first)?, spot(second)?);
    let (place, twin) = *rows.first()?;
    let (observation, other) = (at(dataset, place)?, at(dataset, twin)?);
    let differing = differing_labels(dataset, (table, observation), (other_table, other));
    let names = [
        format!("{}{}", condition_name(table, one), in_table(table)),
        format!("{}{}", condition_name(other_table, two), in_table(other_table)),
    ];
    let (count, are, stand) = match (rows.len(), two.members.len()) {
        (1, 1) => ("the only row".to_owned(), "is the very row", "stands"),
        (some, every) if some == every => (format!("all {every} rows"), "are the very rows", "stand"),
        (some, every) => (format!("{some} of the {every} rows"), "agree with rows", "stand"),
    };
    let (severity, message, advice) = if differing.is_empty() {
        let message = format!("{count} under {} {stand} already under {}", names[1], names[0]);
        (Severity::Note, message, "Take them for one measurement told twice, not for a confirmation.")
    } else {
        let labels = differing.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>();
        let message = format!(
            "{count} under {} {are} under {} (by chance: {}), though the two differ in {}: one of them was not measured",
            names[1],
            names[0],
            one_in(chance),
            list(&labels)
        );
        let advice = "Measure one of the two conditions anew, and say under which settings of the other factor each row \
                      was taken.";
        let places: Vec<usize> = rows.iter().map(|(place, _)| *place).collect();
        let severity = if measured(dataset, &places) { Severity::Serious } else { Severity::Warning };
        (severity, message, advice)
    };
    let evidence = rows.iter().take(3).flat_map(|(a, b)| [row(dataset, *a), row(dataset, *b)]);
    Some(Finding {
        evidence: evidence.collect(),
        observations: rows.iter().flat_map(|(a, b)| [*a, *b]).collect(),
        ..finding(rule, severity, message, advice)
    })
}

/// The labels by which the two rows claim to be different measurements.
///
/// Both have a label with values that are not the same in other words, or a factor varied in the one table is not
/// told of in the other.
fn differing_labels<'a>(
    dataset: &'a Dataset,
    (table, first): (&Table<'_>, &'a Observation),
    (other_table, second): (&Table<'_>, &'a Observation),
) -> Vec<&'a str> {
    let contradicts = |(label, value): (&'a String, &String)| {
        let other = second.labels.get(label)?;
        (!reworded(value, other)).then_some(label.as_str())
    };
    let untold = |label: &str| {
        let varied = |of: &Table<'_>| levels(dataset, &of.members, label).len() > 1;
        first.labels.contains_key(label) != second.labels.contains_key(label)
            && (varied(table) || varied(other_table))
    };
    let contradicted = first.labels.iter().filter_map(contradicts);
    let untold = dataset.factors.iter().map(String::as_str).filter(|label| untold(label));
    contradicted.chain(untold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{findings, two_conditions};
    use iostone_model::dataset::SourceFile;

    fn with_second_table(labels: &[(&str, &str)]) -> Dataset {
        let off = [195.168, 196.525, 196.241, 197.79, 195.378];
        let mut dataset = two_conditions(&[198.832, 198.525, 197.24, 198.003, 193.24], &off);
        let copies: Vec<Observation> = dataset.observations[5..].to_vec();
        for (index, mut copy) in copies.into_iter().enumerate() {
            copy.table = "kernels".to_owned();
            copy.line = Some(20 + index as u64);
            copy.labels = labels.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            dataset.observations.push(copy);
        }
        dataset
    }

    #[test]
    fn rows_of_one_table_under_another_condition_are_serious() {
        let mut dataset = with_second_table(&[("kernel", "2.6.32-504")]);
        dataset.factors.push("kernel".to_owned());
        let found = findings(&SameData, &dataset);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].severity, found[0].observations.len()), (Severity::Serious, 10));
        let start =
            "all 5 rows under `kernel=2.6.32-504` in table `kernels` are the very rows under `barrier=0`";
        assert!(found[0].message.starts_with(start), "{}", found[0].message);
    }

    #[test]
    fn one_measurement_told_twice_is_a_note() {
        for labels in [&[("barrier", "0")], &[("barrier", "0, as before")]] {
            let found = findings(&SameData, &with_second_table(labels));
            assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
        }
    }

    #[test]
    fn files_that_are_byte_for_byte_the_same_are_one_serious_finding() {
        let mut dataset = two_conditions(&[5.0, 6.0], &[5.0, 6.0]);
        let names = ["a.log", "b.log", "c.log", "d.log"];
        for (observation, name) in dataset.observations.iter_mut().zip(names) {
            observation.file = name.to_owned();
        }
        for (name, sha256) in names.into_iter().zip(["01", "02", "01", "01"]) {
            let file = SourceFile {
                name: name.to_owned(),
                bytes: 9,
                sha256: sha256.to_owned(),
                ..SourceFile::default()
            };
            dataset.files.push(file);
        }
        let found = findings(&SameData, &dataset);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Serious));
        assert_eq!(found[0].message, "the files `a.log`, `c.log` and `d.log` are byte for byte the same");
        assert_eq!(found[0].observations, [0, 2, 3]);
    }

    #[test]
    fn a_row_that_two_levels_share_is_found_and_coarse_ones_are_not() {
        let dataset = two_conditions(&[58.7519, 60.9603, 57.1234], &[58.7519, 62.1, 63.0]);
        assert_eq!(findings(&SameData, &dataset).len(), 1);
        assert!(findings(&SameData, &two_conditions(&[58.0, 60.0, 57.0], &[58.0, 62.0, 63.0])).is_empty());
        assert_eq!(SameData.look(&two_conditions(&[1.0, 2.0], &[])), Outcome::NotApplicable);
    }
}
