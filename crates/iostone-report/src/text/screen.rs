//! The report on one screen: the answer, the table, and in a line each whatever bears on a decision.
//!
//! Flags, findings and evidence first take a line each. What is left of the screen then goes to whole sentences, the most
//! important first, and the last line says what `--full` adds.

use iostone_model::audit::{AuditReport, Severity};
use iostone_model::run::RunRecord;
use iostone_model::verdict::{Verdict, Verdicts};

use super::wrap::{self, hang, wrap};
use super::{NARROWEST, TextStyle, columns, curve, sweep, table};
use crate::cpu_split::CpuTimes;
use crate::figures::counted;
use crate::governed::emulations;
use crate::ink::{self, Ink, clean, dye};
use crate::landing::landings;
use crate::view::View;
use crate::wording::{TOGETHER, explanation::summary, is_decided_together};
use crate::{price, wording};

/// Lines of a screen, without an empty one and the path of the report that follow.
const LINES: usize = 28;

/// Configurations whose evidence or ceilings get a line; of more, those of the first and the number of the others.
const NAMED: usize = 2;

/// Up to so many flags of one name are told apart by their messages.
const TOLD_APART: usize = 2;

/// A sentence is cut behind a comma that is so close to its end.
const FEW_WORDS: usize = 20;

/// The column of labels in the last paragraph.
const LABEL: usize = 10;

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
    screen.facts("verified", verified.collect());
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
    screen.facts("limit", limits.collect());
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

/// Whether a line may be left to `--full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    Must,
    IfRoom,
}

/// A sentence that may be cut to one line.
#[derive(Clone)]
struct Line {
    rank: Rank,
    first: String,
    text: String,
    /// Lines that it gets: none, one, or as many as it takes.
    height: Height,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Height {
    Nothing,
    Cut,
    Whole,
}

impl Line {
    fn drawn(&self, width: usize) -> String {
        let column = wrap::columns(&self.first);
        match self.height {
            Height::Nothing => String::new(),
            Height::Cut => format!("{}{}", self.first, cut(&self.text, width.saturating_sub(column))),
            Height::Whole => hang(&self.text, width, &self.first, &" ".repeat(column)),
        }
    }

    fn count(&self, width: usize) -> usize {
        match self.height {
            Height::Nothing => 0,
            Height::Cut => 1,
            Height::Whole => self.drawn(width).lines().count(),
        }
    }
}

/// A paragraph: fixed text, or lines.
enum Paragraph {
    Text(String),
    Lines(Vec<Line>),
}

/// Paragraphs of a screen, collected in order.
struct Screen {
    width: usize,
    paragraphs: Vec<Paragraph>,
    open: Vec<Line>,
    /// Statements that were only counted.
    left_out: usize,
    label: &'static str,
}

impl Screen {
    fn new(style: TextStyle) -> Self {
        let width = style.width.max(NARROWEST);
        Self { width, paragraphs: Vec::new(), open: Vec::new(), left_out: 0, label: "" }
    }

    fn bold(&self, text: &str) -> String {
        dye(Ink::Bold, &wrap(&clean(text), self.width))
    }

    fn add(&mut self, paragraph: String) {
        self.part();
        if !paragraph.trim().is_empty() {
            self.paragraphs.push(Paragraph::Text(paragraph));
        }
    }

    fn add_dim(&mut self, text: &str) {
        self.add(dye(Ink::Dim, &wrap(&clean(text), self.width)));
    }

    /// Ends a paragraph of lines.
    fn part(&mut self) {
        self.label = "";
        let lines = std::mem::take(&mut self.open);
        if !lines.is_empty() {
            self.paragraphs.push(Paragraph::Lines(lines));
        }
    }

    /// A sentence that must not be passed over.
    fn heed(&mut self, rank: Rank, mark: &str, sentence: &str) {
        let ink = match mark {
            "!!" => Ink::Bad,
            "!" => Ink::Caution,
            _ => Ink::Dim,
        };
        self.line(rank, format!("{} ", dye(ink, mark)), sentence);
    }

    /// A sentence behind a label, which is written once for all that have it.
    fn fact(&mut self, rank: Rank, label: &'static str, sentence: &str) {
        let shown = if label == self.label { "" } else { label };
        self.label = label;
        let first = format!("{}{}", dye(Ink::Bold, shown), " ".repeat(LABEL.saturating_sub(shown.len())));
        self.line(rank, first, sentence);
    }

    /// Sentences of which the first must be there, and of many the others are only counted.
    fn facts(&mut self, label: &'static str, sentences: Vec<String>) {
        let shown = if sentences.len() > NAMED + 1 { NAMED } else { sentences.len() };
        self.left_out += sentences.len() - shown;
        for (at, sentence) in sentences.iter().take(shown).enumerate() {
            self.fact(if at < NAMED { Rank::Must } else { Rank::IfRoom }, label, sentence);
        }
    }

    fn line(&mut self, rank: Rank, first: String, sentence: &str) {
        let height = if rank == Rank::Must { Height::Cut } else { Height::Nothing };
        self.open.push(Line { rank, first, text: clean(sentence), height });
    }

    fn drawn(&self) -> Vec<String> {
        let width = self.width;
        let draw = |paragraph: &Paragraph| match paragraph {
            Paragraph::Text(text) => text.clone(),
            Paragraph::Lines(lines) => {
                let shown = lines.iter().filter(|line| line.height != Height::Nothing);
                shown.map(|line| line.drawn(width)).collect::<Vec<_>>().join("\n")
            }
        };
        self.paragraphs.iter().map(draw).filter(|text| !text.is_empty()).collect()
    }

    fn lines(&mut self) -> impl Iterator<Item = &mut Line> {
        self.paragraphs.iter_mut().flat_map(|paragraph| match paragraph {
            Paragraph::Text(_) => [].iter_mut(),
            Paragraph::Lines(lines) => lines.iter_mut(),
        })
    }

    /// Gives the room that is left to whole sentences: first to what must be there, and of that to what takes least of it.
    fn spread(&mut self, reserved: usize) {
        let taken: usize = self.drawn().iter().map(|text| text.lines().count() + 1).sum();
        let mut room = LINES.saturating_sub(taken + reserved);
        let width = self.width;
        for rank in [Rank::Must, Rank::IfRoom] {
            for (height, more) in (0..=room).flat_map(|more| [(Height::Whole, more), (Height::Cut, more)]) {
                for line in self.lines().filter(|line| line.rank == rank && line.height < height) {
                    let before = std::mem::replace(&mut line.height, height);
                    let own = Line { height: before, ..line.clone() };
                    if more > room || line.count(width) != own.count(width) + more {
                        line.height = before;
                    } else {
                        room -= more;
                    }
                }
            }
        }
    }

    /// The screen; its last line says what is left to the whole report, where that is to be said.
    fn finish(mut self, style: TextStyle, sections: Option<&[&str]>) -> String {
        self.part();
        if let Some(sections) = sections {
            let all = self.lines().count() + self.left_out;
            let reserved = wrap(&more(all, sections).unwrap_or_default(), self.width).lines().count();
            self.spread(reserved);
            let cut = self.lines().filter(|line| line.height != Height::Whole).count();
            if let Some(more) = more(cut + self.left_out, sections) {
                self.add_dim(&more);
            }
        }
        ink::render(&format!("{}\n", self.drawn().join("\n\n")), style.colour)
    }
}

/// What the whole report adds, as far as it does.
fn more(notes: usize, sections: &[&str]) -> Option<String> {
    let notes = (notes > 0).then(|| counted(notes as u64, "note"));
    let more: Vec<String> =
        notes.into_iter().chain(sections.iter().map(|section| (*section).to_owned())).collect();
    (!more.is_empty()).then(|| format!("`--full` shows more: {}.", more.join(", ")))
}

/// A sentence in so many columns, cut behind a clause where that keeps most of it, else behind a word.
fn cut(text: &str, room: usize) -> String {
    if wrap::columns(text) <= room {
        return text.to_owned();
    }
    let whole = columns::clipped(text, room.saturating_sub(1));
    let whole = whole.trim_end_matches('\u{2026}');
    // Half of what fits is little to lose for a whole clause, and a few words for a whole figure.
    let clause = whole.rfind("; ").filter(|at| *at >= whole.len() / 2);
    let figure = whole.rfind(", ").filter(|at| *at + FEW_WORDS >= whole.len());
    let kept = match clause.max(figure) {
        Some(at) => &whole[..at],
        None => whole.rsplit_once(' ').map_or(whole, |(kept, _)| kept),
    };
    format!("{kept}\u{a0}\u{2026}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_cut_behind_a_clause_or_a_word() {
        assert_eq!(cut("one two", 7), "one two");
        assert_eq!(cut("each was run once; if runs scatter, they", 30), "each was run once\u{a0}\u{2026}");
        assert_eq!(cut("one; two three four five", 20), "one; two three\u{a0}\u{2026}");
        assert_eq!(cut("a trial: 174, 1.26 a sync", 22), "a trial: 174\u{a0}\u{2026}");
        assert_eq!(cut("日本語日本語", 7), "日本\u{a0}\u{2026}");
    }

    #[test]
    fn a_flag_of_many_comparisons_takes_one_line() {
        let flag =
            |subject: &str, message: &str| (Some(subject.to_owned()), "few".to_owned(), message.to_owned());
        assert_eq!(gather(&[flag("a", "1 block"), flag("b", "1 block")]), ["a, b: few: 1 block"]);
        assert_eq!(gather(&[flag("a", "1"), flag("b", "2")]), ["a: few: 1", "b: few: 2"]);
        assert_eq!(gather(&[flag("a", "1"), flag("b", "2"), flag("c", "3")]), ["a, b, c: few: first: 1"]);
    }
}
