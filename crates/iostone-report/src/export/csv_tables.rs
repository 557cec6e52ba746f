//! CSV: long, with a row for each figure, and wide, with a row for each observation. `iostone judge` reads both.

use iostone_model::cell::guarded;
use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::{self, Unit};

/// The columns that every table begins with.
const FIRST: [&str; 4] = ["table", "run", "block", "order"];

/// Labels first, then which figure, its value in the base unit, and that unit.
pub(super) fn long(dataset: &Dataset) -> String {
    let labels = dataset.label_names();
    let mut table = String::new();
    let header = FIRST.into_iter().chain(labels.iter().copied()).chain(["metric", "value", "unit"]);
    push_row(&mut table, header.map(guarded));
    for observation in &dataset.observations {
        for (metric, figure) in &observation.figures {
            let unit = dataset.unit_of(metric).symbol();
            let last = [guarded(metric), figure.value.to_string(), unit.to_owned()];
            push_row(&mut table, first_cells(observation, labels.iter().copied()).chain(last));
        }
    }
    table
}

/// Labels first, then a column for each metric. One whose name does not say its unit to `iostone judge` has it in brackets.
pub(super) fn wide(dataset: &Dataset) -> String {
    let labels = dataset.label_names();
    let metrics: Vec<&String> = dataset.metrics.keys().collect();
    let mut table = String::new();
    let header = FIRST.into_iter().chain(labels.iter().copied()).map(guarded);
    push_row(&mut table, header.chain(metrics.iter().map(|name| column(name, dataset.unit_of(name)))));
    for observation in &dataset.observations {
        let figures = metrics.iter().map(|name| observation.value(name));
        let figures = figures.map(|value| value.map(|value| value.to_string()).unwrap_or_default());
        push_row(&mut table, first_cells(observation, labels.iter().copied()).chain(figures));
    }
    table
}

fn first_cells<'a>(
    observation: &'a Observation,
    labels: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = String> {
    let number = |number: Option<String>| number.unwrap_or_default();
    let first = [
        guarded(&observation.table),
        guarded(observation.run.as_deref().unwrap_or_default()),
        number(observation.block.map(|block| block.to_string())),
        number(observation.order.map(|order| order.to_string())),
    ];
    let of_label = |label: &str| observation.labels.get(label).map(|text| guarded(text)).unwrap_or_default();
    first.into_iter().chain(labels.map(of_label))
}

fn column(name: &str, unit: Unit) -> String {
    let is_known = metric::find(name).is_some_and(|known| known.unit == unit);
    let unit = match unit {
        Unit::Plain => "",
        Unit::Share => "share",
        other => other.symbol(),
    };
    if is_known || unit.is_empty() { guarded(name) } else { guarded(&format!("{name} [{unit}]")) }
}

/// A row as RFC 4180 has it, but for the line feed that ends it.
fn push_row(table: &mut String, cells: impl Iterator<Item = String>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            table.push(',');
        }
        // A first cell with `#` would begin a comment, and the reader trims what stands at the ends.
        if cell.contains(['"', ',', '\n', '\r', '#', ';']) || cell.trim() != cell {
            table.push('"');
            table.push_str(&cell.replace('"', "\"\""));
            table.push('"');
        } else {
            table.push_str(&cell);
        }
    }
    table.push('\n');
}
