//! Emulated CPU allowances as a reader needs them: the law in words, how well it was kept, and what others would give.

use iostone_model::experiment::{Governor, Law};
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::run::RunRecord;
use iostone_model::trial::{GovernorRecord, TrialRecord};

use crate::figures::{figure, percent};
use crate::view::{Point, Row, View};

/// Seconds of one processor in a CPU credit (EC2 User Guide).
const CREDIT_SECONDS: f64 = 60.0;

/// Slow phases closer together than this share of the trial are one to the eye.
const TOGETHER: f64 = 0.005;

/// As much of what it takes to resume is taken for it where the balance turns there.
const NEARLY: f64 = 0.97;

/// One allowance, and everything that ran under it.
#[derive(Debug)]
pub(crate) struct Emulation<'a> {
    /// The law, its figures and the speed.
    pub(crate) governor: &'a Governor,
    /// The configurations that ran, or are to run, under it.
    pub(crate) rows: Vec<GovernedRow<'a>>,
}

/// One configuration under an allowance.
#[derive(Debug)]
pub(crate) struct GovernedRow<'a> {
    /// Its place among the configurations.
    pub(crate) index: usize,
    /// Its name.
    pub(crate) name: &'a str,
    /// The counted trial whose figure is nearest the median and whose balance was recorded.
    pub(crate) typical: Option<(&'a TrialRecord, &'a GovernorRecord)>,
    /// Median wall time of the workload, seconds.
    pub(crate) wall: Option<f64>,
    /// Medians over its trials of CPU seconds used and allowed, of the share used in excess, and of seconds slow.
    pub(crate) used: Option<f64>,
    pub(crate) allowed: Option<f64>,
    pub(crate) excess: Option<f64>,
    pub(crate) slow: Option<f64>,
    /// The worst of its trials' excess.
    pub(crate) worst_excess: Option<f64>,
    /// Median of how often it became slow.
    pub(crate) times: Option<f64>,
    /// Longest time between two looks at the group, seconds.
    pub(crate) longest_step: Option<f64>,
    /// What each known law would have given, by name: median of the wall seconds.
    pub(crate) laws: Vec<(&'a str, f64)>,
}

/// Every allowance of a run, in the order of its configurations.
pub(crate) fn emulations<'a>(run: &'a RunRecord, view: &View<'a>) -> Vec<Emulation<'a>> {
    let mut emulations: Vec<Emulation<'a>> = Vec::new();
    for (index, row) in view.rows.iter().enumerate() {
        let planned = run.plan.experiment.configurations.iter().find(|c| c.name == row.name);
        let recorded = row.trials.iter().find_map(|point| point.record.governor.as_deref());
        let Some(governor) = recorded
            .map(|record| &record.governor)
            .or_else(|| planned.and_then(|configuration| configuration.stack.governor.as_deref()))
        else {
            continue;
        };
        let governed = GovernedRow::of(index, row);
        match emulations.iter_mut().find(|emulation| emulation.governor == governor) {
            Some(emulation) => emulation.rows.push(governed),
            None => emulations.push(Emulation { governor, rows: vec![governed] }),
        }
    }
    emulations
}

impl<'a> GovernedRow<'a> {
    fn of(index: usize, row: &Row<'a>) -> Self {
        let any_counts = row.trials.iter().any(|point| point.counts);
        let records: Vec<(&Point<'a>, &'a GovernorRecord)> = row
            .trials
            .iter()
            .filter(|point| point.counts || !any_counts)
            .filter_map(|point| Some((point, point.record.governor.as_deref()?)))
            .collect();
        let of = |figure: &dyn Fn(&GovernorRecord) -> f64| {
            records.iter().map(|(_, record)| figure(record)).filter(|value| value.is_finite()).collect()
        };
        let worst = |figures: Vec<f64>| figures.into_iter().reduce(f64::max);
        let walls = records.iter().filter_map(|(point, _)| wall_seconds(point.record));
        Self {
            index,
            name: row.name,
            typical: typical(row, &records),
            wall: median(walls),
            used: median(of(&|record| record.used_cpu_seconds)),
            allowed: median(of(&|record| record.allowed_cpu_seconds)),
            excess: median(of(&|record| record.excess_share)),
            slow: median(of(&|record| record.slow_seconds)),
            worst_excess: worst(of(&|record| record.excess_share)),
            times: median(of(&|record| f64::from(record.throttled_times))),
            longest_step: worst(of(&|record| record.step_seconds.1)),
            laws: laws(&records),
        }
    }
}

/// How long the workload of a trial ran.
fn wall_seconds(trial: &TrialRecord) -> Option<f64> {
    let measured = trial.metrics.get("wall_time").copied();
    let accounted = || trial.signals.cpu.as_ref().map(|account| account.wall_seconds);
    measured.or_else(accounted).filter(|wall| wall.is_finite())
}

fn typical<'a>(
    row: &Row<'a>,
    records: &[(&Point<'a>, &'a GovernorRecord)],
) -> Option<(&'a TrialRecord, &'a GovernorRecord)> {
    let drawable = records.iter().filter(|(_, record)| record.balance.len() > 1);
    let centre = row.centre();
    let apart = |point: &Point<'_>| match (point.value, centre) {
        (Some(value), Some(centre)) => (value - centre).abs(),
        _ => f64::INFINITY,
    };
    drawable
        .min_by(|(a, _), (b, _)| apart(a).total_cmp(&apart(b)))
        .map(|(point, record)| (point.record, *record))
}

/// The laws in the order of the first trial, each with the median over the trials.
fn laws<'a>(records: &[(&Point<'a>, &'a GovernorRecord)]) -> Vec<(&'a str, f64)> {
    let Some((_, first)) = records.first() else { return Vec::new() };
    let of_law = |law: &'a str| {
        let walls = records.iter().filter_map(|(_, record)| {
            record.other_laws.iter().find(|(name, _)| name == law).map(|(_, seconds)| *seconds)
        });
        median(walls.filter(|seconds| seconds.is_finite()))
    };
    first.other_laws.iter().filter_map(|(law, _)| Some((law.as_str(), of_law(law)?))).collect()
}

/// The law with its figures of real time, and the one that tells what they are at the speed of the emulation.
pub(crate) fn law_words(governor: &Governor) -> String {
    let law = governor.allowance.law.in_words();
    let at_speed = |what: &str, seconds: f64| {
        let is_real = (governor.speed - 1.0).abs() < f64::EPSILON;
        let here = figure(Unit::Seconds, seconds / governor.speed);
        if is_real { String::new() } else { format!("; at this speed {what} {here}") }
    };
    let here = match governor.allowance.law {
        Law::Share { .. } => String::new(),
        Law::Bucket { capacity_seconds, .. } => at_speed("a bucket of", capacity_seconds),
        Law::Window { window_seconds, .. } => at_speed("a window of", window_seconds),
        Law::Credits { .. } => at_speed("a credit is a processor for", CREDIT_SECONDS),
    };
    format!("{law}{here}")
}

/// How exactly the law was kept: "0.4 % more CPU time than it allowed (median; at worst 1.1 %), looked at every ...".
pub(crate) fn error_sentence(emulation: &Emulation<'_>) -> Option<String> {
    let excess = median(emulation.rows.iter().filter_map(|row| row.excess))?;
    let worst = emulation.rows.iter().filter_map(|row| row.worst_excess).reduce(f64::max)?;
    let step = emulation.rows.iter().filter_map(|row| row.longest_step).reduce(f64::max);
    let step = step.map_or_else(String::new, |step| {
        format!("; the longest time between two looks at it was {}", figure(Unit::Seconds, step))
    });
    Some(format!(
        "the workload got {} more CPU time than the law allowed at the time (median; at worst {}){step}",
        percent(excess),
        percent(worst)
    ))
}

/// What the other known laws would have given, a sentence a configuration: "with `bucket` 14.9 s, ...".
pub(crate) fn laws_sentence(row: &GovernedRow<'_>, in_force: &str) -> Option<String> {
    if row.laws.is_empty() {
        return None;
    }
    let measured = row.wall.map(|wall| format!("measured {}", figure(Unit::Seconds, wall)));
    let laws = row.laws.iter().map(|(law, seconds)| {
        let own = if *law == in_force { " (in force)" } else { "" };
        format!("`{law}`{own} {}", figure(Unit::Seconds, *seconds))
    });
    Some(measured.into_iter().chain(laws).collect::<Vec<String>>().join(", "))
}

/// Every law that any configuration has a prediction of, in the order in which they were recorded.
pub(crate) fn law_names<'a>(emulation: &Emulation<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in emulation.rows.iter().flat_map(|row| &row.laws) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}

/// When the law was slow, from what it held over time: `(from, to)` in seconds since the start.
pub(crate) fn slow_phases(record: &GovernorRecord) -> Vec<(f64, f64)> {
    let resume_at = match &record.governor.allowance.law {
        Law::Bucket { capacity_seconds, resume, .. } => {
            resume.0 * capacity_seconds / record.governor.speed.max(f64::MIN_POSITIVE)
        }
        Law::Window { .. } | Law::Credits { unlimited: false, .. } => f64::MIN_POSITIVE,
        Law::Share { .. } | Law::Credits { .. } => return Vec::new(),
    };
    let mut phases: Vec<(f64, f64)> = Vec::new();
    let mut since: Option<f64> = None;
    let mut series = record.balance.iter().peekable();
    while let Some((at, balance)) = series.next() {
        // It is spent again from the moment at which it resumes, which may lie between two that were recorded.
        let turns = series.peek().is_some_and(|(_, next)| next < balance) && *balance >= resume_at * NEARLY;
        match since {
            None if *balance <= 0.0 => since = Some(*at),
            Some(from) if *balance > 0.0 && (*balance >= resume_at || turns) => {
                phases.push((from, *at));
                since = None;
            }
            _ => {}
        }
    }
    let end = record.balance.last().map_or(0.0, |(at, _)| *at);
    phases.extend(since.filter(|from| *from < end).map(|from| (from, end)));
    let gap = end * TOGETHER;
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (from, to) in phases {
        match joined.last_mut() {
            Some(last) if from - last.1 <= gap => last.1 = to,
            _ => joined.push((from, to)),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
