//! Reads elbencho's CSV (`--csvfile`, 1.0 to 3.1): a line for each phase, its columns told by their header.

mod row;

use std::collections::BTreeMap;

use iostone_model::dataset::{MetricNote, Observation, Order};
use iostone_model::metric::{self, Direction, Unit};

use crate::error::Malformed;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

use row::Row;

/// The CSV of elbencho. Its columns changed with versions (`random amount` went, `label`, `version` and `command` came
/// with 2.0), their names did not (`Statistics.cpp` and `ProgArgs.cpp` of its source).
pub(crate) struct Elbencho;

/// Labels in the order in which a phase's work is described, which are also what runs are told apart by.
const LABELS: &[&str] = &[
    "operation",
    "label",
    "path_type",
    "random",
    "block_size",
    "file_size",
    "iodepth",
    "threads",
    "hosts",
    "direct",
];

impl Format for Elbencho {
    fn name(&self) -> &'static str {
        "elbencho"
    }

    fn title(&self) -> &'static str {
        "elbencho 1.0 to 3.1: the CSV of --csvfile"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        if head.text.lines().any(is_header) { Likeness::Certain } else { Likeness::No }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut columns: Vec<String> = Vec::new();
        let mut observations: Vec<Observation> = Vec::new();
        while let Some(line) = input.next_line()? {
            if is_header(&line.text) {
                columns = line.text.split(',').map(|name| name.trim().to_owned()).collect();
            } else if !line.text.trim().is_empty() {
                if columns.is_empty() {
                    let expected = "elbencho's header `ISO date,...,operation,time ms [first],...` \
                        (was it written with `--nocsvlabels`?)";
                    return Err(line.malformed(expected).into());
                }
                // It replaces the commas in labels and commands, and quotes no cell but has quotes in commands.
                let cells: Vec<&str> = line.text.split(',').collect();
                if cells.len() != columns.len() {
                    let expected = format!("{} cells, as the header has", columns.len());
                    let found = cells.len().to_string();
                    return Err(Malformed { line: line.number, expected, found }.into());
                }
                observations.push(Row::new(&line, &columns, &cells).observe()?);
            }
        }
        if observations.is_empty() {
            return Err(Malformed::at_end(input.line(), "a line for each phase of elbencho").into());
        }
        let differ = |label: &&&str| {
            let mut values = observations.iter().map(|observation| observation.labels.get(**label));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        let factors = LABELS.iter().filter(differ).map(|label| (*label).to_owned()).collect();
        Ok(Reading { metrics: notes(&observations), observations, factors, order: Order::AsListed })
    }
}

/// Its header begins with the date; the line of `--livecsv` with `ISO Date` is another table.
fn is_header(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}');
    line.starts_with("ISO date,") && line.contains(",operation,") && line.contains(",time ms [last]")
}

/// What is to be said of figures that are in no table.
fn notes(observations: &[Observation]) -> BTreeMap<String, MetricNote> {
    let names = observations.iter().flat_map(|observation| observation.figures.keys());
    let noted = names.filter(|name| metric::find(name).is_none()).map(|name| (name.clone(), note(name)));
    noted.collect()
}

fn note(name: &str) -> MetricNote {
    let (name, whose) =
        [("first.", " when the first thread was done"), ("read.", " of reads"), ("write.", " of writes")]
            .into_iter()
            .find_map(|(start, whose)| Some((name.strip_prefix(start)?, whose)))
            .unwrap_or((name, ""));
    let (unit, better, title) = match name {
        "wall_time" => (Unit::Seconds, Direction::Lower, "elapsed time"),
        "throughput" => (Unit::BytesPerSecond, Direction::Higher, "throughput"),
        "iops" => (Unit::PerSecond, Direction::Higher, "operations per second"),
        "entries" => (Unit::PerSecond, Direction::Higher, "files or directories per second"),
        "cpu" => (Unit::Share, Direction::Lower, "CPU share"),
        "latency_min" => (Unit::Seconds, Direction::Lower, "minimum latency"),
        "entry_latency_min" => {
            (Unit::Seconds, Direction::Lower, "minimum latency of whole files or directories")
        }
        "entry_latency_max" => {
            (Unit::Seconds, Direction::Lower, "maximum latency of whole files or directories")
        }
        _ => (Unit::Seconds, Direction::Lower, "mean latency of whole files or directories"),
    };
    MetricNote { unit, better: Some(better), title: format!("{title}{whose}") }
}
