//! Figures of several conditions on one axis, a row each, with the limits that are known.

use iostone_model::metric::Unit;

use super::scale::Scale;
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures::{figure, tick};

const ROW_HEIGHT: f64 = 30.0;
const NARROW_ROW_HEIGHT: f64 = 46.0;
const TOP: f64 = 22.0;
const AXIS_HEIGHT: f64 = 28.0;

/// The figures of one condition.
pub(crate) struct Strip {
    /// The condition.
    pub(crate) name: String,
    /// The figures, in the base unit.
    pub(crate) values: Vec<f64>,
    /// What bounds them: a name and a value.
    pub(crate) limits: Vec<(String, f64)>,
}

/// Draws them `width` pixels wide; `id` is its own on the page. None where there is nothing to draw.
pub(crate) fn draw(title: &str, unit: Unit, strips: &[Strip], width: f64, id: &str) -> Option<String> {
    let values = || strips.iter().flat_map(|strip| strip.values.iter().copied()).filter(|v| v.is_finite());
    values().next()?;
    let narrow = width < NARROW;
    let left = if narrow { 14.0 } else { 260.0 };
    let row_height = if narrow { NARROW_ROW_HEIGHT } else { ROW_HEIGHT };
    let height = TOP + row_height * strips.len() as f64 + AXIS_HEIGHT;
    let largest = values().fold(0.0, f64::max);
    // A limit far beyond the figures would squeeze them; it binds nothing.
    let near = |limit: f64| limit <= largest * 3.0;
    let limits =
        strips.iter().flat_map(|strip| strip.limits.iter().map(|limit| limit.1)).filter(|l| near(*l));
    let (scale, _) = Scale::of_figures(values().chain(limits), (left, width - 24.0));
    let mut drawing = Drawing::new(width, height);
    let bottom = height - AXIS_HEIGHT;
    for mark in scale.ticks(if narrow { 3 } else { 7 }) {
        let x = scale.at(mark);
        drawing.line("grid", (x, TOP), (x, bottom));
        let anchor = if x > width - 40.0 { Anchor::End } else { Anchor::Middle };
        drawing.text("tick", (x, bottom + 18.0), anchor, &tick(unit, mark));
    }
    let mut named: Vec<(&str, f64)> = Vec::new();
    for (index, strip) in strips.iter().enumerate() {
        let top = TOP + row_height * index as f64;
        let middle = if narrow { top + 32.0 } else { top + row_height / 2.0 };
        let label_at = if narrow { (14.0, top + 16.0) } else { (14.0, middle + 4.5) };
        let room = if narrow { width - 28.0 } else { left - 28.0 };
        drawing.text("label", label_at, Anchor::Start, &fit(&strip.name, room));
        for (name, limit) in strip.limits.iter().filter(|(_, limit)| near(*limit)) {
            let x = scale.at(*limit);
            drawing.line("ceiling", (x, middle - 11.0), (x, middle + 11.0));
            if !named.contains(&(name.as_str(), *limit)) {
                named.push((name, *limit));
                let anchor = if x > width - 90.0 { Anchor::End } else { Anchor::Middle };
                let y = if index == 0 { TOP - 8.0 } else { middle - 13.0 };
                drawing.text("ceiling-name", (x, y), anchor, name);
            }
        }
        for value in &strip.values {
            let tip = format!("{}: {}", strip.name, figure(unit, *value));
            drawing.dot(index, "trial", (scale.at(*value), middle), 4.5, &tip);
        }
    }
    let written: Vec<String> = strips
        .iter()
        .map(|strip| {
            let figures: Vec<String> = strip.values.iter().map(|value| figure(unit, *value)).collect();
            format!("{}: {}", strip.name, figures.join(", "))
        })
        .collect();
    Some(drawing.finish(id, title, &written.join("; ")))
}
