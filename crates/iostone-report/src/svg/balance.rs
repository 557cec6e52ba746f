//! What an emulated allowance held over one trial a configuration, with its slow phases shaded.

use iostone_model::metric::Unit;

use super::scale::{Scale, extent};
use super::{Anchor, Drawing, NARROW, fit};
use crate::figures;
use crate::governed::{Emulation, GovernedRow, slow_phases};

const PANEL_HEIGHT: f64 = 74.0;
const PANEL_GAP: f64 = 40.0;
const TOP: f64 = 30.0;
const AXIS_HEIGHT: f64 = 26.0;
/// More panels than this would not be looked at.
const PANELS: usize = 6;
/// Points of a line.
const POINTS: usize = 400;

/// Draws the figure and says how many configurations it leaves out; nothing where no balance was recorded.
pub(crate) fn draw(emulation: &Emulation<'_>, width: f64, id: &str) -> Option<(String, usize)> {
    let mut rows: Vec<&GovernedRow<'_>> = emulation.rows.iter().filter(|row| row.typical.is_some()).collect();
    let left_out = rows.len().saturating_sub(PANELS);
    rows.truncate(PANELS);
    let balances = || rows.iter().filter_map(|row| row.typical).flat_map(|(_, record)| &record.balance);
    let (_, longest) = extent(balances().map(|(at, _)| *at))?;
    let (low, high) = extent(balances().map(|(_, balance)| *balance))?;
    let left = if width < NARROW { 56.0 } else { 70.0 };
    let horizontal = Scale::linear((0.0, longest), (left, width - 20.0));
    let height = TOP + (PANEL_HEIGHT + PANEL_GAP) * rows.len() as f64 - PANEL_GAP + AXIS_HEIGHT;
    let mut drawing = Drawing::new(width, height);
    for (place, row) in rows.iter().enumerate() {
        let top = TOP + (PANEL_HEIGHT + PANEL_GAP) * place as f64;
        let vertical = Scale::linear((low.min(0.0), high.max(0.0) * 1.08), (top + PANEL_HEIGHT, top));
        draw_panel(&mut drawing, row, &horizontal, &vertical, (top, top + PANEL_HEIGHT), width);
    }
    let bottom = height - AXIS_HEIGHT;
    for tick in horizontal.ticks(if width < NARROW { 4 } else { 10 }) {
        let label = format!("{}\u{a0}s", figures::round_number(tick));
        drawing.text("tick", (horizontal.at(tick).min(width - 18.0), bottom + 18.0), Anchor::Middle, &label);
    }
    let described: Vec<String> = rows.iter().map(|row| describe(row)).collect();
    Some((drawing.finish(id, "What the allowance held during one trial", &described.join("; ")), left_out))
}

fn draw_panel(
    drawing: &mut Drawing,
    row: &GovernedRow<'_>,
    horizontal: &Scale,
    vertical: &Scale,
    (top, bottom): (f64, f64),
    width: f64,
) {
    let Some((trial, record)) = row.typical else { return };
    drawing.mark(row.index, "mark", (10.0, top - 16.0), 4.5, "");
    let caption = format!("{} · trial {}", fit(row.name, width * 0.6), trial.number);
    drawing.text("caption", (20.0, top - 12.0), Anchor::Start, &caption);
    for (from, to) in slow_phases(record) {
        let (from_x, to_x) = (horizontal.at(from), horizontal.at(to));
        let tip = format!(
            "slow from {} to {}",
            figures::figure(Unit::Seconds, from),
            figures::figure(Unit::Seconds, to)
        );
        drawing.rect("slow", (from_x, top), ((to_x - from_x).max(1.0), bottom - top), &tip);
        if to_x - from_x > 44.0 {
            drawing.text("tick", (f64::midpoint(from_x, to_x), top + 13.0), Anchor::Middle, "slow");
        }
    }
    let left = horizontal.at(0.0);
    for tick in vertical.ticks(3) {
        let y = vertical.at(tick);
        drawing.line("grid", (left, y), (width - 20.0, y));
        drawing.text("tick", (left - 7.0, y + 4.0), Anchor::End, &figures::tick(Unit::Seconds, tick));
    }
    let points: Vec<(f64, f64)> = thinned(&record.balance)
        .into_iter()
        .map(|(at, balance)| (horizontal.at(at), vertical.at(balance)))
        .collect();
    drawing.polyline(&format!("series {}", super::marker::colour_class(row.index)), &points);
    let end = record.balance.last().map_or(0.0, |(at, _)| *at);
    drawing.line("baseline", (horizontal.at(end), top), (horizontal.at(end), bottom));
}

/// The lowest and the highest of each stretch, so that no emptying is smoothed away.
fn thinned(balance: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let stretch = (balance.len() * 2).div_ceil(POINTS).max(1);
    if stretch <= 2 {
        return balance.to_vec();
    }
    let mut kept = Vec::with_capacity(POINTS + 2);
    for chunk in balance.chunks(stretch) {
        let ends = [
            chunk.iter().min_by(|a, b| a.1.total_cmp(&b.1)),
            chunk.iter().max_by(|a, b| a.1.total_cmp(&b.1)),
        ];
        let mut pair: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
        pair.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.extend(pair);
    }
    kept.extend(balance.last());
    kept
}

fn describe(row: &GovernedRow<'_>) -> String {
    let Some((_, record)) = row.typical else { return String::new() };
    let phases = slow_phases(record);
    let seconds: f64 = phases.iter().map(|(from, to)| to - from).sum();
    let slow = match phases.len() {
        0 => "never slow".to_owned(),
        1 => format!("slow once, {}", figures::figure(Unit::Seconds, seconds)),
        times => format!("slow {times} times, {} in all", figures::figure(Unit::Seconds, seconds)),
    };
    format!("{}: {slow}", row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emptying_survives_the_thinning() {
        let mut balance: Vec<(f64, f64)> = (0..9_000).map(|at| (f64::from(at), 1.0)).collect();
        balance[4_321].1 = -0.5;
        let kept = thinned(&balance);
        assert!(kept.len() <= POINTS + 4 && kept.contains(&(4_321.0, -0.5)), "{}", kept.len());
        assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
