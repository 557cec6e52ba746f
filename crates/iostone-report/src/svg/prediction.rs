//! Predicted rates over time with what binds written into each phase, the buckets below them, and ceilings as bars.

use iostone_model::answer::Answer;
use iostone_model::cloud::CeilingKind;
use iostone_model::metric::Unit;
use iostone_model::prediction::{CeilingRow, Phase, Prediction};

use super::heat_map::hatch;
use super::scale::Scale;
use super::{Anchor, Drawing, NARROW, fit, text_width};
use crate::figures::{figure, round_number, tick};
use crate::prediction::{BucketCurve, bucket_curves, headline, phase_span};

const PANEL_HEIGHT: f64 = 120.0;
const BUCKET_HEIGHT: f64 = 46.0;
const CAPTION: f64 = 26.0;
const AXIS_HEIGHT: f64 = 28.0;
const BAR: f64 = 18.0;
/// From the name above a bar to its upper edge, and from one bar to the next.
const NAME: f64 = 20.0;
const ROW: f64 = 52.0;
/// More phases than this look like a comb, where they are narrower than so much.
const APART_PHASES: usize = 40;
const APART: f64 = 18.0;
/// Said of the average of several phases.
const TURNS: &str = " and others in turns, on average";
/// More predictions than this are not drawn.
pub(crate) const PANELS: usize = 8;

/// The class that gives what binds its colour.
pub(crate) fn colour_class(kind: CeilingKind) -> &'static str {
    match kind {
        CeilingKind::Volume => "c0",
        CeilingKind::Link => "c1",
        CeilingKind::Array => "c2",
        CeilingKind::Cpu => "c3",
        CeilingKind::Source => "c4",
        CeilingKind::QueueDepth => "c5",
        CeilingKind::PageCache => "c6",
        CeilingKind::Filesystem => "c7",
    }
}

/// The rate of each prediction over one common time, a panel each with its buckets; nothing without a length.
pub(crate) fn draw_rates(answers: &[Answer], width: f64, id: &str) -> Option<String> {
    let drawn = answers.get(..PANELS.min(answers.len()))?;
    let longest = drawn.iter().map(|answer| answer.prediction.seconds).fold(0.0, f64::max);
    let rates =
        drawn.iter().flat_map(|answer| &answer.prediction.timeline).map(|phase| phase.bytes_per_second);
    let highest = rates.fold(0.0, f64::max);
    if !(longest.is_finite() && longest > 0.0 && highest.is_finite() && highest > 0.0) {
        return None;
    }
    let left = if width < NARROW { 62.0 } else { 84.0 };
    let horizontal = Scale::linear((0.0, longest), (left, width - 22.0));
    let curves: Vec<Vec<BucketCurve<'_>>> =
        drawn.iter().map(|answer| bucket_curves(&answer.prediction)).collect();
    let bucket_rows: usize = curves.iter().map(Vec::len).sum();
    let height = drawn.len() as f64 * (CAPTION + PANEL_HEIGHT + 14.0)
        + bucket_rows as f64 * (CAPTION + BUCKET_HEIGHT)
        + AXIS_HEIGHT;
    let mut drawing = Drawing::new(width, height);
    let mut top = 0.0;
    for (answer, curves) in drawn.iter().zip(&curves) {
        drawing.text("caption", (left, top + 16.0), Anchor::Start, &fit(&answer.label, width - left - 22.0));
        top += CAPTION;
        let vertical = Scale::linear((0.0, highest * 1.12), (top + PANEL_HEIGHT, top));
        for mark in vertical.ticks(3) {
            let y = vertical.at(mark);
            drawing.line("grid", (left, y), (width - 22.0, y));
            drawing.text("tick", (left - 7.0, y + 4.0), Anchor::End, &tick(Unit::BytesPerSecond, mark));
        }
        draw_phases(&mut drawing, &answer.prediction, &horizontal, &vertical);
        top += PANEL_HEIGHT;
        for curve in curves {
            draw_bucket(&mut drawing, curve, &horizontal, (left, top), width);
            top += CAPTION + BUCKET_HEIGHT;
        }
        top += 14.0;
    }
    draw_clock(&mut drawing, &horizontal, longest, width, height);
    let told: Vec<String> =
        drawn.iter().map(|answer| format!("{}: {}", answer.label, headline(answer))).collect();
    Some(drawing.finish(id, "Predicted rate over time", &told.join("; ")))
}

/// Each phase as an area that carries what binds, if there is room, and always when pointed at.
fn draw_phases(drawing: &mut Drawing, prediction: &Prediction, horizontal: &Scale, vertical: &Scale) {
    for phase in &drawn_phases(prediction, horizontal) {
        let (from, to) = (horizontal.at(phase.from_seconds), horizontal.at(phase.to_seconds));
        let (roof, floor) = (vertical.at(phase.bytes_per_second), vertical.at(0.0));
        let class = colour_class(phase.binds);
        let tip = format!(
            "{}: {}, {}",
            phase_span(phase, prediction.seconds),
            figure(Unit::BytesPerSecond, phase.bytes_per_second),
            phase.binding
        );
        drawing.rect(&format!("{class} interval"), (from, roof), ((to - from).max(1.0), floor - roof), &tip);
        drawing.line(&format!("{class} whisker"), (from, roof), (to, roof));
        drawing.line("axis", (to, roof), (to, floor));
        let (middle, space) = (f64::midpoint(from, to), to - from - 8.0);
        let below = if floor - roof > 44.0 { roof + 18.0 } else { roof - 6.0 };
        let word = phase.binds.word();
        if text_width(word) < space {
            drawing.text("label", (middle, below), Anchor::Middle, word);
        }
        let rate = figure(Unit::BytesPerSecond, phase.bytes_per_second);
        if text_width(&rate) < space && floor - roof > 44.0 {
            drawing.text("tick", (middle, below + 17.0), Anchor::Middle, &rate);
        }
    }
}

/// Phases as wide as can be told apart: of many, those that follow each other too fast are drawn as one, at their average.
fn drawn_phases(prediction: &Prediction, horizontal: &Scale) -> Vec<Phase> {
    let width = |phase: &Phase| horizontal.at(phase.to_seconds) - horizontal.at(phase.from_seconds);
    let phases = prediction.told_phases();
    if phases.len() <= APART_PHASES {
        return phases;
    }
    let mut drawn: Vec<Phase> = Vec::new();
    for phase in phases {
        let Some(last) = drawn.last_mut().filter(|last| width(last) < APART && width(&phase) < APART) else {
            drawn.push(phase);
            continue;
        };
        let length = |phase: &Phase| phase.to_seconds - phase.from_seconds;
        let bytes = last.bytes_per_second * length(last) + phase.bytes_per_second * length(&phase);
        last.to_seconds = phase.to_seconds;
        last.bytes_per_second = bytes / length(last);
        if !last.binding.ends_with(TURNS) {
            last.binding.push_str(TURNS);
        }
    }
    drawn
}

fn draw_bucket(
    drawing: &mut Drawing,
    curve: &BucketCurve<'_>,
    horizontal: &Scale,
    (left, top): (f64, f64),
    width: f64,
) {
    let (roof, floor) = (top + CAPTION, top + CAPTION + BUCKET_HEIGHT);
    let caption =
        if width < NARROW { curve.name.to_owned() } else { format!("{}: {}", curve.name, curve.words()) };
    drawing.text("note", (left, top + 18.0), Anchor::Start, &fit(&caption, width - left - 22.0));
    drawing.rect("highlight", (left, roof), (width - 22.0 - left, BUCKET_HEIGHT), &curve.words());
    let vertical = Scale::linear((0.0, curve.capacity), (floor, roof));
    for (share, label) in [(1.0, "full"), (0.0, "empty")] {
        let y = vertical.at(curve.capacity * share);
        drawing.text("tick", (left - 7.0, y + if share > 0.5 { 9.0 } else { 0.0 }), Anchor::End, label);
    }
    drawing.line("axis", (left, floor), (width - 22.0, floor));
    let points: Vec<(f64, f64)> =
        curve.points.iter().map(|(at, level)| (horizontal.at(*at), vertical.at(*level))).collect();
    drawing.polyline("c0 curve", &points);
}

/// The axis of time, in the unit that suits its length.
fn draw_clock(drawing: &mut Drawing, horizontal: &Scale, longest: f64, width: f64, height: f64) {
    let (unit, name) = match longest {
        _ if longest >= 4.0 * 3600.0 => (3600.0, "h"),
        _ if longest >= 240.0 => (60.0, "min"),
        _ => (1.0, "s"),
    };
    let count = if width < NARROW { 4 } else { 9 };
    for mark in Scale::linear((0.0, longest / unit), (0.0, 1.0)).ticks(count) {
        let x = horizontal.at(mark * unit);
        let label = format!("{}\u{a0}{name}", round_number(mark));
        let anchor = if x > width - 40.0 { Anchor::End } else { Anchor::Middle };
        drawing.line("axis", (x, height - AXIS_HEIGHT), (x, height - AXIS_HEIGHT + 5.0));
        drawing.text("tick", (x, height - 8.0), anchor, &label);
    }
}

/// Every ceiling as a bar: what it lets through in the long run, hatched beyond it what it does while its bucket lasts, and a
/// line at what is used.
pub(crate) fn draw_ceilings(prediction: &Prediction, width: f64, id: &str) -> Option<String> {
    let rows: Vec<&CeilingRow> = prediction.ceilings.iter().filter(|row| row.sustained > 0.0).collect();
    let most = |row: &&CeilingRow| row.burst.unwrap_or(row.sustained).max(row.sustained);
    let lowest = rows.iter().map(|row| row.sustained).reduce(f64::min)?;
    let highest = rows.iter().map(most).fold(lowest, f64::max);
    // A ceiling far above the others would squeeze them, and binds nothing.
    let shown = highest.min(prediction.bytes_per_second.max(lowest) * 8.0);
    let behind = if width < NARROW { 92.0 } else { 180.0 };
    let scale = Scale::linear((0.0, shown), (4.0, width - behind));
    let height = ROW * rows.len() as f64 + 24.0;
    let mut drawing = Drawing::new(width, height);
    for (place, row) in rows.iter().enumerate() {
        let top = ROW * place as f64;
        let class = colour_class(row.kind);
        let binds = if row.binds_seconds > 0.0 { " · binds" } else { "" };
        let name = format!("{}: {}{binds}", row.kind.word(), row.name);
        drawing.text("label", (4.0, top + 14.0), Anchor::Start, &fit(&name, width - 8.0));
        let (from, end) = (scale.at(0.0), scale.at_most(row.sustained));
        let corner = (from, top + NAME);
        let tip = format!("{}: {}", row.name, figure(Unit::BytesPerSecond, row.sustained));
        drawing.rect(&format!("{class} trial"), corner, (end - from, BAR), &tip);
        let mut last = end;
        if let Some(burst) = row.burst.filter(|burst| *burst > row.sustained) {
            last = scale.at_most(burst);
            let tip = format!("{}: {} while its bucket lasts", row.name, figure(Unit::BytesPerSecond, burst));
            drawing.rect(&format!("{class} interval"), (end, top + NAME), (last - end, BAR), &tip);
            drawing.path("hatch", &hatch((end, top + NAME), (last - end, BAR)), "");
        }
        let beyond = if most(row) > shown { "→ " } else { "" };
        let written = match row.burst.filter(|burst| *burst > row.sustained) {
            Some(burst) if width >= NARROW => format!("{beyond}{}, {}", short(row.sustained), short(burst)),
            _ => format!("{beyond}{}", short(row.sustained)),
        };
        drawing.text("tick", (last + 7.0, top + NAME + BAR / 2.0 + 4.5), Anchor::Start, &written);
    }
    let used = scale.at_most(prediction.bytes_per_second);
    // Beside the bars alone: names have the space between them.
    for place in 0..rows.len() {
        let top = ROW * place as f64 + NAME;
        drawing.line("ceiling", (used, top - 2.0), (used, top + BAR + 4.0));
    }
    let anchor = if used > width - 120.0 { Anchor::End } else { Anchor::Start };
    let written = format!("used on average: {}", short(prediction.bytes_per_second));
    drawing.text("ceiling-name", (used.min(width - 110.0), height - 6.0), anchor, &written);
    let told: Vec<String> = rows
        .iter()
        .map(|row| format!("{}: {}", row.name, figure(Unit::BytesPerSecond, row.sustained)))
        .collect();
    Some(drawing.finish(id, "Ceilings, as bytes of the workload a second", &told.join("; ")))
}

fn short(rate: f64) -> String {
    figure(Unit::BytesPerSecond, rate)
}

/// A swatch for the legend.
pub(crate) fn swatch(kind: CeilingKind) -> String {
    let mut drawing = Drawing::new(14.0, 14.0);
    drawing.rect(&format!("{} trial", colour_class(kind)), (0.5, 0.5), (13.0, 13.0), "");
    drawing.finish_hidden()
}
