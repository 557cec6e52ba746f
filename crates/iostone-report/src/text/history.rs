//! A history for the terminal: a row of bars for each figure, with the places at which it changed.

use iostone_model::history::{History, Series};

use super::wrap::{hang, wrap};
use super::{Page, TextStyle, sparkline};
use crate::figures::figure;
use crate::history::{cautions, change_sentence, headline, subject, terms};
use crate::ink::{Ink, clean, dye};

/// What stands below the first bar of a new state.
const MARK: char = '▲';

/// More series than this are told one line each, those with a change first.
const DRAWN: usize = 12;

/// See [`crate::history_text()`].
pub(crate) fn write(history: &History, style: TextStyle) -> String {
    let mut page = Page::new(style);
    page.add(dye(Ink::Bold, &wrap(&clean(&headline(history)), page.width)));
    let mut order: Vec<&Series> = history.series.iter().collect();
    // Those that changed first; the sort keeps the order of the rest.
    order.sort_by_key(|series| series.changes.is_empty());
    for series in order.iter().take(DRAWN) {
        let drawn = draw(series, page.width);
        page.add(drawn);
    }
    let more = order.len().saturating_sub(DRAWN);
    if more > 0 {
        page.add(format!("{more} more figures: `--metric`, `--configuration` or `--json` shows them."));
    }
    let left_out: Vec<String> =
        history.left_out.iter().map(|sentence| wrap(&clean(sentence), page.width)).collect();
    page.add(left_out.join("\n"));
    page.add(dye(Ink::Dim, &wrap(&terms(history), page.width)));
    page.finish(style)
}

fn draw(series: &Series, width: usize) -> String {
    let values: Vec<f64> = series.runs.iter().map(|run| run.value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let columns = width.saturating_sub(4).min(values.len()).max(1);
    let bars = sparkline::draw(&values, (low, high), columns);
    let ends = match (values.first(), values.last()) {
        (Some(first), Some(last)) => {
            format!("first {}, last {}", figure(series.unit, *first), figure(series.unit, *last))
        }
        _ => String::new(),
    };
    let title = format!("{}: {ends}", subject(series));
    let mut lines = vec![dye(Ink::Bold, &wrap(&clean(&title), width)), format!("  {bars}")];
    let mut marks = vec![' '; columns];
    for change in &series.changes {
        let at = change.first as usize * columns / values.len().max(1);
        if let Some(place) = marks.get_mut(at) {
            *place = MARK;
        }
    }
    if !series.changes.is_empty() {
        let marks: String = marks.into_iter().collect();
        lines.push(format!("  {}", marks.trim_end()));
    }
    for change in &series.changes {
        let ink = if change.worse == Some(true) { Ink::Bad } else { Ink::Good };
        let mark = format!("  {} ", dye(ink, &MARK.to_string()));
        lines.push(hang(&clean(&change_sentence(series, change)), width, &mark, "    "));
    }
    for caution in cautions(series) {
        lines.push(hang(&clean(&caution), width, &format!("  {} ", dye(Ink::Caution, "!")), "    "));
    }
    lines.join("\n")
}
