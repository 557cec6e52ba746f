//! Reads what bonnie++ 1.03 to 2.00 prints, its CSV lines and its tables, and writes CSV lines of format 1.98.
//!
//! Rates of transfers are in KiB/s whatever the heading says (`K/sec`, `/sec`): the program divides MiB by seconds. From
//! version 1.90b on the clock stops only after fsync(2) of what block writing and rewriting left in the page cache
//! ([`Facts::flushed`]). What it writes is nearly all zeros.
//!
//! [`Facts::flushed`]: iostone_model::dataset::Facts::flushed

mod csv;
mod record;
mod text;
mod write;

use iostone_model::dataset::Order;

use crate::{Format, Head, Input, Likeness, Malformed, ReadError, Reading};
use record::Record;
use text::Tables;

pub use write::bonnie_csv;

/// The output of bonnie++.
pub(crate) struct Bonnie;

impl Format for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie"
    }

    fn title(&self) -> &'static str {
        "bonnie++ 1.03 to 2.00 CSV and tables"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        head.text.lines().map(likeness).max().unwrap_or(Likeness::No)
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut lines: Vec<Record> = Vec::new();
        let mut tables = Tables::default();
        while let Some(line) = input.next_line()? {
            match csv::read(&line.text).map_err(|expected| line.malformed(expected))? {
                csv::Row::Record(record) => lines.push(Record { line: line.number, ..*record }),
                csv::Row::Header => {}
                csv::Row::Other => tables.take(&line)?,
            }
        }
        let mut records = tables.finish(input.line() + 1)?;
        // A run that printed both counts once: the CSV line is exact, and the table is not always right.
        for line in &mut lines {
            if let Some(twin) = records.iter().position(|table| table.is_rounded_from(line)) {
                let table = records.remove(twin);
                if line.version.is_empty() {
                    line.version = table.version;
                }
            }
        }
        records.extend(lines);
        records.sort_by_key(|record| record.line);
        if records.is_empty() {
            return Err(Malformed::at_end(input.line() + 1, "a table or a CSV line of bonnie++").into());
        }
        let order = if records.len() > 1 { Order::AsListed } else { Order::Unknown };
        let observations = records.into_iter().map(Record::into_observation).collect();
        let factors = ["host", "concurrency"].map(str::to_owned).to_vec();
        Ok(Reading { observations, factors, order, ..Reading::default() })
    }
}

fn likeness(line: &str) -> Likeness {
    if text::is_heading(line) || line.trim_start().starts_with("format_version,bonnie_version,") {
        return Likeness::Certain;
    }
    match csv::read(line) {
        _ if csv::is_own(line) => Likeness::Certain,
        Ok(csv::Row::Record(_)) => Likeness::Likely,
        _ if line.trim_start().starts_with("Writing intelligently...") => Likeness::Likely,
        _ => Likeness::No,
    }
}
