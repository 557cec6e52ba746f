//! Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format/>, read 2026-11): by benchmark and measure
//! the median, with the smallest and the largest figure as its bounds.

use std::collections::BTreeMap;

use iostone_model::median::median;
use serde::Serialize;

use super::Exported;

#[derive(Serialize)]
struct Measure {
    value: f64,
    lower_value: f64,
    upper_value: f64,
}

pub(super) fn write(run: &Exported<'_>) -> serde_json::Result<String> {
    let mut figures: BTreeMap<String, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for observation in &run.dataset.observations {
        let benchmark = format!("{}/{}", run.experiment, run.condition(observation));
        let measures = figures.entry(benchmark).or_default();
        for (metric, figure) in observation.figures.iter().filter(|(_, figure)| figure.value.is_finite()) {
            measures.entry(metric).or_default().push(figure.value);
        }
    }
    let measure = |values: &Vec<f64>| {
        Some(Measure {
            value: median(values)?,
            lower_value: values.iter().copied().min_by(f64::total_cmp)?,
            upper_value: values.iter().copied().max_by(f64::total_cmp)?,
        })
    };
    let document: BTreeMap<&String, BTreeMap<&str, Measure>> = figures
        .iter()
        .map(|(benchmark, measures)| {
            let measured = measures.iter().filter_map(|(metric, values)| Some((*metric, measure(values)?)));
            (benchmark, measured.collect())
        })
        .collect();
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
