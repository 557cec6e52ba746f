//! Trials in the order in which they ran, each as a deviation from its configuration's median: drift shows here.

use super::forest::tip;
use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW};
use crate::figures::{signed_percent, tick_percent};
use crate::view::View;
use crate::wording::Discard;

const TOP: f64 = 12.0;
const AXIS_HEIGHT: f64 = 34.0;
/// Room for the labels of the vertical axis.
const LEFT: f64 = 66.0;
/// Beyond this deviation a trial is drawn at the edge: one wild figure must not flatten all others.
const FURTHEST: f64 = 10.0;

/// Draws the figure; nothing without a trial that has a figure.
pub(crate) fn draw(view: &View<'_>, discards: &[Discard], width: f64, id: &str) -> Option<String> {
    let series: Vec<Vec<(u32, f64, String, bool)>> = view
        .rows
        .iter()
        .map(|row| {
            let centre = row.centre().filter(|centre| *centre != 0.0);
            let deviation =
                |value: f64| centre.map(|centre| (value / centre - 1.0).clamp(-FURTHEST, FURTHEST));
            let points = row.trials.iter();
            let points =
                points.filter_map(|p| Some((p.record.block, deviation(p.value?)?, tip(view, p), p.counts)));
            points.collect()
        })
        .collect();
    let blocks = series.iter().flatten().map(|(block, ..)| f64::from(*block));
    let blocks = blocks.chain(discards.iter().map(|discard| f64::from(discard.block)));
    let (first, last) = extent(blocks)?;
    let (lowest, highest) = extent(series.iter().flatten().map(|(_, deviation, ..)| *deviation))?;
    let height = if width < NARROW { 240.0 } else { 270.0 };
    let bottom = height - AXIS_HEIGHT;
    let reach = f64::max(-lowest, highest).max(0.001) * 1.12;
    let vertical = Scale::linear((-reach, reach), (bottom, TOP));
    let half = 0.5;
    let horizontal = Scale::linear((first - half, last + half), (LEFT, width - 12.0));
    let step = horizontal.at(1.0) - horizontal.at(0.0);
    let mut drawing = Drawing::new(width, height);
    drawing.open_plot(horizontal.range());
    for discard in discards {
        let x = horizontal.at(f64::from(discard.block) - half);
        let tip = format!("block {} discarded: {}", u64::from(discard.block) + 1, discard.reason);
        drawing.rect("discarded", (x + 1.0, TOP), (step - 2.0, bottom - TOP), &tip);
    }
    drawing.close();
    for tick in vertical.ticks(5) {
        drawing.line("grid", (LEFT, vertical.at(tick)), (width - 12.0, vertical.at(tick)));
        let label = if tick == 0.0 { "median".to_owned() } else { tick_percent(tick) };
        drawing.text("tick", (LEFT - 8.0, vertical.at(tick) + 4.0), Anchor::End, &label);
    }
    drawing.line("baseline", (LEFT, vertical.at(0.0)), (width - 12.0, vertical.at(0.0)));
    drawing.open_ticks();
    label_blocks(&mut drawing, &horizontal, (first, last), bottom);
    drawing.close();
    drawing.open_plot(horizontal.range());
    // Beside each other within a block, in the experiment's order, so that marks do not cover one another.
    let lanes = series.len() as f64;
    let lane = |index: usize| ((index as f64 + 0.5) / lanes - 0.5) * 0.6;
    for (index, points) in series.iter().enumerate() {
        let place = |block: u32, deviation: f64| {
            (horizontal.at(f64::from(block) + lane(index)), vertical.at(deviation))
        };
        let counting: Vec<(f64, f64)> = points
            .iter()
            .filter(|(.., counts)| *counts)
            .map(|(block, deviation, ..)| place(*block, *deviation))
            .collect();
        drawing.polyline(&format!("thread {}", super::marker::colour_class(index)), &counting);
        for (block, deviation, tip, counts) in points {
            let class = if *counts { "mark" } else { "mark hollow" };
            drawing.mark(index, class, place(*block, *deviation), 3.6, tip);
        }
    }
    drawing.close();
    let description = format!(
        "Each trial's deviation from the median of its configuration, over {} blocks; largest {}",
        last - first + 1.0,
        signed_percent(if -lowest > highest { lowest } else { highest })
    );
    Some(drawing.finish(id, "Trials in run order", &description))
}

/// The first and the last block, and every fifth between where there is room.
fn label_blocks(drawing: &mut Drawing, scale: &Scale, (first, last): (f64, f64), bottom: f64) {
    let y = bottom + 20.0;
    drawing.text("tick", (scale.at(first), y), Anchor::Middle, &format!("block {}", first + 1.0));
    let mut at = first;
    let mut labelled = scale.at(first);
    let end = scale.at(last);
    while at < last {
        at += 1.0;
        let x = scale.at(at);
        let round = (at + 1.0) % 5.0 == 0.0 || at >= last;
        if round && x - labelled > 64.0 && (at >= last || end - x > 64.0) {
            drawing.text("tick", (x, y), Anchor::Middle, &format!("{}", at + 1.0));
            labelled = x;
        }
    }
}
