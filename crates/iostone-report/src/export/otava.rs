//! Tables for Apache Otava (<https://otava.apache.org/docs/csv/>), which looks for change points: a time, then a column for each
//! metric of each configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use iostone_model::cell::guarded;
use iostone_model::median::median;
use iostone_model::units::round_count;
use jiff::Timestamp;

use super::Exported;

/// The figures of a row by column, and the row's time.
struct Row {
    time: String,
    run: String,
    figures: BTreeMap<String, Vec<f64>>,
}

pub(super) fn table(runs: &[Exported<'_>]) -> String {
    let rows = match runs {
        [one] => blocks(one),
        several => several.iter().map(|run| Row { time: seconds(run.started_at), ..whole(run) }).collect(),
    };
    let columns: BTreeSet<&String> = rows.iter().flat_map(|row| row.figures.keys()).collect();
    let mut table = "time,run".to_owned();
    for name in &columns {
        let _ = write!(table, ",{}", cell(name));
    }
    table.push('\n');
    for row in &rows {
        let _ = write!(table, "{},{}", row.time, cell(&row.run));
        for name in &columns {
            table.push(',');
            if let Some(value) = row.figures.get(*name).and_then(median) {
                table.push_str(&value.to_string());
            }
        }
        table.push('\n');
    }
    table
}

/// A row for each block, at the time of its first trial; figures without blocks are one row.
fn blocks(run: &Exported<'_>) -> Vec<Row> {
    let mut rows: BTreeMap<Option<u64>, (Option<f64>, Row)> = BTreeMap::new();
    for observation in &run.dataset.observations {
        let (first, row) = rows.entry(observation.block).or_insert_with(|| {
            (
                None,
                Row {
                    time: seconds(run.started_at),
                    run: run.directory.to_owned(),
                    figures: BTreeMap::new(),
                },
            )
        });
        if let Some(moment) = observation.order.filter(|moment| first.is_none_or(|first| *moment < first)) {
            *first = Some(moment);
        }
        for (metric, figure) in observation.figures.iter().filter(|(_, figure)| figure.value.is_finite()) {
            let column = format!("{}:{metric}", run.condition(observation));
            row.figures.entry(column).or_default().push(figure.value);
        }
    }
    let timed = |(first, mut row): (Option<f64>, Row)| {
        // A position in place of a time is none.
        let moment = first
            .filter(|moment| *moment > 1e8)
            .and_then(|moment| i64::try_from(round_count(moment.floor())).ok())
            .and_then(|seconds| Timestamp::from_second(seconds).ok());
        if let Some(moment) = moment {
            row.time = moment.to_string();
        }
        row
    };
    rows.into_values().map(timed).collect()
}

fn whole(run: &Exported<'_>) -> Row {
    let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in blocks(run) {
        for (name, values) in row.figures {
            figures.entry(name).or_default().extend(values);
        }
    }
    Row { time: String::new(), run: run.directory.to_owned(), figures }
}

/// A time without fractions of a second, which not every reader takes.
fn seconds(time: &str) -> String {
    let moment =
        time.parse::<Timestamp>().ok().and_then(|moment| Timestamp::from_second(moment.as_second()).ok());
    moment.map_or_else(|| time.to_owned(), |moment| moment.to_string())
}

fn cell(text: &str) -> String {
    let text = guarded(text);
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
