//! Every configuration's median with its interval, and every trial behind it.

use super::scale::{Scale, Start};
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures::{self, NO_FIGURE, declared_percent, figure, range};
use crate::view::{Point, Row, View};

const ROW_HEIGHT: f64 = 48.0;
/// Where labels stand above their row they need a line more.
const NARROW_ROW_HEIGHT: f64 = 64.0;
const TOP: f64 = 26.0;
const AXIS_HEIGHT: f64 = 30.0;

/// Draws the figure `width` pixels wide; `id` is its own on the page.
pub(crate) fn draw(view: &View<'_>, width: f64, id: &str) -> (String, Start) {
    let narrow = width < NARROW;
    let left = if narrow { 14.0 } else { 240.0 };
    let row_height = if narrow { NARROW_ROW_HEIGHT } else { ROW_HEIGHT };
    let height = TOP + row_height * view.rows.len() as f64 + AXIS_HEIGHT;
    let figures = view.rows.iter().flat_map(|row| {
        let interval = row.median_interval().into_iter().flat_map(|(low, high)| [low, high]);
        row.values().map(|(value, _)| value).chain(row.centre()).chain(interval).collect::<Vec<f64>>()
    });
    let (scale, start) = Scale::of_figures(figures, (left, width - 24.0));
    let mut drawing = Drawing::new(width, height);
    let bottom = height - AXIS_HEIGHT;
    for (index, row) in view.rows.iter().enumerate().filter(|(_, row)| row.baseline) {
        let tip = format!("{} is the baseline", row.name);
        let top = TOP + row_height * index as f64;
        drawing.rect("highlight", (0.0, top), (width, row_height), &tip);
    }
    for tick in scale.ticks(if narrow { 3 } else { 7 }) {
        let x = scale.at(tick);
        drawing.line("grid", (x, TOP), (x, bottom));
        // A label at the edge must not be cut off.
        let anchor = match x {
            _ if x > width - 40.0 => Anchor::End,
            _ if x < 30.0 => Anchor::Start,
            _ => Anchor::Middle,
        };
        drawing.text("tick", (x, bottom + 19.0), anchor, &figures::tick(view.unit, tick));
    }
    mark_baseline(&mut drawing, view, &scale, bottom);
    for (index, row) in view.rows.iter().enumerate() {
        let top = TOP + row_height * index as f64;
        let middle = if narrow { top + 36.0 } else { top + 18.0 };
        let label_at = if narrow { (26.0, top + 16.0) } else { (34.0, middle + 4.5) };
        drawing.mark(index, "mark", (label_at.0 - 15.0, label_at.1 - 4.5), 5.0, "");
        let room = if narrow { width - 40.0 } else { left - 56.0 };
        drawing.text("label", label_at, Anchor::Start, &fit(row.name, room));
        draw_row(&mut drawing, view, index, row, &scale, middle);
    }
    let title = format!("{} by configuration", capitalised(view.metric_title()));
    (drawing.finish(id, &title, &describe(view)), start)
}

fn draw_row(drawing: &mut Drawing, view: &View<'_>, index: usize, row: &Row<'_>, scale: &Scale, middle: f64) {
    for (order, point) in row.trials.iter().enumerate() {
        let Some(value) = point.value else { continue };
        // Three heights in turn keep equal figures apart; they mean nothing else.
        let offset = [0.0, 4.5, 9.0].get(order % 3).copied().unwrap_or(0.0);
        let class = if point.counts { "trial" } else { "trial hollow" };
        drawing.dot(index, class, (scale.at(value), middle + 13.0 + offset), 2.2, &tip(view, point));
    }
    if let Some((low, high)) = row.median_interval() {
        let (from, to) = (scale.at(low), scale.at(high));
        let tip = format!(
            "{} interval of the median: {}",
            declared_percent(view.confidence),
            range(view.unit, low, high)
        );
        let class = format!("interval {}", super::marker::colour_class(index));
        drawing.rect(&class, (from, middle - 4.0), ((to - from).max(2.0), 8.0), &tip);
    }
    match row.centre() {
        Some(centre) => {
            let tip = format!("{}: median {}", row.name, figure(view.unit, centre));
            let class = if row.is_uncounted() { "mark hollow" } else { "mark" };
            drawing.mark(index, class, (scale.at(centre), middle), 6.5, &tip);
        }
        None => drawing.text("note", (scale.at_most(0.0).max(20.0), middle + 4.5), Anchor::Start, NO_FIGURE),
    }
}

/// A line through all rows, where one baseline serves them all.
fn mark_baseline(drawing: &mut Drawing, view: &View<'_>, scale: &Scale, bottom: f64) {
    let mut baselines = view.rows.iter().filter(|row| row.baseline);
    if let (Some(row), None) = (baselines.next(), baselines.next())
        && let Some(centre) = row.centre()
        && view.rows.len() > 1
    {
        let x = scale.at(centre);
        drawing.line("baseline", (x, TOP - 6.0), (x, bottom));
        drawing.text("tick", (x.max(34.0), TOP - 11.0), Anchor::Middle, "baseline");
    }
}

/// What is said of a trial to those who point at it.
pub(crate) fn tip(view: &View<'_>, point: &Point<'_>) -> String {
    let record = point.record;
    let value = point.value.map_or_else(|| NO_FIGURE.to_owned(), |value| figure(view.unit, value));
    let lost = if point.counts { "" } else { ", not counted" };
    format!(
        "{} · trial {} · block {} · {value}{lost}",
        record.configuration,
        record.number,
        u64::from(record.block) + 1
    )
}

fn describe(view: &View<'_>) -> String {
    let rows: Vec<String> = view
        .rows
        .iter()
        .map(|row| {
            let median =
                row.centre().map_or_else(|| NO_FIGURE.to_owned(), |centre| figure(view.unit, centre));
            let interval = row
                .median_interval()
                .map(|(low, high)| format!(", interval {}", range(view.unit, low, high)))
                .unwrap_or_default();
            format!("{}: median {median}{interval}", row.name)
        })
        .collect();
    rows.join("; ")
}

/// With its first letter large, for titles.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}
