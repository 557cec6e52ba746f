//! The table of one curve: where each point lies, the medians of both levels, their ratio, and its verdict.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use iostone_model::verdict::{
    Comparison, ConfigurationSummary, CurveVerdict, LoadRange, Verdict, Verdicts, fold_loads,
};

use super::super::wrap::{columns, wrap};
use super::{POINTS_SHOWN, ROWS_SHOWN};
use crate::figures::{factor_digits, figure, range, ratio};
use crate::ink::{Ink, clean, dye};
use crate::view::stands_at;
use crate::wording::{TOGETHER, deciding_interval, is_decided_together, verdict_words};

/// What the end of a span says for its beginning too.
const PERCENT: &str = "\u{a0}%";

/// A longer name is no title for a column of figures.
const LONGEST_TITLE: usize = 12;

/// The two levels that a curve compares.
pub(super) struct Sides<'a> {
    baseline: (String, Option<&'a ConfigurationSummary>),
    level: (String, Option<&'a ConfigurationSummary>),
    /// Whether the verdicts of all its points were decided together.
    together: bool,
}

impl<'a> Sides<'a> {
    pub(super) fn of(curve: &CurveVerdict, verdicts: &'a Verdicts) -> Self {
        let find = |level: &str| {
            let at = |summary: &&ConfigurationSummary| stands_at(summary, level, &curve.stratum);
            verdicts.configurations.iter().find(at).filter(|summary| !summary.points.is_empty())
        };
        let title = |name: &str, plain: &str| {
            let name = clean(name);
            if columns(&name) > LONGEST_TITLE { plain.to_owned() } else { name }
        };
        Self {
            baseline: (title(&curve.baseline, "baseline"), find(&curve.baseline)),
            level: (title(&curve.level, "level"), find(&curve.level)),
            together: is_decided_together(&curve.flags),
        }
    }

    fn have_medians(&self) -> bool {
        self.baseline.1.is_some() || self.level.1.is_some()
    }
}

/// How the columns stand: figure, small load, large load, then what is known, with two things in a cell where the
/// terminal is narrow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    WithoutMedians,
    Wide,
    Narrow,
}

pub(super) fn draw(points: &[&Comparison], sides: &Sides<'_>, margin: f64, width: usize) -> String {
    let names: Vec<&str> = points.iter().map(|point| point.point.as_str()).collect();
    let fold = points.len() > POINTS_SHOWN;
    let kind =
        |index: usize| points.get(index).map(|point| (point.verdict, is_decided_together(&point.flags)));
    let ranges = fold_loads(&names, |left, right| fold && kind(left) == kind(right));
    let lay_out = |layout| fill(points, &ranges, sides, margin, width, layout);
    let table = if sides.have_medians() {
        let wide = lay_out(Layout::Wide);
        if fits(&wide, width) { wide } else { lay_out(Layout::Narrow) }
    } else {
        lay_out(Layout::WithoutMedians)
    };
    let mut text = without_inner_rules(&table);
    let left: usize = ranges.iter().skip(ROWS_SHOWN).map(|range| range.members.len()).sum();
    if left > 0 {
        let more = format!("... and {left} more points: `iostone report --format json` has them all");
        text = format!("{text}\n{}", wrap(&more, width));
    }
    text
}

/// An empty table of that width.
pub(super) fn start(width: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table
}

/// Pads the columns and flushes figures right.
pub(super) fn arrange(table: &mut Table, right: &[usize]) {
    for index in 0..table.column_count() {
        let Some(column) = table.column_mut(index) else { continue };
        column.set_padding((if index == 0 { 0 } else { 2 }, 0));
        if index > 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Whether no column need be squeezed.
pub(super) fn fits(table: &Table, width: usize) -> bool {
    let widths = table.column_max_content_widths();
    let gaps = 2 * widths.len().saturating_sub(1);
    widths.iter().map(|width| usize::from(*width)).sum::<usize>() + gaps <= width
}

fn fill(
    points: &[&Comparison],
    ranges: &[LoadRange<'_>],
    sides: &Sides<'_>,
    margin: f64,
    width: usize,
    layout: Layout,
) -> Table {
    let mut table = start(width);
    let (baseline, level) = (sides.baseline.0.as_str(), sides.level.0.as_str());
    let stacked = format!("{baseline}\n{level}");
    let titles: &[&str] = match layout {
        Layout::WithoutMedians => &["vs baseline", "interval", "verdict"],
        Layout::Wide => &[baseline, level, "vs baseline", "interval", "verdict"],
        Layout::Narrow => &[&stacked, "vs baseline\ninterval", "verdict"],
    };
    let header = ["", "Small", "Large"].iter().chain(titles);
    table.set_header(header.map(|title| Cell::new(dye(Ink::Dim, title))));
    let mut shown = "";
    for range in ranges.iter().take(ROWS_SHOWN) {
        let own: Vec<&Comparison> =
            range.members.iter().filter_map(|index| points.get(*index).copied()).collect();
        // A figure is named where its rows begin.
        let words = range.first.figure_words();
        let figure = if words == shown { "" } else { words };
        shown = words;
        let place = [
            dye(Ink::Bold, &clean(figure)),
            range.small().unwrap_or_default(),
            range.large().unwrap_or_default(),
        ];
        let (estimate, interval) = sizes(&own);
        let interval = dye(Ink::Dim, &interval);
        let verdict = verdict(&own, sides, margin);
        let [left, right] = [sides.baseline.1, sides.level.1].map(|summary| medians(summary, range, &own));
        let cells = match layout {
            Layout::WithoutMedians => vec![estimate, interval, verdict],
            Layout::Wide => vec![left, right, estimate, interval, verdict],
            Layout::Narrow => {
                vec![format!("{left}\n{right}"), format!("{estimate}\n{interval}"), verdict]
            }
        };
        table.add_row(place.into_iter().chain(cells).map(Cell::new));
    }
    arrange(
        &mut table,
        if layout == Layout::WithoutMedians {
            &[3]
        } else if layout == Layout::Wide {
            &[3, 4, 5]
        } else {
            &[3, 4]
        },
    );
    table
}

/// The median of a level at a point; of several points, what theirs span.
fn medians(
    summary: Option<&ConfigurationSummary>,
    range_of: &LoadRange<'_>,
    points: &[&Comparison],
) -> String {
    let values = || points.iter().filter_map(|point| summary?.points.get(&point.point).copied());
    let unit = range_of.first.unit();
    match values().reduce(f64::min).zip(values().reduce(f64::max)) {
        Some((low, high)) if figure(unit, low) == figure(unit, high) => figure(unit, low),
        Some((low, high)) => range(unit, low, high),
        None => dye(Ink::Dim, "none"),
    }
}

fn verdict(points: &[&Comparison], sides: &Sides<'_>, margin: f64) -> String {
    let Some(first) = points.first() else { return String::new() };
    let words = verdict_words(first, margin, false);
    let word = words.split_once(" within ").map_or(words.as_str(), |(word, _)| word);
    let ink = match first.verdict {
        Some(Verdict::Faster) => Ink::Good,
        Some(Verdict::Slower) => Ink::Bad,
        Some(Verdict::Equivalent) => Ink::Bold,
        Some(Verdict::Undecided | Verdict::Unstable) => Ink::Caution,
        None => Ink::Dim,
    };
    let decided = matches!(first.verdict, Some(Verdict::Faster | Verdict::Slower | Verdict::Equivalent));
    let marked = decided && (sides.together || is_decided_together(&first.flags));
    let mark = if marked { format!("\u{a0}{TOGETHER}") } else { String::new() };
    format!("{}{mark}", dye(ink, word))
}

/// The typical ratio and the interval that decides; of several points, what both span.
fn sizes(points: &[&Comparison]) -> (String, String) {
    let ratios = || points.iter().filter_map(|point| point.ratio);
    let (low, high) = (ratios().reduce(f64::min), ratios().reduce(f64::max));
    // A bound that one of them lacks is lacking for all.
    let bound = |side: usize| -> Option<Vec<f64>> {
        points.iter().map(|point| deciding_interval(point).get(side).copied().flatten()).collect()
    };
    let bounds = [
        bound(0).and_then(|bounds| bounds.into_iter().reduce(f64::min)),
        bound(1).and_then(|bounds| bounds.into_iter().reduce(f64::max)),
    ];
    let (lower, upper) = (ratio(low, bounds), ratio(high, bounds));
    // Both ends in one style: where one of them is a factor, so is the other.
    let as_factor = !(lower.in_percent && upper.in_percent);
    let interval = if lower.in_percent { &upper } else { &lower };
    let interval = interval.interval_with_unit().unwrap_or_else(|| "no interval".to_owned());
    let write = |value: Option<f64>, written: &str| match value {
        Some(value) if as_factor => format!("\u{d7}{}", factor_digits(value)),
        _ => written.to_owned(),
    };
    let (from, to) = (write(low, &lower.estimate), write(high, &upper.estimate));
    let estimate = match (from == to, to.ends_with(PERCENT)) {
        (true, _) => to,
        (false, true) => format!("{} to {to}", from.trim_end_matches(PERCENT)),
        (false, false) => format!("{from} to {to}"),
    };
    (estimate, interval)
}

/// Rules part only the header and the end.
pub(super) fn without_inner_rules(table: &Table) -> String {
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let is_rule = |line: &str| !line.is_empty() && line.chars().all(|c| c == '\u{2500}');
    let last = lines.len().saturating_sub(1);
    let kept = lines.iter().enumerate().filter(|(at, line)| *at == 0 || *at == last || !is_rule(line));
    let kept: Vec<&str> = kept.map(|(_, line)| line.as_str()).collect();
    kept.join("\n").replace('\u{2550}', "\u{2500}")
}
