//! The summary of figures that were measured elsewhere: grouped by the labels that were varied on purpose.

use std::collections::{BTreeMap, BTreeSet};

use iostone_model::dataset::{Dataset, Observation};
use iostone_model::run::ImportRecord;
use iostone_model::summary::{
    ConfigurationFigures, FactorSummary, MachineSummary, RunState, RunSummary, SUMMARY_SCHEMA,
};

use super::figures::figure;

/// Summarises an import, whose record has so many bytes.
pub fn summarize_import(record: &ImportRecord, record_bytes: u64) -> RunSummary {
    let dataset = &record.dataset;
    let label = |name: &str| match dataset.values_of(name).as_slice() {
        [one] => (*one).to_owned(),
        _ => String::new(),
    };
    let blocks: BTreeSet<u64> = dataset.observations.iter().filter_map(|one| one.block).collect();
    RunSummary {
        schema: SUMMARY_SCHEMA.to_owned(),
        record_bytes,
        run_id: record.run_id.clone(),
        experiment: dataset.name.clone(),
        experiment_digest: None,
        question: None,
        tags: BTreeSet::new(),
        state: RunState::Imported,
        ended: None,
        rehearsal: false,
        identical_levels: false,
        started_at: record.created_at.clone(),
        ended_at: None,
        iostone_version: record.iostone_version.clone(),
        machine: MachineSummary {
            host: label("host"),
            kernel: label("kernel"),
            os: Some(label("os")).filter(|os| !os.is_empty()),
            cpu: label("cpu_model"),
            ..MachineSummary::default()
        },
        factors: dataset
            .factors
            .iter()
            .map(|factor| FactorSummary {
                name: factor.clone(),
                levels: dataset.values_of(factor).into_iter().map(str::to_owned).collect(),
            })
            .collect(),
        trials: super::count(dataset.observations.len()),
        blocks: super::count(blocks.len()),
        decided: None,
        metrics: dataset.metrics.clone(),
        configurations: configurations(dataset),
        headline: Some(headline(dataset)),
        comparisons: Vec::new(),
        sweep: None,
        flags: BTreeSet::new(),
    }
}

/// `imported from 3 files of dbench, fio`.
fn headline(dataset: &Dataset) -> String {
    let tools: BTreeSet<&str> = dataset.files.iter().map(|file| file.tool.as_str()).collect();
    let tools: Vec<&str> = tools.into_iter().collect();
    let files = if dataset.files.len() == 1 { "file" } else { "files" };
    format!("imported from {} {files} of {}", dataset.files.len(), tools.join(", "))
}

/// A configuration for each combination of levels, in the order of first appearance.
fn configurations(dataset: &Dataset) -> Vec<ConfigurationFigures> {
    let mut order: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, Vec<&Observation>> = BTreeMap::new();
    for observation in &dataset.observations {
        let condition = observation.condition(&dataset.factors);
        groups
            .entry(condition)
            .or_insert_with_key(|condition| {
                order.push(condition.clone());
                Vec::new()
            })
            .push(observation);
    }
    let group = |name: String| {
        let observations = groups.remove(&name)?;
        Some(configuration(dataset, name, &observations))
    };
    order.into_iter().filter_map(group).collect()
}

fn configuration(dataset: &Dataset, name: String, observations: &[&Observation]) -> ConfigurationFigures {
    let mut values: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for (metric, figure) in observations.iter().flat_map(|one| &one.figures) {
        values.entry(metric).or_default().push(figure.value);
    }
    let levels = dataset.factors.iter().filter_map(|factor| {
        let level = observations.first()?.labels.get(factor)?;
        Some((factor.clone(), level.clone()))
    });
    let blocks: Option<Vec<u64>> = observations.iter().map(|one| one.block).collect();
    ConfigurationFigures {
        name,
        levels: levels.collect(),
        trials: super::count(observations.len()),
        figures: values.into_iter().map(|(metric, values)| (metric.clone(), figure(&values))).collect(),
        blocks: blocks.unwrap_or_default(),
        ..ConfigurationFigures::default()
    }
}
