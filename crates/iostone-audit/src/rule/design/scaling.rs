//! How figures move with a numeric label that counts resources: disks, threads, clients, machines.

use std::collections::BTreeMap;

use iostone_model::dataset::Dataset;
use iostone_model::metric::{Direction, Unit};
use iostone_stats::median::median;

use super::conditions::{Table, at, executions, tables, values};

/// Words of which one stands in the name of a label that counts resources.
const RESOURCES: &[&str] = &[
    "disk",
    "volume",
    "device",
    "drive",
    "spindle",
    "member",
    "stripe",
    "thread",
    "client",
    "job",
    "process",
    "proc",
    "worker",
    "node",
    "server",
    "machine",
    "cpu",
    "vcpu",
    "core",
    "connection",
];

/// The figures at one count of a resource, everything else being equal.
pub(super) struct Point {
    /// The count.
    pub(super) count: f64,
    /// The median of the figures.
    pub(super) middle: f64,
    /// The smallest and the largest of them.
    pub(super) range: [f64; 2],
    /// How many executions they stand for; none where averages do not say.
    pub(super) executions: Option<u32>,
    /// The observations, as places in the dataset.
    pub(super) places: Vec<usize>,
}

/// A figure against the count of a resource, everything else being equal.
pub(super) struct Curve<'a> {
    /// The label that counts.
    pub(super) label: &'a str,
    /// The figure: a rate, more of which is better.
    pub(super) metric: &'a str,
    /// The other labels that hold for all of it, as `instance=m1.xlarge`; empty where there are none.
    pub(super) setting: String,
    /// In ascending order of the count, two or more.
    pub(super) points: Vec<Point>,
}

/// Every such curve.
pub(super) fn curves(dataset: &Dataset) -> Vec<Curve<'_>> {
    let mut curves = Vec::new();
    for table in tables(dataset).iter().filter(|table| table.compares) {
        for label in dataset.factors.iter().filter(|label| counts_resources(label)) {
            let settings = settings(dataset, table, label);
            for metric in rates(dataset, table) {
                for (setting, by_count) in &settings {
                    let points: Vec<Point> = by_count
                        .iter()
                        .filter_map(|(count, places)| point(dataset, metric, *count, places))
                        .collect();
                    if points.len() > 1 {
                        curves.push(Curve { label, metric, setting: setting.clone(), points });
                    }
                }
            }
        }
    }
    curves
}

fn counts_resources(label: &str) -> bool {
    let lower = label.to_lowercase();
    let names = |word: &str, resource: &str| {
        word.strip_prefix(resource).is_some_and(|ending| ["", "s", "es"].contains(&ending))
    };
    let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.any(|word| RESOURCES.iter().any(|resource| names(word, resource)) || word == "numjobs")
}

fn rates<'a>(dataset: &'a Dataset, table: &Table<'_>) -> Vec<&'a str> {
    let rate = |metric: &&str| {
        let better = dataset.metrics.get(*metric).and_then(|note| note.better);
        match dataset.unit_of(metric) {
            Unit::BytesPerSecond | Unit::PerSecond => better != Some(Direction::Lower),
            Unit::Plain => better == Some(Direction::Higher),
            Unit::Seconds | Unit::Bytes | Unit::Share => false,
        }
    };
    super::conditions::metrics(dataset, &table.members).into_iter().filter(rate).collect()
}

/// The observations by all other telling labels, then by count.
fn settings(
    dataset: &Dataset,
    table: &Table<'_>,
    label: &str,
) -> BTreeMap<String, BTreeMap<Count, Vec<usize>>> {
    let mut settings: BTreeMap<String, BTreeMap<Count, Vec<usize>>> = BTreeMap::new();
    for condition in &table.conditions {
        for place in &condition.members {
            let Some(observation) = at(dataset, *place) else { continue };
            let Some(count) = observation.labels.get(label).and_then(|text| Count::read(text)) else {
                continue;
            };
            let own = format!("{label}={}", observation.labels.get(label).map_or("", String::as_str));
            let others: Vec<&str> = condition.name.split(", ").filter(|part| *part != own).collect();
            settings.entry(others.join(", ")).or_default().entry(count).or_default().push(*place);
        }
    }
    settings
}

/// A positive number with an order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Count(f64);

impl Count {
    fn read(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|count: &f64| count.is_finite() && *count > 0.0).map(Self)
    }
}

impl Eq for Count {}

impl Ord for Count {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Count {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn point(dataset: &Dataset, metric: &str, count: Count, places: &[usize]) -> Option<Point> {
    let figures: Vec<(usize, f64)> =
        values(dataset, places, metric).into_iter().filter(|(_, value)| *value > 0.0).collect();
    let numbers: Vec<f64> = figures.iter().map(|(_, value)| *value).collect();
    Some(Point {
        count: count.0,
        middle: median(&numbers)?,
        range: [
            numbers.iter().copied().fold(f64::INFINITY, f64::min),
            numbers.iter().copied().fold(0.0, f64::max),
        ],
        executions: figures.iter().filter_map(|(place, _)| at(dataset, *place)).map(executions).sum(),
        places: figures.into_iter().map(|(place, _)| place).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_count_resources_are_told_by_their_words() {
        for label in ["disks", "num_threads", "clients", "numjobs", "vCPUs", "raid devices", "processes"] {
            assert!(counts_resources(label), "{label}");
        }
        for label in ["block_size", "cfs_quota_us", "run", "kernel", "chunk"] {
            assert!(!counts_resources(label), "{label}");
        }
    }
}
