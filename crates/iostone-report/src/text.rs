//! The report for the terminal: the answer, the figures, what speaks for and against them, and what to do.

mod allowance;
pub(crate) mod audit;
pub(crate) mod case;
mod columns;
pub(crate) mod cpu;
mod curve;
pub(crate) mod dataset;
pub(crate) mod difference;
pub(crate) mod explanation;
pub(crate) mod fleet;
pub(crate) mod history;
mod landing;
pub(crate) mod orion;
pub(crate) mod prediction;
pub(crate) mod recommendation;
pub(crate) mod screen;
mod sparkline;
mod sweep;
mod table;
mod wrap;

use iostone_model::metric::Direction;
use iostone_model::run::RunRecord;
use iostone_model::verdict::{Verdict, Verdicts};

use crate::ink::{Ink, clean, dye};
use crate::view::View;
use crate::{environment, ink, price, wording};
use wrap::{hang, wrap};

/// How text is laid out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Columns to fit into; fewer than 40 are taken for 40.
    pub width: usize,
    /// Whether ANSI escapes may be used. They never carry meaning that the words do not.
    pub colour: bool,
}

impl Default for TextStyle {
    /// 80 columns without colour.
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// Below this nothing can be laid out.
const NARROWEST: usize = 40;

/// Paragraphs of a report, collected in order.
struct Page {
    width: usize,
    paragraphs: Vec<String>,
}

impl Page {
    fn new(style: TextStyle) -> Self {
        Self { width: style.width.max(NARROWEST), paragraphs: Vec::new() }
    }

    fn add(&mut self, paragraph: String) {
        if !paragraph.trim().is_empty() {
            self.paragraphs.push(paragraph);
        }
    }

    /// A titled list of label and value, the values aligned.
    fn add_list(&mut self, title: &str, entries: &[(String, String)]) {
        if entries.is_empty() {
            return;
        }
        let mut lines = vec![dye(Ink::Bold, &wrap(title, self.width))];
        // A label longer than a fifth of the line gets one of its own, so that one long name squeezes nobody.
        let longest = self.width / 5;
        let widths = entries.iter().map(|(label, _)| wrap::columns(label)).filter(|width| *width <= longest);
        let column = widths.max().unwrap_or(0);
        for (label, value) in entries {
            let width = wrap::columns(label);
            if width > column {
                lines.push(hang(label, self.width, "  ", "  "));
                lines.extend(value.split('\n').map(|line| hang(line, self.width, "    ", "    ")));
            } else {
                let first = format!("  {label}{}  ", " ".repeat(column - width));
                let rest = " ".repeat(column + 4);
                // Some values are lists of lines, each of which begins anew.
                for (index, line) in value.split('\n').enumerate() {
                    lines.push(hang(line, self.width, if index == 0 { &first } else { &rest }, &rest));
                }
            }
        }
        self.add(lines.join("\n"));
    }

    /// A sentence that must not be passed over.
    fn heed(&self, sentence: &str) -> String {
        hang(&clean(sentence), self.width, &format!("{} ", dye(Ink::Caution, "!")), "  ")
    }

    fn finish(self, style: TextStyle) -> String {
        ink::render(&format!("{}\n", self.paragraphs.join("\n\n")), style.colour)
    }
}

/// See [`crate::text()`].
pub(crate) fn write_run(run: &RunRecord, style: TextStyle) -> String {
    let view = View::of_run(run);
    let experiment = &run.plan.experiment;
    let mut page = Page::new(style);
    let mut answer = dye(Ink::Bold, &wrap(&clean(&wording::headline(run)), page.width));
    if let Some(ended) = wording::premature_end(run) {
        answer = format!("{answer}\n{}", dye(Ink::Caution, &wrap(&clean(&ended), page.width)));
    }
    page.add(answer);
    let defects: Vec<String> =
        run.defects.iter().map(|defect| page.heed(&format!("damaged: {defect}"))).collect();
    page.add(defects.join("\n"));
    let decide = &experiment.decide;
    let terms = wording::terms(&view, decide.margin.0, decide.confidence.0);
    let subject = format!("{}: {terms}", clean(&experiment.name));
    page.add(dye(Ink::Dim, &wrap(&clean(&subject), page.width)));
    add_conclusions(&mut page, &view, run.verdicts.as_ref(), decide.margin.0);
    if view.rehearsal {
        let gates: Vec<String> =
            wording::failed_gates(&run.trials).iter().map(|sentence| page.heed(sentence)).collect();
        page.add(gates.join("\n"));
    }
    if let Some(audit) = run.audit.as_ref().filter(|audit| !audit.findings.is_empty()) {
        page.add(dye(Ink::Bold, &wrap(&format!("Audit: {}", audit::summary(audit)), page.width)));
        audit::add_findings(&mut page, audit, false);
    }
    if let Some(explanation) = &run.explanation {
        explanation::add(&mut page, explanation);
    }
    landing::add(&mut page, run, &view);
    cpu::add(&mut page, &view);
    allowance::add(&mut page, run, &view);
    let prices: Vec<(String, String)> = price::sentences(run, &view)
        .into_iter()
        .map(|(name, sentence)| (clean(&name), clean(&sentence)))
        .collect();
    page.add_list("What it costs", &prices);
    let environment: Vec<(String, String)> = environment::brief(run)
        .into_iter()
        .map(|(label, value)| (label.to_owned(), clean_each(&value)))
        .collect();
    page.add_list("Measured on", &environment);
    page.add(wrap(&clean(&scope(run)), page.width));
    add_ending(&mut page, run.verdicts.as_ref());
    page.finish(style)
}

/// See [`crate::verdicts_text()`].
pub(crate) fn write_verdicts(verdicts: &Verdicts, style: TextStyle) -> String {
    let view = View::of_verdicts(verdicts);
    let mut page = Page::new(style);
    page.add(dye(Ink::Bold, &wrap(&clean(&verdicts.headline), page.width)));
    let terms = wording::terms(&view, verdicts.margin, verdicts.confidence);
    page.add(dye(Ink::Dim, &wrap(&clean(&format!("{}: {terms}", verdicts.source)), page.width)));
    add_conclusions(&mut page, &view, Some(verdicts), verdicts.margin);
    let blocks = wording::block_count_sentence(verdicts);
    let scope =
        if verdicts.scope.is_empty() { blocks } else { format!("{blocks}, {}", clean(&verdicts.scope)) };
    page.add(wrap(&format!("{scope}."), page.width));
    if let Some(report) = verdicts.audit.as_ref().filter(|audit| !audit.findings.is_empty()) {
        page.add(dye(Ink::Bold, &wrap(&format!("Audit: {}", audit::summary(report)), page.width)));
        audit::add_findings(&mut page, report, false);
    }
    add_ending(&mut page, Some(verdicts));
    page.finish(style)
}

/// The table and everything that qualifies it.
fn add_conclusions(page: &mut Page, view: &View<'_>, verdicts: Option<&Verdicts>, margin: f64) {
    if view.curve {
        curve::add(page, verdicts, margin);
    } else if let Some(found) = view.found {
        sweep::add(page, view, found, margin);
    } else {
        page.add(table::draw(view, margin, page.width));
    }
    curve::add_flatness(page, verdicts);
    if let Some(legend) = legend(view) {
        page.add(dye(Ink::Dim, &wrap(&legend, page.width)));
    }
    let flags: Vec<String> = wording::flags(view, verdicts)
        .into_iter()
        .map(|(subject, name, message)| {
            let subject = subject.map(|name| format!("{name}: ")).unwrap_or_default();
            page.heed(&format!("{subject}{name}: {message}"))
        })
        .collect();
    let of_curves = verdicts.map(wording::curve::flags).unwrap_or_default();
    let of_curves = of_curves.into_iter().map(|(subject, name, message)| {
        let subject = subject.map(|name| format!("{name}: ")).unwrap_or_default();
        page.heed(&format!("{subject}{name}: {message}"))
    });
    let flags: Vec<String> = flags.into_iter().chain(of_curves).collect();
    page.add(flags.join("\n"));
    let mut remarks: Vec<(String, String)> = Vec::new();
    for (name, comparison) in view.comparisons() {
        let outlook = if view.rehearsal { None } else { wording::outlook(comparison, view.better) };
        for remark in
            [outlook, wording::unpaired(comparison, view.better), wording::mean_note(comparison, view.better)]
        {
            remarks.extend(remark.map(|remark| (clean(&name), clean(&remark))));
        }
    }
    page.add_list("Beside the verdict", &remarks);
    if let Some(verdicts) = verdicts {
        if let Some(noise) = &verdicts.noise {
            page.add(wrap(&wording::noise_sentence(noise, verdicts.blocks.complete), page.width));
        }
        let verified: Vec<(String, String)> = verdicts
            .evidence
            .iter()
            .map(|evidence| (clean(&evidence.configuration), clean(&evidence.sentence)))
            .collect();
        page.add_list("Verified", &verified);
    }
}

/// How the columns are to be read, as far as it is not plain.
fn legend(view: &View<'_>) -> Option<String> {
    if view.curve {
        return None;
    }
    let compared = view.rows.iter().any(|row| row.comparison.is_some_and(|c| c.ratio.is_some()));
    let side = if view.better == Direction::Higher { "above" } else { "below" };
    let better = format!(
        "Changes are the metric's own: {side} 0\u{a0}% (\u{d7}1) is better. Ratio intervals \
         cover all comparisons and interim checks jointly; median intervals are for orientation."
    );
    let invalid = view.rows.iter().any(|row| row.trial_counts().1 > 0);
    let invalid = invalid.then_some(if view.rehearsal {
        "inv.: trials that failed a gate or have no figure."
    } else {
        "inv.: trials that failed a gate or stand in a discarded block."
    });
    let comparisons = || view.comparisons().into_iter().map(|(_, comparison)| comparison);
    let notes = wording::interval_notes(
        comparisons().any(|c| c.verdict == Some(Verdict::Equivalent) && !view.rehearsal),
        comparisons().any(|c| wording::is_decided_together(&c.flags) && !view.rehearsal),
    );
    let sentences: Vec<String> =
        compared.then(|| format!("{better}{notes}")).into_iter().chain(invalid.map(str::to_owned)).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The lines for permanence. They are to be copied, so they are neither indented nor wrapped.
fn add_ending(page: &mut Page, verdicts: Option<&Verdicts>) {
    let lines = verdicts.map(|v| v.permanent.as_slice()).unwrap_or_default();
    if lines.is_empty() {
        return;
    }
    let lines: Vec<String> = lines.iter().map(|line| clean(line)).collect();
    page.add(dye(Ink::Bold, "To make it permanent"));
    page.add(lines.join("\n"));
}

/// Cleans a text line by line.
fn clean_each(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// How much was measured, on what, and whether more can follow.
fn scope(run: &RunRecord) -> String {
    let blocks = wording::blocks_sentence(run);
    let scope = run.verdicts.as_ref().map(|v| v.scope.as_str()).unwrap_or_default();
    let scope = if scope.is_empty() { String::new() } else { format!("; {scope}") };
    let open = if run.finished { "" } else { " The run is unfinished and can be resumed." };
    format!("{blocks}{scope}.{open}")
}
