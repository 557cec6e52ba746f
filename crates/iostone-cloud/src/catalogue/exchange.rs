//! Catalogues in files that programs read: CSV, JSON and TOML, written whole and read back.

use std::collections::BTreeSet;
use std::ops::Range;

use csv::StringRecord;
use iostone_model::diagnostic::Diagnostic;
use serde::Serialize;
use toml::{Table, Value};

use super::Catalogue;
use super::change::words;
use super::described::{Described, read_described_types};
use super::row::InstanceRow;
use super::rows::{Places, Rows, decode, is_same_time, read_rows};
use crate::volume::VolumeRow;

/// The format's name and version, in JSON and TOML.
pub const CATALOGUE_SCHEMA: &str = "iostone/catalogue/1";

/// Prices have a column for each region: `usd_per_hour.us-east-1`.
const PRICES: &str = "usd_per_hour";

/// How a catalogue is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeFormat {
    /// A table of instance types, one a row; without volume types.
    Csv,
    /// One document.
    Json,
    /// As the user's file.
    Toml,
}

/// Why rows could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RowsError {
    /// What is wrong with TOML, or with the rows of JSON or CSV, each at its place where it has one.
    #[error("{}", match diagnostics.as_slice() {
        [one] => one.message.clone(),
        several => format!("{} errors", several.len()),
    })]
    Rows {
        /// Every error; never empty.
        diagnostics: Vec<Diagnostic>,
    },
    /// It is not JSON, or not of that shape.
    #[error("line {line}, column {column}: {reason}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// It is not a table of instance types.
    #[error("line {line}: {reason}")]
    Csv {
        /// From 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
}

impl RowsError {
    pub(super) fn of_json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // The place is told apart.
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned();
        Self::Json { line: error.line(), column: error.column(), reason }
    }

    fn of_rows(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Rows { diagnostics }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    rows: &'a Rows,
}

impl Catalogue {
    /// Everything in it, as rows.
    pub fn rows(&self) -> Rows {
        let row = |instance: &super::Instance| (instance.name.clone(), self.row(instance));
        let as_written = |row: &VolumeRow| {
            self.said_volumes.iter().find(|own| is_same_time(own, row)).unwrap_or(row).clone()
        };
        let rows_of = |name: &str| self.volumes.history(name).unwrap_or_default().iter();
        Rows {
            volume: self.volumes.names().flat_map(rows_of).map(as_written).collect(),
            instance: self.instances.values().map(row).collect(),
        }
    }
}

/// Writes rows; each format reads back as the same, but for volume types, which a table of instance types cannot hold.
pub fn write_exchange(rows: &Rows, format: ExchangeFormat) -> String {
    let document = Document { schema: CATALOGUE_SCHEMA, rows };
    // Plain values under names that are texts go into both.
    match format {
        ExchangeFormat::Csv => write_csv(rows),
        ExchangeFormat::Json => {
            serde_json::to_string_pretty(&document).map(|text| format!("{text}\n")).unwrap_or_default()
        }
        ExchangeFormat::Toml => toml::to_string(&document).unwrap_or_default(),
    }
}

/// Reads rows of whatever its text shows it to be: one of our own exports, or the output of `aws ec2 describe-instance-types`.
///
/// # Errors
/// [`RowsError`]: where it stops being one of those.
pub fn read_exchange(text: &str) -> Result<Described, RowsError> {
    let own = |rows: Rows| Described { rows, notes: Vec::new() };
    let begin = text.trim_start_matches('\u{feff}').trim_start();
    if begin.starts_with('[') && begin.trim_start_matches('[').trim_start().starts_with('{') {
        return read_described_types(text);
    }
    if begin.starts_with('{') {
        let value =
            serde_json::from_str::<serde_json::Value>(begin).map_err(|error| RowsError::of_json(&error))?;
        return if value.get("InstanceTypes").is_some() {
            read_described_types(begin)
        } else {
            read_json(value).map(own)
        };
    }
    let first =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let is_table =
        first.trim_start_matches('\u{feff}').starts_with("instance,") || first.trim() == "instance";
    if is_table { read_csv(begin).map(own) } else { read_rows(begin).map(own).map_err(RowsError::of_rows) }
}

/// Places are not kept of JSON and CSV: their rows have names.
struct NoPlaces;

impl Places for NoPlaces {
    fn key(&self, _: &str) -> Option<Range<usize>> {
        None
    }

    fn value(&self, _: &str) -> Option<Range<usize>> {
        None
    }

    fn nearest(&self, _: &str) -> Option<Range<usize>> {
        None
    }
}

fn decoded(table: &Table) -> Result<Rows, RowsError> {
    let mut errors = Vec::new();
    let rows = decode(table, &NoPlaces, &mut errors);
    if errors.is_empty() { Ok(rows) } else { Err(RowsError::of_rows(errors)) }
}

fn read_json(value: serde_json::Value) -> Result<Rows, RowsError> {
    match of_json(value) {
        Some(Value::Table(table)) => decoded(&table),
        _ => Ok(Rows::default()),
    }
}

/// The same value in TOML's terms, in which what is null is absent.
fn of_json(value: serde_json::Value) -> Option<Value> {
    Some(match value {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(value) => Value::Boolean(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::String(text),
        serde_json::Value::Array(items) => Value::Array(items.into_iter().filter_map(of_json).collect()),
        serde_json::Value::Object(fields) => {
            Value::Table(fields.into_iter().filter_map(|(key, value)| Some((key, of_json(value)?))).collect())
        }
    })
}

fn write_csv(rows: &Rows) -> String {
    let regions: BTreeSet<&String> = rows
        .instance
        .values()
        .filter_map(|row| row.usd_per_hour.as_ref())
        .flat_map(|prices| prices.keys())
        .collect();
    let keys = InstanceRow::KEYS.iter().filter(|key| **key != PRICES);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> =
        std::iter::once("instance").chain(keys.clone().copied()).map(str::to_owned).collect();
    header.extend(regions.iter().map(|region| format!("{PRICES}.{region}")));
    // Into memory, which takes everything.
    let _ = writer.write_record(&header);
    for (name, row) in &rows.instance {
        let fields = row.fields();
        let mut record = vec![name.clone()];
        record.extend(keys.clone().map(|key| fields.get(*key).map(words).unwrap_or_default()));
        record.extend(regions.iter().map(|region| {
            let usd = row.usd_per_hour.as_ref().and_then(|prices| prices.get(*region));
            usd.map(f64::to_string).unwrap_or_default()
        }));
        let _ = writer.write_record(&record);
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

fn read_csv(text: &str) -> Result<Rows, RowsError> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let wrong = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let reason = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} fields, the header {expected_len}")
            }
            _ => error.to_string(),
        };
        RowsError::Csv { line, reason }
    };
    let header = reader.headers().map_err(|error| wrong(&error))?.clone();
    if let Some(twice) =
        header.iter().enumerate().find(|(index, name)| header.iter().take(*index).any(|other| other == *name))
    {
        return Err(RowsError::Csv { line: 1, reason: format!("the column `{}` is there twice", twice.1) });
    }
    let mut instances = Table::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(&error))?;
        let line = record.position().map_or(1, csv::Position::line);
        let name = record.get(0).unwrap_or_default().to_owned();
        if instances.contains_key(&name) {
            return Err(RowsError::Csv { line, reason: format!("`{name}` is there twice") });
        }
        let row = table_of(&header, &record).map_err(|reason| RowsError::Csv { line, reason })?;
        instances.insert(name, Value::Table(row));
    }
    let whole = Table::from_iter([("instance".to_owned(), Value::Table(instances))]);
    decoded(&whole)
}

fn table_of(header: &StringRecord, record: &StringRecord) -> Result<Table, String> {
    let mut row = Table::new();
    let mut prices = Table::new();
    for (column, cell) in header.iter().zip(record).skip(1).filter(|(_, cell)| !cell.is_empty()) {
        let whole = || {
            cell.parse()
                .map(Value::Integer)
                .map_err(|_| format!("`{column}`: `{cell}` is not a whole number"))
        };
        let number =
            || cell.parse().map(Value::Float).map_err(|_| format!("`{column}`: `{cell}` is not a number"));
        if let Some(region) = column.strip_prefix("usd_per_hour.") {
            prices.insert(region.to_owned(), number()?);
            continue;
        }
        let value = match column {
            "vcpus" | "ebs_baseline_iops" | "ebs_maximum_iops" => whole()?,
            "clock_ghz" | "ecu" => number()?,
            "architectures" => Value::Array(cell.split('+').map(Value::from).collect()),
            _ => Value::from(cell),
        };
        row.insert(column.to_owned(), value);
    }
    if !prices.is_empty() {
        row.insert(PRICES.to_owned(), Value::Table(prices));
    }
    Ok(row)
}

#[cfg(test)]
mod tests;
