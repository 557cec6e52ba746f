//! What an audit found, as the page shows it.

use iostone_model::audit::{AuditReport, Severity};

use super::glossary;
use super::prose::Prose;
use crate::svg::forest::capitalised;

/// One finding.
pub(super) struct FindingLine {
    pub(super) rule: Prose,
    pub(super) severity: &'static str,
    /// Of the style sheet.
    pub(super) class: &'static str,
    pub(super) message: Prose,
    pub(super) evidence: Vec<Prose>,
    pub(super) advice: Prose,
}

/// An audit.
pub(super) struct Findings {
    pub(super) summary: String,
    pub(super) lines: Vec<FindingLine>,
    pub(super) clear: String,
    pub(super) not_applicable: String,
}

impl Findings {
    pub(super) fn of(audit: &AuditReport) -> Self {
        Self {
            summary: crate::text::audit::summary(audit),
            lines: audit.findings.iter().map(line).collect(),
            clear: audit.clear.join(", "),
            not_applicable: audit.not_applicable.join(", "),
        }
    }
}

fn line(finding: &iostone_model::audit::Finding) -> FindingLine {
    FindingLine {
        rule: glossary::named(&finding.rule),
        severity: finding.severity.word(),
        class: match finding.severity {
            Severity::Serious => "serious",
            Severity::Warning => "warning",
            Severity::Note => "remark",
        },
        message: Prose::of(&capitalised(&finding.message)),
        evidence: finding.evidence.iter().map(|evidence| Prose::of(evidence)).collect(),
        advice: Prose::of(&finding.advice),
    }
}
