//! Runs side by side, from their summaries: what was recorded differently, and what may be said of their figures.
//!
//! A figure of one day against one of another is no comparison: the days differ. Three grounds carry one: a level that both runs
//! hold, the spread between runs as others show it, several runs on each side. Without any of them there is no verdict.

use std::collections::BTreeMap;

use iostone_model::difference::{Answer, Column, DIFFERENCE_SCHEMA, Difference, FigureRow, Ground, Row};
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::summary::{ConfigurationFigures, RunState, RunSummary};
use iostone_stats::across::{Apart, by_common_level, by_history};
use iostone_stats::hosts::HostRules;
use iostone_stats::hosts::between::{Stratum, compare};
use iostone_stats::hosts::within::host_value as typical;

use crate::circumstances::{is_told, names, of_run, values_of};
use crate::history::NamedSummary;

/// The confidence of each statement.
const CONFIDENCE: f64 = 0.95;

/// One side: a run, or all runs of a host.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// What it is called.
    pub name: String,
    /// Its runs, the oldest first.
    pub runs: Vec<&'a NamedSummary>,
}

/// Holds all sides against the first. `others` are the runs that there are besides, from which the spread between runs is taken;
/// `metric` is asked for instead of what the first decides by.
pub fn difference(sides: &[Side<'_>], others: &[NamedSummary], metric: Option<&str>) -> Difference {
    let told: Vec<Vec<(String, String)>> =
        sides.iter().flat_map(|side| side.runs.iter().map(|run| of_run(&run.summary))).collect();
    let all: Vec<&RunSummary> =
        sides.iter().flat_map(|side| side.runs.iter().map(|run| &run.summary)).collect();
    let circumstances = names(&told.iter().collect::<Vec<_>>())
        .into_iter()
        .filter(|name| is_told(name, &all))
        .map(|name| {
            let of = |side: &Side<'_>| {
                values_of(&side.runs.iter().map(|run| &run.summary).collect::<Vec<_>>(), &name)
            };
            let values = sides.iter().map(of).collect();
            Row { name, values }
        })
        .filter(|row| row.values.iter().any(|value| Some(value) != row.values.first()))
        .collect();
    Difference {
        schema: DIFFERENCE_SCHEMA.to_owned(),
        confidence: CONFIDENCE,
        columns: sides.iter().map(column).collect(),
        circumstances,
        figures: figures(sides, others, metric),
    }
}

fn column(side: &Side<'_>) -> Column {
    let first = side.runs.first().map(|run| &run.summary);
    Column {
        name: side.name.clone(),
        experiment: first.map(|run| run.experiment.clone()).unwrap_or_default(),
        started_at: first.map(|run| run.started_at.clone()).unwrap_or_default(),
        runs: u32::try_from(side.runs.len()).unwrap_or(u32::MAX),
    }
}

fn figures(sides: &[Side<'_>], others: &[NamedSummary], metric: Option<&str>) -> Vec<FigureRow> {
    let Some(first) = sides.first().and_then(|side| side.runs.last()) else { return Vec::new() };
    let decided = first.summary.decided.as_ref().map(|decided| decided.metric.clone());
    // A curve that is decided by is no figure itself: its points are.
    let is_curve = metric.is_none()
        && decided.as_ref().is_some_and(|decided| !first.summary.metrics.contains_key(decided));
    let Some(metric) = metric.map(str::to_owned).or(decided) else { return Vec::new() };
    let mut rows = Vec::new();
    for configuration in &first.summary.configurations {
        let own = configuration
            .figures
            .keys()
            .filter(|name| **name == metric || (is_curve && configuration.values.contains_key(*name)));
        for name in own {
            rows.extend(plain(sides, others, &configuration.name, name));
            rows.extend(ratios(sides, configuration, name));
        }
    }
    rows
}

/// The row of a configuration's own figure.
fn plain(
    sides: &[Side<'_>],
    others: &[NamedSummary],
    configuration: &str,
    metric: &str,
) -> Option<FigureRow> {
    let note = sides.first()?.runs.last()?.summary.metrics.get(metric)?;
    let values: Vec<Vec<f64>> = sides
        .iter()
        .map(|side| {
            side.runs.iter().filter_map(|run| value_of(&run.summary, configuration, metric)).collect()
        })
        .collect();
    let base = values.first()?;
    let answers = sides.iter().zip(&values).skip(1).map(|(side, of_side)| {
        match (base.as_slice(), of_side.as_slice()) {
            ([one], [other]) => {
                let (Some(before), Some(after)) =
                    (sides.first().and_then(|side| side.runs.first()), side.runs.first())
                else {
                    return nothing(None);
                };
                between_runs((before, *one), (after, *other), others, configuration, metric)
            }
            (one, other) => between_groups(one, other),
        }
    });
    Some(FigureRow {
        configuration: configuration.to_owned(),
        metric: metric.to_owned(),
        title: note.title.clone(),
        unit: note.unit,
        better: note.better,
        values: values.iter().map(median).collect(),
        answers: answers.collect(),
    })
}

fn value_of(run: &RunSummary, configuration: &str, metric: &str) -> Option<f64> {
    let own = run.configurations.iter().find(|one| one.name == configuration)?;
    own.figures.get(metric)?.median.filter(|median| *median > 0.0 && median.is_finite())
}

fn nothing(ratio: Option<f64>) -> Answer {
    Answer { ground: Ground::None, ratio, interval: [None, None], differs: None, runs: None }
}

fn answer(ground: Ground, apart: &Apart, runs: Option<usize>) -> Answer {
    let ratio = |log: f64| Some(log.exp()).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    Answer {
        ground,
        ratio: ratio(apart.estimate),
        interval: [ratio(apart.interval.lower), ratio(apart.interval.upper)],
        differs: Some(apart.differs()),
        runs: runs.and_then(|runs| u32::try_from(runs).ok()),
    }
}

/// Two single runs: by other runs of the same experiment on the same machine.
fn between_runs(
    (before, one): (&NamedSummary, f64),
    (after, other): (&NamedSummary, f64),
    others: &[NamedSummary],
    configuration: &str,
    metric: &str,
) -> Answer {
    let is_alike = |run: &NamedSummary| {
        let (own, base) = (&run.summary, &before.summary);
        own.experiment_digest.is_some()
            && own.experiment_digest == base.experiment_digest
            && own.machine.host == base.machine.host
            && own.state == RunState::Finished
            && !own.rehearsal
    };
    if !is_alike(after) || !is_alike(before) {
        return nothing(Some(other / one));
    }
    let of_history = others
        .iter()
        .filter(|run| is_alike(run) && run.directory != before.directory && run.directory != after.directory);
    let history: Vec<f64> =
        of_history.filter_map(|run| value_of(&run.summary, configuration, metric)).map(f64::ln).collect();
    match by_history(one.ln(), other.ln(), &history, CONFIDENCE) {
        Some(apart) => answer(Ground::History, &apart, Some(history.len())),
        None => nothing(Some(other / one)),
    }
}

/// Two groups of runs, each of which counts as one: an exact rank test, which needs four on each side.
fn between_groups(one: &[f64], other: &[f64]) -> Answer {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let rules = HostRules { confidence: CONFIDENCE, margin: 0.0, comparisons: 1 };
    let found = compare(&[Stratum { baseline: logs(one), level: logs(other) }], &rules);
    let apart = found.estimate.map(|estimate| Apart { estimate, interval: found.difference });
    match apart.filter(|apart| apart.interval.lower.is_finite()) {
        Some(apart) => answer(Ground::Runs, &apart, Some(one.len() + other.len())),
        None => nothing(found.estimate.map(f64::exp)),
    }
}

/// The row of a level's ratio to the baseline of its run, where each side is one run that holds both.
fn ratios(sides: &[Side<'_>], level: &ConfigurationFigures, metric: &str) -> Option<FigureRow> {
    let single: Vec<&RunSummary> = sides
        .iter()
        .filter(|side| side.runs.len() == 1)
        .filter_map(|side| Some(&side.runs.first()?.summary))
        .collect();
    let first = *single.first().filter(|_| !level.baseline && single.len() == sides.len())?;
    let baseline = baseline_of(first, level)?;
    let note = first.metrics.get(metric)?;
    let each: Vec<Option<Vec<f64>>> =
        single.iter().map(|run| log_ratios(run, &level.name, &baseline.name, metric)).collect();
    let base = each.first()?.as_ref()?;
    let answers = each.iter().skip(1).map(|other| {
        let apart = other.as_ref().and_then(|other| by_common_level(base, other, CONFIDENCE));
        apart.map_or_else(|| nothing(None), |apart| answer(Ground::CommonLevel, &apart, None))
    });
    Some(FigureRow {
        configuration: format!("{} / {}", level.name, baseline.name),
        metric: metric.to_owned(),
        title: note.title.clone(),
        unit: Unit::Plain,
        better: note.better,
        values: each.iter().map(|ratios| typical(ratios.as_ref()?).map(f64::exp)).collect(),
        answers: answers.collect(),
    })
}

/// The baseline that shares all other levels with a configuration.
fn baseline_of<'a>(run: &'a RunSummary, level: &ConfigurationFigures) -> Option<&'a ConfigurationFigures> {
    let factor = &run.decided.as_ref()?.factor;
    let is_alike = |one: &&ConfigurationFigures| {
        let others = |of: &ConfigurationFigures| -> BTreeMap<String, String> {
            of.levels
                .iter()
                .filter(|(name, _)| *name != factor)
                .map(|(n, l)| (n.clone(), l.clone()))
                .collect()
        };
        one.baseline && others(one) == others(level)
    };
    run.configurations.iter().find(is_alike)
}

/// The log ratios of two configurations, block by block.
fn log_ratios(run: &RunSummary, level: &str, baseline: &str, metric: &str) -> Option<Vec<f64>> {
    let of = |name: &str| -> Option<BTreeMap<u64, f64>> {
        let own = run.configurations.iter().find(|one| one.name == name)?;
        let values = own.values.get(metric)?;
        let positive = |value: &Option<f64>| value.filter(|value| *value > 0.0 && value.is_finite());
        Some(
            own.blocks
                .iter()
                .zip(values)
                .filter_map(|(block, value)| Some((*block, positive(value)?)))
                .collect(),
        )
    };
    let (level, baseline) = (of(level)?, of(baseline)?);
    Some(level.iter().filter_map(|(block, value)| Some((value / baseline.get(block)?).ln())).collect())
}

#[cfg(test)]
mod tests;
