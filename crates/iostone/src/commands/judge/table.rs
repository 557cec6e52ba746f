//! A table of figures as CSV: which column is what, and what is wrong with a row.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use iostone_report::clean;
use iostone_stats::judge::Figure;
use iostone_tools::{NamedFigure, named_figure};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::cli::JudgeArguments;

/// A table of figures is read whole; what is larger is a log.
const LARGEST_FILE_BYTES: u64 = 256 << 20;

/// The last digit of whole numbers as large as this moves no ratio.
const SMALL_NUMBER: f64 = 1000.0;

/// The figures of a CSV file.
pub(super) struct Table {
    /// In the base unit of the column.
    pub(super) figures: Vec<Figure>,
    /// What the column of figures is by its name.
    pub(super) column: NamedFigure,
    /// The step of the last digit of the figures, 0 where it says nothing: of large whole numbers.
    pub(super) written_step: f64,
    /// The table as it stands in the file.
    pub(super) bytes: Vec<u8>,
}

impl Table {
    pub(super) fn read(arguments: &JudgeArguments) -> Result<Self> {
        let file = clean(&arguments.file.display().to_string());
        let bytes = read_bytes(&arguments.file, &file)?;
        // Spreadsheets put a byte order mark before the first column's name.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes.as_slice());
        let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text);
        let header = csv.headers().map_err(|error| unreadable(&file, error))?.clone();
        if header.is_empty() {
            bail!("`{file}` is empty; its first line should name the columns");
        }
        let column = |name: &str| {
            header.iter().position(|candidate| candidate == name).ok_or_else(|| {
                let (name, known) = (clean(name), header.iter().map(clean).collect::<Vec<String>>());
                match iostone_model::diagnostic::nearest(&name, known.iter().map(String::as_str)) {
                    Some(near) => anyhow!("`{file}` has no column `{name}`; did you mean `{near}`?"),
                    None => anyhow!("`{file}` has no column `{name}`; it has `{}`", known.join("`, `")),
                }
            })
        };
        let metric = column(&arguments.metric)?;
        let named = named_figure(&arguments.metric);
        let by = column(&arguments.by)?;
        let optional = |name: &Option<String>| name.as_deref().map(column).transpose();
        let block = optional(&arguments.block)?;
        let order = optional(&arguments.order)?;
        let within = optional(&arguments.within)?;

        let mut figures: Vec<Figure> = Vec::new();
        let (mut step, mut small) = (f64::INFINITY, false);
        let mut blocks = Numbering::default();
        let mut clock = Clock::default();
        // The line of each block's figure of each level.
        let mut lines: BTreeMap<(String, String, String), u64> = BTreeMap::new();
        for record in csv.records() {
            let record = record.map_err(|error| unreadable(&file, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |index: usize| record.get(index).unwrap_or_default();
            let number = |index: usize, what: &str| -> Result<f64> {
                let text = cell(index);
                text.parse::<f64>().ok().filter(|value| !value.is_nan()).ok_or_else(|| {
                    anyhow!("`{file}`, line {line}: `{}` in column `{what}` is not a number", clean(text))
                })
            };
            let level = cell(by);
            if level.is_empty() {
                bail!("`{file}`, line {line}: column `{}` is empty", clean(&arguments.by));
            }
            let value = number(metric, &arguments.metric)?;
            if value <= 0.0 {
                bail!(
                    "`{file}`, line {line}: {value} in column `{}` is not above zero, but ratios need that",
                    arguments.metric
                );
            }
            if value.is_finite() {
                step = step.min(iostone_tools::step(cell(metric)));
                small |= value < SMALL_NUMBER;
            }
            let stratum = match (&arguments.within, within) {
                (Some(name), Some(index)) => format!("{name}={}", cell(index)),
                _ => String::new(),
            };
            let block = match block {
                Some(index) if cell(index).is_empty() => {
                    bail!(
                        "`{file}`, line {line}: column `{}` is empty",
                        clean(header.get(index).unwrap_or_default())
                    )
                }
                Some(index) => {
                    let key = (cell(index).to_owned(), stratum.clone(), level.to_owned());
                    if let Some(first) = lines.insert(key, line) {
                        bail!(
                            "`{file}`, line {line}: block `{}` has a second figure of `{}`; the first is on line \
                             {first}",
                            clean(cell(index)),
                            clean(level)
                        );
                    }
                    Some(blocks.number(cell(index)))
                }
                None => None,
            };
            figures.push(Figure {
                level: level.to_owned(),
                stratum,
                value: value * named.factor,
                block,
                order: match (order, &arguments.order) {
                    (Some(index), Some(name)) => Some(clock.read(cell(index)).map_err(|reason| {
                        let (wrong, name) = (clean(cell(index)), clean(name));
                        anyhow!("`{file}`, line {line}: `{wrong}` in column `{name}` {reason}")
                    })?),
                    _ => None,
                },
                ..Figure::default()
            });
        }
        blocks.settle(&mut figures);
        let says = step < 1.0 || (step.is_finite() && small);
        let written_step = if says { step * named.factor } else { 0.0 };
        Ok(Self { figures, column: named, written_step, bytes })
    }
}

/// The table as it stands in the file, or on standard input where `-` is its name.
fn read_bytes(path: &Path, name: &str) -> Result<Vec<u8>> {
    let reader: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(crate::named_file::open(path).with_context(|| format!("reading `{name}`"))?)
    };
    let mut bytes = Vec::new();
    reader
        .take(LARGEST_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading `{name}`"))?;
    if bytes.len() as u64 > LARGEST_FILE_BYTES {
        bail!("`{name}` is larger than 256 MiB; a table of figures is not");
    }
    Ok(bytes)
}

/// What is wrong with the form of a table, in the words of a table.
fn unreadable(file: &str, error: csv::Error) -> anyhow::Error {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => anyhow!(
            "`{file}`, line {line}: {len} cells where the header has {expected_len}; a cell with a comma stands in quotes"
        ),
        csv::ErrorKind::Utf8 { .. } => anyhow!("`{file}`, line {line}: this is not UTF-8 text"),
        _ => anyhow::Error::new(error).context(format!("`{file}`")),
    }
}

/// What a column of orders is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OrderKind {
    Number,
    /// RFC 3339, with an offset: a moment.
    Timestamp,
    /// A date and time without an offset: a moment on a clock that nobody set meanwhile.
    Civil,
}

/// Reads the order of trials: positions, seconds of any clock, or times. A column keeps to what its first row is.
#[derive(Default)]
struct Clock {
    kind: Option<OrderKind>,
}

impl Clock {
    /// A position as it is, a time in seconds; larger is later.
    fn read(&mut self, text: &str) -> Result<f64, &'static str> {
        let number = || text.parse::<f64>().ok().filter(|value| value.is_finite());
        let timestamp = || text.parse::<Timestamp>().ok();
        let civil = || {
            let zoned = text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?;
            Some(zoned.timestamp())
        };
        let seconds = |time: Timestamp| time.as_duration().as_secs_f64();
        let (kind, value) = number()
            .map(|value| (OrderKind::Number, value))
            .or_else(|| timestamp().map(|time| (OrderKind::Timestamp, seconds(time))))
            .or_else(|| civil().map(|time| (OrderKind::Civil, seconds(time))))
            .ok_or("is neither a number nor a time, as in `2026-11-21T19:40:07Z`")?;
        match *self.kind.get_or_insert(kind) {
            first if first == kind => Ok(value),
            OrderKind::Number => Err("is a time, but the column begins with a number"),
            OrderKind::Timestamp => Err("is no time with an offset, but the column begins with one"),
            OrderKind::Civil => Err("is no time without an offset, but the column begins with one"),
        }
    }
}

/// Blocks are numbers in most tables, but may be any words: then they are numbered as they come.
#[derive(Default)]
struct Numbering {
    places: HashMap<String, u64>,
}

impl Numbering {
    /// The place of a block's name among those seen.
    fn number(&mut self, name: &str) -> u64 {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.places.len() as u64;
        self.places.insert(name.to_owned(), place);
        place
    }

    /// Where every name is a whole number, it is the block's number: gaps then mean that something ran in between.
    fn settle(&self, figures: &mut [Figure]) {
        let numbers: Option<HashMap<u64, u64>> =
            self.places.iter().map(|(name, place)| Some((*place, name.parse().ok()?))).collect();
        if let Some(numbers) = numbers {
            for figure in figures {
                figure.block = figure.block.and_then(|place| numbers.get(&place).copied());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_positions_or_times() {
        let read = |first: &str, second: &str| {
            let mut clock = Clock::default();
            Ok::<f64, &str>(-clock.read(first)? + clock.read(second)?)
        };
        assert_eq!(read("0", "1.5"), Ok(1.5));
        assert_eq!(read("2026-11-21T19:40:07Z", "2026-11-21T20:40:07.5+01:00"), Ok(0.5));
        assert_eq!(read("2026-11-21 19:40:07", "2026-11-22T19:40"), Ok(86_393.0));
        assert!(read("1", "2026-11-21T19:40:07Z").unwrap_err().contains("begins with a number"));
        assert!(read("2026-11-21T19:40:07Z", "2026-11-21T19:40:08").unwrap_err().contains("with an offset"));
        assert!(read("2026-11-21T19:40:07", "3").unwrap_err().contains("without an offset"));
        assert!(read("first", "2").unwrap_err().contains("neither a number nor a time"));
        assert!(read("inf", "2").unwrap_err().contains("neither"));
    }
}
