//! What each further dollar buys: price against time or rate, with the front, what was chosen, and what misses the target.

use iostone_model::metric::Unit;
use iostone_model::recommendation::{Choice, Recommendation};

use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW, fit, text_width};
use crate::figures::tick;
use crate::prediction::dollars;
use crate::recommendation::{headline, rented, short_performance};

const HEIGHT: f64 = 380.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 46.0;
const RADIUS: f64 = 6.0;
/// Marks by their shape: a circle on the front, a star, a diamond, a cross. Colours come with them and say nothing more.
pub(crate) const FRONT: usize = 0;
pub(crate) const CHOSEN: usize = 11;
pub(crate) const RUNNER_UP: usize = 2;
pub(crate) const MISS: usize = 6;

/// What stands beside a mark.
enum Label<'a> {
    /// The number in the table.
    Number(usize),
    /// What it is; the instance comes with it.
    Name(&'a str),
}

/// A place that a label has taken.
type Taken = Vec<(f64, f64, f64)>;

/// The picture; none where there is but one price and one figure.
pub(crate) fn draw(found: &Recommendation, width: f64, id: &str) -> Option<String> {
    let is_time = found.target.within_seconds.is_some();
    // Round minutes are no round seconds.
    let clock = if found.target.within_seconds.is_some_and(|seconds| seconds >= 120.0) { 60.0 } else { 1.0 };
    let value = |choice: &Choice| {
        if is_time {
            choice.seconds.map(|seconds| seconds / clock)
        } else if found.target.ios_per_second.is_some() {
            choice.ios_per_second
        } else {
            Some(choice.bytes_per_second)
        }
    };
    let target = found
        .target
        .within_seconds
        .map(|seconds| seconds / clock)
        .or(found.target.ios_per_second)
        .or(found.target.bytes_per_second)?;
    let unit = match (is_time, found.target.ios_per_second) {
        (true, _) => Unit::Seconds,
        (false, Some(_)) => Unit::PerSecond,
        (false, None) => Unit::BytesPerSecond,
    };
    let all: Vec<&Choice> =
        found.front.iter().chain([&found.chosen]).chain(&found.runner_up).chain(&found.misses).collect();
    let (left, right) = (if width < NARROW { 66.0 } else { 88.0 }, width - 24.0);
    let horizontal = axis(all.iter().map(|choice| choice.usd_per_hour), (left, right));
    let values = all.iter().filter_map(|choice| value(choice)).chain([target]);
    let vertical = axis(values, (HEIGHT - BOTTOM, TOP));
    let mut drawing = Drawing::new(width, HEIGHT);
    draw_axes(&mut drawing, (&horizontal, &vertical), (unit, clock), width, found);
    let at = |choice: &Choice| Some((horizontal.at(choice.usd_per_hour), vertical.at(value(choice)?)));
    let goal = vertical.at_most(target);
    drawing.line("whisker c1 target", (left, goal), (right, goal));
    drawing.text("label", (right, goal - 7.0), Anchor::End, &fit(&found.target.words, right - left));
    let mut taken: Taken = vec![(right - text_width(&found.target.words), right, goal - 7.0)];
    let marks = all.iter().filter_map(|choice| at(choice));
    taken.extend(marks.map(|(x, y)| (x - RADIUS, x + RADIUS, y + 4.0)));
    // The next better one begins where it is paid for: the front has steps, no slopes.
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for point in found.front.iter().filter_map(at) {
        if let Some((_, last)) = steps.last().copied() {
            steps.push((point.0, last));
        }
        steps.push(point);
    }
    drawing.polyline(&format!("curve c{FRONT}"), &steps);
    let mut put = |drawing: &mut Drawing, index: usize, class: &str, choice: &Choice, label: Label<'_>| {
        let Some(place) = at(choice) else { return };
        let tip = format!(
            "{}: {} an hour, {}, held by {}",
            rented(choice),
            dollars(choice.usd_per_hour),
            short_performance(found, choice),
            choice.binding
        );
        drawing.mark(index, class, place, if index == CHOSEN { RADIUS * 1.4 } else { RADIUS }, &tip);
        let (label, must) = match label {
            Label::Number(number) => (number.to_string(), false),
            Label::Name(name) => (format!("{name}: {}", choice.instance), true),
        };
        write(drawing, &mut taken, place, &fit(&label, right - left), (left, right), must);
    };
    let first = if found.is_met { "cheapest" } else { "fastest" };
    put(&mut drawing, CHOSEN, "mark", &found.chosen, Label::Name(first));
    if let Some(choice) = &found.runner_up {
        put(&mut drawing, RUNNER_UP, "mark", choice, Label::Name("runner-up"));
    }
    for choice in &found.misses {
        put(&mut drawing, MISS, "mark", choice, Label::Name("misses"));
    }
    // By their numbers in the table: names that are the same would not tell them apart.
    for (number, choice) in (1..).zip(&found.front).skip(1) {
        put(&mut drawing, FRONT, "mark hollow", choice, Label::Number(number));
    }
    Some(drawing.finish(id, "Price against what it does", &headline(found)))
}

/// What counts are ratios, so that both axes are logarithmic, with some air at their ends.
fn axis(values: impl Iterator<Item = f64>, range: (f64, f64)) -> Scale {
    let (low, high) = extent(values).unwrap_or((1.0, 2.0));
    Scale::logarithmic((low / 1.25, high * 1.25), range)
}

/// Writes a label beside its mark where no other stands; one that has to be there is moved until it fits.
fn write(
    drawing: &mut Drawing,
    taken: &mut Taken,
    (x, y): (f64, f64),
    label: &str,
    (left, right): (f64, f64),
    must: bool,
) {
    let width = text_width(label);
    let from = if x + 12.0 + width <= right { x + 12.0 } else { (x - 12.0 - width).max(left + 2.0) };
    let is_free = |taken: &Taken, at: f64| {
        !taken
            .iter()
            .any(|(start, end, line)| *start < from + width && from < *end && (line - at).abs() < 15.0)
    };
    let shifts: &[f64] =
        if must { &[4.0, -14.0, 22.0, -32.0, 40.0, -50.0, 58.0] } else { &[4.0, -14.0, 22.0] };
    let place = shifts
        .iter()
        .map(|shift| y + shift)
        .find(|at| *at > TOP - 10.0 && *at < HEIGHT - BOTTOM + 4.0 && is_free(taken, *at));
    if let Some(at) = place {
        taken.push((from, from + width, at));
        drawing.text("label", (from, at), Anchor::Start, label);
    }
}

fn draw_axes(
    drawing: &mut Drawing,
    (horizontal, vertical): (&Scale, &Scale),
    (unit, clock): (Unit, f64),
    width: f64,
    found: &Recommendation,
) {
    let (left, right) = (if width < NARROW { 66.0 } else { 88.0 }, width - 24.0);
    let floor = HEIGHT - BOTTOM;
    for mark in vertical.ticks(5) {
        let y = vertical.at(mark);
        drawing.line("grid", (left, y), (right, y));
        let name = match unit {
            Unit::Seconds => minutes(mark, clock),
            unit => tick(unit, mark),
        };
        drawing.text("tick", (left - 8.0, y + 4.0), Anchor::End, &name);
    }
    for mark in horizontal.ticks(if width < NARROW { 3 } else { 7 }) {
        let x = horizontal.at(mark);
        drawing.line("grid", (x, TOP), (x, floor));
        drawing.text("tick", (x, floor + 18.0), Anchor::Middle, &dollars(mark));
    }
    drawing.line("axis", (left, floor), (right, floor));
    drawing.text("caption", (right, HEIGHT - 8.0), Anchor::End, "US dollars an hour");
    let title = match unit {
        Unit::Seconds => "time of the work (lower is better)",
        Unit::PerSecond => "I/Os a second (higher is better)",
        _ if found.target.for_seconds.is_some() => "rate that is held (higher is better)",
        _ => "rate in the long run (higher is better)",
    };
    drawing.text("caption", (left, 14.0), Anchor::Start, &fit(title, right - left));
}

/// A time on the axis, of which a unit is so many seconds: `40 s`, `25 min`.
fn minutes(mark: f64, clock: f64) -> String {
    if clock > 1.0 { format!("{}\u{a0}min", short(mark)) } else { tick(Unit::Seconds, mark) }
}

fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}
