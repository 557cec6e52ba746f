//! What is settled when files become one dataset: names, labels, notes, order and factors.

use std::collections::BTreeMap;
use std::path::Path;

use iostone_model::dataset::{Dataset, MetricNote, Observation, Order};
use iostone_model::diagnostic::nearest;
use iostone_model::metric;

use super::{ImportError, KeptFile};
use crate::by::Named;
use crate::csv_table::{note as plain_note, note_of};

/// A factor that was asked for and that nothing has a label of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no observation has a label `{name}`; {hint}")]
pub struct UnknownFactor {
    /// The name that was asked for.
    pub name: String,
    hint: String,
}

/// A file's own name, with a number before its ending where an earlier file has the same.
pub(super) fn free_name(path: &Path, kept: &[KeptFile]) -> String {
    let lossy = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let own = lossy(path.file_name()).unwrap_or_default();
    let stem = lossy(path.file_stem()).unwrap_or_default();
    let ending = lossy(path.extension()).map_or_else(String::new, |ending| format!(".{ending}"));
    let taken = |name: &str| kept.iter().any(|file| file.name == name);
    let mut name = own;
    let mut number = 2;
    while taken(&name) {
        name = format!("{stem}-{number}{ending}");
        number += 1;
    }
    name
}

/// Refuses a file whose name gives a label that its content gives with another value.
pub(super) fn check_labels(observations: &[Observation], named: &Named) -> Result<(), ImportError> {
    for observation in observations {
        for (label, value) in &named.labels {
            if let Some(found) = observation.labels.get(label).filter(|found| *found != value) {
                return Err(ImportError::Label {
                    place: observation
                        .line
                        .map_or_else(|| "its content".to_owned(), |line| format!("its line {line}")),
                    label: label.clone(),
                    named: value.clone(),
                    found: found.clone(),
                });
            }
        }
    }
    Ok(())
}

/// Puts what a file's name says into its observations.
pub(super) fn place(observations: Vec<Observation>, named: &Named, file: &str) -> Vec<Observation> {
    let placed = observations.into_iter().map(|mut observation| {
        file.clone_into(&mut observation.file);
        observation.labels.extend(named.labels.clone());
        // A log of several runs is itself the third of its condition: 3.1, 3.2.
        observation.run = match (&named.run, observation.run.take()) {
            (Some(outer), Some(inner)) => Some(format!("{outer}.{inner}")),
            (outer, inner) => inner.or_else(|| outer.clone()),
        };
        observation.block = named.block.or(observation.block);
        observation.order = named.order.or(observation.order);
        observation
    });
    placed.collect()
}

/// What is noted of a figure: by the file, or else by the table of known ones.
pub(super) fn note(name: &str, noted: &BTreeMap<String, MetricNote>) -> MetricNote {
    let known = || metric::find(name).map(note_of);
    let unknown = || plain_note(metric::Unit::Plain, name);
    noted.get(name).cloned().or_else(known).unwrap_or_else(unknown)
}

/// What is known of the order. Of several files nobody knows which was made first.
pub(super) fn order(observations: &[Observation], orders: &[Order]) -> Order {
    if !observations.is_empty() && observations.iter().all(|observation| observation.block.is_some()) {
        return Order::RandomisedBlocks;
    }
    match orders {
        // Only blocks make blocks.
        [Order::AsListed] => Order::AsListed,
        _ => Order::Unknown,
    }
}

/// Of the labels that names and files tell of, those that have several values.
pub(super) fn factors(dataset: &Dataset, found: Vec<String>) -> Vec<String> {
    let mut factors: Vec<String> = Vec::new();
    for name in found.into_iter().filter(|name| dataset.values_of(name).len() > 1) {
        if !factors.contains(&name) {
            factors.push(name);
        }
    }
    factors
}

/// Adds labels that somebody says were varied on purpose to a dataset's factors.
///
/// # Errors
/// The first that no observation has.
pub fn add_factors(dataset: &mut Dataset, asked: &[String]) -> Result<(), UnknownFactor> {
    for name in asked {
        if dataset.values_of(name).is_empty() {
            return Err(UnknownFactor { name: name.clone(), hint: hint(dataset, name) });
        }
        if !dataset.factors.contains(name) {
            dataset.factors.push(name.clone());
        }
    }
    Ok(())
}

fn hint(dataset: &Dataset, name: &str) -> String {
    let labels: Vec<&str> = dataset.label_names().into_iter().collect();
    match nearest(name, labels.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if labels.is_empty() => {
            "there is no label at all; `--by` takes them from the files' names".to_owned()
        }
        None => format!("there are `{}`", labels.join("`, `")),
    }
}
