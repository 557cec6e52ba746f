//! The history of an experiment, from the summaries of its runs.

mod confirm;
mod overview;

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use iostone_model::figures::counted;
use iostone_model::history::{Change, Circumstance, HISTORY_SCHEMA, History, RunPoint, Series};
use iostone_model::metric::Direction;
use iostone_model::summary::{ConfigurationFigures, RunState, RunSummary};
use iostone_stats::history::{self as watched, Hazard, watch};

use crate::circumstances::changed;
pub use confirm::confirming_experiment;
pub use overview::{OVERVIEW_POINTS, overview};

/// What series are kept apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// The host's name.
    Host,
    /// The instance type, or the processor where that is not known: hosts that come and go.
    Kind,
    /// Nothing: another host is a circumstance like any other.
    Nothing,
}

/// Which figures are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed<'a> {
    /// The metric that the experiment decides by.
    Decided,
    /// This one.
    Metric(&'a str),
    /// All.
    All,
}

/// A run's summary and the name of its directory.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedSummary {
    /// The name of the run directory.
    pub directory: String,
    /// The summary.
    pub summary: RunSummary,
}

/// Which runs are followed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The experiment's name.
    pub experiment: String,
    /// The digest of the experiment that is meant; the latest run's without one.
    pub digest: Option<String>,
}

/// Follows the figures of an experiment over its runs. Runs that claim nothing, and those that were declared otherwise than the one
/// that is meant, are left out.
pub fn follow(
    subject: &Subject,
    runs: &[impl Borrow<NamedSummary>],
    apart: Apart,
    followed: Followed<'_>,
    hazard: Hazard,
) -> History {
    let mut own: Vec<&NamedSummary> =
        runs.iter().map(Borrow::borrow).filter(|run| run.summary.experiment == subject.experiment).collect();
    own.sort_by(|a, b| a.summary.started_at.cmp(&b.summary.started_at).then(a.directory.cmp(&b.directory)));
    let mut left_out = Vec::new();
    let mut seen = BTreeSet::new();
    let all = own.len();
    own.retain(|run| seen.insert((run.summary.run_id.clone(), run.summary.started_at.clone())));
    if own.len() < all {
        left_out.push(format!("{} left out: a copy of another run", counted(all - own.len(), "run")));
    }
    let mut drop = |own: &mut Vec<&NamedSummary>, is_kept: &dyn Fn(&RunSummary) -> bool, why: &str| {
        let all = own.len();
        own.retain(|run| is_kept(&run.summary));
        let dropped = all - own.len();
        if dropped > 0 {
            left_out.push(format!("{} {why}", counted(dropped, "run")));
        }
    };
    drop(&mut own, &|run| !run.rehearsal, "left out: a rehearsal");
    drop(&mut own, &|run| !run.identical_levels, "left out: an A/A check");
    drop(&mut own, &|run| run.state == RunState::Finished, "left out: not finished");
    let latest = || own.last().and_then(|run| run.summary.experiment_digest.clone());
    let (meant, why) = match &subject.digest {
        Some(digest) => (Some(digest.clone()), "left out: declared otherwise than the run that was named"),
        None => (latest(), "left out: declared otherwise than the latest"),
    };
    drop(&mut own, &|run| run.experiment_digest == meant, why);
    let mut groups: Vec<(String, Vec<&NamedSummary>)> = Vec::new();
    for run in own {
        let machine = machine_of(&run.summary, apart);
        match groups.iter_mut().find(|(name, _)| *name == machine) {
            Some((_, members)) => members.push(run),
            None => groups.push((machine, vec![run])),
        }
    }
    let series = groups.iter().flat_map(|(machine, runs)| of_machine(machine, runs, followed, hazard));
    History {
        schema: HISTORY_SCHEMA.to_owned(),
        experiment: subject.experiment.clone(),
        false_alarms: hazard.chance(),
        series: series.collect(),
        left_out,
    }
}

fn machine_of(run: &RunSummary, apart: Apart) -> String {
    let machine = &run.machine;
    match apart {
        Apart::Host => machine.host.clone(),
        Apart::Kind => {
            let instance = machine.platform.as_ref().and_then(|platform| platform.instance_type.clone());
            instance.unwrap_or_else(|| machine.cpu.clone())
        }
        Apart::Nothing => String::new(),
    }
}

fn of_machine(machine: &str, runs: &[&NamedSummary], followed: Followed<'_>, hazard: Hazard) -> Vec<Series> {
    // In the order of the latest run that has them.
    let mut names: Vec<(&str, &str)> = Vec::new();
    for run in runs.iter().rev() {
        let decided = run.summary.decided.as_ref().map(|decided| decided.metric.as_str());
        for configuration in &run.summary.configurations {
            let metrics = configuration.figures.keys().map(String::as_str).filter(|metric| match followed {
                // Of a curve each point is a metric of its own.
                Followed::Decided => decided.is_some_and(|decided| is_of(metric, decided, configuration)),
                Followed::Metric(wanted) => *metric == wanted,
                Followed::All => true,
            });
            for metric in metrics {
                if !names.contains(&(configuration.name.as_str(), metric)) {
                    names.push((&configuration.name, metric));
                }
            }
        }
    }
    names.into_iter().filter_map(|(name, metric)| series(machine, runs, name, metric, hazard)).collect()
}

/// Whether a figure is what is decided by, or a point of it.
fn is_of(metric: &str, decided: &str, configuration: &ConfigurationFigures) -> bool {
    metric == decided || configuration.values.contains_key(metric)
}

fn series(
    machine: &str,
    runs: &[&NamedSummary],
    configuration: &str,
    metric: &str,
    hazard: Hazard,
) -> Option<Series> {
    let median = |run: &NamedSummary| {
        let own = run.summary.configurations.iter().find(|one| one.name == configuration)?;
        own.figures.get(metric)?.median.filter(|median| *median > 0.0 && median.is_finite())
    };
    let points: Vec<(&NamedSummary, f64)> =
        runs.iter().filter_map(|run| Some((*run, median(run)?))).collect();
    let note = points.iter().rev().find_map(|(run, _)| run.summary.metrics.get(metric))?;
    let sign = if note.better == Some(Direction::Lower) { -1.0 } else { 1.0 };
    let values: Vec<f64> = points.iter().map(|(_, value)| sign * value.ln()).collect();
    let found = watch(&values, hazard);
    let change = |seen: &watched::Change| {
        let (at, circumstances) = nearby(&points, seen).unzip();
        Change {
            first: count(seen.first),
            seen_at: count(seen.seen_at),
            ratio: (sign * seen.shift).exp(),
            worse: note.better.map(|_| seen.shift < 0.0),
            statistic: seen.statistic,
            limit: seen.limit,
            circumstances_at: at.map(count),
            circumstances: circumstances.unwrap_or_default(),
        }
    };
    Some(Series {
        machine: machine.to_owned(),
        configuration: configuration.to_owned(),
        metric: metric.to_owned(),
        title: note.title.clone(),
        unit: note.unit,
        better: note.better,
        changes: found.changes.iter().map(change).collect(),
        suspicion: found.weak.as_ref().map(change),
        runs_depend: found.runs_depend(),
        runs_until_alarm: count(found.runs_until_alarm),
        runs: points
            .iter()
            .map(|(run, value)| RunPoint {
                directory: run.directory.clone(),
                started_at: run.summary.started_at.clone(),
                value: *value,
            })
            .collect(),
    })
}

/// What changed nearest the place of a change, and from which run on.
fn nearby(points: &[(&NamedSummary, f64)], seen: &watched::Change) -> Option<(usize, Vec<Circumstance>)> {
    /// A change of two standard deviations is placed exactly in half of the cases, and within three runs in most.
    const REACH: usize = 3;
    let apart = (0..=REACH).flat_map(|far| [seen.first.checked_add(far), seen.first.checked_sub(far)]);
    apart.flatten().find_map(|first| {
        let (before, after) = (points.get(first.checked_sub(1)?)?.0, points.get(first)?.0);
        let changed = changed(&before.summary, &after.summary);
        (!changed.is_empty()).then_some((first, changed))
    })
}

/// The experiments that there are runs of, with how many.
pub fn experiments(runs: &[NamedSummary]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for run in runs {
        *counts.entry(run.summary.experiment.as_str()).or_default() += 1;
    }
    counts
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
pub(crate) mod tests;
