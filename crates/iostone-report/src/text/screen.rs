//! The report on one screen: the answer, the table, and in a line each whatever bears on a decision.
//!
//! Flags, findings and evidence first take a line each. What is left of the screen then goes to whole sentences, the most
//! important first, and the last line says what `--full` adds.

mod layout;

use iostone_model::audit::{AuditReport, Severity};
use iostone_model::run::RunRecord;
use iostone_model::verdict::{Verdict, Verdicts};

use super::wrap::wrap;
use super::{TextStyle, curve, sweep, table};
use crate::cpu_split::CpuTimes;
use crate::governed::emulations;
use crate::ink::{Ink, clean, dye};
use crate::landing::landings;
use crate::view::View;
use crate::wording::{TOGETHER, explanation::summary, is_decided_together};
use crate::{price, wording};
use layout::{Rank, Screen};

/// Up to so many flags of one name are told apart by their messages.
const TOLD_APART: usize = 2;

/// The report of a run, or its answer and table alone where `brief`.
pub(crate) fn write_run(run: &RunRecord, brief: bool, style: TextStyle) -> String {
    let view = View::of_run(run);
    let decide = &run.plan.experiment.decide;
    let mut screen = Screen::new(style);
    let mut answer = screen.bold(&wording::headline(run));
    if let Some(ended) = wording::premature_end(run) {
        answer = format!("{answer}\n{}", dye(Ink::Caution, &wrap(&clean(&ended), screen.width)));
    }
    screen.add(answer);
    for defect in &run.defects {
        screen.heed(Rank::Must, "!", &format!("damaged: {defect}"));
    }
    screen.part();
    let verdicts = run.verdicts.as_ref();
    if !brief {
        let terms = wording::terms(&view, decide.margin.0, decide.confidence.0);
        screen.add_dim(&format!("{}: {terms}", run.plan.experiment.name));
    }
    add_table(&mut screen, &view, verdicts, decide.margin.0);
    if brief {
        return screen.finish(style, None);
    }
    add_cautions(&mut screen, &view, verdicts, run.audit.as_ref());
    if view.rehearsal {
        for sentence in wording::failed_gates(&run.trials) {
            screen.heed(Rank::Must, "!", &sentence);
        }
    }
    screen.part();
    add_facts(&mut screen, &view, verdicts);
    add_limits(&mut screen, run);
    let open = if run.finished { "" } else { " The run is unfinished and can be resumed." };
    let scope = verdicts.map(|verdicts| verdicts.scope.as_str()).unwrap_or_default();
    let scope = if scope.is_empty() { String::new() } else { format!("; {scope}") };
    screen.fact(Rank::Must, "blocks", &format!("{}{scope}.{open}", wording::blocks_sentence(run)));
    let sections = sections(run, &view);
    screen.finish(style, Some(&sections))
}

/// Verdicts without a run behind them.
pub(crate) fn write_verdicts(verdicts: &Verdicts, brief: bool, style: TextStyle) -> String {
    let view = View::of_verdicts(verdicts);
    let mut screen = Screen::new(style);
    let answer = screen.bold(&verdicts.headline);
    screen.add(answer);
    if !brief {
        let terms = wording::terms(&view, verdicts.margin, verdicts.confidence);
        screen.add_dim(&format!("{}: {terms}", verdicts.source));
    }
    add_table(&mut screen, &view, Some(verdicts), verdicts.margin);
    if brief {
        return screen.finish(style, None);
    }
    add_cautions(&mut screen, &view, Some(verdicts), verdicts.audit.as_ref());
    screen.part();
    add_facts(&mut screen, &view, Some(verdicts));
    let blocks = wording::block_count_sentence(verdicts);
    let scope = if verdicts.scope.is_empty() { blocks } else { format!("{blocks}, {}", verdicts.scope) };
    screen.fact(Rank::Must, "blocks", &format!("{scope}."));
    let points = (verdicts.curves.len() > 1).then_some("the points of the curves");
    let permanent = (!verdicts.permanent.is_empty()).then_some("how to make it permanent");
    let sections: Vec<&str> = points.into_iter().chain(permanent).collect();
    screen.finish(style, Some(&sections))
}

fn add_table(screen: &mut Screen, view: &View<'_>, verdicts: Option<&Verdicts>, margin: f64) {
    let width = screen.width;
    if view.curve {
        for paragraph in curve::brief(verdicts, margin, width) {
            screen.add(paragraph);
        }
    } else if let Some(found) = view.found {
        for paragraph in sweep::brief(view, found, margin, width) {
            screen.add(paragraph);
        }
    } else {
        screen.add(table::draw_brief(view, margin, width));
    }
}

/// What speaks against the verdicts: flags of the statistics, then what the audit found.
fn add_cautions(
    screen: &mut Screen,
    view: &View<'_>,
    verdicts: Option<&Verdicts>,
    audit: Option<&AuditReport>,
) {
    let of_curves = verdicts.map(wording::curve::flags).unwrap_or_default();
    let flags: Vec<(Option<String>, String, String)> = wording::flags(view, verdicts)
        .into_iter()
        .map(|(subject, name, message)| (subject, name.to_owned(), message.to_owned()))
        .chain(of_curves)
        .collect();
    for flag in gather(&flags) {
        screen.heed(Rank::Must, "!", &flag);
    }
    let findings = audit.map(|audit| audit.findings.as_slice()).unwrap_or_default();
    for finding in findings {
        let (rank, mark) = match finding.severity {
            Severity::Serious => (Rank::Must, "!!"),
            Severity::Warning => (Rank::Must, "!"),
            Severity::Note => (Rank::IfRoom, "·"),
        };
        screen.heed(rank, mark, &format!("{}: {}", finding.rule, finding.message));
    }
    if view.comparisons().iter().any(|(_, one)| is_decided_together(&one.flags)) && !view.rehearsal {
        screen.heed(
            Rank::IfRoom,
            TOGETHER,
            "decided together with other comparisons; the interval beside it is wider than the verdict needs",
        );
    }
}

/// One line for a flag that several comparisons have.
fn gather(flags: &[(Option<String>, String, String)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for (subject, name, message) in flags {
        if told.contains(&name.as_str()) {
            continue;
        }
        let same: Vec<_> = flags.iter().filter(|(_, other, _)| other == name).collect();
        let is_one = same.iter().all(|(_, _, other)| other == message);
        if same.len() > 1 && (is_one || same.len() > TOLD_APART) {
            told.push(name);
            let subjects: Vec<&str> = same.iter().filter_map(|(subject, ..)| subject.as_deref()).collect();
            let first = if is_one { "" } else { "first: " };
            lines.push(format!("{}: {name}: {first}{message}", subjects.join(", ")));
        } else {
            let subject = subject.as_ref().map(|subject| format!("{subject}: ")).unwrap_or_default();
            lines.push(format!("{subject}{name}: {message}"));
        }
    }
    lines
}

/// What was verified, how much noise there is, and what stands beside the verdicts.
fn add_facts(screen: &mut Screen, view: &View<'_>, verdicts: Option<&Verdicts>) {
    let Some(verdicts) = verdicts else { return };
    if let Some(noise) = &verdicts.noise {
        screen.fact(Rank::Must, "noise", &wording::noise_sentence(noise, verdicts.blocks.complete));
    }
    let verified = verdicts.evidence.iter().map(|one| format!("{}: {}", one.configuration, one.sentence));
    screen.facts("verified", &verified.collect::<Vec<String>>());
    for line in wording::curve::flatness_lines(verdicts) {
        screen.fact(Rank::Must, "flat", &line);
    }
    for (name, comparison) in view.comparisons() {
        // Without a verdict these are all the answer there is.
        let rank = if comparison.verdict.is_none_or(|verdict| verdict == Verdict::Undecided) {
            Rank::Must
        } else {
            Rank::IfRoom
        };
        let outlook = if view.rehearsal { None } else { wording::outlook(comparison, view.better) };
        let remarks = [
            ("open", outlook),
            ("unpaired", wording::unpaired(comparison, view.better)),
            ("mean", wording::mean_note(comparison, view.better)),
        ];
        for (label, remark) in remarks {
            if let Some(remark) = remark {
                screen.fact(rank, label, &format!("{name}: {remark}"));
            }
        }
    }
}

/// Which ceiling bound the figures.
fn add_limits(screen: &mut Screen, run: &RunRecord) {
    let Some(explanation) = &run.explanation else { return };
    let limits = explanation.parts.iter().filter_map(|part| {
        let first = summary(part).into_iter().next()?;
        Some(format!("{}: {first}", part.configuration))
    });
    screen.facts("limit", &limits.collect::<Vec<String>>());
}

/// What the whole report tells besides.
fn sections(run: &RunRecord, view: &View<'_>) -> Vec<&'static str> {
    let has_points = run.verdicts.as_ref().is_some_and(|verdicts| verdicts.curves.len() > 1);
    let sections = [
        (has_points, "the points of the curves"),
        (!emulations(run, view).is_empty(), "the emulated allowance"),
        (!landings(run, view).is_empty(), "where the bytes landed"),
        (CpuTimes::of(view).is_some(), "CPU time"),
        (!price::sentences(run, view).is_empty(), "prices"),
        (true, "the machine"),
        (run.verdicts.as_ref().is_some_and(|v| !v.permanent.is_empty()), "how to make it permanent"),
    ];
    sections.into_iter().filter_map(|(exists, name)| exists.then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_of_many_comparisons_takes_one_line() {
        let flag =
            |subject: &str, message: &str| (Some(subject.to_owned()), "few".to_owned(), message.to_owned());
        assert_eq!(gather(&[flag("a", "1 block"), flag("b", "1 block")]), ["a, b: few: 1 block"]);
        assert_eq!(gather(&[flag("a", "1"), flag("b", "2")]), ["a: few: 1", "b: few: 2"]);
        assert_eq!(gather(&[flag("a", "1"), flag("b", "2"), flag("c", "3")]), ["a, b, c: few: first: 1"]);
    }
}
