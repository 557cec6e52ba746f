//! Operations in each tenth of a second of one typical trial a configuration: stalls show here.

use iostone_model::metric::Unit;

use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures;
use crate::view::{Point, Row, View};

const PANEL_HEIGHT: f64 = 74.0;
const PANEL_GAP: f64 = 40.0;
const TOP: f64 = 30.0;
const AXIS_HEIGHT: f64 = 26.0;
/// More panels than this would not be looked at.
const PANELS: usize = 6;
/// Points of a line; where there are more, each holds the extremes of its share, so that no stall is smoothed away.
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
    for tick in horizontal.ticks(if width < NARROW { 4 } else { 10 }) {
        let label = format!("{}\u{a0}s", figures::round_number(tick));
        drawing.text("tick", (horizontal.at(tick).min(width - 18.0), bottom + 18.0), Anchor::Middle, &label);
    }
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
    let line = thinned(&rates().collect::<Vec<f64>>());
    let points: Vec<(f64, f64)> = line
        .iter()
        .map(|(slot, rate)| (horizontal.at((*slot as f64 + 0.5) * 0.1), vertical.at(*rate)))
        .collect();
    drawing.polyline(&format!("series {}", super::marker::colour_class(index)), &points);
}

/// At most [`POINTS`] points that keep the smallest and the largest rate of each stretch.
fn thinned(rates: &[f64]) -> Vec<(usize, f64)> {
    let stretch = (rates.len() * 2).div_ceil(POINTS).max(1);
    if stretch <= 2 {
        return rates.iter().copied().enumerate().collect();
    }
    let mut kept = Vec::with_capacity(POINTS + 2);
    for (group, chunk) in rates.chunks(stretch).enumerate() {
        let at = |(place, rate): (usize, &f64)| (group * stretch + place, *rate);
        let lowest = chunk.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map(at);
        let highest = chunk.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map(at);
        let mut pair: Vec<(usize, f64)> = lowest.into_iter().chain(highest).collect();
        pair.sort_by_key(|(slot, _)| *slot);
        pair.dedup();
        kept.extend(pair);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_a_single_stall() {
        let mut rates = vec![100.0; 60_000];
        rates[31_415] = 0.0;
        let kept = thinned(&rates);
        assert!(kept.len() <= POINTS + 2, "{}", kept.len());
        assert!(kept.contains(&(31_415, 0.0)));
    }
}
