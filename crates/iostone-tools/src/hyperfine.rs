//! Reads what hyperfine exports: JSON with every run of every command, and CSV with their means.

mod csv;
mod json;

use std::collections::BTreeMap;

use iostone_model::dataset::{Aggregate, Averaged, Figure, MetricNote, Observation, Order};
use iostone_model::metric::{Direction, Unit};

use crate::error::Malformed;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

/// The exports of hyperfine. Their times are in seconds whatever `--time-unit` says (`src/export/` of its source).
pub(crate) struct Hyperfine;

/// How the header line of its CSV begins; `median` came with 1.8.
const CSV_HEADER: &str = "command,mean,stddev,";

impl Format for Hyperfine {
    fn name(&self) -> &'static str {
        "hyperfine"
    }

    fn title(&self) -> &'static str {
        "hyperfine 1.x: JSON with every run, CSV with means"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let text = head.text.trim_start_matches('\u{feff}').trim_start();
        let keys = ["\"results\"", "\"command\"", "\"mean\"", "\"stddev\""];
        let json = text.starts_with('{') && keys.iter().all(|key| text.contains(key));
        if json || text.starts_with(CSV_HEADER) { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        // A byte order mark is what some editors leave behind.
        if input.reader().fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            input.reader().consume(3);
        }
        let is_json = input.reader().fill_buf()?.trim_ascii_start().starts_with(b"{");
        let observations = if is_json { json::read(input)? } else { csv::read(input)? };
        if observations.is_empty() {
            return Err(Malformed::at_end(1, "at least one result of hyperfine").into());
        }
        let factors = factors(&observations);
        Ok(Reading { metrics: notes(), observations, factors, order: Order::AsListed })
    }
}

/// The parameters that were scanned, or the commands where nothing else tells them apart.
///
/// A command that only differs by its parameters would be a second factor that changes together with them.
fn factors(observations: &[Observation]) -> Vec<String> {
    let parameters = |observation: &Observation| {
        let labels = observation.labels.iter().filter(|(name, _)| *name != "command");
        labels.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    let mut commands = BTreeMap::new();
    for observation in observations {
        let Some(command) = observation.labels.get("command") else { continue };
        let told = commands.entry(parameters(observation)).or_insert(command);
        if *told != command {
            return vec!["command".to_owned()].into_iter().chain(names(observations)).collect();
        }
    }
    let names = names(observations).collect::<Vec<_>>();
    if names.is_empty() { vec!["command".to_owned()] } else { names }
}

/// The names of all parameters.
fn names(observations: &[Observation]) -> impl Iterator<Item = String> {
    let labels = observations.iter().flat_map(|observation| observation.labels.keys());
    let names: std::collections::BTreeSet<&String> = labels.filter(|name| *name != "command").collect();
    names.into_iter().cloned().collect::<Vec<_>>().into_iter()
}

/// Means of CPU times, and what a summary tells of its runs; other figures are in the tables.
fn notes() -> BTreeMap<String, MetricNote> {
    let seconds = [
        ("user_time_mean", "user CPU time, mean of all runs"),
        ("system_time_mean", "system CPU time, mean of all runs"),
        ("wall_time_median", "median elapsed time"),
        ("wall_time_min", "shortest elapsed time"),
        ("wall_time_max", "longest elapsed time"),
        ("wall_time_stddev", "standard deviation of elapsed time"),
    ];
    let note =
        |unit, title: &str| MetricNote { unit, better: Some(Direction::Lower), title: title.to_owned() };
    let memory = ("memory_max".to_owned(), note(Unit::Bytes, "largest resident memory"));
    let seconds = seconds.iter().map(|(name, title)| ((*name).to_owned(), note(Unit::Seconds, title)));
    seconds.chain([memory]).collect()
}

/// An observation of a command.
fn observation(labels: BTreeMap<String, String>) -> Observation {
    let mut observation = Observation { tool: "hyperfine".to_owned(), labels, ..Observation::default() };
    observation.facts.work = observation.labels.get("command").cloned();
    observation
}

/// The CPUs that a command kept busy on average.
fn cpus_used(user: Option<f64>, system: Option<f64>, wall: Option<f64>) -> Option<f64> {
    Some((user? + system?) / wall?).filter(|cpus| cpus.is_finite())
}

/// What an export without single runs tells of a command.
fn summarise(
    labels: BTreeMap<String, String>,
    value: impl Fn(&str) -> Option<f64>,
) -> Result<Observation, String> {
    let mean = value("mean").ok_or("a result without `mean`")?;
    let mut observation = observation(labels);
    let mut set = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            observation.figures.insert(name.to_owned(), Figure::from(value));
        }
    };
    set("wall_time", Some(mean));
    set("user_time", value("user"));
    set("system_time", value("system"));
    // Of a single run, hyperfine writes no standard deviation or 0, and the same time four times.
    let stddev = value("stddev").filter(|stddev| *stddev > 0.0);
    if stddev.is_some() {
        set("wall_time_stddev", stddev);
        set("wall_time_median", value("median"));
        set("wall_time_min", value("min"));
        set("wall_time_max", value("max"));
        observation.facts.averaged =
            Some(Averaged { executions: None, by: Aggregate::Mean, spread_known: true });
    }
    observation.facts.cpus_used = cpus_used(value("user"), value("system"), Some(mean));
    Ok(observation)
}
