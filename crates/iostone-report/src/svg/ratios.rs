//! Each ratio's interval held against the band of the equivalence margin: why a verdict is what it is.

use iostone_model::metric::Direction;
use iostone_model::verdict::Comparison;

use super::scale::Scale;
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures::{declared_percent, factor_digits, own_ratio, tick_percent};
use crate::view::View;
use crate::wording::{comparison_sentence, verdict_words};

const ROW_HEIGHT: f64 = 40.0;
const NARROW_ROW_HEIGHT: f64 = 62.0;
const TOP: f64 = 26.0;
const AXIS_HEIGHT: f64 = 30.0;
/// Beyond these ratios a bound is drawn at the edge: one wild interval must not flatten all others.
const FURTHEST: (f64, f64) = (1e-3, 1e3);

/// Draws the figure; nothing without a single ratio. A rehearsal's words claim nothing.
pub(crate) fn draw(view: &View<'_>, margin: f64, width: f64, id: &str) -> Option<String> {
    let comparisons = placed(view);
    let known = comparisons.iter().flat_map(|(_, _, comparison)| ends(comparison)).flatten();
    let known: Vec<f64> = known.filter(|value| value.is_finite() && *value > 0.0).collect();
    if known.is_empty() {
        return None;
    }
    let narrow = width < NARROW;
    let (left, right) = if narrow { (14.0, width - 14.0) } else { (240.0, width - 185.0) };
    let row_height = if narrow { NARROW_ROW_HEIGHT } else { ROW_HEIGHT };
    let height = TOP + row_height * comparisons.len() as f64 + AXIS_HEIGHT;
    let bottom = height - AXIS_HEIGHT;
    let scale = axis(&known, margin, (left, right));
    let mut drawing = Drawing::new(width, height);
    if margin > 0.0 {
        let (from, to) = (scale.at(1.0 / (1.0 + margin)), scale.at(1.0 + margin));
        let tip = format!("differences within {} do not matter", declared_percent(margin));
        drawing.rect("band", (from, TOP), (to - from, bottom - TOP), &tip);
        let words =
            if narrow { "margin".to_owned() } else { format!("margin ±{}", declared_percent(margin)) };
        drawing.text("tick", (scale.at(1.0).clamp(40.0, width - 40.0), TOP - 11.0), Anchor::Middle, &words);
    }
    for (tick, label) in ticks(&scale, if narrow { 4 } else { 7 }) {
        drawing.line("grid", (scale.at(tick), TOP), (scale.at(tick), bottom));
        drawing.text("tick", (scale.at(tick), bottom + 19.0), Anchor::Middle, &label);
    }
    drawing.line("baseline", (scale.at(1.0), TOP), (scale.at(1.0), bottom));
    for (place, (index, name, comparison)) in comparisons.iter().enumerate() {
        let top = TOP + row_height * place as f64;
        let middle = if narrow { top + 44.0 } else { top + row_height / 2.0 };
        let label_at = if narrow { (26.0, top + 14.0) } else { (34.0, middle + 4.5) };
        drawing.mark(*index, "mark", (label_at.0 - 15.0, label_at.1 - 4.5), 5.0, "");
        let room = if narrow { width * 0.4 } else { left - 56.0 };
        drawing.text("label", label_at, Anchor::Start, &fit(name, room));
        let verdict_at = if narrow { (width - 12.0, label_at.1) } else { (width - 166.0, label_at.1) };
        let anchor = if narrow { Anchor::End } else { Anchor::Start };
        drawing.text("verdict", verdict_at, anchor, &verdict_words(comparison, margin, view.rehearsal));
        let tip = comparison_sentence(name, comparison, margin, view);
        draw_interval(&mut drawing, *index, comparison, &scale, middle, &tip);
    }
    let sentences: Vec<String> =
        comparisons.iter().map(|(_, n, c)| comparison_sentence(n, c, margin, view)).collect();
    Some(drawing.finish(id, "Ratio to the baseline, better to the right", &sentences.join("; ")))
}

/// Comparisons with the index of the mark they are drawn with.
fn placed<'a>(view: &View<'a>) -> Vec<(usize, String, &'a Comparison)> {
    let of_rows = view.rows.iter().enumerate();
    let of_rows = of_rows.filter_map(|(index, row)| Some((index, row.name.to_owned(), row.comparison?)));
    of_rows.filter(|(_, _, comparison)| ends(comparison).iter().any(Option::is_some)).collect()
}

/// Everything of a comparison that the axis must hold.
fn ends(comparison: &Comparison) -> [Option<f64>; 5] {
    let [low, high] = comparison.ratio_interval;
    let [equivalence_low, equivalence_high] = comparison.equivalence_interval;
    [comparison.ratio, low, high, equivalence_low, equivalence_high]
}

fn axis(known: &[f64], margin: f64, range: (f64, f64)) -> Scale {
    let clamped = known.iter().map(|value| value.clamp(FURTHEST.0, FURTHEST.1));
    let (low, high) = clamped.fold((1.0 / (1.0 + margin), 1.0 + margin), |(low, high), value| {
        (f64::min(low, value), f64::max(high, value))
    });
    let air = (high / low).powf(0.07).max(1.0005);
    Scale::logarithmic((low / air, high * air), range)
}

/// Ticks with labels: percentages near the baseline, factors far from it.
fn ticks(scale: &Scale, wanted: u32) -> Vec<(f64, String)> {
    let ticks = scale.ticks(wanted);
    let near = ticks.iter().all(|tick| (0.5..=1.5).contains(tick));
    let label = |tick: f64| {
        if near { tick_percent(tick - 1.0) } else { format!("\u{d7}{}", short_factor(tick)) }
    };
    ticks.into_iter().map(|tick| (tick, label(tick))).collect()
}

/// Ticks are round: `×2`, not `×2.00`.
fn short_factor(tick: f64) -> String {
    let digits = factor_digits(tick);
    if digits.contains('.') && !digits.contains('e') {
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        digits
    }
}

/// The interval as a line, that of the equivalence test as a bar on it; an open end is an arrow at the edge.
fn draw_interval(
    drawing: &mut Drawing,
    index: usize,
    comparison: &Comparison,
    scale: &Scale,
    y: f64,
    tip: &str,
) {
    let colour = super::marker::colour_class(index);
    let pixel = |value: Option<f64>, open: f64| {
        let usable = value.filter(|v| v.is_finite() && *v > 0.0);
        usable.map_or(scale.at_most(open), |value| scale.at_most(value))
    };
    let [low, high] = comparison.ratio_interval;
    if low.is_some() || high.is_some() {
        let (from, to) = (pixel(low, f64::MIN_POSITIVE), pixel(high, f64::MAX));
        let [narrow_low, narrow_high] = comparison.equivalence_interval;
        if narrow_low.is_some() && narrow_high.is_some() {
            let (inner_from, inner_to) = (pixel(narrow_low, 1.0), pixel(narrow_high, 1.0));
            let class = format!("interval {colour}");
            drawing.rect(&class, (inner_from, y - 5.0), ((inner_to - inner_from).max(2.0), 10.0), tip);
        }
        let class = format!("whisker {colour}");
        drawing.line(&class, (from, y), (to, y));
        for (bound, x, outwards) in [(low, from, -1.0), (high, to, 1.0)] {
            if bound.is_some_and(f64::is_finite) {
                drawing.line(&class, (x, y - 6.0), (x, y + 6.0));
            } else {
                drawing.polyline(
                    &class,
                    &[(x - 7.0 * outwards, y - 6.0), (x, y), (x - 7.0 * outwards, y + 6.0)],
                );
            }
        }
    }
    if let Some(estimate) = comparison.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
        drawing.mark(index, "mark", (scale.at_most(estimate), y), 6.0, tip);
    }
}

/// The ratio in writing for the table beside.
pub(crate) fn written(comparison: &Comparison, better: Direction) -> (String, String) {
    let text = match (&comparison.ratio, &comparison.unpaired) {
        (None, Some(test)) => own_ratio(better, Some(test.ratio), test.ratio_interval),
        _ => own_ratio(better, comparison.ratio, comparison.ratio_interval),
    };
    (text.estimate.clone(), text.interval_with_unit().unwrap_or_default())
}
