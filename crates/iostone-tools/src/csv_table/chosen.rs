//! A plain table of which somebody chooses the columns: what each of them could be, and its rows as observations.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use iostone_model::dataset::{Facts, Figure, MetricNote, Observation};
use iostone_model::metric::Unit;

use super::column::{Column, FigureColumn, Meaning, guess, is_endless, is_missing, note, written_unit};
use super::fill::{Start, notes, observe, observe_each};
use super::measure::{are_counts, written};
use super::named::{NamedFigure, named_figure};
use super::sheet::{LARGEST_BYTES, Sheet};
use super::{is_note, long};
use crate::{Malformed, ReadError, units};

/// The last digit of whole numbers as large as this moves no ratio.
const SMALL_NUMBER: f64 = 1000.0;

/// A table of which the columns are chosen may be as large: its rows need not all be observations at once.
pub const LARGEST_TABLE_BYTES: u64 = 256 << 20;
/// Some 250 bytes of memory each.
const MOST_ROWS: usize = 4_000_000;

/// A plain table, and what its columns are by their names and cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub(super) sheet: Sheet,
    pub(super) columns: Vec<Column>,
}

/// What a column is, where nobody chose.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// Figures.
    Figure(MetricNote),
    /// Something that was set.
    Label,
    /// What people wrote about a row.
    Note,
    /// Which repetition.
    Run,
    /// The block.
    Block,
    /// The order in time.
    Order,
    /// Facts, the tool's name, nothing.
    Other,
}

/// The columns that somebody chose, each by its name in the header.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// The figures.
    pub figure: &'a str,
    /// What was varied.
    pub labels: &'a [String],
    /// The block, a number or a word.
    pub block: Option<&'a str>,
    /// The order of trials.
    pub order: Option<&'a str>,
}

/// Rows as somebody chose to read them, one observation each.
#[derive(Debug)]
pub struct ChosenRows {
    /// Observations; a figure that never ended is infinite here.
    pub observations: Vec<Observation>,
    /// What their figures are.
    pub metrics: BTreeMap<String, MetricNote>,
    /// What the chosen figure is called among them.
    pub metric: String,
    /// The step of its last digit in base units, 0 where it says nothing: of large whole numbers.
    pub step: f64,
    /// How many base units one of the column's is; none where its cells carry their units.
    pub factor: Option<f64>,
}

/// A choice held against the columns.
struct Chosen {
    /// The place of the figures.
    index: usize,
    figure: FigureColumn,
    /// All columns, by what they are now.
    columns: Vec<Column>,
    /// The places of those that were chosen.
    places: BTreeSet<usize>,
}

const START: Start<'_> = Start { labels: BTreeMap::new(), facts: &|_| Facts::default() };

fn ignore_others(columns: &mut [Column], chosen: &BTreeSet<usize>) {
    for (index, column) in columns.iter_mut().enumerate() {
        if !chosen.contains(&index) {
            column.meaning = Meaning::Ignored;
        }
    }
}

impl Table {
    /// Reads a table whose rows all become observations, of a file or of anything else that is open.
    ///
    /// # Errors
    /// The system's, or what is wrong with the table's form and where.
    pub(super) fn read(reader: impl Read) -> Result<Self, ReadError> {
        let mut bytes = Vec::new();
        reader.take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST_BYTES {
            let (expected, found) = ("a table below 64 MiB".to_owned(), "more".to_owned());
            return Err(Malformed { line: 1, expected, found }.into());
        }
        Ok(Self::guessed(Sheet::read(&bytes)?))
    }

    /// Reads a table of which columns are chosen; all of its bytes are there.
    ///
    /// # Errors
    /// What is wrong with its form, and where.
    pub fn of(bytes: &[u8]) -> Result<Self, Malformed> {
        Ok(Self::guessed(Sheet::read_up_to(MOST_ROWS, bytes)?))
    }

    fn guessed(sheet: Sheet) -> Self {
        let columns = guess(&sheet);
        Self { sheet, columns }
    }

    /// Whether `iostone export` wrote it: then a row is a figure, not an observation.
    pub fn is_export(&self) -> bool {
        long::is_export(&self.sheet)
    }

    /// What stands between its cells, in words.
    pub fn separator(&self) -> &'static str {
        self.sheet.separator
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.sheet.rows.len()
    }

    /// The names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The filled cells of a column.
    pub fn cells(&self, name: &str) -> impl Iterator<Item = &str> {
        let index = self.index(name);
        let cells = index.into_iter().flat_map(|index| self.sheet.column(index));
        cells.filter(|cell| !is_missing(cell))
    }

    /// What a column is by its name and cells.
    pub fn role(&self, name: &str) -> Role {
        let Some((index, column)) = self.index(name).and_then(|at| Some((at, self.columns.get(at)?))) else {
            return Role::Other;
        };
        match &column.meaning {
            Meaning::Figure(_) => Role::Figure(self.figure(index, name).note),
            Meaning::Label(_) if is_note(name) => Role::Note,
            Meaning::Label(_) | Meaning::Fact { label: Some(_), .. } => Role::Label,
            Meaning::Run => Role::Run,
            Meaning::Block => Role::Block,
            Meaning::Order => Role::Order,
            Meaning::Fact { .. } | Meaning::Tool | Meaning::Ignored => Role::Other,
        }
    }

    /// The values of a column of figures that are numbers, in base units.
    pub fn values(&self, name: &str) -> Vec<f64> {
        let Some(index) = self.index(name) else { return Vec::new() };
        let column = self.figure(index, name);
        let value = |cell: &str| column.read(cell, self.sheet.comma_is_free).map(|figure| figure.value);
        self.sheet.column(index).filter_map(value).collect()
    }

    /// What a column of figures is called among observations: a known figure keeps its name there.
    pub fn metric(&self, name: &str) -> String {
        self.figure(self.index(name).unwrap_or(usize::MAX), name).metric
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// A column as figures: in the unit of its cells, else in that of its name. A known metric without either keeps its
    /// values as they are.
    fn figure(&self, index: usize, name: &str) -> FigureColumn {
        let NamedFigure { note: named, factor } = named_figure(name);
        let carried = written_unit(&self.sheet, index).filter(|unit| *unit != Unit::Plain);
        let (read, factor) = match carried {
            _ if are_counts(&self.sheet, index) => (named, None),
            None => (named, Some(factor)),
            Some(unit) => {
                let better = named.better.or(note(unit, name).better);
                (MetricNote { unit, better, ..named }, None)
            }
        };
        // A figure that is known under another name keeps that, for what is known of it.
        match self.columns.get(index).map(|column| &column.meaning) {
            Some(Meaning::Figure(known)) if known.factor == factor && known.note.unit == read.unit => {
                let better = known.note.better.or(read.better);
                FigureColumn { note: MetricNote { better, ..known.note.clone() }, ..known.clone() }
            }
            _ => FigureColumn { metric: name.to_owned(), note: read, factor, remark: None },
        }
    }

    /// Reads every row, its columns as chosen; others are read as well where all of their cells can be.
    ///
    /// # Errors
    /// The first cell of a chosen column that is not what it should be.
    pub fn observe(&self, choice: &Choice<'_>) -> Result<ChosenRows, Malformed> {
        let Chosen { index, figure, mut columns, places } = self.choose(choice);
        let mut observations = observe(&self.sheet, &columns, &START).or_else(|_| {
            ignore_others(&mut columns, &places);
            observe(&self.sheet, &columns, &START)
        })?;
        for (row, observation) in self.sheet.rows.iter().zip(&mut observations) {
            if is_endless(row.cell(index)) {
                observation.figures.insert(figure.metric.clone(), Figure::from(f64::INFINITY));
            }
        }
        Ok(self.rows_of(index, figure, &columns, observations))
    }

    /// Reads every row, its columns as chosen and no others, and hands each over: what it gives has no observations.
    ///
    /// # Errors
    /// The first cell of a chosen column that is not what it should be.
    pub fn observe_each(
        &self,
        choice: &Choice<'_>,
        keep: &mut dyn FnMut(Observation),
    ) -> Result<ChosenRows, Malformed> {
        let Chosen { index, figure, mut columns, places } = self.choose(choice);
        ignore_others(&mut columns, &places);
        observe_each(&self.sheet, &columns, &START, &mut |row, mut observation| {
            if is_endless(row.cell(index)) {
                observation.figures.insert(figure.metric.clone(), Figure::from(f64::INFINITY));
            }
            keep(observation);
        })?;
        Ok(self.rows_of(index, figure, &columns, Vec::new()))
    }

    fn rows_of(
        &self,
        index: usize,
        figure: FigureColumn,
        columns: &[Column],
        observations: Vec<Observation>,
    ) -> ChosenRows {
        let step = self.step(index, &figure);
        ChosenRows {
            observations,
            metrics: notes(columns),
            metric: figure.metric,
            step,
            factor: figure.factor,
        }
    }

    /// What the columns are once some are chosen.
    fn choose(&self, choice: &Choice<'_>) -> Chosen {
        let index = self.index(choice.figure).unwrap_or(usize::MAX);
        let figure = self.figure(index, choice.figure);
        let mut columns = self.columns.clone();
        let mut chosen = BTreeSet::new();
        for (index, column) in columns.iter_mut().enumerate() {
            let name = column.name.as_str();
            let meaning = if choice.labels.iter().any(|label| label == name) {
                Meaning::Label(name.to_owned())
            } else if name == choice.figure {
                Meaning::Figure(figure.clone())
            } else if choice.block == Some(name) {
                Meaning::Block
            } else if choice.order == Some(name) {
                Meaning::Order
            } else {
                match &column.meaning {
                    // Nobody chose it, and another has its name.
                    Meaning::Figure(other) if other.metric == figure.metric => {
                        column.meaning = Meaning::Ignored;
                    }
                    Meaning::Block | Meaning::Order => column.meaning = Meaning::Ignored,
                    _ => {}
                }
                continue;
            };
            chosen.insert(index);
            column.meaning = meaning;
            column.remark = None;
        }
        Chosen { index, figure, columns, places: chosen }
    }

    /// The step of the figures' last digit. What carries its unit was rounded for people, to the coarsest of its digits.
    fn step(&self, index: usize, column: &FigureColumn) -> f64 {
        let figures = self.sheet.column(index).filter_map(|cell| column.read(cell, self.sheet.comma_is_free));
        let Some(factor) = column.factor else {
            return figures.map(|figure| figure.step).fold(0.0, f64::max);
        };
        let (mut step, mut small) = (f64::INFINITY, false);
        for figure in figures {
            step = step.min(figure.step);
            small |= figure.value < SMALL_NUMBER * factor;
        }
        // Factors are no powers of two: 0.001 seconds is 1 of a column of milliseconds, give or take the last bit.
        let says = step < 0.999 * factor || (step.is_finite() && small);
        if says { step } else { 0.0 }
    }
}

impl FigureColumn {
    /// The number of a cell; none where there is none.
    pub(super) fn read(&self, cell: &str, comma_is_free: bool) -> Option<Figure> {
        let cell = super::measure::with_point(cell, comma_is_free);
        match self.factor {
            Some(factor) => units::figure(&cell, factor),
            None => written(&cell)
                .filter(|(_, unit)| *unit == self.note.unit)
                .map(|(figure, _)| figure)
                .or_else(|| self.counts().then(|| super::measure::count(&cell)).flatten()),
        }
    }

    /// Whether its numbers may be thousands and millions of something: `44.7k`.
    fn counts(&self) -> bool {
        matches!(self.note.unit, Unit::PerSecond | Unit::Plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, figure: &str) -> ChosenRows {
        let table = Table::of(text.as_bytes()).unwrap();
        let labels = ["level".to_owned()];
        table.observe(&Choice { figure, labels: &labels, block: None, order: None }).unwrap()
    }

    fn values(rows: &ChosenRows) -> Vec<f64> {
        rows.observations.iter().filter_map(|one| one.value(&rows.metric)).collect()
    }

    #[test]
    fn cells_are_read_in_the_unit_that_they_carry() {
        let rows = chosen("level;latency\na;1,5 ms\na;900 us\nb;2 ms\n", "latency");
        assert_eq!(values(&rows), [0.0015, 900.0 * 1e-6, 0.002]);
        assert_eq!(rows.factor, None);
        let rows = chosen("level,iops\na,44.7k\nb,980\nb,\n", "iops");
        assert_eq!(values(&rows), [44_700.0, 980.0]);
        let rows = chosen("level;iops\na;44,7k\nb;9,8k\n", "iops");
        assert_eq!(values(&rows), [44_700.0, 9_800.0]);
        assert!((rows.step - 100.0).abs() < 1e-9);
    }

    #[test]
    fn other_columns_need_not_be_readable() {
        let rows = chosen("level,real_s,iops\na,1,5\na,unknown,6\nb,3,7\n", "iops");
        assert_eq!(values(&rows), [5.0, 6.0, 7.0]);
    }

    #[test]
    fn the_last_digit_of_large_whole_numbers_says_nothing() {
        assert!(chosen("level,iops\na,4366\nb,13846\n", "iops").step.total_cmp(&0.0).is_eq());
        assert!(chosen("level,iops\na,436\nb,13846\n", "iops").step.total_cmp(&1.0).is_eq());
        assert!((chosen("level,t_ms\na,1.25\nb,2.5\n", "t_ms").step - 1e-5).abs() < 1e-12);
        assert!(chosen("level,t_ms\na,1250\nb,2500\n", "t_ms").step.total_cmp(&0.0).is_eq());
    }

    #[test]
    fn what_never_ended_is_infinite() {
        let rows = chosen("level,seconds\na,5\nb,inf\n", "seconds");
        assert_eq!(values(&rows), [5.0, f64::INFINITY]);
    }
}
