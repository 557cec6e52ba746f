//! The tables `_iops.csv`, `_lat.csv` and `_mbps.csv`: a column for each small load, a row for each large one.
//!
//! Layout of 11.1: `Large/Small,` and the small loads; then rows that begin with a large load and end after their last
//! measured point. IOPS are whole numbers, latencies and MBPS have two digits after the point; IOPS and latencies begin
//! with the small load 1 and the large load 0, MBPS with 0 and 1. From 12c on lines before it say what the values mean.

use iostone_model::dataset::{Figure, Observation};

use super::{MEGABYTE_REMARK, UNSETTLED, at_point, test_of};
use crate::units::figure;
use crate::{Input, Malformed, ReadError, input::Line};

/// What the values of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Iops,
    Latency(Option<LatencyUnit>),
    Throughput,
}

/// What latencies are printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LatencyUnit {
    /// Up to 11.1.
    Milliseconds,
    /// From 11.2 on.
    Microseconds,
}

impl LatencyUnit {
    /// A latency printed in it, exactly, in seconds.
    pub(super) fn figure(self, text: &str) -> Option<Figure> {
        match self {
            Self::Milliseconds => figure(&format!("{}e-3", text.trim()), 1.0),
            Self::Microseconds => figure(&format!("{}e-6", text.trim()), 1.0),
        }
    }

    /// One of it in seconds.
    pub(super) fn seconds(self) -> f64 {
        match self {
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
        }
    }
}

/// One value.
struct Cell {
    line: u64,
    small: u64,
    large: u64,
    text: String,
}

/// Whether it is the header of such a table.
pub(super) fn is_header(line: &str) -> bool {
    line.trim_start().to_ascii_lowercase().starts_with("large/small")
}

/// Reads the rest of a table whose header that line is; `before` is what stands above it.
pub(super) fn read(
    name: &str,
    before: &[String],
    header: &Line,
    input: &mut Input<'_>,
) -> Result<Vec<Observation>, ReadError> {
    let columns = loads(header.text.split(',').skip(1))
        .ok_or_else(|| header.malformed("`Large/Small` and the small loads in ascending order"))?;
    let mut cells: Vec<Cell> = Vec::new();
    let mut rows: Vec<u64> = Vec::new();
    while let Some(line) = input.next_line()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let mut parts = line.text.trim_end().trim_end_matches(',').split(',');
        let large = parts.next().and_then(|text| text.trim().parse::<u64>().ok());
        let large = large.filter(|large| rows.last().is_none_or(|last| last < large));
        let large =
            large.ok_or_else(|| line.malformed("a large load, greater than that of the row before"))?;
        rows.push(large);
        let mut smalls = columns.iter();
        for text in parts {
            let small =
                *smalls.next().ok_or_else(|| line.malformed(format!("at most {} values", columns.len())))?;
            let text = text.trim().to_owned();
            if text.is_empty() {
                continue;
            }
            if figure(&text, 1.0).is_none_or(|figure| figure.value < 0.0) {
                return Err(line
                    .malformed(format!("a value at Small={small} and Large={large}, not `{text}`"))
                    .into());
            }
            cells.push(Cell { line: line.number, small, large, text });
        }
    }
    if cells.is_empty() && !is_empty_by_nature(name, &columns, &rows) {
        return Err(Malformed::at_end(input.line() + 1, "at least one value").into());
    }
    if cells.is_empty() {
        return Ok(Vec::new());
    }
    let kind = kind(name, before, &columns, &rows, &cells).ok_or_else(|| {
        header.malformed("a file name that ends in `_iops.csv`, `_lat.csv` or `_mbps.csv` where nothing else tells the values")
    })?;
    Ok(cells.iter().filter_map(|cell| observation(cell, kind)).collect())
}

fn loads<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Vec<u64>> {
    let texts: Vec<&str> = texts.map(str::trim).filter(|text| !text.is_empty()).collect();
    let loads: Vec<u64> = texts.into_iter().map(|text| text.parse().ok()).collect::<Option<_>>()?;
    loads.is_sorted_by(|one, next| one < next).then_some(loads)
}

/// Whether its test has none of what the table holds: small I/O alone has no row of MBPS, large I/O alone no column of the
/// others.
fn is_empty_by_nature(name: &str, columns: &[u64], rows: &[u64]) -> bool {
    match test_of(name).1 {
        Some("_iops.csv" | "_lat.csv") => columns.is_empty() && !rows.is_empty(),
        Some("_mbps.csv") => rows.is_empty() && !columns.is_empty(),
        _ => false,
    }
}

/// What a table holds: by what it says, else by its loads and digits, else by its file's name.
fn kind(name: &str, before: &[String], columns: &[u64], rows: &[u64], cells: &[Cell]) -> Option<Kind> {
    let said = before.join(" ").to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let unit = if says(&["microsec", "usec", "(us)", " us ", "µs"]) {
        Some(LatencyUnit::Microseconds)
    } else if says(&["millisec", "msec", "(ms)", " ms "]) {
        Some(LatencyUnit::Milliseconds)
    } else {
        None
    };
    match (
        says(&["latenc"]),
        says(&["mbps", "megabytes"]),
        says(&["iops", "ios per second", "i/os per second"]),
    ) {
        (true, false, false) => return Some(Kind::Latency(unit)),
        (false, true, false) => return Some(Kind::Throughput),
        (false, false, true) => return Some(Kind::Iops),
        _ => {}
    }
    let whole = cells.iter().all(|cell| !cell.text.contains('.'));
    // Without small I/Os there are neither their IOPS nor their latency; without large ones there are no MBPS.
    if columns.first() == Some(&0) && rows.first() != Some(&0) {
        return Some(Kind::Throughput);
    }
    if rows.first() == Some(&0) || whole {
        return Some(if whole { Kind::Iops } else { Kind::Latency(unit) });
    }
    match test_of(name).1 {
        Some("_lat.csv") => Some(Kind::Latency(unit)),
        Some("_mbps.csv") => Some(Kind::Throughput),
        _ => None,
    }
}

fn observation(cell: &Cell, kind: Kind) -> Option<Observation> {
    let mut observation = Observation { line: Some(cell.line), ..Observation::default() };
    at_point(&mut observation, cell.small, cell.large);
    let (name, figure) = match kind {
        Kind::Iops => ("iops", figure(&cell.text, 1.0)?),
        Kind::Latency(Some(unit)) => ("latency_mean", unit.figure(&cell.text)?),
        Kind::Latency(None) => {
            observation.facts.remarks.push(
                "the file does not say whether its latencies are in ms (ORION up to 11.1) or in µs (from 11.2 on)"
                    .to_owned(),
            );
            (UNSETTLED, figure(&cell.text, 1.0)?)
        }
        Kind::Throughput => {
            observation.facts.remarks.push(MEGABYTE_REMARK.to_owned());
            ("throughput", figure(&format!("{}e6", cell.text), 1.0)?)
        }
    };
    observation.figures.insert(name.to_owned(), figure);
    Some(observation)
}
