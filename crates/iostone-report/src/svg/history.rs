//! A figure over the runs of an experiment: a mark a run, a line at the median of each state, a dashed line at each change.

use iostone_model::history::Series;
use iostone_model::median::median;

use super::scale::Scale;
use super::{Anchor, Drawing, NARROW};
use crate::figures;
use crate::history::change_sentence;

const TOP: f64 = 14.0;
const AXIS_HEIGHT: f64 = 32.0;
const RIGHT: f64 = 14.0;

/// Draws it; nothing without a run.
pub(crate) fn draw(series: &Series, width: f64, id: &str) -> Option<String> {
    let last = series.runs.len().checked_sub(1)?;
    let left = if width < NARROW { 62.0 } else { 78.0 };
    let height = if width < NARROW { 200.0 } else { 240.0 };
    let bottom = height - AXIS_HEIGHT;
    let horizontal = Scale::linear((-0.5, last as f64 + 0.5), (left, width - RIGHT));
    let (vertical, _) = Scale::of_figures(series.runs.iter().map(|run| run.value), (bottom, TOP));
    let mut drawing = Drawing::new(width, height);
    for tick in vertical.ticks(4) {
        let y = vertical.at(tick);
        drawing.line("grid", (left, y), (width - RIGHT, y));
        drawing.text("tick", (left - 8.0, y + 4.0), Anchor::End, &figures::tick(series.unit, tick));
    }
    let ends = [(0, Anchor::Start, left), (last, Anchor::End, width - RIGHT)];
    drawing.open_ticks();
    for (run, anchor, x) in ends.into_iter().take(if last > 0 { 2 } else { 1 }) {
        let date = series.runs.get(run).and_then(|run| run.started_at.get(..10)).unwrap_or_default();
        drawing.text("tick", (x, bottom + 20.0), anchor, date);
    }
    drawing.close();
    drawing.open_plot(horizontal.range());
    let firsts: Vec<usize> = series.changes.iter().map(|change| change.first as usize).collect();
    for change in &series.changes {
        let x = horizontal.at(f64::from(change.first) - 0.5);
        let tip = change_sentence(series, change);
        drawing.rect("discarded", (x - 2.0, TOP), (4.0, bottom - TOP), &tip);
    }
    let starts = std::iter::once(0).chain(firsts.iter().copied());
    let stops = firsts.iter().copied().chain([series.runs.len()]);
    for (start, stop) in starts.zip(stops) {
        let values = series.runs.get(start..stop).unwrap_or_default().iter().map(|run| run.value);
        let Some(middle) = median(values) else { continue };
        let y = vertical.at(middle);
        let (from, to) = (horizontal.at(start as f64 - 0.4), horizontal.at(stop as f64 - 0.6));
        drawing.line("baseline", (from, y), (to, y));
    }
    let points: Vec<(f64, f64)> = series
        .runs
        .iter()
        .enumerate()
        .map(|(at, run)| (horizontal.at(at as f64), vertical.at(run.value)))
        .collect();
    drawing.polyline("thread c0", &points);
    for (run, at) in series.runs.iter().zip(&points) {
        let tip = format!("{}: {}", run.directory, figures::figure(series.unit, run.value));
        drawing.dot(0, "mark", *at, 3.2, &tip);
    }
    drawing.close();
    let description = format!("{} runs, {} changes", series.runs.len(), series.changes.len());
    Some(drawing.finish(id, &crate::history::subject(series), &description))
}
