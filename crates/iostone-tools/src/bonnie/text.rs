//! The tables that bonnie++ and `bon_csv2txt` print for people.
//!
//! Their columns have fixed places, and a phase that was left out leaves its place blank; but large figures push everything
//! after them to the right, and mail programs squeeze blanks. So a row that is full is read word by word, any other one by
//! places counted from the end of the figure before.

use super::record::{Cell, OF_ONE_FILE, Record, latency, size};
use crate::{Malformed, input::Line};

const ONE_FILE: &str = "------Sequential Output------";
const MANY_FILES: &str = "------Sequential Create------";

/// Where the first figure's column begins, and how wide a rate with its CPU share, or a latency, is.
const FIRST_COLUMN: usize = 19;
const FIRST_LATENCY: usize = 17;
const COLUMN: usize = 10;
const CSV2TXT_BLANKS: usize = 3;

/// Whether it is the heading of one of its tables.
pub(super) fn is_heading(line: &str) -> bool {
    line.contains(ONE_FILE) || line.contains(MANY_FILES)
}

/// The tables read so far.
#[derive(Debug, Default)]
pub(super) struct Tables {
    records: Vec<Record>,
    open: Option<Table>,
}

/// A table being read.
#[derive(Debug)]
struct Table {
    of_one_file: bool,
    /// Printed by the program itself, not by `bon_csv2txt`: then rates of 1.98 and later about many files are wrong, and the
    /// concurrency stands among the details of a file.
    by_bonnie: bool,
    version: String,
    concurrency: String,
    name: String,
    /// Blanks before every line of it.
    indent: usize,
    in_rows: bool,
    /// The record of the row read last.
    row: Option<usize>,
}

impl Tables {
    /// Takes one line more.
    ///
    /// # Errors
    /// A row is not as its heading promises.
    pub(super) fn take(&mut self, line: &Line) -> Result<(), Malformed> {
        let text = line.text.as_str();
        if is_heading(text) {
            self.open = Some(self.heading(text));
            return Ok(());
        }
        let Some(mut table) = self.open.take() else { return Ok(()) };
        let shown = text.get(table.indent..).unwrap_or(text);
        if !table.in_rows {
            table.in_rows = text.contains("%CP");
            if let Some(name) = shown.find("-Create--").and_then(|end| shown.get(..end)) {
                name.trim().clone_into(&mut table.name);
            }
            if let Some(rest) = shown.strip_prefix("Concurrency") {
                rest.split_whitespace().next().unwrap_or_default().clone_into(&mut table.concurrency);
            }
            self.open = Some(table);
        } else if let (Some(rest), Some(row)) = (shown.strip_prefix("Latency"), table.row) {
            let read = latencies(rest).ok_or_else(|| line.malformed("six latencies in `us`, `ms` or `s`"))?;
            if let Some(record) = self.records.get_mut(row) {
                let slots = record.latencies.iter_mut().skip(if table.of_one_file { 0 } else { OF_ONE_FILE });
                slots.zip(read).for_each(|(slot, latency)| *slot = latency);
            }
            self.open = Some(table);
        } else if let Some(row) = Row::of(shown, table.of_one_file) {
            table.row = Some(self.place(row, &table, line.number));
            self.open = Some(table);
        } else if table.row.is_none() && !text.trim().is_empty() {
            return Err(line.malformed("a row of bonnie++ with six rates and CPU shares"));
        } else if table.row.is_none() {
            self.open = Some(table);
        }
        Ok(())
    }

    /// Everything that was read.
    ///
    /// # Errors
    /// The last table has no row.
    pub(super) fn finish(self, line: u64) -> Result<Vec<Record>, Malformed> {
        if self.open.is_some_and(|table| table.row.is_none()) {
            return Err(Malformed::at_end(line, "a row of bonnie++ with six rates and CPU shares"));
        }
        Ok(self.records)
    }

    fn heading(&self, text: &str) -> Table {
        let begin = text.find("Version");
        // Both print the version right before the dashes, `bon_csv2txt` with three blanks between, bonnie++ with seven.
        let title = begin.and_then(|begin| text.get(begin..text.find("------")?)).unwrap_or_default();
        let blanks = title.len() - title.trim_end().len();
        let mut version =
            begin.and_then(|begin| text.get(begin..)).unwrap_or_default().split_whitespace().skip(1);
        let of_one_file = text.contains(ONE_FILE);
        let before = self.open.as_ref();
        Table {
            of_one_file,
            by_bonnie: begin.is_some() && blanks != CSV2TXT_BLANKS,
            version: match version.next().filter(|_| begin.is_some()) {
                Some(version) => version.to_owned(),
                None => self.records.last().map(|record| record.version.clone()).unwrap_or_default(),
            },
            concurrency: String::new(),
            name: String::new(),
            indent: begin.or(before.map(|table| table.indent)).unwrap_or_default(),
            in_rows: false,
            row: None,
        }
    }

    /// Puts a row where it belongs: one about many files to the run whose one file stands above it.
    fn place(&mut self, row: Row<'_>, table: &Table, line: u64) -> usize {
        let name = if row.name.is_empty() { table.name.as_str() } else { row.name };
        let of_same_run = |record: &Record| {
            !record.has_files()
                && record.version == table.version
                && (name.starts_with(&record.name) || record.name.starts_with(name))
        };
        let above = if table.of_one_file { None } else { self.records.iter().position(of_same_run) };
        let at = above.unwrap_or(self.records.len());
        if above.is_none() {
            let version = table.version.clone();
            self.records.push(Record { line, version, name: name.to_owned(), ..Record::default() });
        }
        let Some(record) = self.records.get_mut(at) else { return at };
        if name.len() > record.name.len() {
            name.clone_into(&mut record.name);
        }
        let mut details = row.size.split(':').map(str::to_owned);
        if table.of_one_file {
            record.file_size = details.next().unwrap_or_default();
            record.chunk = details.next().unwrap_or_default();
            if table.by_bonnie {
                record.concurrency = details.next().unwrap_or_default();
            }
            record.set_seeks(&details.next().unwrap_or_default(), &details.next().unwrap_or_default());
            if record.concurrency.is_empty() {
                record.concurrency.clone_from(&table.concurrency);
            }
        } else {
            row.size.clone_into(&mut record.files);
        }
        let first = if table.of_one_file { 0 } else { OF_ONE_FILE };
        for (place, (rate, cpu)) in row.cells.into_iter().enumerate() {
            if let Some(slot) = record.rates.get_mut(first + place) {
                *slot = rate;
            }
            if let Some(slot) = record.cpus.get_mut(first + place) {
                *slot = cpu;
            }
        }
        if table.by_bonnie && !table.of_one_file {
            record.drop_wrong_rates();
        }
        at
    }
}

/// A row taken apart.
struct Row<'a> {
    name: &'a str,
    /// Of the file with its details, or how many files.
    size: &'a str,
    cells: Vec<(Cell, Cell)>,
}

impl<'a> Row<'a> {
    fn of(text: &'a str, of_one_file: bool) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (head, pairs) = match words.len().checked_sub(2 * OF_ONE_FILE) {
            Some(before @ 1..=2) => {
                let (head, figures) = words.split_at(before);
                let pairs =
                    figures.chunks(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect();
                (head.to_vec(), pairs)
            }
            _ => (
                text.get(..FIRST_COLUMN)?.split_whitespace().collect(),
                by_places(text.get(FIRST_COLUMN..)?)?,
            ),
        };
        let (size_word, name) = match head.as_slice() {
            [size] => (*size, ""),
            [name, size] => (*size, *name),
            _ => return None,
        };
        let number = size_word.split([':', '/']).next().unwrap_or_default();
        if if of_one_file { size(number).is_none() } else { number.parse::<u64>().is_err() } {
            return None;
        }
        let first = if of_one_file { 0 } else { OF_ONE_FILE };
        let cell = |(place, (rate, cpu)): (usize, &(&str, &str))| {
            let cpu = Cell::cpu(cpu)?;
            // What 1.98 prints for rates of many files may be anything, below zero too.
            // `bon_csv2txt` makes `0k` of a rate that was too fast, but leaves the share.
            let rate = if cpu == Cell::TooFast { "+++++" } else { rate.trim_start_matches('-') };
            Some((Cell::rate(rate, first + place)?, cpu))
        };
        let cells: Vec<_> = pairs.iter().enumerate().map(cell).collect::<Option<_>>()?;
        cells.iter().any(|(rate, _)| *rate != Cell::Absent).then_some(Self { name, size: size_word, cells })
    }
}

/// Six rates with their CPU shares, of which any may be blank.
fn by_places(mut rest: &str) -> Option<Vec<(&str, &str)>> {
    let mut pairs = Vec::new();
    for _ in 0..OF_ONE_FILE {
        if let Some(after) = blank(rest) {
            pairs.push(("", ""));
            rest = after;
        } else {
            let (rate, after) = word(rest)?;
            let (cpu, after) = word(after)?;
            pairs.push((rate, cpu));
            rest = after;
        }
    }
    rest.trim().is_empty().then_some(pairs)
}

fn latencies(after_title: &str) -> Option<Vec<Option<iostone_model::dataset::Figure>>> {
    let words: Vec<&str> = after_title.split_whitespace().collect();
    if words.len() == OF_ONE_FILE {
        return words.into_iter().map(latency).collect();
    }
    let mut rest = after_title.get(FIRST_LATENCY - "Latency".len()..).unwrap_or_default();
    let mut read = Vec::new();
    for _ in 0..OF_ONE_FILE {
        if let Some(after) = blank(rest) {
            read.push(None);
            rest = after;
        } else {
            let (text, after) = word(rest)?;
            read.push(latency(text)?);
            rest = after;
        }
    }
    rest.trim().is_empty().then_some(read)
}

/// What follows a blank column; None if something stands in it.
fn blank(rest: &str) -> Option<&str> {
    match rest.get(..COLUMN) {
        Some(column) if column.trim().is_empty() => rest.get(COLUMN..),
        None if rest.trim().is_empty() => Some(""),
        _ => None,
    }
}

fn word(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.trim_start();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    (end > 0).then(|| rest.split_at(end))
}
