//! Finds what is doubtful in figures: each rule looks for one fault and lives in one file.
//!
//! A rule sees a [`Dataset`], or of a run its [`Evidence`], and the catalogue where that names a machine, and nothing else: not which file it
//! came from, nor whose figures they are. It says that it does not apply where the figures lack what it would have to look at, so that silence is
//! never taken for innocence.

mod explain;
mod from_run;
mod reconsider;
mod rule;

use iostone_model::audit::{AUDIT_SCHEMA, AuditReport, Effect, Finding, Severity, Subject};
use iostone_model::dataset::Dataset;
use iostone_model::evidence::Evidence;

pub use explain::explain_dataset;
pub use from_run::{evidence, evidence_of_run, note};
pub use reconsider::{compare, reconsider};
pub use rule::{Rule, rules, rules_for};

/// What a rule came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The dataset does not say what the rule would have to look at.
    NotApplicable,
    /// It looked; an empty list is a clean bill.
    Looked(Vec<Finding>),
}

/// Applies every rule to figures from anywhere.
pub fn audit(dataset: &Dataset) -> AuditReport {
    judge(&dataset.into())
}

/// Applies every rule. Of figures that are no run's, those that only a run's plan and trials can answer are not asked; of a
/// rehearsal none is that asks how the figures were taken, for it claims nothing.
pub fn judge(evidence: &Evidence<'_>) -> AuditReport {
    let mut report = AuditReport {
        schema: AUDIT_SCHEMA.to_owned(),
        source: evidence.name.clone(),
        observations: evidence.observations.len(),
        ..AuditReport::default()
    };
    for rule in rules_for(evidence.run.as_ref()) {
        match rule.judge(evidence) {
            Outcome::NotApplicable => report.not_applicable.push(rule.name().to_owned()),
            Outcome::Looked(findings) if findings.is_empty() => report.clear.push(rule.name().to_owned()),
            Outcome::Looked(findings) => report.findings.extend(findings),
        }
    }
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    report
}

/// A finding of a rule, without evidence yet.
pub(crate) fn finding(rule: &dyn Rule, severity: Severity, message: String, advice: &str) -> Finding {
    Finding {
        rule: rule.name().to_owned(),
        severity,
        message,
        evidence: Vec::new(),
        advice: advice.to_owned(),
        observations: Vec::new(),
        subject: Subject::default(),
        effect: Effect::default(),
    }
}
