//! Where the CPU time went: a stacked bar a configuration, or a small one a trial.

use super::heat_map::hatch;
use super::scale::Scale;
use super::{Anchor, Drawing, NARROW, fit, text_width};
use crate::cpu_split::{CpuTimes, Part, Split, Whole};
use crate::figures::{self, percent};
use iostone_model::metric::Unit;

const ROW_HEIGHT: f64 = 38.0;
const NARROW_ROW_HEIGHT: f64 = 54.0;
const BAR: f64 = 20.0;
const TOP: f64 = 8.0;
const AXIS_HEIGHT: f64 = 30.0;
/// Room for the wall time behind the longest bar.
const BEHIND: f64 = 66.0;

/// The class that gives a part its colour.
pub(crate) fn colour_class(part: Part) -> &'static str {
    match part {
        Part::User => "p-user",
        Part::System => "p-system",
        Part::Throttled => "p-throttled",
        Part::Governed => "p-governed",
        Part::Steal => "p-steal",
        Part::IoWait | Part::Pressure => "p-io",
        Part::Other => "p-other",
    }
}

/// Draws the figure `width` pixels wide; `id` is its own on the page.
pub(crate) fn draw(times: &CpuTimes<'_>, width: f64, id: &str) -> Option<String> {
    let narrow = width < NARROW;
    let left = if narrow { 4.0 } else { 240.0 };
    let row_height = if narrow { NARROW_ROW_HEIGHT } else { ROW_HEIGHT };
    let height = TOP + row_height * times.rows.len() as f64 + AXIS_HEIGHT;
    let longest = times.longest();
    if longest <= 0.0 {
        return None;
    }
    let scale = Scale::linear((0.0, longest), (left, width - BEHIND));
    let mut drawing = Drawing::new(width, height);
    let bottom = height - AXIS_HEIGHT;
    for tick in scale.ticks(if narrow { 3 } else { 8 }) {
        let x = scale.at(tick);
        drawing.line("grid", (x, TOP), (x, bottom));
        let anchor = if x < 14.0 { Anchor::Start } else { Anchor::Middle };
        let label = format!("{}\u{a0}s", figures::round_number(tick));
        drawing.text("tick", (x, bottom + 19.0), anchor, &label);
    }
    for (place, row) in times.rows.iter().enumerate() {
        let top = TOP + row_height * place as f64;
        let bar_top = if narrow { top + 24.0 } else { top + (row_height - BAR) / 2.0 };
        let label_at = if narrow { (20.0, top + 16.0) } else { (34.0, bar_top + BAR / 2.0 + 4.5) };
        drawing.mark(row.index, "mark", (label_at.0 - 12.0, label_at.1 - 4.5), 5.0, "");
        let room = if narrow { width - 30.0 } else { left - 50.0 };
        drawing.text("label", label_at, Anchor::Start, &fit(row.name, room));
        let tip = |part: Part| format!("{}: {}", row.name, words(&row.typical, part));
        draw_split(&mut drawing, &row.typical, &scale, (bar_top, BAR), true, &tip);
        let end = scale.at(row.typical.whole);
        let written = match times.whole {
            Whole::Wall => figures::figure(Unit::Seconds, row.typical.wall),
            Whole::Processors => figures::figure(Unit::Seconds, row.typical.whole),
        };
        drawing.text("tick", (end + 7.0, bar_top + BAR / 2.0 + 4.5), Anchor::Start, &written);
    }
    let described: Vec<String> =
        times.rows.iter().map(|row| format!("{}: {}", row.name, sentence(&row.typical, times))).collect();
    Some(drawing.finish(id, "Where the CPU time went, by configuration", &described.join("; ")))
}

/// A small bar of one trial, drawn beside its figures; `longest` seconds fill the width.
pub(crate) fn draw_one(split: &Split, longest: f64, width: f64) -> String {
    let mut drawing = Drawing::new(width, 12.0);
    let scale = Scale::linear((0.0, longest.max(split.whole)), (0.0, width));
    draw_split(&mut drawing, split, &scale, (0.0, 12.0), false, &|_| String::new());
    drawing.finish_hidden()
}

/// A swatch for a legend or the head of a column.
pub(crate) fn swatch(part: Part) -> String {
    let mut drawing = Drawing::new(14.0, 14.0);
    drawing.rect(&format!("cell {}", colour_class(part)), (0.5, 0.5), (13.0, 13.0), "");
    mark_withheld(&mut drawing, part, (0.5, 0.5), (13.0, 13.0));
    drawing.finish_hidden()
}

fn draw_split(
    drawing: &mut Drawing,
    split: &Split,
    scale: &Scale,
    (top, height): (f64, f64),
    labelled: bool,
    tip: &dyn Fn(Part) -> String,
) {
    let mut from = 0.0;
    for (part, seconds) in split.drawn() {
        if seconds <= 0.0 {
            continue;
        }
        let (left, right) = (scale.at(from), scale.at(from + seconds));
        from += seconds;
        let class = colour_class(part);
        let (corner, size) = ((left, top), (right - left, height));
        drawing.rect(&format!("cell {class}"), corner, size, &tip(part));
        mark_withheld(drawing, part, corner, size);
        let name = part.name();
        if labelled && part != Part::Other && text_width(name) * 0.86 + 8.0 < size.0 {
            let at = (left + size.0 / 2.0, top + height / 2.0 + 4.0);
            drawing.text(&format!("part-text {class}"), at, Anchor::Middle, name);
        }
    }
}

/// What was withheld is hatched as well, so that it is told from what was used without colours.
fn mark_withheld(drawing: &mut Drawing, part: Part, corner: (f64, f64), size: (f64, f64)) {
    if matches!(part, Part::Throttled | Part::Governed | Part::Steal) && size.0 >= 2.0 {
        drawing.path(&format!("hatch {}", colour_class(part)), &hatch(corner, size), "");
    }
}

/// "governed 15.9 s, 83.1 %: withheld by ...".
fn words(split: &Split, part: Part) -> String {
    match split.seconds(part) {
        Some(seconds) => format!(
            "{} {}, {} ({})",
            part.name(),
            figures::figure(Unit::Seconds, seconds),
            percent(seconds / split.whole),
            part.meaning()
        ),
        None => format!("{}: not observable", part.name()),
    }
}

/// All parts in one sentence.
fn sentence(split: &Split, times: &CpuTimes<'_>) -> String {
    let told = times.parts().into_iter().filter_map(|part| {
        Some(format!("{} {}", part.name(), figures::figure(Unit::Seconds, split.seconds(part)?)))
    });
    let told: Vec<String> = told.collect();
    format!("{} of {}", told.join(", "), figures::figure(Unit::Seconds, split.whole))
}
