//! A described dataset: a TOML file that says what the columns of its tables mean, and what bounds the figures.

mod bounds;
mod columns;
mod entry;
mod known;
mod tables;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use iostone_model::dataset::{CIRCUMSTANCES, Dataset, Order, SourceFile};
use iostone_model::metric::Direction;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::Malformed;
use crate::csv_table::LARGEST_BYTES;
use crate::import::{add_circumstances, hexadecimal, open_regular};
use entry::Entry;

pub use known::Known;

/// What a described dataset holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Described {
    /// Its figures and what is known of them.
    pub dataset: Dataset,
    /// What its author wanted to know.
    pub question: Option<String>,
    /// The answer in its author's words.
    pub conclusion: Option<String>,
    /// Who published it, and when.
    pub source: Option<String>,
    /// What its author compared.
    pub comparisons: Vec<Comparison>,
    /// Facts that are known from elsewhere, with where from.
    pub known: Vec<Known>,
}

/// What an author compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The figure.
    pub metric: String,
    /// Which way it is better.
    pub better: Direction,
    /// The label whose levels were compared.
    pub by: String,
    /// The level that the others were held against.
    pub baseline: String,
    /// Labels within each of whose values the levels are compared.
    pub within: Vec<String>,
    /// The label whose values stand for blocks: figures of one value belong together.
    pub block: Option<String>,
    /// Differences within it do not matter, as a share of 1; where the author named none, none.
    pub margin: Option<f64>,
    /// The table, where only one is meant.
    pub table: Option<String>,
    /// What the author concluded from it, in the author's words.
    pub claim: Option<String>,
}

/// What is wrong with a described dataset. Messages begin with the file and the line.
#[derive(Debug, thiserror::Error)]
pub enum DescribedError {
    /// It cannot be opened.
    #[error("`{file}`: {reason}")]
    Open {
        /// The file.
        file: String,
        /// The system's reason, or that it is no file.
        reason: String,
    },
    /// It is no TOML.
    #[error("`{file}`, line {line}: this is not TOML: {reason}")]
    Syntax {
        /// The file.
        file: String,
        /// Where, from 1.
        line: u64,
        /// The parser's reason.
        reason: String,
    },
    /// A key that means nothing.
    #[error("`{file}`, line {line}: unknown key `{key}`; {hint}")]
    UnknownKey {
        /// The file.
        file: String,
        /// Where, from 1.
        line: u64,
        /// The key with its path.
        key: String,
        /// The one that was meant, or all there are.
        hint: String,
    },
    /// A key that must be there.
    #[error("`{file}`, line {line}: `{key}` is missing; expected {expected}")]
    Missing {
        /// The file.
        file: String,
        /// Where it should stand, from 1.
        line: u64,
        /// The key with its path.
        key: String,
        /// What it should be.
        expected: String,
    },
    /// A value that cannot be what it is there for.
    #[error("`{file}`, line {line}: `{key}`: expected {expected}, found {found}")]
    Value {
        /// The file.
        file: String,
        /// Where, from 1.
        line: u64,
        /// The key with its path.
        key: String,
        /// What it should be.
        expected: String,
        /// What it is, in backticks where it is text.
        found: String,
    },
    /// A table that cannot be read.
    #[error("`{file}`, {malformed}")]
    Table {
        /// The table's file.
        file: String,
        /// The line, what was expected and what was found.
        malformed: Malformed,
    },
}

const KEYS: &[&str] = &[
    "name",
    "question",
    "conclusion",
    "source",
    "order",
    "factors",
    "labels",
    "facts",
    "metrics",
    "table",
    "facts_for",
    "ceiling",
    "prediction",
    "observation",
    "comparison",
];

/// Reads a described dataset whose tables lie beside it, in its folder or below.
///
/// # Errors
/// The first thing wrong with it or with one of its tables.
pub fn open_described(path: &Path) -> Result<Described, DescribedError> {
    let shown = path.display().to_string();
    let failed = |reason: String| DescribedError::Open { file: shown.clone(), reason };
    let bytes = read_bytes(path).map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text, as TOML is".to_owned()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
    read_described(&text, &name, &|file| read_bytes(&inside(folder, file)?))
}

/// The true path of a table's file. A symbolic link may lead out of the folder, where a dataset that was downloaded has
/// nothing to read.
fn inside(folder: &Path, file: &str) -> io::Result<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let path = folder.join(file).canonicalize()?;
    if path.starts_with(folder.canonicalize()?) {
        Ok(path)
    } else {
        Err(io::Error::other("it is a symbolic link out of the folder of the description"))
    }
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path).map_err(io::Error::other)?.take(LARGEST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_BYTES {
        return Err(io::Error::other("it is larger than 64 MiB"));
    }
    Ok(bytes)
}

/// Reads a described dataset from its text. `name` is its file's name, for messages and as the source of inline rows;
/// `open` gives the content of a table's file, of which only names without `..` that do not begin at the root are asked
/// for.
///
/// # Errors
/// The first thing wrong with it or with one of its tables.
pub fn read_described(
    text: &str,
    name: &str,
    open: &dyn Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Described, DescribedError> {
    let document = entry::Document::parse(text, name)?;
    let root = document.root();
    root.check_keys(KEYS)?;
    let words = |key: &str| root.get(key).map(|entry| entry.text()).transpose();
    let stem = name.rsplit('/').next().unwrap_or(name);
    let stem = stem.strip_suffix(".toml").unwrap_or(stem);
    let mut dataset = Dataset::new(words("name")?.unwrap_or_else(|| stem.to_owned()));
    dataset.files.push(source_file(name, "described", text.as_bytes()));

    let base = tables::Base {
        labels: root.get("labels").map(|entry| entry.words()).transpose()?.unwrap_or_default(),
        facts: root.get("facts").map(|entry| known::assignments(&entry)).transpose()?.unwrap_or_default(),
        facts_for: root.sections("facts_for")?.iter().map(known::facts_for).collect::<Result<_, _>>()?,
    };
    for section in root.sections("table")? {
        tables::read_table(&section, &base, &mut dataset, open)?;
    }
    for section in root.sections("observation")? {
        tables::read_observation(&section, &base, &mut dataset)?;
    }
    if dataset.observations.is_empty() {
        return Err(root.missing("table", "`[[table]]` with a `file` or `rows`, or `[[observation]]`"));
    }
    if let Some(entry) = root.get("metrics") {
        bounds::note_metrics(&entry, &mut dataset)?;
    }
    for facts_for in &base.facts_for {
        facts_for.check(&dataset)?;
    }
    dataset.order = root.get("order").map(|entry| order(&entry, &dataset)).transpose()?.unwrap_or_default();
    dataset.factors = match root.get("factors") {
        Some(entry) => factors(&entry, &dataset)?,
        None => varied(&dataset),
    };
    for section in root.sections("ceiling")? {
        let ceiling = bounds::ceiling(&section, &dataset)?;
        dataset.ceilings.push(ceiling);
    }
    for section in root.sections("prediction")? {
        let prediction = bounds::prediction(&section, &dataset)?;
        dataset.predictions.push(prediction);
    }
    let comparisons = root
        .sections("comparison")?
        .iter()
        .map(|section| bounds::comparison(section, &dataset))
        .collect::<Result<_, _>>()?;
    Ok(Described {
        question: words("question")?,
        conclusion: words("conclusion")?,
        source: words("source")?,
        comparisons,
        known: base.facts_for.iter().map(known::FactsFor::known).collect(),
        dataset,
    })
}

fn source_file(name: &str, tool: &str, bytes: &[u8]) -> SourceFile {
    SourceFile {
        name: name.to_owned(),
        tool: tool.to_owned(),
        bytes: bytes.len() as u64,
        sha256: hexadecimal(&Sha256::digest(bytes)),
    }
}

fn order(entry: &Entry<'_>, dataset: &Dataset) -> Result<Order, DescribedError> {
    match entry.text()?.as_str() {
        "unknown" => Ok(Order::Unknown),
        "as-listed" => Ok(Order::AsListed),
        "randomised-blocks" if dataset.observations.iter().all(|observation| observation.block.is_some()) => {
            Ok(Order::RandomisedBlocks)
        }
        "randomised-blocks" => Err(entry.unexpected(
            "`randomised-blocks` only where every observation has a block: a column that is `\"block\"`",
        )),
        _ => Err(entry.unexpected("`unknown`, `as-listed` or `randomised-blocks`")),
    }
}

fn factors(entry: &Entry<'_>, dataset: &Dataset) -> Result<Vec<String>, DescribedError> {
    let factors = entry.texts()?;
    for factor in &factors {
        known::check_label(entry, dataset, factor)?;
    }
    Ok(factors)
}

/// Where nobody says what was varied: the labels that have several values and are no circumstances, and circumstances
/// that differ within a condition.
fn varied(dataset: &Dataset) -> Vec<String> {
    let mut labels: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut varied: Vec<String> = Vec::new();
    for (label, value) in dataset.observations.iter().flat_map(|observation| &observation.labels) {
        let first = *labels.entry(label).or_insert(Some(value));
        if first != Some(value) && !CIRCUMSTANCES.contains(&label.as_str()) && !varied.contains(label) {
            varied.push(label.clone());
        }
    }
    add_circumstances(&dataset.observations, &mut varied);
    varied
}

/// The path of a table's file, which must stay in the folder of the TOML file: a dataset that was downloaded must not
/// read what is not its own.
fn own_path(entry: &Entry<'_>) -> Result<String, DescribedError> {
    let text = entry.text()?;
    let own =
        !text.is_empty() && Path::new(&text).components().all(|part| matches!(part, Component::Normal(_)));
    if own && !text.contains('\\') {
        Ok(text)
    } else {
        Err(entry.unexpected("the name of a file in the folder of this one or below, without `..`"))
    }
}

#[cfg(test)]
mod tests;
