//! What an audit of figures found: each finding with its evidence, its severity and a sentence of advice.

use serde::{Deserialize, Serialize};

use crate::omitted::is_default;

/// The version of [`AuditReport`] as JSON.
pub const AUDIT_SCHEMA: &str = "iostone/audit/1";

/// How much a finding takes from what the figures can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the figures stand.
    Note,
    /// The figures may not mean what they seem to.
    Warning,
    /// A conclusion that rests on it does not hold.
    Serious,
}

impl Severity {
    /// The word itself, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Serious => "serious",
        }
    }
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "of")]
pub enum Subject {
    /// The figures as a whole.
    #[default]
    Run,
    /// The figures of one configuration.
    Configuration {
        /// Its name.
        name: String,
    },
    /// What is said of a level held against the baseline.
    Comparison {
        /// The level.
        level: String,
        /// The other factors' levels; none for every comparison of the level.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stratum: Option<String>,
    },
}

/// What a finding does to the verdicts on its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing: it stands beside them.
    #[default]
    Note,
    /// A difference is not claimed; that there is none may be.
    WithholdDifference,
    /// Nothing is claimed.
    Withhold,
}

/// One thing that an audit found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that found it, a stable name: `identical-rows`.
    pub rule: String,
    /// How much it takes from the figures.
    pub severity: Severity,
    /// What is wrong: one sentence with the figures that show it.
    pub message: String,
    /// The rows, lines or calculations that show it, most telling first; a few at most.
    pub evidence: Vec<String>,
    /// What to do about it: one sentence.
    pub advice: String,
    /// The observations it is about, as places in the dataset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<usize>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "is_default")]
    pub subject: Subject,
    /// What it does to the verdicts on that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub effect: Effect,
}

/// Everything an audit found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AuditReport {
    /// [`AUDIT_SCHEMA`].
    pub schema: String,
    /// What was audited.
    pub source: String,
    /// How many observations there were.
    pub observations: usize,
    /// What was found, the most serious first.
    pub findings: Vec<Finding>,
    /// The rules that had what they need to look, and found nothing.
    pub clear: Vec<String>,
    /// The rules that could not look, because the figures do not say what they need.
    pub not_applicable: Vec<String>,
}

impl AuditReport {
    /// The gravest of its findings; none where there is none.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
