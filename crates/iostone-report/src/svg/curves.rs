//! A figure over load: a line for each configuration or for one test, its band, the levels that bound it, and its knee.

use iostone_model::metric::Unit;

use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW, fit, number, text_width};
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
    draw_on(chart, None, width, id)
}

/// The same on an axis that holds `also` these figures, so that charts can be compared by eye.
pub(crate) fn draw_on(chart: &Chart, also: Option<(f64, f64)>, width: f64, id: &str) -> Option<String> {
    let places = || chart.curves.iter().flat_map(|curve| &curve.places);
    let (_, heaviest) = extent(places().map(|place| place.load))?;
    let vertical_domain = domain(chart, also)?;
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
    drawing.open_plot(horizontal.range());
    // Bands of several lines lie over each other, and must let each other through.
    let kind = if chart.curves.len() > 1 { "spread" } else { "interval" };
    for curve in &chart.curves {
        draw_band(&mut drawing, curve, kind, &horizontal, &vertical);
    }
    for level in &chart.levels {
        draw_level(&mut drawing, level, &horizontal, &vertical, right);
    }
    drawing.close();
    for level in &chart.levels {
        name_level(&mut drawing, level, &horizontal, &vertical, right);
    }
    drawing.open_plot(horizontal.range());
    if let Some((load, label)) = &chart.knee {
        draw_knee(&mut drawing, (*load, label), &horizontal, (width, bottom));
    }
    for curve in &chart.curves {
        draw_curve(&mut drawing, curve, &horizontal, &vertical);
    }
    drawing.close();
    if named {
        label_ends(&mut drawing, chart, &horizontal, &vertical, (right, bottom));
    }
    Some(drawing.finish(id, &chart.title, &describe(chart)))
}

/// The least and the largest figure of the axis, with air around.
fn domain(chart: &Chart, also: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let places = chart.curves.iter().flat_map(|curve| &curve.places);
    let drawn = places.flat_map(|place| {
        let band = place.band.into_iter().flat_map(|(low, high)| [low, high]);
        std::iter::once(place.value).chain(band).chain(place.beyond.iter().copied()).collect::<Vec<f64>>()
    });
    let drawn = drawn.chain(chart.levels.iter().map(|level| level.value));
    let drawn = drawn.chain(also.into_iter().flat_map(|(low, high)| [low, high]));
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
    drawing.open_numbers(horizontal, 1.0, "");
    let wanted = if right < NARROW { 5 } else { 10 };
    for tick in horizontal.ticks(wanted).into_iter().filter(|tick| tick.fract() == 0.0) {
        let label = figures::round_number(tick);
        drawing.text("tick", (horizontal.at(tick), bottom + 18.0), Anchor::Middle, &label);
    }
    drawing.close();
    drawing.line("axis", (left, bottom), (right, bottom));
    drawing.text("tick", (f64::midpoint(left, right), bottom + 37.0), Anchor::Middle, &chart.axis);
}

/// The band along the upper ends there and along the lower ends back.
fn draw_band(drawing: &mut Drawing, curve: &Curve, kind: &str, horizontal: &Scale, vertical: &Scale) {
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
    let class = format!("{kind} {}", super::marker::colour_class(curve.index));
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

/// A known limit runs across; a level that was seen runs as far as that.
fn draw_level(drawing: &mut Drawing, level: &Level, horizontal: &Scale, vertical: &Scale, right: f64) {
    let y = vertical.at(level.value);
    match level.span {
        None => drawing.line("ceiling", (horizontal.at(0.0), y), (right, y)),
        Some((from, to)) => drawing.line("plateau", (horizontal.at(from), y), (horizontal.at(to), y)),
    }
}

/// The name of a known limit stands above it, that of a level that was seen below it; both stay where they are.
fn name_level(drawing: &mut Drawing, level: &Level, horizontal: &Scale, vertical: &Scale, right: f64) {
    let (class, below) = if level.span.is_none() { ("ceiling-name", -6.0) } else { ("plateau-name", 19.0) };
    let name = phrase(&level.name, right - horizontal.at(0.0));
    drawing.text(class, (right - 4.0, vertical.at(level.value) + below), Anchor::End, &name);
}

/// What fits of a name: without what stands behind its first bracket where that is too long.
fn phrase(name: &str, room: f64) -> String {
    // These names are neither bold nor as large as other labels.
    let room = room * 1.14;
    let whole = fit(name, room);
    if whole == name { whole } else { fit(name.split(" (").next().unwrap_or(name), room) }
}

/// Its name stands above the plot, where no figure can lie, and within the drawing whichever side has the room.
fn draw_knee(
    drawing: &mut Drawing,
    (load, label): (f64, &str),
    horizontal: &Scale,
    (width, bottom): (f64, f64),
) {
    let x = horizontal.at_most(load);
    drawing.line("baseline", (x, TOP - 2.0), (x, bottom));
    let label = fit(label, width);
    let needed = text_width(&label);
    let (place, anchor) =
        if x + needed <= width { (x, Anchor::Start) } else { (x.max(needed).min(width), Anchor::End) };
    drawing.text("verdict", (place, TOP - 6.0), anchor, &label);
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

/// Names beside the plot, moved apart so that none covers another, each with a thread from where its line ends.
fn label_ends(
    drawing: &mut Drawing,
    chart: &Chart,
    horizontal: &Scale,
    vertical: &Scale,
    (right, bottom): (f64, f64),
) {
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
    let places = spread(&ends.iter().map(|(y, ..)| *y).collect::<Vec<f64>>(), (TOP, bottom));
    for ((end, x, curve), y) in ends.iter().zip(places) {
        let colour = super::marker::colour_class(curve.index);
        // A line that ends early goes on level as a thread, so that its name lies on no other line.
        drawing.line(&format!("thread {colour}"), (x + 6.0, *end), (right.max(x + 6.0), *end));
        drawing.line(&format!("thread {colour}"), (right.max(x + 6.0), *end), (right + 11.0, y));
        drawing.text(
            &format!("end {colour}"),
            (right + 14.0, y + 4.0),
            Anchor::Start,
            &fit(&curve.name, 102.0),
        );
    }
}

/// Ascending places at least a line apart and within the bounds, each bunch centred on where its members belong.
fn spread(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    // Bunches of neighbours: how many, and the middle of where they belong.
    let mut bunches: Vec<(usize, f64)> = Vec::new();
    let half = |count: usize| (count as f64 - 1.0) * LINE / 2.0;
    let within =
        |(count, middle): (usize, f64)| (count, middle.min(bottom - half(count)).max(top + half(count)));
    for place in wanted {
        let mut bunch = within((1, *place));
        while let Some((count, middle)) = bunches.pop() {
            if middle + half(count) + LINE <= bunch.1 - half(bunch.0) {
                bunches.push((count, middle));
                break;
            }
            let both = count + bunch.0;
            bunch = within((both, (middle * count as f64 + bunch.1 * bunch.0 as f64) / both as f64));
        }
        bunches.push(bunch);
    }
    let members = |(count, middle): (usize, f64)| {
        (0..count).map(move |at| middle - half(count) + at as f64 * LINE).collect::<Vec<f64>>()
    };
    bunches.into_iter().flat_map(members).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_have_room_stay_where_they_belong() {
        assert_eq!(spread(&[30.0, 60.0, 90.0], (18.0, 256.0)), [30.0, 60.0, 90.0]);
        assert_eq!(spread(&[50.0, 50.0], (18.0, 256.0)), [50.0 - LINE / 2.0, 50.0 + LINE / 2.0]);
        assert_eq!(spread(&[18.0, 18.0], (18.0, 256.0)), [18.0, 18.0 + LINE]);
    }

    #[test]
    fn no_name_covers_another() {
        for crowd in 1..=15_u32 {
            // Sorted bunches here and there, from a walk that never repeats itself.
            let mut wanted: Vec<f64> =
                (0..crowd).map(|at| 18.0 + (f64::from(at * crowd) * 61.8).rem_euclid(238.0)).collect();
            wanted.sort_by(f64::total_cmp);
            let places = spread(&wanted, (18.0, 256.0));
            assert_eq!(places.len(), wanted.len());
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LINE - 1e-6), "{places:?}");
            assert!(places.iter().all(|place| (18.0 - 1e-6..=256.0 + 1e-6).contains(place)), "{places:?}");
        }
    }

    #[test]
    fn the_name_of_a_knee_stays_within_the_drawing() {
        let place = |load: f64| Place { load, value: 100.0, ..Place::default() };
        for (knee, loads) in [(1.0, 1.0), (10.0, 10.0), (5.0, 10.0), (0.0, 3.0)] {
            let chart = Chart {
                title: String::new(),
                axis: String::new(),
                unit: Unit::PerSecond,
                logarithmic: false,
                curves: vec![Curve { index: 0, name: String::new(), places: vec![place(1.0), place(loads)] }],
                levels: Vec::new(),
                knee: Some((knee, "knee at load 7.43 or above".to_owned())),
            };
            for width in [346.0, 538.0] {
                let drawn = draw(&chart, width, "knee").unwrap();
                let label = drawn.split("class=\"verdict\" x=\"").nth(1).unwrap();
                let x: f64 = label.split('"').next().unwrap().parse().unwrap();
                let needed = text_width("knee at load 7.43 or above");
                let (from, to) =
                    if label.starts_with(&format!("{}\" y=\"12\" text-anchor=\"end\"", number(x))) {
                        (x - needed, x)
                    } else {
                        (x, x + needed)
                    };
                assert!(from >= 0.0 && to <= width, "{from} to {to} of {width}");
            }
        }
    }
}
