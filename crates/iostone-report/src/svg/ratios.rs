//! Each ratio's interval and blocks held against the band of the equivalence margin: why a verdict is what it is.

use iostone_model::metric::Direction;
use iostone_model::verdict::Comparison;

use super::scale::Scale;
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures::{declared_percent, factor_digits, own_ratio, tick_percent};
use crate::view::{Row, View};
use crate::wording::{comparison_sentence, shown_interval, verdict_words};

const ROW_HEIGHT: f64 = 40.0;
const NARROW_ROW_HEIGHT: f64 = 62.0;
const TOP: f64 = 26.0;
const AXIS_HEIGHT: f64 = 30.0;
/// Beyond these ratios a bound is drawn at the edge: one wild interval must not flatten all others.
const FURTHEST: (f64, f64) = (1e-3, 1e3);
/// Blocks widen the axis to this many times what the intervals and the margin need; those beyond lie at the edge.
const BLOCKS_WIDEN: f64 = 3.0;
/// How far above and below its row the first and the last block lie.
const BLOCK_REACH: f64 = 14.0;

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
    let blocks: Vec<f64> =
        comparisons.iter().flat_map(|(_, _, comparison)| block_ratios(comparison)).collect();
    let scale = axis(&known, &blocks, margin, (left, right));
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
        draw_blocks(&mut drawing, *index, view, comparison, &scale, middle);
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
    let [low, high] = shown_interval(comparison);
    let [equivalence_low, equivalence_high] =
        if comparison.is_withheld() { [None, None] } else { comparison.equivalence_interval };
    [comparison.ratio, low, high, equivalence_low, equivalence_high]
}

/// The ratio of every block as measured, in block order.
fn block_ratios(comparison: &Comparison) -> impl Iterator<Item = f64> {
    comparison.log_ratios.iter().map(|log| log.exp())
}

fn axis(known: &[f64], blocks: &[f64], margin: f64, range: (f64, f64)) -> Scale {
    let clamped = known.iter().map(|value| value.clamp(FURTHEST.0, FURTHEST.1));
    let (low, high) = clamped.fold((1.0 / (1.0 + margin), 1.0 + margin), |(low, high), value| {
        (f64::min(low, value), f64::max(high, value))
    });
    let room = (high / low).powf(f64::midpoint(BLOCKS_WIDEN, -1.0));
    let reach = |ratio: &&f64| (low / room..=high * room).contains(*ratio);
    let (low, high) = blocks
        .iter()
        .filter(reach)
        .fold((low, high), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
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

/// The blocks from top to bottom, so that a drift is a slope; hollow where one lies beyond the axis.
fn draw_blocks(
    drawing: &mut Drawing,
    index: usize,
    view: &View<'_>,
    comparison: &Comparison,
    scale: &Scale,
    middle: f64,
) {
    let count = comparison.log_ratios.len();
    let numbers = view.rows.get(index).map(counted_blocks).filter(|numbers| numbers.len() == count);
    for (order, ratio) in block_ratios(comparison).enumerate().filter(|(_, ratio)| *ratio > 0.0) {
        let share = (order as f64 + 0.5) / count as f64;
        let x = scale.at_most(ratio);
        let is_beyond = (scale.at(ratio) - x).abs() > 0.5;
        let class = if is_beyond { "trial hollow" } else { "trial" };
        let written = own_ratio(view.better, Some(ratio), [None, None]).estimate;
        let block = match numbers.as_ref().and_then(|numbers| numbers.get(order)) {
            Some(number) => format!("block {}", u64::from(*number) + 1),
            None => format!("ratio {} of {count}", order + 1),
        };
        let tip = format!("{} · {block} · {written}", comparison.level);
        drawing.dot(index, class, (x, middle + (2.0 * share - 1.0) * BLOCK_REACH), 2.1, &tip);
    }
}

/// The numbers of the blocks in which a configuration has a figure that counts.
fn counted_blocks(row: &Row<'_>) -> Vec<u32> {
    let counted = row.trials.iter().filter(|point| point.counts && point.value.is_some());
    let mut numbers: Vec<u32> = counted.map(|point| point.record.block).collect();
    numbers.dedup();
    numbers
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
    let [low, high] = shown_interval(comparison);
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
        _ => own_ratio(better, comparison.ratio, shown_interval(comparison)),
    };
    (text.estimate.clone(), text.interval_with_unit().unwrap_or_default())
}
