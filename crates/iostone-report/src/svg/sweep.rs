//! The curve of a sweep: every level's median with its interval over the axis of levels, and what was passed over.

use iostone_model::verdict::{SweepLevel, SweepState, SweepVerdict};

use super::scale::{Scale, Start, extent};
use super::{Anchor, Drawing, NARROW, text_width};
use crate::figures::{self, figure, range};
use crate::sweep::{is_geometric, is_passed_over, state_words};
use crate::view::{Row, View};

const HEIGHT: f64 = 320.0;
const TOP: f64 = 34.0;
const AXIS_HEIGHT: f64 = 50.0;

/// Draws the figure and says how its axis begins; nothing without a level that has a figure.
pub(crate) fn draw(view: &View<'_>, sweep: &SweepVerdict, width: f64, id: &str) -> Option<(String, Start)> {
    let medians = || sweep.levels.iter().filter_map(|level| finite(level.median));
    medians().next()?;
    let narrow = width < NARROW;
    let (left, right) = (if narrow { 58.0 } else { 84.0 }, width - if narrow { 14.0 } else { 40.0 });
    let bottom = HEIGHT - AXIS_HEIGHT;
    let trials = sweep.levels.iter().filter_map(|level| row_of(view, level)).flat_map(Row::values);
    let intervals = sweep.levels.iter().flat_map(|level| level.median_interval).filter_map(finite);
    let figures = medians().chain(trials.map(|(value, _)| value)).chain(intervals);
    let (vertical, start) = Scale::of_figures(figures, (bottom, TOP));
    let positions = || sweep.levels.iter().map(|level| level.position);
    let domain = extent(positions())?;
    let inner = (left + 18.0, right - 18.0);
    let horizontal =
        if is_geometric(sweep) { Scale::logarithmic(domain, inner) } else { Scale::linear(domain, inner) };
    let mut drawing = Drawing::new(width, HEIGHT);
    drawing.open_plot((left, right));
    shade_set(&mut drawing, sweep, &horizontal, (left, right), (TOP, bottom));
    drawing.close();
    for tick in vertical.ticks(6) {
        let y = vertical.at(tick);
        drawing.line("grid", (left, y), (right, y));
        drawing.text("tick", (left - 8.0, y + 4.0), Anchor::End, &figures::tick(view.unit, tick));
    }
    name_levels(&mut drawing, sweep, &horizontal, bottom, f64::midpoint(left, right));
    drawing.open_plot((left, right));
    let curve: Vec<(f64, f64)> = sweep
        .levels
        .iter()
        .filter_map(|level| Some((horizontal.at(level.position), vertical.at(finite(level.median)?))))
        .collect();
    drawing.polyline("thread c4", &curve);
    draw_fit(&mut drawing, sweep, &horizontal, &vertical, right);
    for level in &sweep.levels {
        let x = horizontal.at(level.position);
        draw_level(&mut drawing, view, sweep, level, x, &vertical);
    }
    drawing.close();
    let title = format!("{} over {}", super::forest::capitalised(view.metric_title()), sweep.factor);
    let described: Vec<String> = sweep.levels.iter().map(|level| tip(view, level)).collect();
    Some((drawing.finish(id, &title, &described.join("; ")), start))
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// The configuration of a level: a sweep has one factor.
fn row_of<'a, 'b>(view: &'b View<'a>, level: &SweepLevel) -> Option<&'b Row<'a>> {
    view.rows.iter().find(|row| row.name == level.level)
}

/// Shades the levels that may be the best, half-way to their neighbours.
fn shade_set(
    drawing: &mut Drawing,
    sweep: &SweepVerdict,
    horizontal: &Scale,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) {
    let at: Vec<f64> = sweep.levels.iter().map(|level| horizontal.at(level.position)).collect();
    let edge = |index: usize, other: Option<usize>, end: f64| {
        let own = at.get(index).copied().unwrap_or(end);
        other.and_then(|other| at.get(other)).map_or(end, |other| f64::midpoint(own, *other))
    };
    let shaded = |index: usize| {
        sweep.levels.get(index).is_some_and(|level| sweep.not_shown_worse.contains(&level.level))
    };
    let mut index = 0;
    while index < sweep.levels.len() {
        let first = index;
        while shaded(index) {
            index += 1;
        }
        if index > first {
            let from = edge(first, first.checked_sub(1), left);
            let to = edge(index - 1, Some(index), right);
            let names: Vec<&str> =
                sweep.levels.get(first..index).unwrap_or_default().iter().map(|l| l.level.as_str()).collect();
            let tip = format!("may be the best: {}", names.join(", "));
            drawing.rect("band", (from, top), (to - from, bottom - top), &tip);
        }
        index += 1;
    }
}

/// Writes the names below the axis, leaving out some where they would touch.
fn name_levels(drawing: &mut Drawing, sweep: &SweepVerdict, horizontal: &Scale, bottom: f64, middle: f64) {
    let mut free_from = f64::NEG_INFINITY;
    let best = sweep.levels.iter().find(|level| level.state == SweepState::Best);
    let half = |level: &SweepLevel| text_width(&level.level) * 0.46 + 4.0;
    let reserved = best.map(|best| {
        let x = horizontal.at(best.position);
        (x - half(best), x + half(best))
    });
    drawing.open_ticks();
    for level in &sweep.levels {
        let x = horizontal.at(level.position);
        drawing.line("axis", (x, bottom), (x, bottom + 5.0));
        let (from, to) = (x - half(level), x + half(level));
        let is_best = level.state == SweepState::Best;
        // The best level always has its name.
        let collides = reserved.is_some_and(|(start, end)| !is_best && to > start && from < end);
        if is_best || (from >= free_from && !collides) {
            let class = if is_best { "label" } else { "tick" };
            drawing.text(class, (x, bottom + 20.0), Anchor::Middle, &level.level);
            free_from = to;
        }
    }
    drawing.close();
    drawing.text("tick", (middle, bottom + 42.0), Anchor::Middle, &sweep.factor);
}

fn draw_fit(drawing: &mut Drawing, sweep: &SweepVerdict, horizontal: &Scale, vertical: &Scale, right: f64) {
    let Some(fit) = &sweep.fit else { return };
    // Beyond the levels, and beyond the figures, a parabola says nothing.
    let (Some(first), Some(last)) = (sweep.levels.first(), sweep.levels.last()) else { return };
    let points: Vec<(f64, f64)> = fit
        .points
        .iter()
        .filter(|(position, value)| {
            (first.position..=last.position).contains(position) && vertical.at_most(*value).is_finite()
        })
        .filter(|(_, value)| (vertical.at(*value) - vertical.at_most(*value)).abs() < 0.5)
        .map(|(position, value)| (horizontal.at(*position), vertical.at(*value)))
        .collect();
    drawing.polyline("fit", &points);
    // Named where it ends, so that nobody takes it for what was measured.
    let (Some(start), Some(end)) = (points.first(), points.last()) else { return };
    let words = "fit: description only";
    let room = right - end.0 > text_width(words) * 0.8 + 8.0;
    let (at, anchor) = if room {
        ((end.0 + 8.0, end.1 - 6.0), Anchor::Start)
    } else {
        ((start.0 - 8.0, start.1 - 6.0), Anchor::End)
    };
    if room || start.0 > text_width(words) * 0.8 + 60.0 {
        drawing.text("note fit-name", (at.0, at.1.max(TOP + 12.0)), anchor, words);
    }
}

fn draw_level(
    drawing: &mut Drawing,
    view: &View<'_>,
    sweep: &SweepVerdict,
    level: &SweepLevel,
    x: f64,
    vertical: &Scale,
) {
    let (index, mark_class, radius) = match level.state {
        SweepState::Best => (0, "mark", 7.5),
        SweepState::NotShownWorse => (0, "mark", 5.5),
        SweepState::Worse => (4, "mark", 5.0),
        SweepState::BeyondWorse | SweepState::Open => (4, "mark hollow", 5.0),
    };
    let colour = super::marker::colour_class(index);
    let row = row_of(view, level);
    for point in row.into_iter().flat_map(|row| &row.trials) {
        if let Some(value) = point.value {
            let class = if point.counts { "trial" } else { "trial hollow" };
            drawing.dot(index, class, (x + 11.0, vertical.at(value)), 1.9, &super::forest::tip(view, point));
        }
    }
    let tip = tip(view, level);
    if let [Some(low), Some(high)] = level.median_interval.map(finite) {
        let (upper, lower) = (vertical.at(high), vertical.at(low));
        drawing.line(&format!("whisker {colour}"), (x, upper), (x, lower));
        for end in [upper, lower] {
            drawing.line(&format!("whisker {colour}"), (x - 4.0, end), (x + 4.0, end));
        }
    }
    if let Some(median) = finite(level.median) {
        let y = vertical.at(median);
        let disc = super::marker::path(0, (x, y), radius);
        drawing.path(&format!("{colour} {mark_class}"), &disc, &tip);
        let leads = sweep.best.is_none() && sweep.leader.as_ref() == Some(&level.level);
        if leads || level.state == SweepState::Best {
            let word = if leads { "leads" } else { "best" };
            drawing.text("label", (x, TOP - 12.0), Anchor::Middle, word);
            drawing.line("baseline", (x, TOP - 6.0), (x, y - radius - 2.0));
        }
    }
}

/// "30%: best, median 9.95 s, 12 trials".
fn tip(view: &View<'_>, level: &SweepLevel) -> String {
    let median = finite(level.median).map_or_else(|| figures::NO_FIGURE.to_owned(), |m| figure(view.unit, m));
    let interval = match level.median_interval.map(finite) {
        [Some(low), Some(high)] => format!(", interval {}", range(view.unit, low, high)),
        _ => String::new(),
    };
    let beyond = if is_passed_over(level.state) { ", not raced to an end of its own" } else { "" };
    format!(
        "{}: {}, median {median}{interval}, {}{beyond}",
        level.level,
        state_words(level.state),
        figures::counted(level.trials, "trial")
    )
}
