//! Finds clocks that ran backwards: negative times, ends before their starts, a time of day that steps back in a log.

use std::collections::BTreeMap;

use iostone_model::audit::Severity;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::case::{Case, concluded, condition, median};
use crate::Outcome;
use crate::rule::Rule;

/// Positions are below, seconds since 1970 above.
const EPOCH: f64 = 1e8;
/// Logs that are written at ends of runs are not in the order of starts throughout; only rare steps are a clock's.
const RARE: f64 = 0.2;
/// Fewer steps do not tell what is rare.
const FEWEST_STEPS: usize = 5;

/// Words of durations.
const DURATIONS: &[&str] = &[
    "time", "elapsed", "duration", "wall", "real", "latency", "lat", "clat", "slat", "runtime", "seconds",
    "wait",
];
/// Words of the end of a run.
const ENDS: &[&str] = &["end", "ended", "finish", "finished", "stop", "stopped", "completed"];

/// Clocks running backwards.
pub(super) struct ClockBackwards;

impl Rule for ClockBackwards {
    fn name(&self) -> &'static str {
        "clock-backwards"
    }

    fn looks_for(&self) -> &'static str {
        "negative durations, runs that end before they start, times that step back from run to run"
    }

    fn look(&self, dataset: &Dataset) -> Outcome {
        let mut cases: Vec<Case> = Vec::new();
        let mut looked = false;
        for (index, observation) in dataset.observations.iter().enumerate() {
            let durations = observation
                .figures
                .iter()
                .filter(|(metric, _)| dataset.unit_of(metric) == Unit::Seconds && has(metric, DURATIONS));
            let case = |text: String| Case { index, severity: Severity::Serious, text };
            for (metric, figure) in durations {
                looked = true;
                if figure.value < 0.0 {
                    cases.push(case(format!(
                        "{metric} is {}, below zero",
                        Unit::Seconds.format(figure.value)
                    )));
                }
            }
            if let Some((start, end, label)) = ended(observation) {
                looked = true;
                if end < start {
                    let before = Unit::Seconds.format(start - end);
                    cases.push(case(format!("`{label}` is {before} before the start")));
                }
            }
        }
        if let Some(back) = steps_back(dataset) {
            looked = true;
            cases.extend(back);
        }
        let message = cases
            .first()
            .map(|case| format!("{}: a clock ran backwards, or columns are mixed up", case.text));
        let advice =
            "Take times of one run from a monotonic clock, and leave out the runs during which it was set.";
        concluded(looked, self, dataset, cases, message, advice)
    }
}

fn has(name: &str, some: &[&str]) -> bool {
    let lower = name.to_lowercase();
    lower.split(|letter: char| !letter.is_alphanumeric()).any(|word| some.contains(&word))
}

/// When a row started and ended, and by which label, in seconds since 1970.
fn ended(observation: &Observation) -> Option<(f64, f64, &str)> {
    let start = observation.order.filter(|order| *order > EPOCH)?;
    let label = |(label, value): (&'_ String, &'_ String)| has(label, ENDS).then(|| seconds(value))?;
    let found = observation.labels.iter().find_map(|(name, value)| Some((name, label((name, value))?)));
    found.map(|(name, end)| (start, end, name.as_str()))
}

/// A moment as text, in seconds since 1970; without an offset, on the clock that wrote the others as well.
fn seconds(text: &str) -> Option<f64> {
    let moment = text.parse::<jiff::Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    moment.or_else(civil).map(|time| time.as_duration().as_secs_f64())
}

/// Runs of one condition of one file that started before the run listed before them, where that is rare; none where no
/// condition is listed with times.
fn steps_back(dataset: &Dataset) -> Option<Vec<Case>> {
    let mut last: BTreeMap<(&str, String), f64> = BTreeMap::new();
    let (mut forward, mut back) = (Vec::new(), Vec::new());
    for (index, observation) in dataset.observations.iter().enumerate() {
        let Some(at) = observation.order.filter(|order| *order > EPOCH) else { continue };
        let key = (observation.file.as_str(), condition(dataset, observation));
        match last.insert(key, at) {
            Some(before) if at < before => back.push((index, before - at)),
            Some(before) if at > before => forward.push(at - before),
            _ => {}
        }
    }
    let steps = forward.len() + back.len();
    if steps < FEWEST_STEPS {
        return None;
    }
    let usual = median(&forward).unwrap_or(0.0);
    let rare = back.len() as f64 <= RARE * steps as f64;
    let cases = back.into_iter().filter(|(_, by)| rare && *by > usual).map(|(index, by)| Case {
        index,
        severity: Severity::Warning,
        text: format!("its time is {} before that of the run listed before it", Unit::Seconds.format(by)),
    });
    Some(cases.collect())
}

#[cfg(test)]
mod tests {
    use super::super::made_up::{dataset, findings, observation, only, silent};
    use super::*;

    fn log(starts: &[f64]) -> Dataset {
        let rows = starts.iter().map(|start| {
            let mut row = observation(&[], &[("iops", 1.0)]);
            row.order = Some(1.7e9 + start);
            row
        });
        dataset(rows.collect())
    }

    #[test]
    fn negative_times_and_ends_before_starts_are_serious() {
        let found = only(&ClockBackwards, &dataset(vec![observation(&[], &[("wall_time", -3.0)])]));
        assert_eq!(found.severity, Severity::Serious);
        let mut row = observation(&[("end_time", "2026-11-21 19:40:07")], &[("iops", 1.0)]);
        row.order = seconds("2026-11-21T19:41:07Z");
        let found = only(&ClockBackwards, &dataset(vec![row.clone()]));
        assert!(found.message.starts_with("`end_time` is 60.0 s before the start"), "{}", found.message);
        row.labels.insert("end_time".to_owned(), "2026-11-21 19:42:07".to_owned());
        assert!(findings(&ClockBackwards, &dataset(vec![row])).is_empty());
    }

    #[test]
    fn a_rare_step_back_is_doubtful_and_a_log_in_no_order_is_not() {
        let found = only(&ClockBackwards, &log(&[0.0, 60.0, 120.0, 180.0, 20.0, 300.0, 360.0, 420.0]));
        assert_eq!((found.severity, found.observations.as_slice()), (Severity::Warning, &[4][..]));
        assert!(findings(&ClockBackwards, &log(&[9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0])).is_empty());
        assert!(silent(&ClockBackwards, &log(&[0.0, 1.0])));
    }
}
