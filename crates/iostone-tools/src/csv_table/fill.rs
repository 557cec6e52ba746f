//! Makes observations of the rows of a table whose columns are known.

use std::collections::BTreeMap;

use iostone_model::dataset::{Ending, Facts, Figure, MetricNote, Observation};

use super::clock::{Writing, moment};
use super::column::{Column, FigureColumn, Meaning, is_endless, is_missing};
use super::fact;
use super::measure::with_point;
use super::sheet::{Row, Sheet};
use crate::Malformed;

/// What every observation of a table begins with.
pub(crate) struct Start<'a> {
    /// Its labels, beside those of columns.
    pub(crate) labels: BTreeMap<String, String>,
    /// What is known of an observation of these labels; facts of columns replace it.
    pub(crate) facts: &'a dyn Fn(&BTreeMap<String, String>) -> Facts,
}

/// Makes an observation of every row.
///
/// # Errors
/// The first cell that is not what its column asks for.
pub(crate) fn observe(
    sheet: &Sheet,
    columns: &[Column],
    start: &Start<'_>,
) -> Result<Vec<Observation>, Malformed> {
    let mut observations = Vec::with_capacity(sheet.rows.len());
    observe_each(sheet, columns, start, &mut |_, observation| observations.push(observation))?;
    for column in columns {
        // What is doubtful of a column is said once, where its first figure stands.
        if let Meaning::Figure(FigureColumn { metric, remark: Some(remark), .. }) = &column.meaning
            && let Some(first) = observations.iter_mut().find(|one| one.figures.contains_key(metric))
        {
            first.facts.remarks.push(remark.clone());
        }
        if let (Some(remark), Some(first)) = (&column.remark, observations.first_mut()) {
            first.facts.remarks.push(remark.clone());
        }
    }
    Ok(observations)
}

/// Makes an observation of every row, and hands each over with its row: a long table's never exist at once.
///
/// # Errors
/// The first cell that is not what its column asks for.
pub(super) fn observe_each(
    sheet: &Sheet,
    columns: &[Column],
    start: &Start<'_>,
    keep: &mut dyn FnMut(&Row, Observation),
) -> Result<(), Malformed> {
    one_decimal_sign(sheet, columns)?;
    let mut blocks = Blocks::of(sheet, columns);
    let mut order = None;
    for row in &sheet.rows {
        keep(row, observe_row(sheet, columns, start, row, &mut blocks, &mut order)?);
    }
    Ok(())
}

/// The notes of the figures among the columns.
pub(crate) fn notes(columns: &[Column]) -> BTreeMap<String, MetricNote> {
    let figures = columns.iter().filter_map(|column| match &column.meaning {
        Meaning::Figure(figure) => Some((figure.metric.clone(), figure.note.clone())),
        _ => None,
    });
    figures.collect()
}

fn observe_row(
    sheet: &Sheet,
    columns: &[Column],
    start: &Start<'_>,
    row: &Row,
    blocks: &mut Blocks,
    order: &mut Option<Writing>,
) -> Result<Observation, Malformed> {
    let mut observation =
        Observation { line: Some(row.line), labels: start.labels.clone(), ..Observation::default() };
    let filled = || {
        let cells = columns.iter().zip(row.cells.iter().map(String::as_str));
        cells.filter(|(_, cell)| !cell.is_empty())
    };
    for (column, cell) in filled() {
        if let Some(label) = column.label() {
            observation.labels.insert(label.to_owned(), cell.to_owned());
        }
    }
    observation.facts = (start.facts)(&observation.labels);
    for (column, cell) in filled() {
        match &column.meaning {
            Meaning::Ignored | Meaning::Label(_) => {}
            Meaning::Run => observation.run = Some(cell.to_owned()),
            Meaning::Tool => cell.clone_into(&mut observation.tool),
            Meaning::Block => observation.block = Some(blocks.number(cell)),
            Meaning::Order => {
                let read = moment(&with_point(cell, sheet.comma_is_free));
                let expected = order.map_or("a position or a time", Writing::expected);
                let (value, writing) = read
                    .filter(|(_, writing)| order.is_none_or(|first| first == *writing))
                    .ok_or_else(|| in_column(row, column, expected, cell))?;
                *order = Some(writing);
                observation.order = Some(value);
            }
            Meaning::Fact { .. } | Meaning::Figure(_) if is_missing(cell) => {}
            Meaning::Fact { key, unit, .. } => {
                let text = format!("{}{unit}", with_point(cell, sheet.comma_is_free));
                // A comma in words is no decimal comma.
                let text = if unit.is_empty() && text.parse::<f64>().is_err() { cell } else { &text };
                fact::set(&mut observation.facts, key, text)
                    .map_err(|expected| in_column(row, column, expected, cell))?;
            }
            Meaning::Figure(_) if is_endless(cell) => {
                let why = format!("`{}` is `{cell}`: it never ended", column.name);
                observation.facts.ending = Some(Ending::GivenUp(why));
            }
            Meaning::Figure(figure) => {
                let value = read_figure(sheet, row, column, figure, cell)?;
                observation.figures.insert(figure.metric.clone(), value);
            }
        }
    }
    Ok(observation)
}

fn read_figure(
    sheet: &Sheet,
    row: &Row,
    column: &Column,
    figure: &FigureColumn,
    cell: &str,
) -> Result<Figure, Malformed> {
    let expected = match figure.factor {
        Some(_) => "a number",
        None => "a number with its unit, as in `61.7 MB/s`",
    };
    figure.read(cell, sheet.comma_is_free).ok_or_else(|| in_column(row, column, expected, cell))
}

fn in_column(row: &Row, column: &Column, expected: &str, cell: &str) -> Malformed {
    Malformed::new(row.line, format!("{expected}, in column `{}`", column.name), cell)
}

/// A table that writes `1,5` in one column and `1.500` in another may mean either by the point.
fn one_decimal_sign(sheet: &Sheet, columns: &[Column]) -> Result<(), Malformed> {
    if !sheet.comma_is_free {
        return Ok(());
    }
    let figures: Vec<usize> = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| matches!(column.meaning, Meaning::Figure(_)))
        .map(|(index, _)| index)
        .collect();
    let first = |sign: char| {
        sheet.rows.iter().find_map(|row| {
            let index = figures.iter().find(|index| row.cell(**index).contains(sign))?;
            Some((row, columns.get(*index)?, row.cell(*index)))
        })
    };
    match (first(','), first('.')) {
        (Some((comma, _, _)), Some((row, column, cell))) => {
            let expected = format!("a decimal comma, as on line {}", comma.line);
            Err(in_column(row, column, &expected, cell))
        }
        _ => Ok(()),
    }
}

/// Blocks are numbers in most tables, but may be any words: then they are numbered as they come.
struct Blocks {
    names: Option<BTreeMap<String, u64>>,
}

impl Blocks {
    fn of(sheet: &Sheet, columns: &[Column]) -> Self {
        let index = columns.iter().position(|column| column.meaning == Meaning::Block);
        let numbers = index.is_none_or(|index| {
            sheet.column(index).all(|cell| cell.is_empty() || cell.parse::<u64>().is_ok())
        });
        Self { names: (!numbers).then(BTreeMap::new) }
    }

    fn number(&mut self, cell: &str) -> u64 {
        match &mut self.names {
            None => cell.parse().unwrap_or_default(),
            Some(names) => {
                let next = names.len() as u64 + 1;
                *names.entry(cell.to_owned()).or_insert(next)
            }
        }
    }
}
