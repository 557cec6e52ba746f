//! Curves on the terminal: the verdict on each, and its points, folded into ranges of load where they are many.

mod figures;
mod rows;

use iostone_model::verdict::{Comparison, CurveVerdict, Verdict, Verdicts};

use super::Page;
use super::wrap::wrap;
use crate::ink::{Ink, clean, dye};
use crate::view::name_in;
use crate::wording::curve::{curve_words, flatness_lines, verdict_word};
use crate::wording::{interval_notes, is_decided_together};

/// Up to so many points each has a row of its own.
const POINTS_SHOWN: usize = 15;

/// More rows nobody reads; the rest is in the other formats.
const ROWS_SHOWN: usize = 40;

const LEGEND: &str = "Ratios are of performance: above 0\u{a0}% (\u{d7}1) is better. Their intervals cover all points \
                      and interim checks jointly.";
const FOLDED: &str = " A row of several points gives the span of their medians, of their typical ratios and of their intervals.";

/// The curves with their points, each curve under its verdict; without a verdict the figures alone.
pub(super) fn add(page: &mut Page, verdicts: Option<&Verdicts>, margin: f64) {
    let Some(verdicts) = verdicts else { return };
    if verdicts.curves.is_empty() {
        page.add(figures::draw(&verdicts.configurations, page.width));
        return;
    }
    let (mut folded, mut equivalent, mut together) = (false, false, false);
    for curve in &verdicts.curves {
        let points: Vec<&Comparison> = curve.points_of(verdicts).collect();
        let sides = rows::Sides::of(curve, verdicts);
        page.add(format!(
            "{}\n{}",
            title(page.width, curve, margin),
            rows::draw(&points, &sides, margin, page.width)
        ));
        folded |= points.len() > POINTS_SHOWN;
        equivalent |= points.iter().any(|point| point.verdict == Some(Verdict::Equivalent));
        together |=
            is_decided_together(&curve.flags) || points.iter().any(|point| is_decided_together(&point.flags));
    }
    let notes = interval_notes(equivalent, together);
    let legend = format!("{LEGEND}{notes}{}", if folded { FOLDED } else { "" });
    page.add(dye(Ink::Dim, &wrap(&legend, page.width)));
}

/// The verdicts on the curves, with the points where there is one curve of few.
pub(super) fn brief(verdicts: Option<&Verdicts>, margin: f64, width: usize) -> Vec<String> {
    let Some(verdicts) = verdicts else { return Vec::new() };
    match verdicts.curves.as_slice() {
        [] => vec![figures::draw(&verdicts.configurations, width)],
        [curve] => {
            let points: Vec<&Comparison> = curve.points_of(verdicts).collect();
            let table = rows::draw(&points, &rows::Sides::of(curve, verdicts), margin, width);
            vec![format!("{}\n{table}", title(width, curve, margin))]
        }
        curves => {
            let titles: Vec<String> = curves.iter().map(|curve| title(width, curve, margin)).collect();
            vec![titles.join("\n")]
        }
    }
}

/// What flat write curves are put down to, a paragraph for each.
pub(super) fn add_flatness(page: &mut Page, verdicts: Option<&Verdicts>) {
    for line in verdicts.map(flatness_lines).unwrap_or_default() {
        page.add(wrap(&clean(&line), page.width));
    }
}

/// "off against on: faster (12 of 28 points faster, none slower)".
fn title(width: usize, curve: &CurveVerdict, margin: f64) -> String {
    let name = clean(&name_in(&curve.level, &curve.stratum));
    let counts = curve_words(curve, margin);
    let line = format!("{name} against {}: {} ({counts})", clean(&curve.baseline), verdict_word(curve));
    dye(Ink::Bold, &wrap(&line, width))
}
