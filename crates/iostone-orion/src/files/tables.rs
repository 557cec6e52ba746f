//! The tables `_iops.csv`, `_lat.csv` and `_mbps.csv`: a column for each small load, a row for each large one.
//!
//! The layout is that of published files of 11.1, byte for byte: the literal `Large/Small` and each small load in seven
//! places; then rows that begin with the large load in eleven places and end after their last measured cell. IOPS and
//! latencies have no column for the load 0, MBPS no row.

use std::fmt::Write;

use iostone_model::orion::OrionRecord;

use super::Format;
use super::cells::{Cell, Cells, estimates, without_zero};

/// Bytes of a megabyte in MBPS; Oracle does not say which.
pub(super) const MEGABYTE: f64 = 1e6;

/// Small I/Os a second, in whole numbers.
pub fn iops_csv(record: &OrionRecord, format: Format) -> String {
    let comment = "# Small I/Os completed per second (IOPS), reads and writes together.\n";
    let Cells { columns, rows, .. } = Cells::of(record);
    let text = table(record, &without_zero(columns), &rows, |cell| {
        cell.iops.map(|iops| format!("{:>7}", format!("{:.0}", iops.round())))
    });
    commented(record, comment, &text, format)
}

/// Mean latency of the small I/Os, in milliseconds (11.1) or microseconds (12), with two digits.
pub fn lat_csv(record: &OrionRecord, format: Format) -> String {
    let comment = "# Mean latency of the small I/Os in microseconds, reads and writes together.\n";
    let Cells { columns, rows, .. } = Cells::of(record);
    let text = table(record, &without_zero(columns), &rows, |cell| {
        cell.latency.map(|seconds| format!("{:>7.2}", seconds * format.per_second()))
    });
    commented(record, comment, &text, format)
}

/// Throughput of the large I/Os in MBPS, 10^6 bytes a second, with two digits.
pub fn mbps_csv(record: &OrionRecord, format: Format) -> String {
    let comment =
        "# Throughput of the large I/Os in MBPS (10^6 bytes per second), reads and writes together.\n";
    let Cells { columns, rows, .. } = Cells::of(record);
    let text = table(record, &columns, &without_zero(rows), |cell| {
        cell.throughput.map(|bytes| format!("{:>7.2}", bytes / MEGABYTE))
    });
    commented(record, comment, &text, format)
}

/// From 12 on a table says what it holds. Each of these lines names its own figure alone: readers tell a table by them.
fn commented(record: &OrionRecord, comment: &str, table: &str, format: Format) -> String {
    match format {
        Format::V11_1 => table.to_owned(),
        Format::V12 => {
            let estimated = tell_estimates(record).unwrap_or_default();
            format!(
                "{comment}# Columns: outstanding small I/Os. Rows: outstanding large I/Os, or sequential streams.\n\
                 {estimated}{table}"
            )
        }
    }
}

/// How many cells of the matrix hold estimates. Cells themselves bear no mark, which readers would take for a figure.
fn tell_estimates(record: &OrionRecord) -> Option<String> {
    match estimates(record).count() {
        0 => None,
        1 => Some("# 1 cell of the matrix is estimated, not measured; the trace names it.\n".to_owned()),
        more => {
            Some(format!("# {more} cells of the matrix are estimated, not measured; the trace names them.\n"))
        }
    }
}

fn table(
    record: &OrionRecord,
    columns: &[u32],
    rows: &[u32],
    show: impl Fn(Cell) -> Option<String>,
) -> String {
    let cells = Cells::of(record);
    let mut text = "Large/Small".to_owned();
    push_loads(&mut text, columns);
    text.push('\n');
    for row in rows {
        let mut shown: Vec<Option<String>> =
            columns.iter().map(|column| show(cells.at(*column, *row))).collect();
        while shown.last().is_some_and(Option::is_none) {
            shown.pop();
        }
        let _ = write!(text, "{row:>11}");
        for cell in shown {
            // A cell that is not known between others that are keeps its place.
            let _ = write!(text, ",{:>7}", cell.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// `,      0,      1`: each load behind a comma in seven places.
pub(super) fn push_loads(text: &mut String, loads: &[u32]) {
    for load in loads {
        let _ = write!(text, ",{load:>7}");
    }
}
