//! A configuration's counted trials in run order, or its figure from run to run, as small as a word.

use super::Drawing;
use super::scale::{Scale, extent};
use crate::view::Row;

const WIDTH: f64 = 96.0;
const HEIGHT: f64 = 22.0;

/// Draws it; nothing with fewer than two figures.
pub(crate) fn draw(row: &Row<'_>, index: usize) -> Option<String> {
    let values: Vec<f64> = row.values().filter(|(_, counts)| *counts).map(|(value, _)| value).collect();
    let last = values.len().checked_sub(1).filter(|last| *last > 0)?;
    let vertical = Scale::linear(extent(values.iter().copied())?, (HEIGHT - 3.0, 3.0));
    let horizontal = Scale::linear((0.0, last as f64), (3.0, WIDTH - 4.0));
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .map(|(at, value)| (horizontal.at(at as f64), vertical.at(*value)))
        .collect();
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    drawing.polyline(&format!("series {}", super::marker::colour_class(index)), &points);
    if let Some(end) = points.last() {
        drawing.dot(index, "mark", *end, 2.2, "");
    }
    Some(drawing.finish_hidden())
}

/// Lines on a scale of their own, each with a mark at its end; nothing where none has two figures.
pub(crate) fn draw_lines<'a>(lines: impl Iterator<Item = &'a [f64]> + Clone) -> Option<String> {
    const WIDE: f64 = 160.0;
    let last = lines.clone().map(<[f64]>::len).max()?.checked_sub(1).filter(|last| *last > 0)?;
    let vertical = Scale::linear(extent(lines.clone().flatten().copied())?, (HEIGHT - 3.0, 3.0));
    let horizontal = Scale::linear((0.0, last as f64), (3.0, WIDE - 4.0));
    let mut drawing = Drawing::new(WIDE, HEIGHT);
    for (index, values) in lines.enumerate() {
        // The latest stand below each other, whichever came later into being.
        let first = last + 1 - values.len();
        let place = |(at, value): (usize, &f64)| (horizontal.at((first + at) as f64), vertical.at(*value));
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(place).collect();
        drawing.polyline(&format!("series {}", super::marker::colour_class(index)), &points);
        if let Some(end) = points.last() {
            drawing.dot(index, "mark", *end, 2.2, "");
        }
    }
    Some(drawing.finish_hidden())
}
