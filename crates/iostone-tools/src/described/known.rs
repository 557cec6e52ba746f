//! Facts of a described dataset: of everything, of a table, or of whatever has certain labels.

use std::collections::BTreeMap;

use iostone_model::dataset::{Aggregate, Averaged, Dataset, Ending, Facts, Observation};
use iostone_model::diagnostic::nearest;
use iostone_model::figures::list;
use serde::Serialize;

use super::DescribedError;
use super::entry::{Entry, Section};
use crate::csv_table::{KEYS, set_fact};

/// Facts that are known from elsewhere than the figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    /// The labels of the observations they are of.
    pub applies: BTreeMap<String, String>,
    /// The names of the facts, as in [`Facts`].
    pub facts: Vec<String>,
    /// Where they are known from.
    pub source: Option<String>,
}

/// A fact and its value.
pub(super) enum Assignment {
    Word(String, String),
    Averaged(Averaged),
    Ending(Ending),
    TooFast(Vec<String>),
    Remarks(Vec<String>),
}

/// What is known of whatever has certain labels.
pub(super) struct FactsFor<'a> {
    entry: Entry<'a>,
    applies: BTreeMap<String, String>,
    assignments: Vec<Assignment>,
    source: Option<String>,
}

impl Assignment {
    /// Its value was checked when it was read.
    pub(super) fn apply(&self, facts: &mut Facts) {
        match self {
            Self::Word(key, text) => drop(set_fact(facts, key, text)),
            Self::Averaged(averaged) => facts.averaged = Some(*averaged),
            Self::Ending(ending) => facts.ending = Some(ending.clone()),
            Self::TooFast(figures) => facts.too_fast.clone_from(figures),
            Self::Remarks(remarks) => facts.remarks.clone_from(remarks),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Word(key, _) => key,
            Self::Averaged(_) => "averaged",
            Self::Ending(_) => "ending",
            Self::TooFast(_) => "too_fast",
            Self::Remarks(_) => "remarks",
        }
    }
}

/// Reads a table of facts.
pub(super) fn assignments(entry: &Entry<'_>) -> Result<Vec<Assignment>, DescribedError> {
    facts_beside(&entry.section()?, &[])
}

/// Reads the facts of a table in which other keys stand as well.
fn facts_beside(section: &Section<'_>, others: &[&str]) -> Result<Vec<Assignment>, DescribedError> {
    let known: Vec<&str> = others
        .iter()
        .copied()
        .chain(KEYS.iter().copied().filter(|key| !others.contains(key)))
        .chain(["averaged", "too_fast", "remarks"])
        .collect();
    section.check_keys(&known)?;
    section
        .entries()
        .filter(|(key, _)| !others.contains(key))
        .map(|(key, entry)| assignment(key, &entry))
        .collect()
}

fn assignment(key: &str, entry: &Entry<'_>) -> Result<Assignment, DescribedError> {
    match key {
        "averaged" => averaged(entry),
        "too_fast" => entry.texts().map(Assignment::TooFast),
        "remarks" => entry.texts().map(Assignment::Remarks),
        "ending" if entry.is_table() => ending(entry),
        key => {
            let text = entry.word()?;
            set_fact(&mut Facts::default(), key, &text).map_err(|expected| entry.unexpected(expected))?;
            Ok(Assignment::Word(key.to_owned(), text))
        }
    }
}

/// `{ how = "given-up", why = "after two weeks" }`.
fn ending(entry: &Entry<'_>) -> Result<Assignment, DescribedError> {
    let section = entry.section()?;
    section.check_keys(&["how", "why"])?;
    let how = section.required("how", "`completed`, `disk-full`, `given-up` or `failed`")?;
    let why = section.text("why")?;
    match (how.text()?.as_str(), why) {
        ("completed", None) => Ok(Assignment::Ending(Ending::Completed)),
        ("disk-full", None) => Ok(Assignment::Ending(Ending::DiskFull)),
        ("given-up", why) => Ok(Assignment::Ending(Ending::GivenUp(why.unwrap_or_default()))),
        ("failed", why) => Ok(Assignment::Ending(Ending::Failed(why.unwrap_or_default()))),
        _ => {
            Err(how
                .unexpected("`given-up` or `failed`, with `why`, or `completed` or `disk-full` without it"))
        }
    }
}

/// `{ executions = 5, by = "mean", spread_known = false }`.
pub(super) fn averaged(entry: &Entry<'_>) -> Result<Assignment, DescribedError> {
    let section = entry.section()?;
    section.check_keys(&["executions", "by", "spread_known"])?;
    let executions = |entry: Entry<'_>| {
        let count = entry.word()?.parse::<u32>().ok().filter(|count| *count > 0);
        count.ok_or_else(|| entry.unexpected("how many executions it is the average of"))
    };
    let by = |entry: Entry<'_>| match entry.text()?.as_str() {
        "mean" => Ok(Aggregate::Mean),
        "median" => Ok(Aggregate::Median),
        "best" => Ok(Aggregate::Best),
        "unknown" => Ok(Aggregate::Unknown),
        _ => Err(entry.unexpected("`mean`, `median`, `best` or `unknown`")),
    };
    Ok(Assignment::Averaged(Averaged {
        executions: section.get("executions").map(executions).transpose()?,
        by: section.get("by").map(by).transpose()?.unwrap_or(Aggregate::Unknown),
        spread_known: section.get("spread_known").map(|entry| entry.truth()).transpose()?.unwrap_or(false),
    }))
}

/// Reads one of `[[facts_for]]`: the facts stand beside `where`, and `source` is where they are known from, not where
/// data came from.
pub(super) fn facts_for<'a>(section: &Section<'a>) -> Result<FactsFor<'a>, DescribedError> {
    let entry = section.required("where", "the labels it is about, as in `{ instance = \"m1.large\" }`")?;
    let assignments = facts_beside(section, &["where", "source"])?;
    if assignments.is_empty() {
        return Err(section.missing("memory_bytes", "at least one fact beside `where`"));
    }
    Ok(FactsFor { applies: entry.words()?, entry, assignments, source: section.text("source")? })
}

impl FactsFor<'_> {
    /// Whether it is of an observation of these labels.
    pub(super) fn is_of(&self, labels: &BTreeMap<String, String>) -> bool {
        self.applies.iter().all(|(label, value)| labels.get(label) == Some(value))
    }

    pub(super) fn apply(&self, facts: &mut Facts) {
        for assignment in &self.assignments {
            assignment.apply(facts);
        }
    }

    pub(super) fn check(&self, dataset: &Dataset) -> Result<(), DescribedError> {
        check_where(&self.entry, dataset, &self.applies)
    }

    pub(super) fn known(&self) -> Known {
        Known {
            applies: self.applies.clone(),
            facts: self.assignments.iter().map(|assignment| assignment.name().to_owned()).collect(),
            source: self.source.clone(),
        }
    }
}

/// Refuses a label that no observation has.
pub(super) fn check_label(entry: &Entry<'_>, dataset: &Dataset, label: &str) -> Result<(), DescribedError> {
    if !dataset.values_of(label).is_empty() {
        return Ok(());
    }
    let labels: Vec<&str> = dataset.label_names().into_iter().collect();
    Err(entry.wrong(&one_of("a label", label, &labels), format!("`{label}`")))
}

/// Refuses a value that a label never has.
pub(super) fn check_value(
    entry: &Entry<'_>,
    dataset: &Dataset,
    label: &str,
    value: &str,
) -> Result<(), DescribedError> {
    check_label(entry, dataset, label)?;
    let values = dataset.values_of(label);
    if values.contains(&value) {
        return Ok(());
    }
    Err(entry.wrong(&one_of(&format!("a value of `{label}`"), value, &values), format!("`{value}`")))
}

/// Refuses conditions that no observation meets: a slip in one of them would silently take them out of effect.
pub(super) fn check_where(
    entry: &Entry<'_>,
    dataset: &Dataset,
    applies: &BTreeMap<String, String>,
) -> Result<(), DescribedError> {
    for (label, value) in applies {
        check_value(entry, dataset, label, value)?;
    }
    let met = |observation: &Observation| {
        applies.iter().all(|(label, value)| observation.labels.get(label) == Some(value))
    };
    if dataset.observations.iter().any(met) {
        return Ok(());
    }
    let found: Vec<String> = applies.iter().map(|(label, value)| format!("`{label} = {value}`")).collect();
    Err(entry.wrong("labels that one observation has together", list(&found)))
}

/// `a label: did you mean ...` or `a label: one of ...`.
pub(super) fn one_of(what: &str, word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("{what} (did you mean `{near}`?)"),
        None => format!("{what} (there are `{}`)", known.join("`, `")),
    }
}
