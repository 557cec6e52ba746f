//! Which circumstances were varied on purpose, where nobody says so: those that part what would be one condition.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::dataset::Observation;

/// Circumstances in the order in which people vary them on purpose. One that an earlier one determines stays a
/// circumstance, so that an image that came with a kernel is still seen to be confounded with it.
const CHOSEN: &[&str] = &[
    "instance",
    "volume",
    "storage",
    "filesystem",
    "kernel",
    "image",
    "os",
    "hypervisor",
    "container_engine",
    "region",
];

/// Circumstances that change by themselves: they part conditions only where nothing else does.
const INCIDENTAL: &[&str] = &["host", "tool_version", "date"];

/// Adds to the factors every circumstance that still has several values within one condition.
pub(crate) fn add_circumstances(observations: &[Observation], factors: &mut Vec<String>) {
    for label in CHOSEN {
        if varies_within(observations, factors, label) {
            factors.push((*label).to_owned());
        }
    }
    if factors.is_empty() {
        let varying = INCIDENTAL
            .iter()
            .find(|label| varies_within(observations, factors, label) && comes_back(observations, label));
        factors.extend(varying.map(|label| (*label).to_owned()));
    }
}

/// Whether a label has several values among observations of the same levels of all factors.
fn varies_within(observations: &[Observation], factors: &[String], label: &str) -> bool {
    if factors.iter().any(|factor| factor == label) {
        return false;
    }
    let mut seen: BTreeMap<Vec<Option<&String>>, &String> = BTreeMap::new();
    observations.iter().any(|observation| {
        let Some(value) = observation.labels.get(label) else { return false };
        let levels = factors.iter().map(|factor| observation.labels.get(factor)).collect();
        *seen.entry(levels).or_insert(value) != value
    })
}

/// Whether some value stands in several observations: a date of each run is no condition.
fn comes_back(observations: &[Observation], label: &str) -> bool {
    let mut seen = BTreeSet::new();
    observations
        .iter()
        .filter_map(|observation| observation.labels.get(label))
        .any(|value| !seen.insert(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(rows: &[&[(&str, &str)]], given: &[&str]) -> Vec<String> {
        let observations: Vec<Observation> = rows
            .iter()
            .map(|row| Observation {
                labels: row.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect(),
                ..Observation::default()
            })
            .collect();
        let mut factors: Vec<String> = given.iter().map(|factor| (*factor).to_owned()).collect();
        add_circumstances(&observations, &mut factors);
        factors
    }

    #[test]
    fn a_circumstance_that_varies_within_a_condition_is_a_factor() {
        assert_eq!(factors(&[&[("filesystem", "ext4")], &[("filesystem", "xfs")]], &[]), ["filesystem"]);
        // Determined by the condition: a circumstance, which may be confounded with it.
        let rows: &[&[(&str, &str)]] =
            &[&[("condition", "a"), ("kernel", "5")], &[("condition", "b"), ("kernel", "6")]];
        assert_eq!(factors(rows, &["condition"]), ["condition"]);
        assert_eq!(factors(&[&[("os", "a")], &[]], &[]), [""; 0]);
    }

    #[test]
    fn an_image_that_came_with_a_kernel_stays_a_circumstance() {
        let rows: &[&[(&str, &str)]] = &[
            &[("kernel", "5"), ("image", "a")],
            &[("kernel", "6"), ("image", "a")],
            &[("kernel", "7"), ("image", "b")],
        ];
        assert_eq!(factors(rows, &[]), ["kernel"]);
    }

    #[test]
    fn hosts_and_dates_part_conditions_only_where_nothing_else_does() {
        let row = |host: &'static str| [("host", host), ("date", "1")];
        assert_eq!(factors(&[&row("a"), &row("a"), &row("b")], &[]), ["host"]);
        assert_eq!(factors(&[&row("a"), &row("b")], &["condition"]), ["condition"]);
        assert_eq!(factors(&[&[("date", "1")], &[("date", "2")]], &[]), [""; 0]);
    }
}
