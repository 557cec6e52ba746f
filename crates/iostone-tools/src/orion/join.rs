//! Puts together what several files of one test tell about the same point, and settles the unit of latency.

use std::collections::{BTreeMap, HashMap};

use iostone_model::dataset::{Figure, Observation};

use super::UNSETTLED;
use super::matrix::LatencyUnit;

/// Labels that a summary tells of its whole test.
const OF_THE_TEST: &[&str] = &[
    "tool_version",
    "test_name",
    "small_size",
    "large_size",
    "io_types",
    "simulated_array",
    "write",
    "cache_size",
    "duration",
];
/// How far load / rate may be from the printed mean latency in the right unit; the wrong one is off by a factor of 1000.
const TOLERANCE: f64 = 3.0;

/// Merges observations of ORION's files that are about the same point of the same test into one, gives each point what
/// the summary of its test says of all, and settles latencies of unknown unit. Observations of other tools, and points of
/// tests whose other labels differ, are left alone. The order is that of each point's first observation.
pub fn join(observations: Vec<Observation>) -> Vec<Observation> {
    let mut joined: Vec<Observation> = Vec::new();
    let mut places: HashMap<(String, String, String), Vec<usize>> = HashMap::new();
    for observation in observations {
        let Some(point) = point_of(&observation) else {
            joined.push(observation);
            continue;
        };
        let candidates = places.entry(point).or_default();
        let fits = candidates
            .iter()
            .copied()
            .find(|place| joined.get(*place).is_some_and(|other| fit(other, &observation)));
        if let Some(other) = fits.and_then(|place| joined.get_mut(place)) {
            merge(other, observation);
        } else {
            candidates.push(joined.len());
            joined.push(observation);
        }
    }
    spread_summaries(&mut joined);
    settle(&mut joined);
    joined
}

/// Test, small and large load of an observation about a point.
fn point_of(observation: &Observation) -> Option<(String, String, String)> {
    let label = |name: &str| observation.labels.get(name).cloned();
    (observation.tool == "orion").then_some(())?;
    Some((label("test")?, label("small")?, label("large")?))
}

/// Whether two observations of a point can be parts of one: no figure twice, no label with two values.
fn fit(one: &Observation, other: &Observation) -> bool {
    let figures = other.figures.keys().all(|name| !one.figures.contains_key(name));
    figures && agree(&one.labels, &other.labels) && one.run == other.run && one.block == other.block
}

fn agree(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> bool {
    one.iter().all(|(label, value)| other.get(label).is_none_or(|same| same == value))
}

fn merge(into: &mut Observation, from: Observation) {
    into.figures.extend(from.figures);
    into.series.extend(from.series);
    into.labels.extend(from.labels);
    take_facts(into, &from.facts);
    for remark in from.facts.remarks {
        if !into.facts.remarks.contains(&remark) {
            into.facts.remarks.push(remark);
        }
    }
}

/// What is known of a whole test. Its work is not that of a point.
fn take_facts(into: &mut Observation, from: &iostone_model::dataset::Facts) {
    let facts = &mut into.facts;
    facts.command = facts.command.take().or_else(|| from.command.clone());
    facts.working_set_bytes = facts.working_set_bytes.or(from.working_set_bytes);
    facts.ending = facts.ending.take().or_else(|| from.ending.clone());
}

/// Gives every point of a test what its summary says.
fn spread_summaries(joined: &mut [Observation]) {
    let is_summary = |observation: &&Observation| {
        observation.tool == "orion"
            && observation.labels.contains_key("test")
            && observation.labels.contains_key("tool_version")
    };
    let summaries: Vec<Observation> = joined.iter().filter(is_summary).cloned().collect();
    for observation in joined.iter_mut().filter(|observation| point_of(observation).is_some()) {
        let of_its_test = |summary: &&Observation| {
            summary.labels.get("test") == observation.labels.get("test")
                && summary.labels.iter().all(|(label, value)| {
                    matches!(label.as_str(), "small" | "large")
                        || observation.labels.get(label).is_none_or(|same| same == value)
                })
        };
        let Some(summary) = summaries.iter().find(of_its_test) else { continue };
        for label in OF_THE_TEST {
            if let Some(value) = summary.labels.get(*label) {
                observation.labels.entry((*label).to_owned()).or_insert_with(|| value.clone());
            }
        }
        take_facts(observation, &summary.facts);
    }
}

/// The unit that a version of ORION prints latencies in.
fn unit_of(version: &str) -> Option<LatencyUnit> {
    // `RDBMS_19.3.0.0.0DBRU_LINUX.X64_190417` is a version, too.
    let digits = version.find(|letter: char| letter.is_ascii_digit())?;
    let mut numbers = version.get(digits..)?.split('.').map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next()?, numbers.next()?);
    Some(if version < (11, 2) { LatencyUnit::Milliseconds } else { LatencyUnit::Microseconds })
}

/// Turns latencies of unknown unit into seconds where the version or the rate at the same load tells the unit.
fn settle(joined: &mut [Observation]) {
    let mut by_rate: HashMap<String, Vec<Option<LatencyUnit>>> = HashMap::new();
    for observation in joined.iter() {
        if let (Some(latency), Some(test)) = (observation.value(UNSETTLED), observation.labels.get("test"))
            && let (Some(rate), Some((_, small, _))) = (observation.value("iops"), point_of(observation))
        {
            by_rate.entry(test.clone()).or_default().push(unit_by_rate(latency, rate, &small));
        }
    }
    for observation in joined.iter_mut().filter(|observation| observation.tool == "orion") {
        let Some(latency) = observation.figures.get(UNSETTLED).copied() else { continue };
        let votes = observation.labels.get("test").and_then(|test| by_rate.get(test));
        let by_version = observation.labels.get("tool_version").and_then(|version| unit_of(version));
        let (unit, reason) = match (by_version, votes.and_then(|votes| unanimous(votes))) {
            (Some(unit), _) => (unit, "the version of ORION".to_owned()),
            (None, Some(unit)) => (unit, "load divided by IOPS at the same points".to_owned()),
            (None, None) => continue,
        };
        observation.figures.remove(UNSETTLED);
        let scaled = Figure { value: divided(latency.value, unit), step: divided(latency.step, unit) };
        observation.figures.insert("latency_mean".to_owned(), scaled);
        let word = if unit == LatencyUnit::Milliseconds { "ms" } else { "µs" };
        observation.facts.remarks.retain(|remark| !remark.contains("does not say whether its latencies"));
        observation.facts.remarks.push(format!("that its latencies are in {word} is told by {reason}"));
    }
}

/// By division, so that 169.594 µs becomes 0.000169594 s and not a neighbour of it.
fn divided(value: f64, unit: LatencyUnit) -> f64 {
    value / (1.0 / unit.seconds()).round()
}

/// At a constant load the mean latency is the load divided by the rate (Little's law).
fn unit_by_rate(latency: f64, rate: f64, small: &str) -> Option<LatencyUnit> {
    let load: f64 = small.parse().ok().filter(|load| *load > 0.0)?;
    let expected = load / rate;
    [LatencyUnit::Milliseconds, LatencyUnit::Microseconds].into_iter().find(|unit| {
        let ratio = latency * unit.seconds() / expected;
        (1.0 / TOLERANCE..=TOLERANCE).contains(&ratio)
    })
}

fn unanimous(votes: &[Option<LatencyUnit>]) -> Option<LatencyUnit> {
    let first = (*votes.first()?)?;
    votes.iter().all(|vote| *vote == Some(first)).then_some(first)
}
