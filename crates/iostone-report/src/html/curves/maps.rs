//! Maps of the ratios to the baseline: a map of each figure and level, a cell of each load point.

use iostone_model::orion::LoadPoint;
use iostone_model::verdict::{Comparison, Verdict};

use super::deciding_interval;
use crate::figures::ratio;
use crate::html::{FULL, Figure, HALF, SLIM};
use crate::load_points::{Aspect, point_of_metric};
use crate::svg::heat_map::{self, Cell, HeatMap};
use crate::view::name_in;
use crate::wording::is_decided_together;

/// A map of each figure and level, the ratio to the baseline at every load point.
pub(super) fn draw(judged: &[&Comparison]) -> Vec<(String, Figure)> {
    let mut subjects: Vec<(Aspect, &str, &str)> = Vec::new();
    for comparison in judged {
        let Some((aspect, _)) = point_of_metric(&comparison.point) else { continue };
        let subject = (aspect, comparison.level.as_str(), comparison.stratum.as_str());
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let drawn = subjects.iter().enumerate().filter_map(|(number, (aspect, level, stratum))| {
        let cells: Vec<(LoadPoint, &Comparison)> = judged
            .iter()
            .filter(|c| c.level == *level && c.stratum == *stratum)
            .filter_map(|c| {
                let (of, point) = point_of_metric(&c.point)?;
                (of == *aspect).then_some((point, *c))
            })
            .collect();
        let baseline = cells.first().map(|(_, comparison)| comparison.baseline.as_str())?;
        let title = format!("{} of {} against {baseline}", aspect.title(), name_in(level, stratum));
        let map = map(&title, &cells);
        let wide = if map.columns.len() > 8 { FULL } else { HALF };
        let figure = Figure {
            wide: heat_map::draw(&map, wide, &format!("ratio-map-{number}-wide"))?,
            narrow: heat_map::draw(&map, SLIM, &format!("ratio-map-{number}-narrow"))?,
        };
        Some((title, figure))
    });
    drawn.collect()
}

fn map(title: &str, cells: &[(LoadPoint, &Comparison)]) -> HeatMap {
    let sorted = |mut loads: Vec<u32>| {
        loads.sort_unstable();
        loads.dedup();
        loads
    };
    let small = sorted(cells.iter().map(|(point, _)| point.small).collect());
    let large = sorted(cells.iter().map(|(point, _)| point.large).collect());
    // One column alone reads better lying down.
    let lying = small.len() == 1 && large.len() > 1;
    let (columns, rows) = if lying { (large, small) } else { (small, large) };
    let axes = if lying { ("large", "small") } else { ("small", "large") };
    let at = |column: u32, row: u32| {
        let wanted = if lying {
            LoadPoint { small: row, large: column }
        } else {
            LoadPoint { small: column, large: row }
        };
        cells.iter().find(|(point, _)| *point == wanted).map(|(point, comparison)| cell(*point, comparison))
    };
    let of = |verdict: Verdict| cells.iter().filter(|(_, c)| c.verdict == Some(verdict)).count();
    let description = format!(
        "Of {} load points {} faster, {} slower, {} equivalent",
        cells.len(),
        of(Verdict::Faster),
        of(Verdict::Slower),
        of(Verdict::Equivalent)
    );
    HeatMap {
        title: title.to_owned(),
        axes: (axes.0.to_owned(), axes.1.to_owned()),
        cells: rows.iter().map(|row| columns.iter().map(|column| at(*column, *row)).collect()).collect(),
        columns,
        rows,
        description,
    }
}

/// The verdict as a sign and a colour, the ratio as text and as depth of colour.
fn cell(point: LoadPoint, comparison: &Comparison) -> Cell {
    let written = ratio(comparison.ratio, deciding_interval(comparison));
    let apart = comparison.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let depth = if apart > 0.25 {
        3
    } else if apart > 0.08 {
        2
    } else {
        1
    };
    // Not plus and minus: those belong to the figure.
    let (sign, class) = match comparison.verdict {
        Some(Verdict::Faster) => ("\u{25b2}", format!("f{depth}")),
        Some(Verdict::Slower) => ("\u{25bc}", format!("s{depth}")),
        Some(Verdict::Equivalent) => ("=", "b0".to_owned()),
        _ => ("?", "b0 open".to_owned()),
    };
    let verdict = comparison.verdict.map_or("no verdict", Verdict::word);
    let interval = written.interval_with_unit().map(|interval| format!(" {interval}")).unwrap_or_default();
    let together = if is_decided_together(&comparison.flags) { ", decided together with others" } else { "" };
    Cell {
        class,
        // The unit stands in the note.
        text: written.estimate.trim_end_matches("\u{a0}%").to_owned(),
        sign: sign.to_owned(),
        tip: format!("{point}: {verdict}, {}{interval}{together}", written.estimate),
        estimated: false,
    }
}
