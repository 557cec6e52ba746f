//! A published investigation reconsidered: its author's conclusions beside what its figures allow to be said.

use serde::{Deserialize, Serialize};

use crate::audit::AuditReport;
use crate::dataset::Dataset;
use crate::explanation::Explanation;
use crate::metric::{Direction, Unit};
use crate::verdict::Comparison;

/// The version of [`CaseReport`] as JSON.
pub const CASE_SCHEMA: &str = "iostone/case/1";

/// A dataset with the question that it was to answer, and the answer that its author drew from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Case {
    /// Its figures.
    pub dataset: Dataset,
    /// The question.
    pub question: Option<String>,
    /// The author's conclusion.
    pub conclusion: Option<String>,
    /// Who published it, and when.
    pub source: Option<String>,
    /// What the author compared.
    pub comparisons: Vec<StatedComparison>,
}

/// A comparison that an author drew a conclusion from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatedComparison {
    /// The table it is about; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The figure.
    pub metric: String,
    /// The label whose levels are compared.
    pub by: String,
    /// The level that the others are held against.
    pub baseline: String,
    /// Labels that hold still in each comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// A label whose values serve as blocks: what was measured on one machine, say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// The equivalence margin as a fraction.
    pub margin: f64,
    /// Which way the figure is better.
    pub better: Direction,
    /// What the author concluded of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// A case with what its figures came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// [`CASE_SCHEMA`].
    pub schema: String,
    /// The case's name.
    pub name: String,
    /// The question.
    pub question: Option<String>,
    /// The author's conclusion.
    pub conclusion: Option<String>,
    /// Who published it, and when.
    pub source: Option<String>,
    /// What was compared, and what the figures say of it.
    pub comparisons: Vec<Reconsidered>,
    /// What is doubtful in the figures.
    pub audit: AuditReport,
    /// What bound the figures, as far as ceilings are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// A comparison with what its figures came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reconsidered {
    /// As the author made it.
    pub stated: StatedComparison,
    /// The unit of the figure.
    pub unit: Unit,
    /// The figures, each level of each stratum by itself, in the order of the source.
    pub figures: Vec<LevelFigures>,
    /// Each level against the baseline, within each stratum.
    pub levels: Vec<ReconsideredLevel>,
    /// Why nothing can be computed; none where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
}

/// The figures of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelFigures {
    /// The level.
    pub level: String,
    /// The levels that hold still in the comparison; empty where there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stratum: String,
    /// The figures, in the base unit.
    pub values: Vec<f64>,
    /// The limits that are known to bound all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<KnownLimit>,
}

/// A limit of figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownLimit {
    /// What it is: `instance link`.
    pub name: String,
    /// As it was written: `500Mbps`.
    pub text: String,
    /// In the base unit.
    pub value: f64,
}

impl Reconsidered {
    /// The figures of a level in a stratum.
    pub fn values(&self, level: &str, stratum: &str) -> &[f64] {
        let found = self.figures.iter().find(|figures| figures.level == level && figures.stratum == stratum);
        found.map_or(&[], |figures| &figures.values)
    }
}

/// One level against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReconsideredLevel {
    /// The verdict with its intervals, or the unpaired test where the figures were not blocked.
    pub comparison: Comparison,
    /// With a single run of each: the spread of single runs, as a coefficient of variation, from which on the ratio shows
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakeven_cv: Option<f64>,
    /// What can be said, in a sentence or two.
    pub statement: String,
}
