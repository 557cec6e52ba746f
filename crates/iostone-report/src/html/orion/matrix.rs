//! The whole matrix of an ORION test as heat maps: IOPS, latency and throughput at every pair of loads.

use iostone_model::orion::{LoadPoint, OrionRecord};

use super::ChartPart;
use crate::figures::percent;
use crate::html::{FULL, Figure, HALF, SLIM};
use crate::load_points::{self, Aspect, Reading, axes_of};
use crate::svg::heat_map::{self, Cell, HeatMap};
use crate::svg::scale::extent;

/// So many columns have room for their figures on half a page.
const COLUMNS_IN_HALF: usize = 8;

/// A map each, and whether they stand side by side; none where the points are no matrix.
pub(super) fn draw(record: &OrionRecord, readings: &[Reading<'_>]) -> (Vec<ChartPart>, bool) {
    let maps: Vec<(Aspect, HeatMap, String)> = Aspect::ALL
        .into_iter()
        .filter_map(|aspect| {
            let (map, unit) = map(record, readings, aspect)?;
            Some((aspect, map, unit))
        })
        .collect();
    let side_by_side = maps.iter().all(|(_, map, _)| map.columns.len() <= COLUMNS_IN_HALF);
    let wide = if side_by_side { HALF } else { FULL };
    let parts = maps.into_iter().filter_map(|(aspect, map, unit)| {
        let id = match aspect {
            Aspect::Iops => "map-iops",
            Aspect::Latency => "map-latency",
            Aspect::Throughput => "map-throughput",
        };
        let figure = Figure {
            wide: heat_map::draw(&map, wide, &format!("{id}-wide"))?,
            narrow: heat_map::draw(&map, SLIM, &format!("{id}-narrow"))?,
        };
        Some(ChartPart { id, title: format!("{}, {unit}", aspect.title()), figure, note: String::new() })
    });
    (parts.collect(), side_by_side)
}

fn map(record: &OrionRecord, readings: &[Reading<'_>], aspect: Aspect) -> Option<(HeatMap, String)> {
    let (columns, rows) = axes_of(readings, aspect)?;
    let range = extent(readings.iter().filter_map(|reading| reading.get(aspect)))?;
    let (divisor, unit) = scale(aspect, range);
    let cell_at = |point: LoadPoint| {
        let reading = readings.iter().find(|reading| reading.point == point)?;
        let value = reading.get(aspect)?;
        let mut tip = format!("{point}: {}", aspect.write(value));
        if let Some(error) = reading.error {
            tip = format!("{tip}, estimated, may be off by {}", percent(error));
        }
        Some(Cell {
            class: heat_map::step(value, range),
            text: if divisor > 1.0 || aspect != Aspect::Iops {
                load_points::three(value / divisor)
            } else {
                load_points::iops(value)
            },
            sign: String::new(),
            tip,
            estimated: reading.error.is_some(),
        })
    };
    let cells = rows
        .iter()
        .map(|large| {
            columns.iter().map(|small| cell_at(LoadPoint { small: *small, large: *large })).collect()
        })
        .collect();
    let best = |wanted: f64| {
        let at = readings
            .iter()
            .find(|reading| reading.get(aspect).is_some_and(|value| value.total_cmp(&wanted).is_eq()));
        at.map(|reading| format!("{} at {}", aspect.write(wanted), reading.point)).unwrap_or_default()
    };
    let map = HeatMap {
        title: format!("{} at every pair of loads", aspect.title()),
        axes: (
            "small".to_owned(),
            if load_points::large_word(record).ends_with("streams") { "streams" } else { "large" }.to_owned(),
        ),
        columns,
        rows,
        cells,
        description: format!("From {} to {}", best(range.0), best(range.1)),
    };
    Some((map, unit.to_owned()))
}

/// One unit for a whole map, so that its cells hold numbers alone: the largest that keeps most of them above 1.
fn scale(aspect: Aspect, (low, high): (f64, f64)) -> (f64, &'static str) {
    // Between the least and the most in orders of magnitude.
    let typical = (low.max(high * 1e-4) * high).sqrt();
    let steps: &[(f64, &str)] = match aspect {
        Aspect::Iops => &[(1e3, "thousands a second"), (1.0, "I/Os a second")],
        Aspect::Latency => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        Aspect::Throughput => &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")],
    };
    // Four digits of I/Os fit, so that their thousands begin higher.
    let from = if aspect == Aspect::Iops { 20.0 } else { 1.0 };
    let fits = steps.iter().find(|(divisor, _)| typical >= divisor * from);
    fits.or(steps.last()).copied().unwrap_or((1.0, ""))
}
