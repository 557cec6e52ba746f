//! Figures from anywhere: what other tools printed, what an article published, or the trials of a run, in one form.
//!
//! Importing makes datasets, auditing and judging read them. Nothing in them says which tool a rule should expect:
//! what is known of an observation stands in its labels, figures and [`Facts`]; what is not known is absent.

mod facts;
mod quantity;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::metric::{Direction, Unit};
use crate::omitted::is_default;

pub use facts::{Aggregate, Averaged, DISK_FULL, DataKind, Ending, Facts, NO_SPACE};
pub use quantity::{ParseQuantityError, Quantity};

/// The version of [`Dataset`] as JSON.
pub const DATASET_SCHEMA: &str = "iostone/dataset/1";

/// Labels that describe where and on what something ran. A dataset's factor that changes together with one of them is
/// confounded with it.
pub const CIRCUMSTANCES: &[&str] = &[
    "host",
    "hypervisor",
    "kernel",
    "image",
    "os",
    "instance",
    "region",
    "volume",
    "storage",
    "filesystem",
    "container_engine",
    "tool_version",
    "date",
];

/// Figures and what is known of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Dataset {
    /// [`DATASET_SCHEMA`].
    pub schema: String,
    /// What it is called: the run's name, the file's, the article's.
    pub name: String,
    /// The labels that were varied on purpose; every other label is a circumstance.
    pub factors: Vec<String>,
    /// What is known of the order in which the observations were made.
    pub order: Order,
    /// That the experiment itself limited CPU time, by a quota or an emulated allowance, so that throttling and steal were
    /// meant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits_cpu: bool,
    /// That conditions left the race as soon as they were shown to be worse, as levels of a sweep do, so that few runs of
    /// some are meant.
    #[serde(default, skip_serializing_if = "is_default")]
    pub raced: bool,
    /// Runs of each condition that were made first in one random order; 0 where all are in blocks. So many can decide a
    /// comparison that takes six pairs otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub superblock: u32,
    /// The figures there are, by name.
    pub metrics: BTreeMap<String, MetricNote>,
    /// Everything observed, in the order of the source.
    pub observations: Vec<Observation>,
    /// Upper bounds that are known, with their source.
    pub ceilings: Vec<Ceiling>,
    /// What the author had expected or calculated.
    pub predictions: Vec<Prediction>,
    /// The files that it was read from.
    pub files: Vec<SourceFile>,
}

/// What is known of the order in which observations were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Nothing, beyond what [`Observation::order`] says of single ones.
    #[default]
    Unknown,
    /// They were made as they stand, one after another, within each table.
    AsListed,
    /// In randomised complete blocks: [`Observation::block`] is set.
    RandomisedBlocks,
}

/// What a figure is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricNote {
    /// What it is counted in; values are in the base unit (bytes, seconds, per second, a share of 1).
    pub unit: Unit,
    /// Which way it is better, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
    /// What it is, for people.
    pub title: String,
}

/// One execution of something, or one row of a table about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// The table it stands in, where a dataset has several; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub table: String,
    /// The name of the file it was read from, an element of [`Dataset::files`].
    pub file: String,
    /// The line where it stands or begins, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The tool that measured it: `dbench`; empty where that is not known.
    pub tool: String,
    /// Everything that names what it was made under: factors and circumstances (`condition`, `disks`, `host`).
    pub labels: BTreeMap<String, String>,
    /// Which repetition it is, as the source calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The block in which one observation of each condition was made, adjacent in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// Where it stands in time among the others: a position or seconds; larger is later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<f64>,
    /// Its figures, by name.
    pub figures: BTreeMap<String, Figure>,
    /// What was sampled over time within it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
    /// What else is known of it.
    pub facts: Facts,
}

/// A figure as it was printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// In the base unit of its metric.
    pub value: f64,
    /// The step of its last printed digit, in the same unit: 1000 for `61 kB/s`. Zero where it was not rounded.
    #[serde(default)]
    pub step: f64,
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self { value, step: 0.0 }
    }
}

/// Values over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What the values are counted in.
    pub unit: Unit,
    /// Seconds since the start, ascending; as many as there are values.
    pub at_seconds: Vec<f64>,
    /// The values, in the base unit.
    pub values: Vec<f64>,
}

/// An upper bound of some figures, with where it is known from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// What it is: `instance link`, `volume`, `source`.
    pub name: String,
    /// The limit.
    pub limit: Quantity,
    /// The same limit as the author wrote it down elsewhere, in another unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restated: Option<Quantity>,
    /// The figures it bounds; empty for every figure of its unit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
    /// The labels of the observations it bounds; empty for all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub applies: BTreeMap<String, String>,
    /// Where it is known from: a document, the user, a measurement.
    pub source: String,
}

/// What somebody expected a figure to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The figure.
    pub metric: String,
    /// What was expected.
    pub expected: Quantity,
    /// The labels of the observations it is about.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub applies: BTreeMap<String, String>,
    /// The amount of work it was calculated from, as written: `220GB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Quantity>,
    /// The rate it was calculated from, as written: `160MiB/s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity>,
    /// Who expected it, and where that stands.
    pub source: String,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its name, unique within the dataset.
    pub name: String,
    /// The tool whose output it is, or `csv`.
    pub tool: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal; empty where it was not kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sha256: String,
}

impl Dataset {
    /// An empty one of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { schema: DATASET_SCHEMA.to_owned(), name: name.into(), ..Self::default() }
    }

    /// The levels of a factor and circumstances alike: every value of a label, in the order of first appearance.
    pub fn values_of(&self, label: &str) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for value in self.observations.iter().filter_map(|observation| observation.labels.get(label)) {
            if !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        values
    }

    /// The names of all labels, each once, in the order of the alphabet.
    pub fn label_names(&self) -> BTreeSet<&str> {
        self.observations.iter().flat_map(|one| one.labels.keys().map(String::as_str)).collect()
    }

    /// The unit of a figure; plain where nothing is noted of it.
    pub fn unit_of(&self, metric: &str) -> Unit {
        self.metrics.get(metric).map_or(Unit::Plain, |note| note.unit)
    }
}

impl Observation {
    /// The value of one of its figures, in the base unit.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.figures.get(metric).map(|figure| figure.value)
    }

    /// Its levels of the given factors, as `barrier=1, disks=2`; what it has no level of is left out.
    pub fn condition(&self, factors: &[String]) -> String {
        let levels = factors.iter().filter_map(|factor| Some((factor, self.labels.get(factor)?)));
        levels.map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(", ")
    }

    /// Where it stands, for people: `dbench.log, line 12`.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}, line {line}", self.file),
            None => self.file.clone(),
        }
    }
}

/// Whether every one of the labels has that value there.
fn matches(applies: &BTreeMap<String, String>, observation: &Observation) -> bool {
    applies.iter().all(|(label, value)| observation.labels.get(label) == Some(value))
}

impl Ceiling {
    /// Whether it bounds that figure of an observation; `unit` is the figure's.
    pub fn bounds(&self, observation: &Observation, metric: &str, unit: Unit) -> bool {
        let figure = if self.metrics.is_empty() {
            self.limit.unit == unit
        } else {
            self.metrics.iter().any(|name| name == metric)
        };
        figure && matches(&self.applies, observation)
    }
}

impl Prediction {
    /// Whether it is about an observation.
    pub fn is_about(&self, observation: &Observation) -> bool {
        observation.figures.contains_key(&self.metric) && matches(&self.applies, observation)
    }
}
