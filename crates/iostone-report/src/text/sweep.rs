//! A sweep on the terminal: one line a level with its figures, how it stands, and a bar.

use iostone_model::verdict::{SweepLevel, SweepState, SweepVerdict};

use super::wrap::wrap;
use super::{Page, columns};
use crate::figures::{NO_FIGURE, figure, range, ratio};
use crate::ink::{Ink, clean, dye};
use crate::sweep;
use crate::view::View;

/// Bars shorter than this are left out.
const SHORTEST_BAR: usize = 6;
/// Beyond so many columns a bar tells no more.
const LONGEST_BAR: usize = 40;
/// The column of names, and of a longer one so many letters can still be read.
const NAME: usize = 1;
const READABLE_NAME: usize = 8;
/// From this width on the intervals of medians are shown.
const WIDE: usize = 100;

/// How a level stands, in a sign; the legend below the table says what it means.
fn sign(state: SweepState) -> &'static str {
    match state {
        SweepState::Best => "▶",
        SweepState::NotShownWorse => "=",
        SweepState::Worse => "−",
        SweepState::BeyondWorse => "○",
        SweepState::Open => "?",
    }
}

/// Adds the table and what qualifies it.
pub(super) fn add(page: &mut Page, view: &View<'_>, found: &SweepVerdict, margin: f64) {
    let (table, bars) = draw(view, found, page.width);
    page.add(table);
    page.add(dye(Ink::Dim, &wrap(&legend(found, bars), page.width)));
    let sentences = [
        sweep::set_sentence(found, margin),
        sweep::tie_sentence(found, view.better),
        Some(sweep::effort_sentence(found)),
        sweep::assumption_sentence(found),
        sweep::fit_sentence(found, view.unit),
    ];
    page.add(joined(sentences, page.width));
}

/// The table, its signs, and which levels may be the best.
pub(super) fn brief(view: &View<'_>, found: &SweepVerdict, margin: f64, width: usize) -> [String; 2] {
    let (table, _) = draw(view, found, width);
    let signs = dye(Ink::Dim, &wrap(&signs(found), width));
    let sentences = [sweep::set_sentence(found, margin), sweep::tie_sentence(found, view.better)];
    [format!("{table}\n{signs}"), joined(sentences, width)]
}

fn joined(sentences: impl IntoIterator<Item = Option<String>>, width: usize) -> String {
    let sentences: Vec<String> = sentences.into_iter().flatten().map(|sentence| clean(&sentence)).collect();
    wrap(&sentences.join(" "), width)
}

/// The table, and whether it has bars.
fn draw(view: &View<'_>, found: &SweepVerdict, width: usize) -> (String, bool) {
    let wide = width >= WIDE;
    let mut header = vec![String::new(), clean(&found.factor), "median".to_owned()];
    if wide {
        header.push("interval".to_owned());
    }
    header.extend([&format!("vs {}", sweep::against_words(found)), "interval", "trials"].map(str::to_owned));
    let mut rows: Vec<Vec<String>> =
        found.levels.iter().map(|level| cells(view, found, level, wide)).collect();
    // Names give way before figures do, and intervals before the line does.
    let excess = columns::width(&header, &rows).saturating_sub(width);
    columns::narrow(&mut header, &mut rows, NAME, excess, READABLE_NAME);
    if columns::width(&header, &rows) > width {
        for row in rows.iter_mut().chain([&mut header]) {
            let at = row.len().saturating_sub(2);
            row.remove(at);
        }
    }
    let taken = columns::width(&header, &rows) + 2;
    let room = width.saturating_sub(taken).min(LONGEST_BAR);
    let longest = found.levels.iter().filter_map(|level| level.median).fold(0.0, f64::max);
    let mut table = columns::lines(&header, &rows, 0).into_iter();
    let mut lines: Vec<String> = table.next().into_iter().collect();
    for (level, row) in found.levels.iter().zip(table) {
        let bar = if room >= SHORTEST_BAR { bar(level, longest, room) } else { String::new() };
        let written = format!("{row}  {bar}");
        let ink = match level.state {
            SweepState::Best => Some(Ink::Bold),
            SweepState::BeyondWorse | SweepState::Open => Some(Ink::Dim),
            SweepState::NotShownWorse | SweepState::Worse => None,
        };
        let written = written.trim_end();
        lines.push(ink.map_or_else(|| written.to_owned(), |ink| dye(ink, written)));
    }
    (lines.join("\n"), room >= SHORTEST_BAR)
}

fn cells(view: &View<'_>, found: &SweepVerdict, level: &SweepLevel, wide: bool) -> Vec<String> {
    let median = level.median.map_or_else(|| NO_FIGURE.to_owned(), |median| figure(view.unit, median));
    let mut cells = vec![sign(level.state).to_owned(), clean(&level.level), median];
    if wide {
        cells.push(match level.median_interval {
            [Some(low), Some(high)] => range(view.unit, low, high),
            _ if level.trials < 6 => "n<6: none".to_owned(),
            _ => "none".to_owned(),
        });
    }
    let (estimate, interval) = match level.state {
        SweepState::Best => ("best".to_owned(), String::new()),
        _ if Some(&level.level) == found.leader.as_ref() => ("leads".to_owned(), String::new()),
        _ if level.ratio.is_none() => (String::new(), String::new()),
        _ => {
            let against = ratio(level.ratio, level.ratio_interval);
            let interval = against.interval_with_unit().unwrap_or_else(|| "none".to_owned());
            (against.estimate, interval)
        }
    };
    cells.extend([estimate, interval, level.trials.to_string()]);
    cells
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting saturates, and the share lies between 0 and 1"
)]
fn bar(level: &SweepLevel, longest: f64, room: usize) -> String {
    let share = level.median.filter(|_| longest > 0.0).map_or(0.0, |median| median / longest);
    let length = (share.clamp(0.0, 1.0) * room as f64).round() as usize;
    // Outlined where it was passed over.
    let letter = if sweep::is_passed_over(level.state) { "░" } else { "█" };
    letter.repeat(length)
}

/// What the signs mean, those that occur only.
fn signs(found: &SweepVerdict) -> String {
    let states = [
        (SweepState::Best, "best"),
        (SweepState::NotShownWorse, "not shown worse"),
        (SweepState::Worse, "shown worse"),
        (SweepState::BeyondWorse, "passed over, beyond a worse one"),
        (SweepState::Open, "open"),
    ];
    let occurring = states
        .into_iter()
        .filter(|(state, _)| found.levels.iter().any(|level| level.state == *state))
        .map(|(state, words)| format!("{}\u{a0}{}", sign(state), words.replace(' ', "\u{a0}")));
    occurring.collect::<Vec<String>>().join("  ")
}

fn legend(found: &SweepVerdict, bars: bool) -> String {
    let bars = if bars { " Bars: medians from zero." } else { "" };
    format!(
        "{}. Ratios are of performance to {} within blocks: below 0\u{a0}% (\u{d7}1) is worse; their intervals \
         cover all levels and interim checks jointly.{bars}",
        signs(found),
        sweep::against_words(found)
    )
}
