//! Reads plain tables: comma, semicolon or tab between cells, columns known by their names.

mod chosen;
mod clock;
mod column;
mod fact;
mod fill;
mod long;
mod measure;
mod named;
mod repetition;
mod sheet;

use iostone_model::dataset::{Facts, Order};
use iostone_model::metric;

use crate::error::Malformed;
use crate::{Format, Head, Input, Likeness, ReadError, Reading};

pub use chosen::{Choice, ChosenRows, LARGEST_TABLE_BYTES, Role, Table};
pub(crate) use column::{Column, FigureColumn, Meaning, guess, note, note_of, written_unit};
use column::{factors, is_note, without_gaps};
pub(crate) use fact::{KEYS, set as set_fact};
pub(crate) use fill::{Start, notes, observe};
pub(crate) use measure::{Measure, written};
pub(crate) use sheet::{LARGEST_BYTES, Sheet};

/// A plain table.
pub(crate) struct CsvTable;

impl Format for CsvTable {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn title(&self) -> &'static str {
        "plain CSV with a header line, units in the names of its columns"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let table = looks_like_a_table(head.text);
        let named = [".csv", ".tsv"].iter().any(|end| head.name.to_lowercase().ends_with(end));
        if table || (named && sheet::filled_lines(head.text).count() > 1) {
            Likeness::Perhaps
        } else {
            Likeness::No
        }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let Table { sheet, columns } = Table::read(input.reader())?;
        if long::is_export(&sheet) {
            return Ok(long::read(&sheet)?);
        }
        without_gaps(&sheet, &columns)?;
        let start = Start { labels: std::collections::BTreeMap::new(), facts: &|_| Facts::default() };
        let observations = observe(&sheet, &columns, &start)?;
        if observations
            .iter()
            .all(|observation| observation.figures.is_empty() && observation.facts == Facts::default())
        {
            return Err(Malformed {
                line: 1,
                expected:
                    "a column of figures, its name with their unit, as in `throughput_mb_s` or `latency_ms`"
                        .to_owned(),
                found: format!("the columns `{}`", sheet.columns.join("`, `")),
            }
            .into());
        }
        let factors = factors(&sheet, &columns);
        Ok(Reading { observations, metrics: notes(&columns), factors, order: Order::Unknown })
    }
}

/// Whether text is a table under a header: names without a number among them, one with a unit or of a known figure.
pub(crate) fn begins_with_header(text: &str) -> bool {
    let first = text.split_inclusive('\n').take(50).collect::<String>();
    looks_like_a_table(text)
        && Sheet::read(first.as_bytes()).is_ok_and(|sheet| {
            let number = |name: &String| written(name).is_some();
            let telling = |name: &String| Measure::of_name(name).is_some() || metric::find(name).is_some();
            !sheet.columns.iter().any(number) && sheet.columns.iter().any(telling)
        })
}

/// Whether the first lines have something between cells, each as often as the header.
fn looks_like_a_table(text: &str) -> bool {
    let Some(separator) = sheet::separator(text) else {
        return false;
    };
    let complete = text.rfind('\n').and_then(|end| text.get(..=end)).unwrap_or(text);
    let lines: Vec<&str> = sheet::filled_lines(complete).take(20).collect();
    let Some((header, rows)) = lines.split_first() else {
        return false;
    };
    let wanted = sheet::occurrences(header, separator);
    wanted > 0 && !rows.is_empty() && rows.iter().all(|row| sheet::occurrences(row, separator) == wanted)
}
