//! Between tables of figures and datasets: what is judged is audited too, and an import can be judged.

use anyhow::{Result, anyhow};
use iostone_model::dataset::{Dataset, Figure as DatasetFigure, MetricNote, Observation, Order, SourceFile};
use iostone_model::diagnostic::nearest;
use iostone_model::metric::Direction;
use iostone_report::clean;
use iostone_stats::judge::Figure;
use iostone_tools::Input;

use super::MOST_AUDITED_ROWS;
use super::Table;
use crate::cli::JudgeArguments;

/// Everything that a table holds, other columns included, for the audit.
pub(super) fn dataset(
    table: &Table,
    arguments: &JudgeArguments,
    resolution: f64,
    better: Direction,
) -> Dataset {
    let name = arguments
        .file
        .file_name()
        .map_or_else(|| "standard input".to_owned(), |n| n.to_string_lossy().into_owned());
    let mut dataset = Dataset::new(name.clone());
    if table.figures.len() > MOST_AUDITED_ROWS {
        return dataset;
    }
    let reading = iostone_tools::find("csv")
        .and_then(|format| format.read(&mut Input::new(name.clone(), table.bytes.as_slice())).ok())
        // A reader that makes something else of the rows than one observation each cannot be matched with them.
        .filter(|reading| reading.observations.len() == table.figures.len())
        .unwrap_or_default();
    dataset.metrics = reading.metrics;
    let mut observations = reading.observations;
    observations.resize_with(table.figures.len(), Observation::default);
    for (observation, figure) in observations.iter_mut().zip(&table.figures) {
        observation.file.clone_from(&name);
        observation.labels.insert(arguments.by.clone(), figure.level.clone());
        if let (Some(column), Some((_, value))) = (&arguments.within, figure.stratum.split_once('=')) {
            observation.labels.insert(column.clone(), value.to_owned());
        }
        // The column of blocks or of order is none of what was measured.
        for column in [&arguments.block, &arguments.order].into_iter().flatten() {
            observation.labels.remove(column);
            observation.figures.remove(column);
        }
        observation.facts.remarks.clear();
        observation.block = figure.block;
        observation.order =
            figure.order.map(|order| order + figure.block.map_or(0.0, |block| block as f64 * 1e6));
        let known = observation.figures.values().any(|known| known.value.total_cmp(&figure.value).is_eq());
        if !known {
            let judged = DatasetFigure { value: figure.value, step: resolution };
            observation.figures.insert(arguments.metric.clone(), judged);
        }
    }
    let note = &table.column.note;
    if observations.iter().any(|observation| observation.figures.contains_key(&arguments.metric)) {
        dataset.metrics.insert(arguments.metric.clone(), MetricNote { better: Some(better), ..note.clone() });
    }
    dataset.factors = std::iter::once(arguments.by.clone()).chain(arguments.within.clone()).collect();
    if observations.iter().all(|observation| observation.block.is_some()) {
        dataset.order = Order::RandomisedBlocks;
    }
    dataset.observations = observations;
    dataset.files.push(SourceFile {
        name,
        tool: "csv".to_owned(),
        bytes: table.bytes.len() as u64,
        sha256: String::new(),
    });
    dataset
}

/// The figures of an import that are to be judged, and the coarsest step that one of them was printed with.
pub(super) fn figures(dataset: &Dataset, arguments: &JudgeArguments) -> Result<(Vec<Figure>, f64)> {
    let mut labels: Vec<&str> =
        dataset.observations.iter().flat_map(|o| o.labels.keys().map(String::as_str)).collect();
    labels.sort_unstable();
    labels.dedup();
    let missing = |kind: &str, name: &str, known: &[&str]| match nearest(name, known.iter().copied()) {
        Some(near) => anyhow!("the import has no {kind} `{}`; did you mean `{near}`?", clean(name)),
        None => {
            anyhow!("the import has no {kind} `{}`; it has `{}`", clean(name), clean(&known.join("`, `")))
        }
    };
    for name in [Some(&arguments.by), arguments.within.as_ref()].into_iter().flatten() {
        if !labels.contains(&name.as_str()) {
            return Err(missing("label", name, &labels));
        }
    }
    let metrics: Vec<&str> = dataset.metrics.keys().map(String::as_str).collect();
    let mut blocks: Vec<&str> = Vec::new();
    let mut figures = Vec::new();
    let mut step: f64 = 0.0;
    for observation in &dataset.observations {
        let Some((figure, level)) =
            observation.figures.get(&arguments.metric).zip(observation.labels.get(&arguments.by))
        else {
            continue;
        };
        let value = figure.value;
        step = step.max(figure.step);
        let stratum = arguments.within.as_ref().map_or_else(String::new, |label| {
            format!("{label}={}", observation.labels.get(label).map_or("", String::as_str))
        });
        let block = match arguments.block.as_deref() {
            None | Some("block") => observation.block,
            Some("run") => observation.run.as_deref().map(|run| place(&mut blocks, run)),
            Some(label) => observation.labels.get(label).map(|value| place(&mut blocks, value)),
        };
        let order = observation.order;
        figures.push(Figure { level: level.clone(), stratum, value, block, order, ..Figure::default() });
    }
    if figures.is_empty() {
        return Err(missing("figure", &arguments.metric, &metrics));
    }
    Ok((figures, step))
}

/// The place of a name among those seen.
fn place<'a>(known: &mut Vec<&'a str>, name: &'a str) -> u64 {
    let place = known.iter().position(|candidate| *candidate == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    });
    place as u64
}
