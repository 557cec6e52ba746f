//! What an audit found, for the terminal: each finding with its evidence and its advice.

use iostone_model::audit::{AuditReport, Severity};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle};
use crate::ink::{Ink, clean, dye};

/// Evidence lines shown of a finding where the audit is all there is; the JSON has them all.
const SHOWN: usize = 4;
/// And where it ends a report.
const SHOWN_BESIDE: usize = 1;

/// See [`crate::audit_text()`].
pub(crate) fn write(audit: &AuditReport, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.add(dye(Ink::Bold, &wrap(&format!("{}: {}", clean(&audit.source), summary(audit)), page.width)));
    add_findings(&mut page, audit, true);
    page.finish(style)
}

/// The findings, and what the silent rules mean where `complete`.
pub(super) fn add_findings(page: &mut Page, audit: &AuditReport, complete: bool) {
    let shown = if complete { SHOWN } else { SHOWN_BESIDE };
    for finding in &audit.findings {
        let (mark, ink) = match finding.severity {
            Severity::Serious => ("!!", Ink::Bad),
            Severity::Warning => ("! ", Ink::Caution),
            Severity::Note => ("· ", Ink::Dim),
        };
        let name = format!("{} ({})", clean(&finding.rule), finding.severity.word());
        let first = format!("{} ", dye(ink, mark));
        let message = format!("{}: {}", dye(Ink::Bold, &name), clean(&finding.message));
        let mut lines = vec![hang(&message, page.width, &first, "   ")];
        for evidence in finding.evidence.iter().take(shown) {
            lines.push(dye(Ink::Dim, &hang(&clean(evidence), page.width, "     ", "       ")));
        }
        let more = finding.evidence.len().saturating_sub(shown);
        if more > 0 {
            let all = if complete { "--json has them all" } else { "`iostone audit` shows them" };
            lines.push(dye(Ink::Dim, &format!("     and {more} more; {all}")));
        }
        lines.push(hang(&clean(&finding.advice), page.width, "   → ", "     "));
        page.add(lines.join("\n"));
    }
    if complete {
        page.add(dye(Ink::Dim, &wrap(&silence(audit), page.width)));
    }
}

/// How much was found: `2 serious findings, 1 warning over 10 observations`.
pub(crate) fn summary(audit: &AuditReport) -> String {
    let count = |severity: Severity| audit.findings.iter().filter(|f| f.severity == severity).count();
    let counted = |severity: Severity, one: &str, many: &str| match count(severity) {
        0 => None,
        1 => Some(format!("1 {one}")),
        several => Some(format!("{several} {many}")),
    };
    let found: Vec<String> = [
        counted(Severity::Serious, "serious finding", "serious findings"),
        counted(Severity::Warning, "warning", "warnings"),
        counted(Severity::Note, "note", "notes"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let found = if found.is_empty() { "nothing doubtful".to_owned() } else { found.join(", ") };
    let plural = if audit.observations == 1 { "" } else { "s" };
    format!("{found} in {} observation{plural}", audit.observations)
}

fn silence(audit: &AuditReport) -> String {
    let list = |names: &[String]| names.join(", ");
    let mut sentences = Vec::new();
    if !audit.clear.is_empty() {
        sentences.push(format!("Looked and found nothing: {}.", list(&audit.clear)));
    }
    if !audit.not_applicable.is_empty() {
        sentences.push(format!("Could not look, for want of data: {}.", list(&audit.not_applicable)));
    }
    clean(&sentences.join(" "))
}
