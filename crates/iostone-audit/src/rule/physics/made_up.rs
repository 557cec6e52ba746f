//! Datasets made up for the unit tests of these rules.

use iostone_model::audit::Finding;
use iostone_model::dataset::{Ceiling, Dataset, MetricNote, Observation, Prediction};
use iostone_model::metric;

use crate::Outcome;
use crate::rule::Rule;

/// An observation with labels and figures; the figures are exact.
pub(super) fn observation(labels: &[(&str, &str)], figures: &[(&str, f64)]) -> Observation {
    Observation {
        file: "made-up.csv".to_owned(),
        labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        figures: figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
        ..Observation::default()
    }
}

/// A dataset of observations, with the units of the figures that are known by name.
pub(super) fn dataset(observations: Vec<Observation>) -> Dataset {
    let mut made = Dataset { observations, ..Dataset::new("made up") };
    for observation in &made.observations {
        for name in observation.figures.keys() {
            if let Some(known) = metric::find(name) {
                let note = MetricNote {
                    unit: known.unit,
                    better: Some(known.direction),
                    title: known.title.to_owned(),
                };
                made.metrics.insert(name.clone(), note);
            }
        }
    }
    made
}

/// A limit of every figure of its unit.
pub(super) fn ceiling(name: &str, limit: &str) -> Ceiling {
    Ceiling {
        name: name.to_owned(),
        limit: limit.parse().unwrap(),
        restated: None,
        metrics: Vec::new(),
        applies: [].into(),
        source: "the user".to_owned(),
    }
}

/// An expectation of every observation that has the figure.
pub(super) fn prediction(
    metric: &str,
    expected: &str,
    amount: Option<&str>,
    rate: Option<&str>,
) -> Prediction {
    Prediction {
        metric: metric.to_owned(),
        expected: expected.parse().unwrap(),
        applies: [].into(),
        amount: amount.map(|text| text.parse().unwrap()),
        rate: rate.map(|text| text.parse().unwrap()),
        source: "the article".to_owned(),
    }
}

/// What a rule found; panics where it did not look.
pub(super) fn findings(rule: &dyn Rule, dataset: &Dataset) -> Vec<Finding> {
    match rule.look(dataset) {
        Outcome::Looked(findings) => findings,
        Outcome::NotApplicable => panic!("{} did not look", rule.name()),
    }
}

/// The one finding of a rule.
pub(super) fn only(rule: &dyn Rule, dataset: &Dataset) -> Finding {
    let mut found = findings(rule, dataset);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

/// Whether a rule had nothing to look at.
pub(super) fn silent(rule: &dyn Rule, dataset: &Dataset) -> bool {
    rule.look(dataset) == Outcome::NotApplicable
}
