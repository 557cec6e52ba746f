//! The observations of a described dataset: rows of its tables, and those that stand in the file itself.

use std::collections::BTreeMap;
use std::io;

use iostone_model::dataset::{Dataset, Facts, MetricNote, Observation};
use iostone_model::metric::{self, Unit};

use super::columns::describe;
use super::entry::{Entry, Section};
use super::known::{Assignment, FactsFor, assignments, averaged};
use super::{DescribedError, own_path, source_file};
use crate::Malformed;
use crate::csv_table::{Sheet, Start, note, note_of, notes, observe, written};
use crate::import::words;

/// What holds for every observation.
pub(super) struct Base<'a> {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) facts: Vec<Assignment>,
    pub(super) facts_for: Vec<FactsFor<'a>>,
}

impl Base<'_> {
    /// The facts of an observation of these labels: those of everything, of its table, and of its labels.
    fn facts(&self, table: &[Assignment], labels: &BTreeMap<String, String>) -> Facts {
        let mut facts = Facts::default();
        for assignment in self.facts.iter().chain(table) {
            assignment.apply(&mut facts);
        }
        for facts_for in self.facts_for.iter().filter(|facts_for| facts_for.is_of(labels)) {
            facts_for.apply(&mut facts);
        }
        facts
    }

    fn labels(&self, section: &Section<'_>) -> Result<BTreeMap<String, String>, DescribedError> {
        let own = section.get("labels").map(|entry| entry.words()).transpose()?.unwrap_or_default();
        Ok(self.labels.clone().into_iter().chain(own).collect())
    }
}

fn own_facts(section: &Section<'_>) -> Result<Vec<Assignment>, DescribedError> {
    Ok(section.get("facts").map(|entry| assignments(&entry)).transpose()?.unwrap_or_default())
}

/// Reads one of `[[table]]`.
pub(super) fn read_table(
    section: &Section<'_>,
    base: &Base<'_>,
    dataset: &mut Dataset,
    open: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<(), DescribedError> {
    section.check_keys(&["name", "file", "rows", "tool", "labels", "facts", "averaged", "columns"])?;
    let content = match (section.get("file"), section.get("rows")) {
        (Some(file), None) => Content::of_file(&file, dataset, open)?,
        (None, Some(rows)) => Content {
            file: section.file().to_owned(),
            bytes: rows.text()?.into_bytes(),
            lines: if rows.has_lines() { Lines::From(rows.first_line()) } else { Lines::All(rows.line()) },
        },
        (None, None) => {
            return Err(section.missing("file", "the name of a CSV file, or `rows` with its text"));
        }
        (Some(_), Some(rows)) => return Err(rows.wrong("either `file` or `rows`", "both".to_owned())),
    };
    let in_table = |mut malformed: Malformed| {
        malformed.line = content.lines.of(malformed.line);
        DescribedError::Table { file: content.file.clone(), malformed }
    };
    let sheet = Sheet::read(&content.bytes).map_err(in_table)?;
    let columns = describe(section, &sheet)?;
    let mut own = own_facts(section)?;
    own.extend(section.get("averaged").map(|entry| averaged(&entry)).transpose()?);
    let facts = |labels: &BTreeMap<String, String>| base.facts(&own, labels);
    let start = Start { labels: base.labels(section)?, facts: &facts };
    let twice =
        columns.iter().find(|column| column.label().is_some_and(|label| start.labels.contains_key(label)));
    if let Some((column, label)) = twice.and_then(|column| Some((column, column.label()?))) {
        let key = ["columns", "labels", "rows", "file"].iter().find_map(|key| section.get(key));
        let expected = format!("the label `{label}` either in `labels` or in a column");
        let found = format!("both: `labels` and column `{}`", column.name);
        return Err(
            key.map_or_else(|| section.missing("columns", &expected), |key| key.wrong(&expected, found))
        );
    }
    let observations = observe(&sheet, &columns, &start).map_err(in_table)?;
    for (metric, note) in notes(&columns) {
        add_note(dataset, &metric, note).map_err(|(expected, found)| {
            let key = section.get("columns").or_else(|| section.get("file")).or_else(|| section.get("rows"));
            key.map_or_else(|| section.missing("columns", &expected), |entry| entry.wrong(&expected, found))
        })?;
    }
    let name = section.text("name")?.unwrap_or_default();
    let tool = section.text("tool")?.unwrap_or_default();
    dataset.observations.extend(observations.into_iter().map(|mut observation| {
        name.clone_into(&mut observation.table);
        content.file.clone_into(&mut observation.file);
        if observation.tool.is_empty() {
            tool.clone_into(&mut observation.tool);
        }
        observation.line = observation.line.map(|line| content.lines.of(line));
        observation
    }));
    Ok(())
}

/// The text of a table.
struct Content {
    file: String,
    bytes: Vec<u8>,
    lines: Lines,
}

/// Where the lines of a table stand in its file.
#[derive(Clone, Copy)]
enum Lines {
    /// The first of them there, the others below.
    From(u64),
    /// All in one, with `\n` between them.
    All(u64),
}

impl Lines {
    fn of(self, line: u64) -> u64 {
        match self {
            Self::From(first) => first + line.saturating_sub(1),
            Self::All(only) => only,
        }
    }
}

impl Content {
    fn of_file(
        entry: &Entry<'_>,
        dataset: &mut Dataset,
        open: &dyn Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<Self, DescribedError> {
        let file = own_path(entry)?;
        if file == entry.file() {
            return Err(entry.wrong("a CSV file beside this one", format!("`{file}`, this file itself")));
        }
        let bytes = open(&file)
            .map_err(|error| entry.wrong("a CSV file beside this one", format!("`{file}`: {error}")))?;
        if dataset.files.iter().all(|known| known.name != file) {
            dataset.files.push(source_file(&file, "csv", &bytes));
        }
        Ok(Self { file, bytes, lines: Lines::From(1) })
    }
}

/// Notes a figure; one name is counted in one unit.
fn add_note(dataset: &mut Dataset, metric: &str, note: MetricNote) -> Result<(), (String, String)> {
    match dataset.metrics.get(metric) {
        Some(earlier) if earlier.unit != note.unit => Err((
            format!("`{metric}` in {}, as above", words(earlier.unit)),
            format!("the same name for a figure in {}", words(note.unit)),
        )),
        Some(_) => Ok(()),
        None => {
            dataset.metrics.insert(metric.to_owned(), note);
            Ok(())
        }
    }
}

/// Reads one of `[[observation]]`.
pub(super) fn read_observation(
    section: &Section<'_>,
    base: &Base<'_>,
    dataset: &mut Dataset,
) -> Result<(), DescribedError> {
    section.check_keys(&["table", "tool", "labels", "figures", "facts", "run", "block", "order"])?;
    let labels = base.labels(section)?;
    let mut facts = base.facts(&[], &labels);
    for assignment in own_facts(section)? {
        assignment.apply(&mut facts);
    }
    let mut figures = BTreeMap::new();
    if let Some(entry) = section.get("figures") {
        for (name, entry) in entry.section()?.entries() {
            let (figure, unit) = written(&entry.word()?)
                .ok_or_else(|| entry.unexpected("a figure, as in `61.7MB/s`, `3763.15s` or `12.5`"))?;
            let noted = match metric::find(name) {
                Some(known) if known.unit != unit => {
                    return Err(entry.unexpected(&format!("a number of {} with its unit", words(known.unit))));
                }
                Some(known) => note_of(known),
                None => note(unit, name),
            };
            add_note(dataset, name, noted).map_err(|(expected, found)| entry.wrong(&expected, found))?;
            figures.insert(name.to_owned(), figure);
        }
    }
    if figures.is_empty() && facts.ending.is_none() {
        let expected =
            "at least one, as in `{ throughput = \"61.7MB/s\" }`, or a fact `ending` that says why none";
        return Err(section.missing("figures", expected));
    }
    let number = |key: &str, expected: &str| -> Result<Option<(Entry<'_>, String)>, DescribedError> {
        let Some(entry) = section.get(key) else {
            return Ok(None);
        };
        let word = entry.word()?;
        if word.parse::<f64>().is_ok_and(f64::is_finite) {
            Ok(Some((entry, word)))
        } else {
            Err(entry.unexpected(expected))
        }
    };
    let block = number("block", "a whole number")?
        .map(|(entry, word)| word.parse::<u64>().map_err(|_| entry.unexpected("a whole number")))
        .transpose()?;
    dataset.observations.push(Observation {
        table: section.text("table")?.unwrap_or_default(),
        file: section.file().to_owned(),
        line: Some(section.line()),
        tool: section.text("tool")?.unwrap_or_default(),
        labels,
        run: section.get("run").map(|entry| entry.word()).transpose()?,
        block,
        order: number("order", "a position or seconds")?.and_then(|(_, word)| word.parse().ok()),
        figures,
        facts,
        ..Observation::default()
    });
    Ok(())
}

/// The unit of a figure: as noted in the dataset, or as known by its name.
pub(super) fn unit_of(dataset: &Dataset, metric: &str) -> Option<Unit> {
    let noted = dataset.metrics.get(metric).map(|note| note.unit);
    noted.or_else(|| metric::find(metric).map(|known| known.unit))
}
