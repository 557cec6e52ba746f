//! Latency by percentile, each nine as wide as the one before: what the slow operations cost.

use iostone_model::metric::Unit;

use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures::figure;
use crate::latency::{Latencies, NAMED, nines};
use crate::view::View;

const TOP: f64 = 14.0;
const AXIS_HEIGHT: f64 = 34.0;
/// Points of a curve between two nines.
const POINTS_A_NINE: u32 = 12;
/// The last share that is drawn, in nines.
const LAST_NINE: f64 = 4.0;

/// One configuration's curve.
struct Curve<'a> {
    index: usize,
    name: &'a str,
    latencies: Latencies,
    points: Vec<(f64, f64)>,
}

/// Draws the figure; nothing where no trial recorded latencies.
pub(crate) fn draw(view: &View<'_>, width: f64, id: &str) -> Option<String> {
    let curves: Vec<Curve<'_>> = view
        .rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let latencies = Latencies::of(row)?;
            let points = curve(&latencies);
            Some(Curve { index, name: row.name, latencies, points })
        })
        .collect();
    let (fastest, slowest) =
        extent(curves.iter().flat_map(|c| c.points.iter().map(|(_, seconds)| *seconds)))?;
    let narrow = width < NARROW;
    let height = if narrow { 240.0 } else { 270.0 };
    let bottom = height - AXIS_HEIGHT;
    let right = if narrow { width - 14.0 } else { width - 118.0 };
    let first = nines(0.5);
    let horizontal = Scale::linear((first, LAST_NINE), (66.0, right));
    let vertical = Scale::logarithmic((fastest / 1.25, slowest * 1.25), (bottom, TOP));
    let mut drawing = Drawing::new(width, height);
    for tick in vertical.ticks(5) {
        let y = vertical.at(tick);
        drawing.line("grid", (66.0, y), (right, y));
        drawing.text("tick", (58.0, y + 4.0), Anchor::End, &crate::figures::tick(Unit::Seconds, tick));
    }
    drawing.open_ticks();
    for (share, label) in NAMED {
        let x = horizontal.at(nines(share));
        drawing.line("grid", (x, TOP), (x, bottom));
        let anchor = if share > 0.9995 && narrow { Anchor::End } else { Anchor::Middle };
        drawing.text("tick", (x, bottom + 20.0), anchor, label);
    }
    drawing.close();
    drawing.open_plot(horizontal.range());
    for curve in &curves {
        let place = |(nine, seconds): (f64, f64)| (horizontal.at(nine), vertical.at(seconds));
        let points: Vec<(f64, f64)> = curve.points.iter().copied().map(place).collect();
        drawing.polyline(&format!("curve {}", super::marker::colour_class(curve.index)), &points);
        for (share, label) in NAMED {
            if let Some(seconds) = percentile_seconds(&curve.latencies, share) {
                let tip = format!("{} {label}: {}", curve.name, figure(Unit::Seconds, seconds));
                drawing.mark(curve.index, "mark", place((nines(share), seconds)), 3.6, &tip);
            }
        }
    }
    drawing.close();
    if !narrow {
        label_ends(&mut drawing, &curves, &horizontal, &vertical, (TOP, bottom));
    }
    Some(drawing.finish(id, "Latency by percentile", &describe(&curves)))
}

/// From the median on, as far as operations lie beyond.
fn curve(latencies: &Latencies) -> Vec<(f64, f64)> {
    let steps = 4 * POINTS_A_NINE;
    let shares = (0..=steps).map(|step| {
        let nine = nines(0.5) + (LAST_NINE - nines(0.5)) * f64::from(step) / f64::from(steps);
        (nine, 1.0 - 10_f64.powf(-nine))
    });
    shares.filter_map(|(nine, share)| Some((nine, percentile_seconds(latencies, share)?))).collect()
}

fn percentile_seconds(latencies: &Latencies, share: f64) -> Option<f64> {
    latencies.percentile_ns(share).map(|ns| (ns as f64 * 1e-9).max(1e-9))
}

/// Names at the ends of the curves, moved apart so that none covers another.
fn label_ends(
    drawing: &mut Drawing,
    curves: &[Curve<'_>],
    horizontal: &Scale,
    vertical: &Scale,
    (top, bottom): (f64, f64),
) {
    const LINE: f64 = 15.0;
    let mut ends: Vec<(f64, f64, &Curve<'_>)> = curves
        .iter()
        .filter_map(|curve| {
            let (nine, seconds) = curve.points.last().copied()?;
            Some((vertical.at(seconds), horizontal.at(nine), curve))
        })
        .collect();
    // More names than fit would be a jumble; the legend has them all.
    if ends.len() as f64 * LINE > bottom - top {
        return;
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest_free = top;
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
        drawing.text(&class, (x + 9.0, y + 4.0), Anchor::Start, &fit(curve.name, 108.0));
    }
}

fn describe(curves: &[Curve<'_>]) -> String {
    let described: Vec<String> = curves
        .iter()
        .map(|curve| {
            let named: Vec<String> = NAMED
                .iter()
                .filter_map(|(share, label)| {
                    let seconds = percentile_seconds(&curve.latencies, *share)?;
                    Some(format!("{label} {}", figure(Unit::Seconds, seconds)))
                })
                .collect();
            format!("{}: {}", curve.name, named.join(", "))
        })
        .collect();
    described.join("; ")
}
