//! The layout of a screen: lines that are cut to one, and the room that is left given to whole sentences.

use super::super::wrap::{self, hang, wrap};
use super::super::{NARROWEST, TextStyle, columns};
use crate::figures::counted;
use crate::ink::{self, Ink, clean, dye};

/// Lines of a screen, without an empty one and the path of the report that follow.
const LINES: usize = 28;

/// Configurations whose evidence or ceilings get a line; of more, those of the first and the number of the others.
const NAMED: usize = 2;

/// A sentence is cut behind a comma that is so close to its end.
const FEW_WORDS: usize = 20;

/// The column of labels in the last paragraph.
const LABEL: usize = 10;

/// Whether a line may be left to `--full`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
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
pub(super) struct Screen {
    pub(super) width: usize,
    paragraphs: Vec<Paragraph>,
    open: Vec<Line>,
    /// Statements that were only counted.
    left_out: usize,
    label: &'static str,
}

impl Screen {
    pub(super) fn new(style: TextStyle) -> Self {
        let width = style.width.max(NARROWEST);
        Self { width, paragraphs: Vec::new(), open: Vec::new(), left_out: 0, label: "" }
    }

    pub(super) fn bold(&self, text: &str) -> String {
        dye(Ink::Bold, &wrap(&clean(text), self.width))
    }

    pub(super) fn add(&mut self, paragraph: String) {
        self.part();
        if !paragraph.trim().is_empty() {
            self.paragraphs.push(Paragraph::Text(paragraph));
        }
    }

    pub(super) fn add_dim(&mut self, text: &str) {
        self.add(dye(Ink::Dim, &wrap(&clean(text), self.width)));
    }

    /// Ends a paragraph of lines.
    pub(super) fn part(&mut self) {
        self.label = "";
        let lines = std::mem::take(&mut self.open);
        if !lines.is_empty() {
            self.paragraphs.push(Paragraph::Lines(lines));
        }
    }

    /// A sentence that must not be passed over.
    pub(super) fn heed(&mut self, rank: Rank, mark: &str, sentence: &str) {
        let ink = match mark {
            "!!" => Ink::Bad,
            "!" => Ink::Caution,
            _ => Ink::Dim,
        };
        self.line(rank, format!("{} ", dye(ink, mark)), sentence);
    }

    /// A sentence behind a label, which is written once for all that have it.
    pub(super) fn fact(&mut self, rank: Rank, label: &'static str, sentence: &str) {
        let shown = if label == self.label { "" } else { label };
        self.label = label;
        let first = format!("{}{}", dye(Ink::Bold, shown), " ".repeat(LABEL.saturating_sub(shown.len())));
        self.line(rank, first, sentence);
    }

    /// Sentences of which the first must be there, and of many the others are only counted.
    pub(super) fn facts(&mut self, label: &'static str, sentences: &[String]) {
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
    pub(super) fn finish(mut self, style: TextStyle, sections: Option<&[&str]>) -> String {
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
}
