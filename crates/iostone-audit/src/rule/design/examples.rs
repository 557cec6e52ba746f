//! Small datasets for the tests of rules.

use std::collections::BTreeMap;

use iostone_model::dataset::{Dataset, Figure, MetricNote, Observation, Order};
use iostone_model::metric::{Direction, Unit};

/// An observation with those labels and unrounded figures.
pub(super) fn observation(labels: &[(&str, &str)], figures: &[(&str, f64)]) -> Observation {
    Observation {
        file: "t.csv".to_owned(),
        labels: labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect(),
        figures: figures.iter().map(|(name, value)| ((*name).to_owned(), Figure::from(*value))).collect(),
        ..Observation::default()
    }
}

/// A dataset of those observations, with the units of the usual figures.
pub(super) fn dataset(factors: &[&str], order: Order, observations: Vec<Observation>) -> Dataset {
    let note = |unit, better, title: &str| MetricNote { unit, better: Some(better), title: title.to_owned() };
    let mut dataset = Dataset::new("t");
    dataset.factors = factors.iter().map(|factor| (*factor).to_owned()).collect();
    dataset.order = order;
    dataset.metrics = BTreeMap::from([
        ("throughput".to_owned(), note(Unit::BytesPerSecond, Direction::Higher, "throughput")),
        ("latency_max".to_owned(), note(Unit::Seconds, Direction::Lower, "maximum latency")),
        ("wall_time".to_owned(), note(Unit::Seconds, Direction::Lower, "elapsed time")),
        ("random_seeks".to_owned(), note(Unit::PerSecond, Direction::Higher, "random seeks")),
    ]);
    dataset.observations = observations;
    for (index, observation) in dataset.observations.iter_mut().enumerate() {
        observation.line = Some(index as u64 + 2);
    }
    dataset
}

/// Throughputs under `barrier=1`, then under `barrier=0`, as listed, with the number of the run.
pub(super) fn two_conditions(on: &[f64], off: &[f64]) -> Dataset {
    let rows = |level: &'static str, figures: &[f64]| {
        let row = move |(index, figure): (usize, &f64)| Observation {
            run: Some((index + 1).to_string()),
            ..observation(&[("barrier", level)], &[("throughput", *figure)])
        };
        figures.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    dataset(&["barrier"], Order::AsListed, [rows("1", on), rows("0", off)].concat())
}

/// The same observations in the order of time: the first of each condition, the second of each, and so on.
pub(super) fn interleave(dataset: &mut Dataset) {
    let half = dataset.observations.len() / 2;
    for (index, observation) in dataset.observations.iter_mut().enumerate() {
        observation.order = Some((2 * (index % half) + index / half) as f64);
    }
}

/// What a rule finds; panics where it does not apply.
pub(super) fn findings(rule: &dyn crate::Rule, dataset: &Dataset) -> Vec<iostone_model::audit::Finding> {
    match rule.look(dataset) {
        crate::Outcome::Looked(findings) => findings,
        crate::Outcome::NotApplicable => panic!("`{}` does not apply", rule.name()),
    }
}
