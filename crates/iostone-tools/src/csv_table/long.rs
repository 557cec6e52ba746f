//! Reads what `iostone export --format csv` writes: a row for each figure, the rows of an observation together.

use std::collections::BTreeMap;

use iostone_model::dataset::{Figure, Observation, Order};
use iostone_model::metric::{self, Unit};

use super::column::{note, note_of};
use super::sheet::{Row, Sheet};
use crate::{Malformed, Reading};

const FIRST: [&str; 4] = ["table", "run", "block", "order"];
const LAST: [&str; 3] = ["metric", "value", "unit"];

/// Whether a table has the columns of an export: labels may stand between the first and the last of them.
pub(super) fn is_export(sheet: &Sheet) -> bool {
    let columns: Vec<&str> = sheet.columns.iter().map(String::as_str).collect();
    columns.len() >= FIRST.len() + LAST.len() && columns.starts_with(&FIRST) && columns.ends_with(&LAST)
}

/// Reads an export. A row goes to the last observation of its table, run, block, order and labels, unless that has its
/// figure already. What an export leaves out, facts and the last digits of figures, stays unknown.
///
/// # Errors
/// The first cell that no export has.
pub(super) fn read(sheet: &Sheet) -> Result<Reading, Malformed> {
    let mut reading = Reading::default();
    let mut last: BTreeMap<&[String], usize> = BTreeMap::new();
    let labels = sheet.columns.len().saturating_sub(LAST.len());
    for row in &sheet.rows {
        let key = row.cells.get(..labels).unwrap_or_default();
        let [metric, value, unit] = [labels, labels + 1, labels + 2].map(|index| row.cell(index));
        let wrong = |expected: &str, found: &str| Malformed::new(row.line, expected, found);
        if metric.is_empty() {
            return Err(wrong("the name of a figure, in column `metric`", metric));
        }
        let unit = unit_of(unit)
            .ok_or_else(|| wrong("`B/s`, `/s`, `s`, `B`, `1` or nothing, in column `unit`", unit))?;
        let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| wrong("a number, in column `value`", row.cell(labels + 1)))?;
        let known = metric::find(metric).filter(|known| known.unit == unit);
        let noted = known.map_or_else(|| note(unit, metric), note_of);
        if reading.metrics.entry(metric.to_owned()).or_insert(noted).unit != unit {
            return Err(wrong(
                "one unit for every row of this figure, in column `unit`",
                row.cell(labels + 2),
            ));
        }
        let open = last.get(key).copied().filter(|index| {
            reading.observations.get(*index).is_some_and(|one| !one.figures.contains_key(metric))
        });
        let index = if let Some(index) = open {
            index
        } else {
            reading.observations.push(begin(sheet, row, labels)?);
            last.insert(key, reading.observations.len() - 1);
            reading.observations.len() - 1
        };
        if let Some(observation) = reading.observations.get_mut(index) {
            observation.figures.insert(metric.to_owned(), Figure::from(value));
        }
    }
    reading.factors = sheet.columns.get(FIRST.len()..labels).unwrap_or_default().to_vec();
    reading.factors.retain(|label| !iostone_model::dataset::CIRCUMSTANCES.contains(&label.as_str()));
    reading.order = Order::Unknown;
    Ok(reading)
}

/// An observation of a row's first cells.
fn begin(sheet: &Sheet, row: &Row, end: usize) -> Result<Observation, Malformed> {
    let given = |index: usize| Some(row.cell(index)).filter(|cell| !cell.is_empty());
    let wrong = |index: usize, what: &str, name: &str| {
        Malformed::new(row.line, format!("{what}, in column `{name}`"), row.cell(index))
    };
    let block =
        given(2).map(|cell| cell.parse().map_err(|_| wrong(2, "a whole number", "block"))).transpose()?;
    let order = given(3)
        .map(|cell| {
            let order = cell.parse::<f64>().ok().filter(|order| order.is_finite());
            order.ok_or_else(|| wrong(3, "a number", "order"))
        })
        .transpose()?;
    let labels = (FIRST.len()..end)
        .filter_map(|index| Some((sheet.columns.get(index)?.clone(), given(index)?.to_owned())))
        .collect();
    Ok(Observation {
        table: row.cell(0).to_owned(),
        line: Some(row.line),
        run: given(1).map(str::to_owned),
        block,
        order,
        labels,
        ..Observation::default()
    })
}

/// The base units as an export writes them.
fn unit_of(text: &str) -> Option<Unit> {
    match text {
        "B/s" => Some(Unit::BytesPerSecond),
        "/s" => Some(Unit::PerSecond),
        "s" => Some(Unit::Seconds),
        "B" => Some(Unit::Bytes),
        "1" => Some(Unit::Share),
        "" => Some(Unit::Plain),
        _ => None,
    }
}
