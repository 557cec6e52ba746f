//! A reconsidered investigation for the terminal: what its author concluded, and what its figures allow to be said.

use iostone_model::case::{CaseReport, Reconsidered};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle, audit, explanation};
use crate::figures::figure;
use crate::ink::{Ink, clean, dye};

/// Beside a conclusion without figures.
pub(crate) const NOTHING_TO_JUDGE: &str = "no figures were published that could be compared, so nothing can be judged; how they were taken is audited.";

/// See [`crate::case_text()`].
pub(crate) fn write(case: &CaseReport, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let title = case.question.as_deref().unwrap_or(&case.name);
    page.add(dye(Ink::Bold, &wrap(&clean(title), page.width)));
    if let Some(source) = &case.source {
        page.add(dye(Ink::Dim, &wrap(&clean(&format!("{}: {source}", case.name)), page.width)));
    }
    if let Some(conclusion) = &case.conclusion {
        page.add(hang(&clean(conclusion), page.width, "The author: ", "  "));
    }
    if case.comparisons.is_empty() {
        page.add(hang(NOTHING_TO_JUDGE, page.width, "iostone: ", "  "));
    }
    for comparison in &case.comparisons {
        add_comparison(&mut page, comparison);
    }
    if let Some(explained) = &case.explanation {
        explanation::add(&mut page, explained);
    }
    page.add(dye(Ink::Bold, &wrap(&format!("Audit: {}", audit::summary(&case.audit)), page.width)));
    audit::add_findings(&mut page, &case.audit, true);
    page.finish(style)
}

fn add_comparison(page: &mut Page, comparison: &Reconsidered) {
    let stated = &comparison.stated;
    let table = stated.table.as_ref().map(|table| format!(" ({table})")).unwrap_or_default();
    let subject = format!("{} by {}, against {}{table}", stated.metric, stated.by, stated.baseline);
    let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&subject), page.width))];
    if let Some(claim) = &stated.claim {
        lines.push(hang(&clean(claim), page.width, "  the author  ", "              "));
    }
    if let Some(reason) = &comparison.unjudged {
        lines.push(hang(&clean(reason), page.width, "  iostone     ", "              "));
    }
    for level in &comparison.levels {
        let of = &level.comparison;
        let stratum = if of.stratum.is_empty() { String::new() } else { format!(" ({})", of.stratum) };
        let held =
            match (comparison.values(&of.level, &of.stratum), comparison.values(&of.baseline, &of.stratum)) {
                ([level], [baseline]) => {
                    format!(
                        ", {} against {}",
                        figure(comparison.unit, *level),
                        figure(comparison.unit, *baseline)
                    )
                }
                _ => String::new(),
            };
        let text = format!("{}{stratum}{held}: {}", of.level, level.statement);
        lines.push(hang(&clean(&text), page.width, "  iostone     ", "              "));
    }
    page.add(lines.join("\n"));
}
