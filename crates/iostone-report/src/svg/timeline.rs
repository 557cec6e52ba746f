//! Operations in each tenth of a second of one typical trial a configuration: stalls show here.

use iostone_model::metric::Unit;

use super::scale::{Scale, extent};
use super::thinning::thinned;
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures;
use crate::view::{Point, Row, View};

const PANEL_HEIGHT: f64 = 74.0;
const PANEL_GAP: f64 = 40.0;
const TOP: f64 = 30.0;
const AXIS_HEIGHT: f64 = 26.0;
/// More panels than this would not be looked at.
const PANELS: usize = 6;
/// Points of a line.
const POINTS: usize = 500;

/// Draws the figure and says how many configurations it leaves out; nothing where no workload told.
pub(crate) fn draw(view: &View<'_>, width: f64, id: &str) -> Option<(String, usize)> {
    let mut panels: Vec<(usize, &Row<'_>, &Point<'_>)> = Vec::new();
    for (index, row) in view.rows.iter().enumerate() {
        if let Some(point) = typical(row) {
            panels.push((index, row, point));
        }
    }
    if panels.is_empty() {
        return None;
    }
    let left_out = panels.len().saturating_sub(PANELS);
    panels.truncate(PANELS);
    let longest =
        panels.iter().map(|(_, _, point)| point.record.workload.operations_per_100ms.len()).max()?;
    let left = if width < NARROW { 56.0 } else { 70.0 };
    let horizontal = Scale::linear((0.0, longest as f64 * 0.1), (left, width - 20.0));
    let height = TOP + (PANEL_HEIGHT + PANEL_GAP) * panels.len() as f64 - PANEL_GAP + AXIS_HEIGHT;
    let mut drawing = Drawing::new(width, height);
    for (place, (index, row, point)) in panels.iter().enumerate() {
        let top = TOP + (PANEL_HEIGHT + PANEL_GAP) * place as f64;
        draw_panel(&mut drawing, *index, row, point, &horizontal, (top, top + PANEL_HEIGHT), width);
    }
    let bottom = height - AXIS_HEIGHT;
    drawing.open_numbers(&horizontal, 0.1, "\u{a0}s");
    for tick in horizontal.ticks(if width < NARROW { 4 } else { 10 }) {
        let label = format!("{}\u{a0}s", figures::round_number(tick));
        drawing.text("tick", (horizontal.at(tick).min(width - 18.0), bottom + 18.0), Anchor::Middle, &label);
    }
    drawing.close();
    let names: Vec<&str> = panels.iter().map(|(_, row, _)| row.name).collect();
    let description =
        format!("One trial each of {}, the one whose figure is nearest the median", names.join(", "));
    Some((drawing.finish(id, "Operations per second during one trial", &description), left_out))
}

/// The counted trial nearest the median that has a timeline.
fn typical<'a, 'b>(row: &'b Row<'a>) -> Option<&'b Point<'a>> {
    let centre = row.centre()?;
    let with_line =
        row.trials.iter().filter(|p| p.counts && p.record.workload.operations_per_100ms.len() > 1);
    with_line
        .filter_map(|point| Some(((point.value? - centre).abs(), point)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, point)| point)
}

fn draw_panel(
    drawing: &mut Drawing,
    index: usize,
    row: &Row<'_>,
    point: &Point<'_>,
    horizontal: &Scale,
    (top, bottom): (f64, f64),
    width: f64,
) {
    let slots = &point.record.workload.operations_per_100ms;
    let rates = || slots.iter().map(|operations| *operations as f64 * 10.0);
    let highest = extent(rates()).map_or(1.0, |(_, high)| high.max(1.0));
    let vertical = Scale::linear((0.0, highest * 1.08), (bottom, top));
    drawing.mark(index, "mark", (10.0, top - 16.0), 4.5, "");
    let caption = format!("{} · trial {}", fit(row.name, width * 0.6), point.record.number);
    drawing.text("caption", (20.0, top - 12.0), Anchor::Start, &caption);
    let left = horizontal.at(0.0);
    for tick in vertical.ticks(3) {
        let y = vertical.at(tick);
        drawing.line("grid", (left, y), (width - 20.0, y));
        drawing.text("tick", (left - 7.0, y + 4.0), Anchor::End, &figures::tick(Unit::PerSecond, tick));
    }
    let line = thinned(slots, POINTS);
    let points: Vec<(f64, f64)> = line
        .iter()
        .map(|(slot, count)| (horizontal.at((*slot as f64 + 0.5) * 0.1), vertical.at(*count as f64 * 10.0)))
        .collect();
    drawing.open_series(row.name, horizontal, &vertical);
    drawing.polyline(&format!("series {}", super::marker::colour_class(index)), &points);
    drawing.close();
}
