//! Sorts observations into tables, and those of a table into conditions: what was repeated, and what is compared.

use std::collections::{BTreeSet, HashMap};

use iostone_model::dataset::{CIRCUMSTANCES, Dataset, Observation};

use super::row_names::{Values, row_names, values_of};
use super::timeline::sampled;

/// The observations of one table and one test of one tool; only these are held against each other.
pub(super) struct Table<'a> {
    /// Its name, or that of the test where the tool has several; empty where the dataset has but one.
    pub(super) name: &'a str,
    /// Its observations, as places in the dataset, in the order of the source.
    pub(super) members: Vec<usize>,
    /// Its conditions in the order of first appearance.
    pub(super) conditions: Vec<Condition>,
    /// Whether a factor has two levels or more in it: something is compared.
    pub(super) compares: bool,
}

/// The observations that were made under the same labels.
pub(super) struct Condition {
    /// Its levels, as `barrier=1, disks=2`; what tells it from the others where it has no levels.
    pub(super) name: String,
    /// Its observations, as places in the dataset.
    pub(super) members: Vec<usize>,
}

/// The observation at that place; none only where a place is not of this dataset.
pub(super) fn at(dataset: &Dataset, place: usize) -> Option<&Observation> {
    dataset.observations.get(place)
}

/// The table, the tool and the test.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Every table of a dataset in which something was run.
pub(super) fn tables<'a>(dataset: &'a Dataset) -> Vec<Table<'a>> {
    let mut groups: Vec<(Key<'_>, Vec<usize>)> = Vec::new();
    let mut known: HashMap<Key<'_>, usize> = HashMap::new();
    // What was varied on purpose is compared, whatever it is called.
    let tests = !dataset.factors.iter().any(|factor| factor == TEST) && dataset.values_of(TEST).len() > 1;
    for (place, observation) in dataset.observations.iter().enumerate() {
        let test = if tests { level(observation, TEST) } else { "" };
        let key = (observation.table.as_str(), observation.tool.as_str(), test);
        let group = *known.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, members)) = groups.get_mut(group) {
            members.push(place);
        }
    }
    let named = |(name, _, test): Key<'a>| if name.is_empty() { test } else { name };
    groups.into_iter().filter_map(|(key, members)| table(dataset, named(key), members)).collect()
}

/// The label by which tools name one of several tests that have nothing to do with each other.
const TEST: &str = "test";
/// What tools that watch a machine tell apart: not conditions, but things that were watched at once.
const SUBJECTS: &[&str] = &["device", "cpu"];
/// Those tools.
const WATCHERS: &[&str] = &["iostat", "sar", "sadf", "mpstat", "vmstat", "pidstat"];

/// Whether a label names there what was watched, rather than what it was watched under.
fn is_subject(dataset: &Dataset, members: &[usize], label: &str) -> bool {
    let tool = members.first().and_then(|place| at(dataset, *place)).map(|first| first.tool.as_str());
    SUBJECTS.contains(&label) && tool.is_some_and(|tool| WATCHERS.contains(&tool))
}

/// What of a machine an observation is about, where its tool watches several things at once; else the same for all.
pub(super) fn subject(observation: &Observation) -> [&str; 2] {
    if WATCHERS.contains(&observation.tool.as_str()) {
        [level(observation, "device"), level(observation, "cpu")]
    } else {
        ["", ""]
    }
}

/// None where they are samples of one thing in time: nothing was repeated, and nothing is compared.
fn table<'a>(dataset: &'a Dataset, name: &'a str, members: Vec<usize>) -> Option<Table<'a>> {
    let values = values_of(dataset, &members);
    let names = row_names(dataset, &values, members.len());
    let numbers_alone = values.iter().all(|(label, of)| {
        of.len() < 2 || names.contains(label) || of.iter().all(|value| value.parse::<f64>().is_ok())
    });
    if sampled(dataset, &members, numbers_alone) {
        return None;
    }
    let compares = dataset.factors.iter().any(|factor| {
        values.get(factor.as_str()).is_some_and(|of| of.len() > 1)
            && !is_subject(dataset, &members, factor)
            && !names.contains(factor.as_str())
    });
    let telling = telling_labels(dataset, &values, &names);
    let works: BTreeSet<&str> =
        members.iter().filter_map(|place| at(dataset, *place)?.facts.work.as_deref()).collect();
    // Work that is never the same twice carries a name or a path of the run and tells nothing.
    let work_tells = works.len() > 1 && !(compares && works.len() == members.len());
    let mut keys: HashMap<Vec<&str>, usize> = HashMap::new();
    let mut conditions: Vec<Condition> = Vec::new();
    for place in &members {
        let Some(observation) = at(dataset, *place) else { continue };
        let mut key: Vec<&str> = telling.iter().map(|label| level(observation, label)).collect();
        if work_tells {
            key.push(observation.facts.work.as_deref().unwrap_or_default());
        }
        let condition = *keys.entry(key).or_insert_with(|| {
            conditions
                .push(Condition { name: describe(dataset, observation, &telling), members: Vec::new() });
            conditions.len() - 1
        });
        if let Some(condition) = conditions.get_mut(condition) {
            condition.members.push(*place);
        }
    }
    Some(Table { name, members, conditions, compares })
}

/// The labels that tell conditions apart: the factors, and whatever else varies, is no circumstance and names no row.
fn telling_labels<'a>(dataset: &Dataset, values: &Values<'a>, names: &BTreeSet<&str>) -> Vec<&'a str> {
    let is_factor = |label: &str| dataset.factors.iter().any(|factor| factor == label);
    let tells = |label: &str, count: usize| {
        !names.contains(label) && (is_factor(label) || (count > 1 && !CIRCUMSTANCES.contains(&label)))
    };
    values.iter().filter(|(label, of)| tells(label, of.len())).map(|(label, _)| *label).collect()
}

fn describe(dataset: &Dataset, observation: &Observation, telling: &[&str]) -> String {
    let varied: Vec<String> =
        dataset.factors.iter().filter(|factor| telling.contains(&factor.as_str())).cloned().collect();
    let factors = observation.condition(&varied);
    let is_factor = |label: &str| dataset.factors.iter().any(|factor| factor == label);
    let others = telling.iter().filter(|label| !is_factor(label));
    let others = others.filter_map(|label| Some(format!("{label}={}", observation.labels.get(*label)?)));
    std::iter::once(factors).filter(|text| !text.is_empty()).chain(others).collect::<Vec<_>>().join(", ")
}

/// The value of a label there; empty where it has none.
pub(super) fn level<'a>(observation: &'a Observation, label: &str) -> &'a str {
    observation.labels.get(label).map_or("", String::as_str)
}

/// The different values of a label among those observations.
pub(super) fn levels<'a>(dataset: &'a Dataset, members: &[usize], label: &str) -> BTreeSet<&'a str> {
    members.iter().filter_map(|place| at(dataset, *place)?.labels.get(label)).map(String::as_str).collect()
}

/// How many executions stand behind an observation; none where it is an average of an unknown number.
pub(super) fn executions(observation: &Observation) -> Option<u32> {
    observation.facts.averaged.map_or(Some(1), |averaged| averaged.executions)
}

/// The values of a figure among those observations, with their places.
pub(super) fn values(dataset: &Dataset, members: &[usize], metric: &str) -> Vec<(usize, f64)> {
    let value = |place: &usize| Some((*place, at(dataset, *place)?.value(metric)?));
    members.iter().filter_map(value).filter(|(_, value)| value.is_finite()).collect()
}

/// The names of the figures that those observations have, those that a comparison usually rests on first.
///
/// Rates and whole times come before latencies, latencies before shares and sizes.
pub(super) fn metrics<'a>(dataset: &'a Dataset, members: &[usize]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = members
        .iter()
        .filter_map(|place| at(dataset, *place))
        .flat_map(|observation| observation.figures.keys().map(String::as_str))
        .collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| prominence(dataset, name));
    names
}

/// How far from the centre of attention a figure is; 0 for what comparisons usually rest on.
pub(super) fn prominence(dataset: &Dataset, metric: &str) -> u8 {
    use iostone_model::metric::Unit;
    match dataset.unit_of(metric) {
        _ if metric.contains("latency") => 1,
        // Of CPU time only the whole counts; its parts are booked, not measured.
        Unit::Seconds if metric.starts_with("user") || metric.starts_with("sys") => 1,
        Unit::BytesPerSecond | Unit::PerSecond | Unit::Seconds | Unit::Plain => 0,
        Unit::Share | Unit::Bytes => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::{observation, two_conditions};

    #[test]
    fn conditions_are_levels_of_factors_and_whatever_else_tells_work_apart() {
        let mut dataset = two_conditions(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]);
        let found = tables(&dataset);
        assert_eq!(found.len(), 1);
        let names: Vec<&str> = found[0].conditions.iter().map(|condition| condition.name.as_str()).collect();
        assert_eq!(names, ["barrier=1", "barrier=0"]);
        assert!(found[0].compares);
        for (index, observation) in dataset.observations.iter_mut().enumerate() {
            observation.labels.insert("rw".to_owned(), ["read", "write"][index % 2].to_owned());
            observation.labels.insert("host".to_owned(), format!("h{}", index % 2));
            observation.labels.insert("stamp".to_owned(), index.to_string());
        }
        let found = tables(&dataset);
        assert_eq!(found[0].conditions.len(), 4);
        assert_eq!(found[0].conditions[0].name, "barrier=1, rw=read");
    }

    #[test]
    fn what_is_watched_at_once_is_not_compared_and_tests_are_tables() {
        let mut dataset = two_conditions(&[1.0], &[2.0]);
        dataset.factors = vec!["device".to_owned()];
        for (observation, device) in dataset.observations.iter_mut().zip(["sda", "sdb"]) {
            observation.labels = [("device".to_owned(), device.to_owned())].into();
        }
        assert!(tables(&dataset)[0].compares);
        for observation in &mut dataset.observations {
            observation.tool = "iostat".to_owned();
        }
        assert!(!tables(&dataset)[0].compares);
        let mut dataset = two_conditions(&[1.0, 2.0], &[2.0]);
        for (observation, test) in dataset.observations.iter_mut().zip(["cpu", "fileio", "cpu"]) {
            observation.labels.insert("test".to_owned(), test.to_owned());
        }
        let names =
            |dataset: &Dataset| tables(dataset).iter().map(|table| table.name.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&dataset), ["cpu", "fileio"]);
        dataset.factors.push("test".to_owned());
        assert_eq!(names(&dataset), [""]);
    }

    #[test]
    fn tables_and_tools_are_kept_apart() {
        let mut dataset = two_conditions(&[1.0], &[2.0]);
        let mut other = observation(&[("barrier", "1")], &[("throughput", 3.0)]);
        other.table = "second".to_owned();
        dataset.observations.push(other);
        assert_eq!(tables(&dataset).iter().map(|table| table.name).collect::<Vec<_>>(), ["", "second"]);
    }
}
