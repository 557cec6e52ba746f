//! The curves of an ORION test: rates and latencies over load, and the steadiness of each point.

use iostone_model::metric::Unit;
use iostone_model::orion::{OrionFindings, OrionRecord, Plateau, PointRecord};

use super::ChartPart;
use crate::figures::{figure, percent};
use crate::html::{FULL, Figure, HALF, SLIM};
use crate::load_points::{self, Aspect, Reading, first_column, first_row};
use crate::svg::curves::{self, Chart, Curve, Level, Place};
use crate::svg::steadiness::{self, PANELS, Panel};

/// Colour and mark of small I/O, and of large.
const SMALL: usize = 0;
const LARGE: usize = 2;

/// IOPS and latency over small load, throughput over large load, as far as they were measured.
pub(super) fn draw(
    record: &OrionRecord,
    findings: &OrionFindings,
    readings: &[Reading<'_>],
) -> Vec<ChartPart> {
    let (beside_large, row) = first_row(readings);
    let (beside_small, column) = first_column(readings);
    let small_axis = axis("outstanding small I/Os", "Large", beside_large);
    let large_axis = axis(load_points::large_word(record), "Small", beside_small);
    // The first two are a pair; the third stands across the page, unless it is too short for that.
    let across = if column.len() > 4 { FULL } else { HALF };
    let parts = [
        part("iops", rate(record, findings, &row, (Aspect::Iops, small_axis.clone())), HALF, ""),
        part("latency", latency(findings, &row, small_axis), HALF, LATENCY_NOTE),
        part("throughput", rate(record, findings, &column, (Aspect::Throughput, large_axis)), across, ""),
    ];
    parts.into_iter().flatten().collect()
}

const LATENCY_NOTE: &str = "Line: mean. Band: from the median to p99. Large dots: p99.9, small ones: p99.99. The axis of \
                            latency is logarithmic.";

fn axis(load: &str, other: &str, beside: u32) -> String {
    if beside == 0 { load.to_owned() } else { format!("{load}, beside {other}={beside}") }
}

fn part(id: &'static str, chart: Option<Chart>, wide: f64, note: &str) -> Option<ChartPart> {
    // One load is no curve; the answers above have it all.
    let chart = chart.filter(|chart| chart.curves.iter().any(|curve| curve.places.len() > 1))?;
    let figure = Figure {
        wide: curves::draw(&chart, wide, &format!("{id}-wide"))?,
        narrow: curves::draw(&chart, SLIM, &format!("{id}-narrow"))?,
    };
    let estimated = chart.curves.iter().flat_map(|curve| &curve.places).any(|place| place.estimated);
    let hollow = if estimated { " Hollow marks: estimated, not measured." } else { "" };
    Some(ChartPart { id, title: chart.title, figure, note: format!("{note}{hollow}").trim().to_owned() })
}

fn place(reading: &Reading<'_>, aspect: Aspect) -> Option<Place> {
    let value = reading.get(aspect)?;
    let load = if aspect == Aspect::Throughput { reading.point.large } else { reading.point.small };
    let mut tip = format!("{}: {}", reading.point, aspect.write(value));
    if let Some(error) = reading.error {
        tip = format!("{tip}, estimated, may be off by about {}", percent(error));
    } else if let Some(precision) = reading.record.and_then(|point| point.precision) {
        tip = format!("{tip}, {}", load_points::precision(precision));
    }
    Some(Place { load: load.into(), value, tip, estimated: reading.error.is_some(), ..Place::default() })
}

/// A rate with what bounds it.
fn rate(
    record: &OrionRecord,
    findings: &OrionFindings,
    readings: &[Reading<'_>],
    (aspect, axis): (Aspect, String),
) -> Option<Chart> {
    let small = aspect == Aspect::Iops;
    let places: Vec<Place> = readings.iter().filter_map(|reading| place(reading, aspect)).collect();
    if places.is_empty() {
        return None;
    }
    let limits = findings.ceilings.iter().filter(|ceiling| ceiling.small == small);
    let limits = limits.filter_map(|ceiling| load_points::ceiling_level(ceiling, record));
    let mut levels: Vec<Level> = limits.map(|(value, name)| Level { value, name, span: None }).collect();
    let seen = findings.plateaus.iter().filter(|plateau| plateau.small == small);
    levels.extend(seen.map(plateau_level));
    let knee = knee(findings, small, &places, aspect);
    Some(Chart {
        title: if small { "Small I/Os a second over load" } else { "Throughput of large I/O over load" }
            .to_owned(),
        axis,
        unit: aspect.unit(),
        logarithmic: false,
        curves: vec![Curve { index: if small { SMALL } else { LARGE }, name: String::new(), places }],
        levels,
        knee,
    })
}

fn plateau_level(plateau: &Plateau) -> Level {
    Level {
        value: plateau.rate,
        name: load_points::plateau_words(plateau),
        span: Some((plateau.from.into(), plateau.to.into())),
    }
}

/// Drawn at the load that was measured there, and named with the figure that the curve has at it.
fn knee(findings: &OrionFindings, small: bool, places: &[Place], aspect: Aspect) -> Option<(f64, String)> {
    let knee = findings.knee.as_ref().filter(|knee| knee.small == small)?;
    let words = load_points::knee_words(knee)?;
    let here = f64::from(knee.at);
    let figure =
        places.iter().find(|place| (place.load - here).abs() < 0.5).map(|place| aspect.write(place.value));
    Some((here, figure.map_or_else(|| words.clone(), |figure| format!("{words}: {figure}"))))
}

fn latency(findings: &OrionFindings, row: &[Reading<'_>], axis: String) -> Option<Chart> {
    let places: Vec<Place> = row
        .iter()
        .filter_map(|reading| {
            let mut place = place(reading, Aspect::Latency).filter(|place| place.value > 0.0)?;
            let figures = reading.record.and_then(|point| point.small_io.as_ref()?.latency.as_ref());
            if let Some(latency) = figures {
                place.band = Some((latency.p50, latency.p99)).filter(|(low, high)| *low > 0.0 && *high > 0.0);
                let tails = [latency.p99_9, latency.p99_99];
                place.beyond = tails.into_iter().filter(|tail| tail.is_finite() && *tail > 0.0).collect();
                place.tip = format!(
                    "{}, p50 {}, p99 {}, p99.9 {}, p99.99 {}",
                    place.tip,
                    figure(Unit::Seconds, latency.p50),
                    figure(Unit::Seconds, latency.p99),
                    figure(Unit::Seconds, latency.p99_9),
                    figure(Unit::Seconds, latency.p99_99)
                );
            }
            Some(place)
        })
        .collect();
    let knee = knee(findings, true, &places, Aspect::Latency);
    (!places.is_empty()).then(|| Chart {
        title: "Latency of small I/O over load".to_owned(),
        axis,
        unit: Unit::Seconds,
        logarithmic: true,
        curves: vec![Curve { index: SMALL, name: String::new(), places }],
        levels: Vec::new(),
        knee,
    })
}

/// The panels, and how many load points are not among them.
pub(super) struct Steadiness {
    pub(super) figure: Figure,
    pub(super) left_out: usize,
}

/// Each point's rate over time. Of too many the least steady are drawn, in order of measurement.
pub(super) fn steadiness(record: &OrionRecord) -> Option<Steadiness> {
    let mut panels: Vec<(usize, Panel)> = record.points.iter().filter_map(panel).enumerate().collect();
    let left_out = panels.len().saturating_sub(PANELS);
    if left_out > 0 {
        let variation = |panel: &Panel| panel.variation().unwrap_or(f64::INFINITY);
        panels.sort_by(|a, b| variation(&b.1).total_cmp(&variation(&a.1)));
        panels.truncate(PANELS);
        panels.sort_by_key(|(order, _)| *order);
    }
    let panels: Vec<Panel> = panels.into_iter().map(|(_, panel)| panel).collect();
    let figure = Figure {
        wide: steadiness::draw(&panels, FULL, "steadiness-wide")?,
        narrow: steadiness::draw(&panels, SLIM, "steadiness-narrow")?,
    };
    Some(Steadiness { figure, left_out })
}

/// Of the small I/O where there is any, else of the large.
fn panel(point: &PointRecord) -> Option<Panel> {
    let enough = |slots: &&Vec<u64>| slots.len() > 1;
    let small =
        point.small_io.as_ref().filter(|_| point.small > 0).map(|io| &io.ios_per_100ms).filter(enough);
    let large =
        point.large_io.as_ref().filter(|_| point.large > 0).map(|io| &io.ios_per_100ms).filter(enough);
    let (index, slots) = match (small, large) {
        (Some(slots), _) => (SMALL, slots),
        (None, Some(slots)) => (LARGE, slots),
        (None, None) => return None,
    };
    let caption = match (point.small, point.large) {
        (small, 0) => format!("Small={small}"),
        (0, large) => format!("Large={large}"),
        (small, large) => format!("{small} + {large}"),
    };
    let tip = format!("{}: {} tenths of a second", point.point(), slots.len());
    Some(Panel { caption, index, slots: slots.clone(), tip })
}
