//! Runs side by side for the terminal: what differs first, then the figures, each with what may be said of it.

use iostone_model::difference::{Answer, Difference, FigureRow, Ground};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle, columns};
use crate::figures::{counted, declared_percent, figure, ratio};
use crate::ink::{Ink, clean, dye};

/// More columns than this do not fit side by side: of those between the first and the last only the number is told.
const COLUMNS: usize = 5;

/// More circumstances than this are left to `--full`.
const CIRCUMSTANCES: usize = 12;

/// More figures than this are left to `--full`.
const FIGURES: usize = 6;

/// A value of a circumstance takes at most so many columns.
const WIDEST: usize = 26;

/// See [`crate::difference_text()`].
pub(crate) fn write(found: &Difference, full: bool, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.add(dye(Ink::Bold, &wrap(&clean(&headline(found)), page.width)));
    let shown = shown(found.columns.len(), full);
    let names: Vec<String> = shown
        .iter()
        .filter_map(|at| found.columns.get(*at))
        .enumerate()
        .map(|(place, column)| {
            let letter = letter(shown.get(place).copied().unwrap_or_default());
            let runs = if column.runs > 1 {
                format!(", {}", counted(u64::from(column.runs), "run"))
            } else {
                String::new()
            };
            format!(
                "{letter}  {}  {}{runs}",
                clean(&column.name),
                column.started_at.get(..16).unwrap_or_default().replace('T', " ")
            )
        })
        .collect();
    let hidden = found.columns.len() - shown.len();
    let more =
        (hidden > 0).then(|| format!("   and {hidden} between them, which `--full` and `--json` show"));
    page.add(names.into_iter().chain(more).collect::<Vec<_>>().join("\n"));
    add_circumstances(&mut page, found, &shown, full);
    let figures = if full { found.figures.len() } else { FIGURES.min(found.figures.len()) };
    for row in found.figures.iter().take(figures) {
        let told = figure_row(row, &shown, page.width);
        page.add(told);
    }
    if found.figures.len() > figures {
        page.add(format!("{} more figures: `--full` shows them.", found.figures.len() - figures));
    }
    page.add(dye(Ink::Dim, &wrap(&grounds(found), page.width)));
    page.finish(style)
}

pub(crate) fn letter(column: usize) -> String {
    let letter =
        u8::try_from(column).ok().filter(|column| *column < 26).map(|column| char::from(b'A' + column));
    letter.map_or_else(|| format!("#{}", column + 1), String::from)
}

/// The columns that are shown.
fn shown(columns: usize, full: bool) -> Vec<usize> {
    if full || columns <= COLUMNS {
        return (0..columns).collect();
    }
    (0..COLUMNS - 1).chain([columns - 1]).collect()
}

pub(crate) fn headline(found: &Difference) -> String {
    let answers = || found.figures.iter().flat_map(|row| &row.answers);
    let differing = answers().filter(|answer| answer.differs == Some(true)).count();
    let judged = answers().filter(|answer| answer.differs.is_some()).count();
    let circumstances = match found.circumstances.len() {
        0 => "Nothing recorded differs".to_owned(),
        1 => format!("{} differs", found.circumstances.first().map_or("", |row| row.name.as_str())),
        some => format!("{some} recorded circumstances differ"),
    };
    let figures = match (judged, differing) {
        _ if found.figures.is_empty() => "they have no figure in common".to_owned(),
        (0, _) => "no verdict: neither a common level nor enough runs bear one out".to_owned(),
        (judged, differing) => {
            format!("{differing} of {} shown to differ", counted(judged as u64, "comparison"))
        }
    };
    format!("{circumstances}; {figures}.")
}

fn add_circumstances(page: &mut Page, found: &Difference, shown: &[usize], full: bool) {
    if found.circumstances.is_empty() {
        return;
    }
    let taken = if full { found.circumstances.len() } else { CIRCUMSTANCES };
    let header: Vec<String> =
        std::iter::once("  differs".to_owned()).chain(shown.iter().map(|at| letter(*at))).collect();
    let room = page.width.saturating_sub(24) / shown.len().max(1);
    let cell = |value: Option<&Option<String>>| {
        let value = value.and_then(Option::as_deref).map_or_else(|| "not recorded".to_owned(), clean);
        columns::clipped(
            &value,
            room.saturating_sub(2).clamp(8, if full { usize::MAX } else { WIDEST.max(room) }),
        )
    };
    let rows: Vec<Vec<String>> = found
        .circumstances
        .iter()
        .take(taken)
        .map(|row| {
            let name = columns::clipped(&format!("  {}", clean(&row.name)), 24);
            std::iter::once(name).chain(shown.iter().map(|at| cell(row.values.get(*at)))).collect()
        })
        .collect();
    let mut lines = columns::lines(&header, &rows, header.len());
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    if found.circumstances.len() > taken {
        lines.push(format!("  and {} more: `--full` shows them", found.circumstances.len() - taken));
    }
    page.add(lines.join("\n"));
}

fn figure_row(row: &FigureRow, shown: &[usize], width: usize) -> String {
    let title = format!("{}, {}", row.configuration, row.title);
    let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&title), width))];
    for at in shown {
        let value = row.values.get(*at).copied().flatten();
        let value = value.map_or_else(|| "no figure".to_owned(), |value| figure(row.unit, value));
        let told = match at.checked_sub(1).and_then(|at| row.answers.get(at)) {
            None => String::new(),
            Some(answer) => format!("  {}", sentence(answer)).trim_end().to_owned(),
        };
        let ink = row.answers.get(at.wrapping_sub(1)).and_then(|answer| answer.differs);
        let line = hang(&clean(&format!("{value}{told}")), width, &format!("  {}  ", letter(*at)), "     ");
        lines.push(if ink == Some(true) { dye(Ink::Bold, &line) } else { line });
    }
    lines.join("\n")
}

/// "−7.4 % [−9.1, −5.6] %, differs: by the level that both hold".
pub(crate) fn sentence(answer: &Answer) -> String {
    let written = ratio(answer.ratio, answer.interval);
    let interval = written.interval_with_unit().map(|text| format!(" {text}")).unwrap_or_default();
    let verdict = match answer.differs {
        Some(true) => "differs",
        Some(false) => "no difference shown",
        None => "no verdict",
    };
    let ground = match answer.ground {
        Ground::CommonLevel => "each held against the level that both have".to_owned(),
        Ground::History => {
            format!("by the spread of {}", counted(u64::from(answer.runs.unwrap_or(0)), "other run"))
        }
        Ground::Runs => format!("by ranks of {}", counted(u64::from(answer.runs.unwrap_or(0)), "run")),
        Ground::None => "the day may be all of it".to_owned(),
    };
    match answer.ratio {
        Some(_) => format!("{}{interval}, {verdict}: {ground}", written.estimate),
        None => String::new(),
    }
}

/// How the answers are to be read.
pub(crate) fn grounds(found: &Difference) -> String {
    let held = declared_percent(found.confidence);
    format!(
        "Against {}, each at {held}. Figures of two runs also differ by their hour and, where it is another, their host: a verdict needs \
         a level that both hold, or five other runs of the same experiment on the same machine, or four runs on each side.",
        letter(0)
    )
}
