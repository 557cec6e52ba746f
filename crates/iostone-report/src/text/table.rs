//! The table of configurations on the terminal: two lines a row, so that it fits 80 columns.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use iostone_model::verdict::{Comparison, Verdict};

use super::{columns, sparkline};
use crate::figures::{NO_FIGURE, RatioText, figure, own_ratio, percent, range};
use crate::ink::{Ink, clean, dye};
use crate::view::{Row, View};
use crate::wording::{TOGETHER, deciding_interval, is_decided_together, verdict_words};

/// Columns of the sparkline.
const SPARK_COLUMNS: usize = 8;

/// Space to the left of each column: little before figures, which are flushed right, more before words.
const GAPS: [u16; 7] = [0, 1, 2, 2, 1, 1, 2];

/// The columns that only a comparison fills.
const COMPARED: [usize; 2] = [2, 3];

/// From this width on the interval stands beside its figure, not below.
const WIDE: usize = 112;

/// More rows than that take a line each.
const ROWS_OF_TWO_LINES: usize = 3;

/// Of a longer name so many letters in a line can still be read.
const READABLE_NAME: usize = 12;

/// Draws every configuration, and the comparisons that belong to none.
pub(super) fn draw(view: &View<'_>, margin: f64, width: usize) -> String {
    if view.rows.is_empty() && view.unplaced.is_empty() {
        return String::new();
    }
    let sparks = view.rows.iter().any(|row| row.values().count() > 1);
    let mut table = fill(view, margin, width, sparks);
    // A name in a column of two letters says nothing; the sparkline is what can be spared.
    if sparks && !leaves_room_for_names(&table, width) {
        table = fill(view, margin, width, false);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    // Between rows white space parts better than rules do.
    let is_rule = |line: &str| line.chars().all(|c| c == '\u{2500}');
    let last = lines.len().saturating_sub(1);
    let inner = |at: usize| at > 0 && at < last;
    let lines: Vec<&str> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| if inner(at) && is_rule(line) { "" } else { line.as_str() })
        .collect();
    lines.join("\n").replace('\u{2550}', "\u{2500}")
}

/// The same, with one line a row where rows are many.
pub(super) fn draw_brief(view: &View<'_>, margin: f64, width: usize) -> String {
    if view.rows.len() + view.unplaced.len() <= ROWS_OF_TWO_LINES || width >= WIDE {
        return draw(view, margin, width);
    }
    let header = ["", "verdict", "median", "vs baseline", "interval", "trials"].map(str::to_owned);
    let placed = view.rows.iter().map(|row| {
        let median = row.centre().map_or_else(|| NO_FIGURE.to_owned(), |median| figure(view.unit, median));
        let median = if row.is_uncounted() { format!("({median})") } else { median };
        let (counting, invalid) = row.trial_counts();
        let trials =
            if invalid > 0 { format!("{counting}\u{a0}+{invalid}\u{a0}inv.") } else { counting.to_string() };
        let [verdict, estimate, interval] = match row.comparison {
            Some(comparison) => in_a_line(comparison, margin, view),
            None if row.baseline => [dye(Ink::Dim, "baseline"), String::new(), String::new()],
            None => [const { String::new() }; 3],
        };
        vec![clean(row.name), verdict, median, estimate, interval, trials]
    });
    let unplaced = view.unplaced.iter().map(|comparison| {
        let name = format!("{} {}", comparison.level, comparison.stratum);
        let [verdict, estimate, interval] = in_a_line(comparison, margin, view);
        vec![clean(name.trim()), verdict, String::new(), estimate, interval, String::new()]
    });
    let mut rows: Vec<Vec<String>> = placed.chain(unplaced).collect();
    let mut header = header.to_vec();
    if !view.compares() {
        for row in rows.iter_mut().chain([&mut header]) {
            row.drain(3..5);
            row.remove(1);
        }
    }
    // Trials are the first that can be spared, then letters of names.
    if columns::width(&header, &rows) > width {
        for row in rows.iter_mut().chain([&mut header]) {
            row.pop();
        }
    }
    let excess = columns::width(&header, &rows).saturating_sub(width);
    columns::narrow(&mut header, &mut rows, 0, excess, READABLE_NAME);
    let left = if view.compares() { 2 } else { 1 };
    let lines: Vec<String> =
        columns::lines(&header, &rows, left).iter().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// The verdict, the ratio and its interval of a comparison.
fn in_a_line(comparison: &Comparison, margin: f64, view: &View<'_>) -> [String; 3] {
    let (ratio, words, ink) = weigh(comparison, margin, view);
    let together = !view.rehearsal && is_decided_together(&comparison.flags);
    let mark = if together { format!("\u{a0}{TOGETHER}") } else { String::new() };
    [
        format!("{}{mark}", dye(ink, &words)),
        ratio.estimate.clone(),
        ratio.interval_with_unit().unwrap_or_default(),
    ]
}

/// The table, with or without the column of sparklines.
fn fill(view: &View<'_>, margin: f64, width: usize, sparks: bool) -> Table {
    let between = if width >= WIDE { " " } else { "\n" };
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let mut header = vec![
        // What stands in the first column says itself what it is, and a long title would squeeze the others.
        String::new(),
        format!("median{between}interval"),
        format!("vs baseline{between}interval"),
        "verdict".to_owned(),
        "trials".to_owned(),
        "spread".to_owned(),
    ];
    if sparks {
        header.push("in order".to_owned());
    }
    let keep = |at: &usize| view.compares() || !COMPARED.contains(at);
    let header = header.into_iter().enumerate().filter(|(at, _)| keep(at)).map(|(_, title)| title);
    table.set_header(header.map(|title| Cell::new(dye(Ink::Dim, &title))));
    for row in &view.rows {
        let cells = cells(view, row, margin, sparks, between).into_iter().enumerate();
        table.add_row(cells.filter(|(at, _)| keep(at)).map(|(_, cell)| cell));
    }
    for comparison in &view.unplaced {
        let [against, verdict] = compared(Some(comparison), false, margin, view, between);
        let name = clean(&format!("{} {}", comparison.level, comparison.stratum));
        table.add_row([name.trim().to_owned(), String::new(), against, verdict].map(Cell::new));
    }
    arrange(&mut table, view.compares());
    table
}

/// Whether the other columns leave the names what they need, or a readable part of it.
fn leaves_room_for_names(table: &Table, width: usize) -> bool {
    let widths = table.column_max_content_widths();
    let Some((names, others)) = widths.split_first() else { return true };
    // The style parts columns by a blank, and has one at its edge.
    let blanks = others.len() + 1;
    let others: usize = others.iter().zip(&GAPS[1..]).map(|(width, gap)| usize::from(width + gap)).sum();
    blanks + others + usize::from(*names).min(READABLE_NAME) <= width
}

/// Only the name's column gives way when the table is wider than the terminal.
fn arrange(table: &mut Table, compares: bool) {
    let kept = GAPS.into_iter().enumerate().filter(|(at, _)| compares || !COMPARED.contains(at));
    for (place, (index, gap)) in kept.enumerate() {
        let Some(column) = table.column_mut(place) else { continue };
        column.set_padding((gap, 0));
        if index > 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        if [1, 2, 4, 5].contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn cells(view: &View<'_>, row: &Row<'_>, margin: f64, sparks: bool, between: &str) -> Vec<Cell> {
    let name = dye(Ink::Bold, &clean(row.name));
    let [against, verdict] = compared(row.comparison, row.baseline, margin, view, between);
    let (counting, invalid) = row.trial_counts();
    let trials = if invalid > 0 { format!("{counting}\n+{invalid}\u{a0}inv.") } else { counting.to_string() };
    let spread = row.robust_spread().map(percent).unwrap_or_default();
    let mut texts = vec![name, median(view, row, between), against, verdict, trials, spread];
    if sparks {
        texts.push(spark(row));
    }
    texts.into_iter().map(Cell::new).collect()
}

/// The median over its interval, or why there is none.
fn median(view: &View<'_>, row: &Row<'_>, between: &str) -> String {
    let Some(median) = row.centre() else { return dye(Ink::Dim, NO_FIGURE) };
    let interval = match row.median_interval() {
        Some((low, high)) => dye(Ink::Dim, &bare(&range(view.unit, low, high), &figure(view.unit, median))),
        None if row.trial_counts().0 < 6 => dye(Ink::Dim, "n<6: none"),
        None => dye(Ink::Dim, "no interval"),
    };
    let written = figure(view.unit, median);
    // In brackets where it is that of trials that do not count.
    let written = if row.is_uncounted() { format!("({written})") } else { written };
    format!("{written}{between}{interval}")
}

/// Drops the unit of a range that is that of the figure above it.
fn bare(range: &str, figure: &str) -> String {
    let unit = figure.split_once('\u{a0}').map(|(_, unit)| format!("\u{a0}{unit}")).unwrap_or_default();
    match range.strip_suffix(unit.as_str()) {
        Some(rest) if !rest.contains('\u{a0}') => rest.to_owned(),
        _ => range.to_owned(),
    }
}

/// The ratio over its interval, and the verdict.
fn compared(
    comparison: Option<&Comparison>,
    baseline: bool,
    margin: f64,
    view: &View<'_>,
    between: &str,
) -> [String; 2] {
    let rehearsal = view.rehearsal;
    let Some(comparison) = comparison else {
        let none = if baseline { dye(Ink::Dim, "baseline") } else { String::new() };
        return [none, String::new()];
    };
    let (ratio, words, ink) = weigh(comparison, margin, view);
    let interval = ratio.interval_with_unit().unwrap_or_else(|| "no interval".to_owned());
    let against = format!("{}{between}{}", ratio.estimate, dye(Ink::Dim, &interval));
    let together = !rehearsal && is_decided_together(&comparison.flags);
    let mark = if together { format!("\u{a0}{TOGETHER}") } else { String::new() };
    // The margin goes on a second line of its own.
    let verdict = match words.split_once(" within ") {
        Some((word, rest)) => format!("{}{mark}\nwithin\u{a0}{rest}", dye(ink, word)),
        None => format!("{}{mark}", dye(ink, &words)),
    };
    [against, verdict]
}

/// The ratio with the interval that decided, the verdict's words and how they look.
fn weigh(comparison: &Comparison, margin: f64, view: &View<'_>) -> (RatioText, String, Ink) {
    let rehearsal = view.rehearsal;
    let unpaired = comparison.unpaired.as_ref();
    let ratio = own_ratio(
        view.better,
        comparison.ratio.or(unpaired.map(|test| test.ratio)),
        if comparison.ratio.is_some() {
            deciding_interval(comparison)
        } else {
            unpaired.map_or([None, None], |test| test.ratio_interval)
        },
    );
    let words = verdict_words(comparison, margin, rehearsal);
    let ink = match comparison.verdict {
        _ if rehearsal => Ink::Dim,
        Some(Verdict::Faster) => Ink::Good,
        Some(Verdict::Slower) => Ink::Bad,
        Some(Verdict::Equivalent) => Ink::Bold,
        Some(Verdict::Undecided | Verdict::Unstable) => Ink::Caution,
        None => Ink::Dim,
    };
    (ratio, words, ink)
}

/// The configuration's own scale: the row shows drift within it, the columns beside show its size.
fn spark(row: &Row<'_>) -> String {
    let values: Vec<f64> = row.values().filter(|(_, counts)| *counts).map(|(value, _)| value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    sparkline::draw(&values, (low, high), SPARK_COLUMNS)
}
