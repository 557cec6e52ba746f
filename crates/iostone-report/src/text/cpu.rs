//! Where the CPU time went, on the terminal: a bar of block characters and the figures below it.

use std::fmt::Write as _;

use iostone_model::metric::Unit;
use iostone_model::trial::CpuAccount;

use super::wrap::{columns, hang, wrap};
use super::{Page, columns as table};
use crate::cpu_split::{CpuRow, CpuTimes, Part, STEAL_FROM_HOST, Split, Whole, of_one};
use crate::figures::{figure, percent};
use crate::ink::{Ink, clean, dye};
use crate::view::View;

/// Columns that a wall time takes.
const WALL: usize = 10;
/// Beyond so many columns a bar tells no more.
const LONGEST_BAR: usize = 64;

/// The character of a part: each its own, so that the bars read without colour.
fn letter(part: Part) -> char {
    match part {
        Part::User => '█',
        Part::System => '▓',
        Part::Throttled => '▒',
        Part::Governed => '░',
        Part::Steal => 'x',
        Part::IoWait => '~',
        Part::Other => '·',
        Part::Pressure => ' ',
    }
}

/// Adds the section; nothing where no trial has an account.
pub(super) fn add(page: &mut Page, view: &View<'_>) {
    let Some(times) = CpuTimes::of(view) else { return };
    let parts = times.parts();
    let names: Vec<String> = times.rows.iter().map(|row| clean(row.name)).collect();
    let fifth = page.width / 4;
    let label = names.iter().map(|name| columns(name)).filter(|width| *width <= fifth).max().unwrap_or(0);
    let room = page.width.saturating_sub(label + WALL + 4).min(LONGEST_BAR);
    let longest = times.longest();
    let mut lines =
        vec![dye(Ink::Bold, "Where the CPU went (medians of the trials)"), legend(&parts, page.width)];
    for (row, name) in times.rows.iter().zip(&names) {
        let width = columns(name);
        let first = if width > label {
            lines.push(hang(name, page.width, "  ", "  "));
            " ".repeat(label)
        } else {
            format!("{name}{}", " ".repeat(label - width))
        };
        let whole = match times.whole {
            Whole::Wall => row.typical.wall,
            Whole::Processors => row.typical.whole,
        };
        lines.push(format!(
            "  {first}  {} {}",
            bar(&row.typical, longest, room),
            figure(Unit::Seconds, whole)
        ));
    }
    lines.extend(figures(&times, &parts, &names, page.width));
    lines.push(dye(Ink::Dim, &wrap(&times.note(), page.width)));
    page.add(lines.join("\n"));
}

/// Every part's seconds: a line a configuration where that fits, else a sentence.
fn figures(times: &CpuTimes<'_>, parts: &[Part], names: &[String], width: usize) -> Vec<String> {
    let header: Vec<String> =
        std::iter::once(String::new()).chain(parts.iter().map(|part| part.name().to_owned())).collect();
    let cells = |split: &Split| parts.iter().map(|part| seconds(split, *part)).collect::<Vec<String>>();
    let rows: Vec<Vec<String>> = times
        .rows
        .iter()
        .zip(names)
        .map(|(row, name)| std::iter::once(name.clone()).chain(cells(&row.typical)).collect())
        .collect();
    if table::width(&header, &rows) + 2 <= width {
        return table::lines(&header, &rows, 1).iter().map(|line| format!("  {line}")).collect();
    }
    let told = |(row, name): (&CpuRow<'_>, &String)| {
        let told: Vec<String> = parts
            .iter()
            .map(|part| format!("{} {}", part.name(), seconds(&row.typical, *part)).replace(' ', "\u{a0}"))
            .collect();
        hang(&format!("{name}: {}", told.join(", ")), width, "  ", "    ")
    };
    times.rows.iter().zip(names).map(told).collect()
}

/// A part in seconds, or why there is no figure: never 0 for what cannot be seen.
fn seconds(split: &Split, part: Part) -> String {
    match (split.seconds(part), part) {
        (Some(seconds), _) => figure(Unit::Seconds, seconds),
        (None, Part::Throttled | Part::Governed) => "no limit".to_owned(),
        (None, _) => "unseen".to_owned(),
    }
}

/// One trial's: the bar, its legend and every figure on a line of its own. Lines end with a line feed.
pub(crate) fn of_trial(account: &CpuAccount, width: usize) -> String {
    let Some((split, whole)) = of_one(account) else { return String::new() };
    let of = match whole {
        Whole::Wall => "the wall time".to_owned(),
        Whole::Processors => format!("the wall time of {} processors", account.processors),
    };
    let mut text = format!("  {}\n", bar(&split, split.whole, width.saturating_sub(4).min(LONGEST_BAR)));
    for part in Part::ALL {
        let value = match split.seconds(part) {
            Some(seconds) if !part.is_drawn() => format!("{}, machine-wide", figure(Unit::Seconds, seconds)),
            Some(seconds) => {
                format!("{:<9} {:>7} of {of}", figure(Unit::Seconds, seconds), percent(seconds / split.whole))
            }
            None if part == Part::Steal => "not observable".to_owned(),
            None => continue,
        };
        // Writing into a string does not fail.
        let _ = writeln!(text, "  {} {:<14} {value}", letter(part), part.name());
    }
    if split.steal_from_host {
        let _ = writeln!(text, "{}", hang(STEAL_FROM_HOST, width, "  ", "  "));
    }
    text
}

/// A bar in which `longest` seconds fill `room` columns. Edges are rounded, not lengths, so that it is never too long.
fn bar(split: &Split, longest: f64, room: usize) -> String {
    let mut bar = String::new();
    let (mut reached, mut drawn) = (0.0, 0);
    for (part, seconds) in split.drawn() {
        reached += seconds;
        let edge = edge(reached / longest, room);
        bar.extend(std::iter::repeat_n(letter(part), edge.saturating_sub(drawn)));
        drawn = edge.max(drawn);
    }
    bar
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting saturates, and the share lies between 0 and 1"
)]
fn edge(share: f64, room: usize) -> usize {
    (share.clamp(0.0, 1.0) * room as f64).round() as usize
}

fn legend(parts: &[Part], width: usize) -> String {
    let entries: Vec<String> = parts
        .iter()
        .filter(|part| part.is_drawn())
        .map(|part| format!("{}\u{a0}{}", letter(*part), part.name().replace(' ', "\u{a0}")))
        .collect();
    hang(&entries.join("  "), width, "  ", "  ")
}
