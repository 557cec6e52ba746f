//! Curves on the terminal: the verdict on each, and its points, folded into ranges of load where they are many.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use iostone_model::verdict::{Comparison, CurveVerdict, LoadRange, Verdict, Verdicts, fold_loads};

use super::Page;
use super::wrap::wrap;
use crate::figures::ratio;
use crate::ink::{Ink, clean, dye};
use crate::view::name_in;
use crate::wording::curve::{curve_words, points_of};
use crate::wording::verdict_words;

/// Up to so many points each has a row of its own.
const POINTS_SHOWN: usize = 15;

/// More rows nobody reads; the rest is in the other formats.
const ROWS_SHOWN: usize = 40;

/// What the end of a span says for its beginning too.
const PERCENT: &str = "\u{a0}%";

const LEGEND: &str = "Ratios are of performance: above 0\u{a0}% (\u{d7}1) is better. Their intervals hold for all points and \
                      looks together.";
const FOLDED: &str = "A row of several points gives the span of their typical ratios and of their intervals.";

/// The curves with their points, each curve under its verdict.
pub(super) fn add(page: &mut Page, verdicts: Option<&Verdicts>, margin: f64) {
    let Some(verdicts) = verdicts.filter(|verdicts| !verdicts.curves.is_empty()) else { return };
    let mut folded = false;
    for curve in &verdicts.curves {
        let points: Vec<&Comparison> = points_of(curve, verdicts).collect();
        page.add(format!("{}\n{}", title(page, curve, margin), draw(&points, margin, page.width)));
        folded |= points.len() > POINTS_SHOWN;
    }
    let legend = if folded { format!("{LEGEND} {FOLDED}") } else { LEGEND.to_owned() };
    page.add(dye(Ink::Dim, &wrap(&legend, page.width)));
}

/// "off against on: faster (12 of 28 points faster, none slower)".
fn title(page: &Page, curve: &CurveVerdict, margin: f64) -> String {
    let name = clean(&name_in(&curve.level, &curve.stratum));
    let counts = curve_words(curve, margin);
    let line = format!("{name} against {}: {} ({counts})", clean(&curve.baseline), curve.verdict.word());
    dye(Ink::Bold, &wrap(&line, page.width))
}

fn draw(points: &[&Comparison], margin: f64, width: usize) -> String {
    let names: Vec<&str> = points.iter().map(|point| point.point.as_str()).collect();
    let fold = points.len() > POINTS_SHOWN;
    let verdict = |index: usize| points.get(index).map(|point| point.verdict);
    let ranges = fold_loads(&names, |left, right| fold && verdict(left) == verdict(right));
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let header = ["", "Small", "Large", "vs baseline", "interval", "verdict"];
    table.set_header(header.map(|title| Cell::new(dye(Ink::Dim, title))));
    let mut figure = "";
    for range in ranges.iter().take(ROWS_SHOWN) {
        let own: Vec<&Comparison> =
            range.members.iter().filter_map(|index| points.get(*index).copied()).collect();
        // A figure is named where its rows begin.
        let words = range.first.figure_words();
        let shown = if words == figure { "" } else { words };
        figure = words;
        table.add_row(cells(range, &own, shown, margin).map(Cell::new));
    }
    for index in 0..header.len() {
        let Some(column) = table.column_mut(index) else { continue };
        column.set_padding((if index == 0 { 0 } else { 2 }, 0));
        if index > 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        if index == 3 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = without_inner_rules(&table);
    let left: usize = ranges.iter().skip(ROWS_SHOWN).map(|range| range.members.len()).sum();
    if left > 0 {
        let more = format!("... and {left} more points: `iostone report --format json` has them all");
        text = format!("{text}\n{}", wrap(&more, width));
    }
    text
}

fn cells(range: &LoadRange<'_>, points: &[&Comparison], figure: &str, margin: f64) -> [String; 6] {
    let first = points.first();
    let words = first.map(|point| verdict_words(point, margin, false)).unwrap_or_default();
    let word = words.split_once(" within ").map_or(words.as_str(), |(word, _)| word);
    let ink = match first.and_then(|point| point.verdict) {
        Some(Verdict::Faster) => Ink::Good,
        Some(Verdict::Slower) => Ink::Bad,
        Some(Verdict::Equivalent) => Ink::Bold,
        Some(Verdict::Undecided | Verdict::Unstable) => Ink::Caution,
        None => Ink::Dim,
    };
    let (estimate, interval) = sizes(points);
    [
        dye(Ink::Bold, &clean(figure)),
        range.small().unwrap_or_default(),
        range.large().unwrap_or_default(),
        estimate,
        dye(Ink::Dim, &interval),
        dye(ink, word),
    ]
}

/// The typical ratio and its interval; of several points, what both span.
fn sizes(points: &[&Comparison]) -> (String, String) {
    let least = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::min);
    let most = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::max);
    let low = least(&mut points.iter().filter_map(|point| point.ratio));
    let high = most(&mut points.iter().filter_map(|point| point.ratio));
    // A bound that one of them lacks is lacking for all.
    let bound = |side: usize| -> Option<Vec<f64>> {
        points.iter().map(|point| point.ratio_interval.get(side).copied().flatten()).collect()
    };
    let bounds = [
        bound(0).and_then(|bounds| bounds.into_iter().reduce(f64::min)),
        bound(1).and_then(|bounds| bounds.into_iter().reduce(f64::max)),
    ];
    let written = ratio(low, bounds);
    let interval = written.interval_with_unit().unwrap_or_else(|| "no interval".to_owned());
    let upper = ratio(high, bounds).estimate;
    let estimate = match (upper == written.estimate, upper.ends_with(PERCENT)) {
        (true, _) => upper,
        (false, true) => format!("{} to {upper}", written.estimate.trim_end_matches(PERCENT)),
        (false, false) => format!("{} to {upper}", written.estimate),
    };
    (estimate, interval)
}

/// One line a row: rules part only the header and the end.
fn without_inner_rules(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| c == '\u{2500}');
    let last = lines.len().saturating_sub(1);
    let kept = lines.iter().enumerate().filter(|(at, line)| *at == 0 || *at == last || !is_rule(line));
    let kept: Vec<&str> = kept.map(|(_, line)| line.as_str()).collect();
    kept.join("\n").replace('\u{2550}', "\u{2500}")
}
