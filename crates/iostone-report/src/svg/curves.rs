//! A figure over load: a line for each configuration or for one test, its band, the levels that bound it, and its knee.

use iostone_model::metric::Unit;

use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW, fit, number};
use crate::figures;

const TOP: f64 = 18.0;
/// Room below for the ticks and the name of the axis.
const AXIS_HEIGHT: f64 = 44.0;
/// A line of labels.
const LINE: f64 = 15.0;

/// What is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// For those who do not see it: "IOPS over small load".
    pub(crate) title: String,
    /// What the load counts: "outstanding small I/Os".
    pub(crate) axis: String,
    /// Of the figures.
    pub(crate) unit: Unit,
    /// Whether the axis of the figures is logarithmic; else it starts at zero.
    pub(crate) logarithmic: bool,
    /// The lines.
    pub(crate) curves: Vec<Curve>,
    /// Horizontal lines.
    pub(crate) levels: Vec<Level>,
    /// A vertical line: a load and what is written beside it.
    pub(crate) knee: Option<(f64, String)>,
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    /// Which colour and mark are its own.
    pub(crate) index: usize,
    /// Written at its end where there are several.
    pub(crate) name: String,
    /// In ascending order of load.
    pub(crate) places: Vec<Place>,
}

/// The figure at one load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// The load.
    pub(crate) load: f64,
    /// The figure.
    pub(crate) value: f64,
    /// The ends of the shaded band.
    pub(crate) band: Option<(f64, f64)>,
    /// Figures beyond the band, drawn as dots, each smaller than the one before.
    pub(crate) beyond: Vec<f64>,
    /// Said to those who point at it.
    pub(crate) tip: String,
    /// Not measured but estimated: drawn hollow.
    pub(crate) estimated: bool,
}

/// A figure that bounds the others.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    /// The figure.
    pub(crate) value: f64,
    /// What it is.
    pub(crate) name: String,
    /// The loads between which it was seen; everywhere for a limit that is known.
    pub(crate) span: Option<(f64, f64)>,
}

/// Draws the figure `width` pixels wide; nothing without a finite figure.
pub(crate) fn draw(chart: &Chart, width: f64, id: &str) -> Option<String> {
    let places = || chart.curves.iter().flat_map(|curve| &curve.places);
    let (_, heaviest) = extent(places().map(|place| place.load))?;
    let vertical_domain = domain(chart)?;
    let narrow = width < NARROW;
    let height = if narrow { 240.0 } else { 300.0 };
    let bottom = height - AXIS_HEIGHT;
    let named = chart.curves.len() > 1 && !narrow;
    let right = if named { width - 118.0 } else { width - 16.0 };
    // The narrowest axis still has room on both sides of its one mark.
    let horizontal = Scale::linear((0.0, heaviest.max(1.0) * 1.02), (72.0, right));
    let vertical = if chart.logarithmic {
        Scale::logarithmic(vertical_domain, (bottom, TOP))
    } else {
        Scale::linear(vertical_domain, (bottom, TOP))
    };
    let mut drawing = Drawing::new(width, height);
    draw_axes(&mut drawing, chart, &horizontal, &vertical, (right, bottom));
    for curve in &chart.curves {
        draw_band(&mut drawing, curve, &horizontal, &vertical);
    }
    for level in &chart.levels {
        draw_level(&mut drawing, level, &horizontal, &vertical, right);
    }
    if let Some((load, label)) = &chart.knee {
        draw_knee(&mut drawing, (*load, label), chart.logarithmic, &horizontal, (right, bottom));
    }
    for curve in &chart.curves {
        draw_curve(&mut drawing, curve, &horizontal, &vertical);
    }
    if named {
        label_ends(&mut drawing, chart, &horizontal, &vertical, bottom);
    }
    Some(drawing.finish(id, &chart.title, &describe(chart)))
}

/// The least and the largest figure of the axis, with air around.
fn domain(chart: &Chart) -> Option<(f64, f64)> {
    let places = chart.curves.iter().flat_map(|curve| &curve.places);
    let drawn = places.flat_map(|place| {
        let band = place.band.into_iter().flat_map(|(low, high)| [low, high]);
        std::iter::once(place.value).chain(band).chain(place.beyond.iter().copied()).collect::<Vec<f64>>()
    });
    let drawn = drawn.chain(chart.levels.iter().map(|level| level.value));
    let usable = |value: &f64| value.is_finite() && (*value > 0.0 || !chart.logarithmic);
    let (low, high) = extent(drawn.filter(usable))?;
    Some(if chart.logarithmic { (low / 1.3, high * 1.3) } else { (0.0, high.max(f64::MIN_POSITIVE) * 1.12) })
}

fn draw_axes(
    drawing: &mut Drawing,
    chart: &Chart,
    horizontal: &Scale,
    vertical: &Scale,
    (right, bottom): (f64, f64),
) {
    let left = horizontal.at(0.0);
    for tick in vertical.ticks(5) {
        let y = vertical.at(tick);
        drawing.line("grid", (left, y), (right, y));
        let label = match chart.unit {
            // Where figures are I/Os a second, the title says so, and `/s` at each line would only be noise.
            Unit::PerSecond => figures::tick(Unit::PerSecond, tick).replace("/s", ""),
            unit => figures::tick(unit, tick),
        };
        drawing.text("tick", (left - 8.0, y + 4.0), Anchor::End, label.trim_end_matches('\u{a0}'));
    }
    let wanted = if right < NARROW { 5 } else { 10 };
    for tick in horizontal.ticks(wanted).into_iter().filter(|tick| tick.fract() == 0.0) {
        let label = figures::round_number(tick);
        drawing.text("tick", (horizontal.at(tick), bottom + 18.0), Anchor::Middle, &label);
    }
    drawing.line("axis", (left, bottom), (right, bottom));
    drawing.text("tick", (f64::midpoint(left, right), bottom + 37.0), Anchor::Middle, &chart.axis);
}

/// The band along the upper ends there and along the lower ends back.
fn draw_band(drawing: &mut Drawing, curve: &Curve, horizontal: &Scale, vertical: &Scale) {
    let banded: Vec<(f64, f64, f64)> = curve
        .places
        .iter()
        .filter_map(|place| {
            let (low, high) = place.band?;
            let x = horizontal.at(place.load);
            let (low, high) = (vertical.at_most(low), vertical.at_most(high));
            [x, low, high].iter().all(|value| value.is_finite()).then_some((x, low, high))
        })
        .collect();
    let class = format!("interval {}", super::marker::colour_class(curve.index));
    if let [(x, low, high)] = banded.as_slice() {
        drawing.rect(&class, (x - 4.0, *high), (8.0, low - high), "");
        return;
    }
    let there = banded.iter().map(|(x, _, high)| (*x, *high));
    let back = banded.iter().rev().map(|(x, low, _)| (*x, *low));
    let corners: Vec<String> =
        there.chain(back).map(|(x, y)| format!("{} {}", number(x), number(y))).collect();
    if !corners.is_empty() {
        drawing.path(&class, &format!("M{}z", corners.join("L")), "");
    }
}

/// A known limit runs across, its name above it; a level that was seen runs as far as that, its name below it.
fn draw_level(drawing: &mut Drawing, level: &Level, horizontal: &Scale, vertical: &Scale, right: f64) {
    let y = vertical.at(level.value);
    let room = right - horizontal.at(0.0);
    match level.span {
        None => {
            drawing.line("ceiling", (horizontal.at(0.0), y), (right, y));
            drawing.text("ceiling-name", (right - 4.0, y - 6.0), Anchor::End, &phrase(&level.name, room));
        }
        Some((from, to)) => {
            drawing.line("plateau", (horizontal.at(from), y), (horizontal.at(to), y));
            drawing.text("plateau-name", (right - 4.0, y + 19.0), Anchor::End, &phrase(&level.name, room));
        }
    }
}

/// What fits of a name: without what stands behind its first bracket where that is too long.
fn phrase(name: &str, room: f64) -> String {
    let whole = fit(name, room);
    if whole == name { whole } else { fit(name.split(" (").next().unwrap_or(name), room) }
}

/// Its name stands where rates leave room (below) and latencies do (above).
fn draw_knee(
    drawing: &mut Drawing,
    (load, label): (f64, &str),
    above: bool,
    horizontal: &Scale,
    (right, bottom): (f64, f64),
) {
    let x = horizontal.at_most(load);
    drawing.line("baseline", (x, TOP), (x, bottom));
    let y = if above { TOP + 10.0 } else { bottom - 10.0 };
    // On the side that has the room.
    let (place, anchor, room) = if right - x > x - horizontal.at(0.0) {
        (x + 7.0, Anchor::Start, right - x)
    } else {
        (x - 7.0, Anchor::End, x - horizontal.at(0.0))
    };
    drawing.text("verdict", (place, y), anchor, &fit(label, room));
}

fn draw_curve(drawing: &mut Drawing, curve: &Curve, horizontal: &Scale, vertical: &Scale) {
    let at = |place: &Place, value: f64| (horizontal.at(place.load), vertical.at_most(value));
    let line: Vec<(f64, f64)> = curve.places.iter().map(|place| at(place, place.value)).collect();
    if line.len() > 1 {
        drawing.polyline(&format!("curve {}", super::marker::colour_class(curve.index)), &line);
    }
    for place in &curve.places {
        for (order, value) in place.beyond.iter().enumerate() {
            let radius = if order == 0 { 2.6 } else { 1.8 };
            drawing.dot(curve.index, "trial", at(place, *value), radius, "");
        }
        let class = if place.estimated { "mark hollow" } else { "mark" };
        drawing.mark(curve.index, class, at(place, place.value), 4.2, &place.tip);
    }
}

/// Names at the ends of the lines, moved apart so that none covers another.
fn label_ends(drawing: &mut Drawing, chart: &Chart, horizontal: &Scale, vertical: &Scale, bottom: f64) {
    let mut ends: Vec<(f64, f64, &Curve)> = chart
        .curves
        .iter()
        .filter_map(|curve| {
            let last = curve.places.last()?;
            Some((vertical.at_most(last.value), horizontal.at(last.load), curve))
        })
        .filter(|(y, x, _)| y.is_finite() && x.is_finite())
        .collect();
    // More names than fit would be a jumble; the legend has them all.
    if ends.len() as f64 * LINE > bottom - TOP {
        return;
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest_free = TOP;
    let mut places: Vec<f64> = Vec::new();
    for (y, ..) in &ends {
        let place = y.max(lowest_free);
        lowest_free = place + LINE;
        places.push(place);
    }
    let mut limit = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - LINE;
    }
    for ((_, x, curve), y) in ends.iter().zip(places) {
        let class = format!("end {}", super::marker::colour_class(curve.index));
        drawing.text(&class, (x + 10.0, y + 4.0), Anchor::Start, &fit(&curve.name, 104.0));
    }
}

/// Every line from its first figure to its last, and what bounds it.
fn describe(chart: &Chart) -> String {
    let mut parts: Vec<String> = chart
        .curves
        .iter()
        .filter_map(|curve| {
            let (first, last) = (curve.places.first()?, curve.places.last()?);
            let told = |place: &Place| {
                format!(
                    "{} at load {}",
                    figures::figure(chart.unit, place.value),
                    figures::round_number(place.load)
                )
            };
            let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
            Some(match curve.places.len() {
                1 => format!("{name}{}", told(first)),
                _ => format!("{name}from {} to {}", told(first), told(last)),
            })
        })
        .collect();
    parts.extend(chart.levels.iter().map(|level| level.name.clone()));
    parts.extend(chart.knee.iter().map(|(_, label)| label.clone()));
    parts.join("; ")
}
