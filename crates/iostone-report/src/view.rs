//! A run as every format shows it: one row a configuration, with its figures in run order beside its conclusions.

use iostone_model::median::median;
use iostone_model::metric::{self, Direction, Unit};
use iostone_model::run::RunRecord;
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::{Comparison, ConfigurationSummary, SweepVerdict, Verdicts};

use crate::sweep::is_sweep;

/// What is shown of a run, or of verdicts without one.
#[derive(Debug)]
pub(crate) struct View<'a> {
    /// The metric's name.
    pub(crate) metric: &'a str,
    /// Its unit.
    pub(crate) unit: Unit,
    /// Which way is better.
    pub(crate) better: Direction,
    /// The confidence of medians' intervals, as a fraction.
    pub(crate) confidence: f64,
    /// A rehearsal, which claims no verdict whatever was computed from it.
    pub(crate) rehearsal: bool,
    /// Whether the metric is a whole curve: its comparisons are those of its points and stand in no row.
    pub(crate) curve: bool,
    /// What a sweep found; none for a rehearsal, and as long as nothing was judged.
    pub(crate) found: Option<&'a SweepVerdict>,
    /// One a configuration, in the experiment's order.
    pub(crate) rows: Vec<Row<'a>>,
    /// Comparisons that belong to no row.
    pub(crate) unplaced: Vec<&'a Comparison>,
}

/// One configuration.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Whether others are held against it.
    pub(crate) baseline: bool,
    /// Its summary, once there is one.
    pub(crate) summary: Option<&'a ConfigurationSummary>,
    /// How it compares with its baseline.
    pub(crate) comparison: Option<&'a Comparison>,
    /// Its trials in run order.
    pub(crate) trials: Vec<Point<'a>>,
}

/// One trial as it is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point<'a> {
    /// Everything recorded.
    pub(crate) record: &'a TrialRecord,
    /// The metric, where the trial has a finite figure for it.
    pub(crate) value: Option<f64>,
    /// Whether it stands in a block that counts. In an unfit environment those are the blocks with failed gates too.
    pub(crate) counts: bool,
}

impl<'a> View<'a> {
    /// The view of a run.
    pub(crate) fn of_run(run: &'a RunRecord) -> Self {
        let experiment = &run.plan.experiment;
        let metric = experiment.decide.metric.as_str();
        let configurations = &experiment.configurations;
        let verdicts = run.verdicts.as_ref();
        let planned = run.plan.comparisons();
        // A sweep looks for the best: no level is the one that others are held against.
        let sweeps = is_sweep(run);
        let comparison_of = |index: usize| {
            let plan = planned.iter().find(|comparison| comparison.configuration == index)?;
            let matches =
                |c: &&Comparison| c.point.is_empty() && c.level == plan.level && c.stratum == plan.stratum;
            verdicts?.comparisons.iter().find(matches)
        };
        let rows: Vec<Row<'_>> = configurations
            .iter()
            .enumerate()
            .map(|(index, configuration)| Row {
                name: &configuration.name,
                baseline: !sweeps && experiment.compared_level(configuration) == experiment.baseline_level,
                summary: verdicts
                    .and_then(|v| v.configurations.iter().find(|summary| summary.name == configuration.name)),
                comparison: comparison_of(index),
                trials: points(run, metric, &configuration.name),
            })
            .collect();
        let mut view = Self {
            metric,
            unit: run.plan.unit,
            better: run.plan.better,
            confidence: experiment.decide.confidence.0,
            rehearsal: run.plan.quick,
            curve: is_curve(verdicts) || configurations.iter().any(|c| c.workload.curve(metric).is_some()),
            found: verdicts.and_then(|v| v.sweep.as_ref()).filter(|_| !run.plan.quick),
            rows,
            unplaced: Vec::new(),
        };
        view.find_unplaced(verdicts);
        view
    }

    /// The view of verdicts alone.
    pub(crate) fn of_verdicts(verdicts: &'a Verdicts) -> Self {
        let rows = verdicts
            .configurations
            .iter()
            .map(|summary| Row {
                name: &summary.name,
                baseline: summary.name == verdicts.baseline
                    || verdicts.comparisons.iter().any(|c| stands_at(summary, &c.baseline, &c.stratum)),
                summary: Some(summary),
                comparison: verdicts
                    .comparisons
                    .iter()
                    .find(|c| c.point.is_empty() && stands_at(summary, &c.level, &c.stratum)),
                trials: Vec::new(),
            })
            .collect();
        let mut view = Self {
            metric: &verdicts.metric,
            unit: verdicts.unit,
            better: verdicts.better,
            confidence: verdicts.confidence,
            rehearsal: false,
            curve: is_curve(Some(verdicts)),
            found: verdicts.sweep.as_ref(),
            rows,
            unplaced: Vec::new(),
        };
        view.find_unplaced(Some(verdicts));
        view
    }

    fn find_unplaced(&mut self, verdicts: Option<&'a Verdicts>) {
        let comparisons = verdicts.map(|v| v.comparisons.as_slice()).unwrap_or_default();
        let placed = |c: &&Comparison| {
            self.rows.iter().any(|row| row.comparison.is_some_and(|other| std::ptr::eq(other, *c)))
        };
        self.unplaced = comparisons.iter().filter(|c| c.point.is_empty() && !placed(c)).collect();
    }

    /// Whether anything is held against a baseline: not in a sweep.
    pub(crate) fn compares(&self) -> bool {
        !self.unplaced.is_empty() || self.rows.iter().any(|row| row.baseline || row.comparison.is_some())
    }

    /// The metric's name for people.
    pub(crate) fn metric_title(&self) -> &'a str {
        metric::find(self.metric).map_or(self.metric, |metric| metric.title)
    }

    /// "higher is better" or "lower is better".
    pub(crate) fn direction_words(&self) -> &'static str {
        match self.better {
            Direction::Higher => "higher is better",
            Direction::Lower => "lower is better",
        }
    }

    /// Every comparison of whole metrics with the name it is shown under.
    pub(crate) fn comparisons(&self) -> Vec<(String, &'a Comparison)> {
        let placed = self.rows.iter().filter_map(|row| Some((row.name.to_owned(), row.comparison?)));
        let unplaced = self.unplaced.iter().map(|c| (comparison_name(c), *c));
        placed.chain(unplaced).collect()
    }
}

impl Row<'_> {
    /// The finite figures in run order with whether they count.
    pub(crate) fn values(&self) -> impl Iterator<Item = (f64, bool)> + '_ {
        self.trials.iter().filter_map(|point| Some((point.value?, point.counts)))
    }

    /// Where the configuration's mark is drawn: its summary's median, else the middle of what there is.
    pub(crate) fn centre(&self) -> Option<f64> {
        let summarised = self.summary.and_then(|summary| summary.median).filter(|median| median.is_finite());
        summarised.or_else(|| {
            let counting: Vec<f64> =
                self.values().filter(|(_, counts)| *counts).map(|(value, _)| value).collect();
            let all = || self.values().map(|(value, _)| value).collect();
            median(if counting.is_empty() { all() } else { counting })
        })
    }

    /// Whether [`Row::centre`] is only that of trials that do not count.
    pub(crate) fn is_uncounted(&self) -> bool {
        self.summary.is_none_or(|summary| summary.median.is_none())
            && !self.values().any(|(_, counts)| counts)
            && self.values().next().is_some()
    }

    /// The interval of the median where both ends are known.
    pub(crate) fn median_interval(&self) -> Option<(f64, f64)> {
        let [low, high] = self.summary?.median_interval;
        Some((low.filter(|v| v.is_finite())?, high.filter(|v| v.is_finite())?))
    }

    /// The spread of its figures as a share, where there is more than one.
    pub(crate) fn robust_spread(&self) -> Option<f64> {
        let summary = self.summary.filter(|summary| summary.trials > 1)?;
        summary.cv.filter(|cv| cv.is_finite())
    }

    /// Trials that count and trials that do not.
    pub(crate) fn trial_counts(&self) -> (u64, u64) {
        if let Some(summary) = self.summary {
            return (summary.trials.into(), summary.invalid_trials.into());
        }
        let counting = self.trials.iter().filter(|point| point.counts).count();
        (counting as u64, (self.trials.len() - counting) as u64)
    }
}

/// How a comparison without a row of its own is called.
fn comparison_name(comparison: &Comparison) -> String {
    name_in(&comparison.level, &comparison.stratum)
}

/// A level with the stratum it is compared in, if there is one.
pub(crate) fn name_in(level: &str, stratum: &str) -> String {
    if stratum.is_empty() { level.to_owned() } else { format!("{level} ({stratum})") }
}

/// Whether points of a curve were compared.
fn is_curve(verdicts: Option<&Verdicts>) -> bool {
    verdicts.is_some_and(|v| !v.curves.is_empty() || v.comparisons.iter().any(|c| !c.point.is_empty()))
}

/// The trials of a configuration in run order.
fn points<'a>(run: &'a RunRecord, metric: &str, configuration: &str) -> Vec<Point<'a>> {
    let mut points: Vec<Point<'a>> = run
        .trials
        .iter()
        .filter(|record| record.configuration == configuration)
        .map(|record| {
            let block = run.blocks.iter().rev().find(|block| block.number == record.block);
            Point {
                record,
                value: record.metrics.get(metric).copied().filter(|value| value.is_finite()),
                counts: block.is_some_and(|block| block.counted),
            }
        })
        .collect();
    points.sort_by_key(|point| point.record.number);
    points
}

/// Whether a configuration has `level` of some factor while its other levels are exactly those of `stratum`.
pub(crate) fn stands_at(summary: &ConfigurationSummary, level: &str, stratum: &str) -> bool {
    if stratum.is_empty() && summary.name == level {
        return true;
    }
    summary.levels.iter().any(|(factor, own)| {
        let others: Vec<String> = summary
            .levels
            .iter()
            .filter(|(other, _)| *other != factor)
            .map(|(other, level)| format!("{other}={level}"))
            .collect();
        // The stratum is in the file's order of factors, which the summary does not keep: compare as sets.
        let length = others.iter().map(String::len).sum::<usize>() + 2 * others.len().saturating_sub(1);
        own == level && length == stratum.len() && others.iter().all(|part| stratum.contains(part.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn summary(levels: &[(&str, &str)]) -> ConfigurationSummary {
        let name: Vec<&str> = levels.iter().map(|(_, level)| *level).collect();
        ConfigurationSummary {
            name: name.join(", "),
            levels: levels.iter().map(|(f, l)| ((*f).to_owned(), (*l).to_owned())).collect(),
            trials: 1,
            invalid_trials: 0,
            median: None,
            median_interval: [None, None],
            minimum: None,
            maximum: None,
            cv: None,
            points: BTreeMap::new(),
        }
    }

    #[test]
    fn a_comparison_finds_its_configuration_among_several_factors() {
        let wanted = summary(&[("barrier", "off"), ("bs", "4KiB"), ("depth", "1")]);
        assert!(stands_at(&wanted, "off", "depth=1, bs=4KiB"));
        assert!(!stands_at(&wanted, "off", "depth=16, bs=4KiB"));
        assert!(!stands_at(&wanted, "off", "bs=4KiB"));
        assert!(!stands_at(&wanted, "on", "depth=1, bs=4KiB"));
    }
}
