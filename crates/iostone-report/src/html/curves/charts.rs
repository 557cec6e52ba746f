//! Figures over load, a line for each configuration: ORION's first row and column, and a few rows further in.

use iostone_model::median::median;
use iostone_model::orion::LoadPoint;

use super::CurveChart;
use crate::figures::counted;
use crate::html::{Figure, HALF, SLIM};
use crate::load_points::{Aspect, point_of_metric};
use crate::svg::curves::{self, Chart, Curve, Place};
use crate::svg::scale::extent;
use crate::view::{Row, View};

/// One figure over one load, the other load held.
struct Line {
    aspect: Aspect,
    /// The other load.
    beside: u32,
    chart: Chart,
}

/// More curves than this in one chart are a tangle.
const TOGETHER: usize = 6;

/// Whether each stratum has charts of its own; `strata` holds one for each row.
pub(super) fn are_apart(strata: &[String]) -> bool {
    strata.len() > TOGETHER && strata.iter().any(|stratum| Some(stratum) != strata.first())
}

/// A row's place among those of its stratum, by which it is marked where strata stand apart.
pub(super) fn place_in_stratum(strata: &[String], index: usize) -> usize {
    let own = strata.get(index);
    strata.iter().take(index).filter(|stratum| Some(*stratum) == own).count()
}

/// The charts beside the least of the other load; and, of a matrix, those beside its middle and its most. Of many
/// configurations each stratum has its own beside the least, on one axis; its title names it, so that curves are named by
/// their compared levels, one for each row.
pub(super) fn draw(
    view: &View<'_>,
    strata: &[String],
    levels: &[&str],
) -> (Vec<CurveChart>, Vec<CurveChart>) {
    if are_apart(strata) {
        return (draw_apart(view, strata, levels), Vec::new());
    }
    let (mut first, mut others) = (Vec::new(), [Vec::new(), Vec::new()]);
    for aspect in Aspect::ALL {
        let points = points_of(view, aspect);
        let held = held_loads(&points, aspect);
        let Some((least, more)) = held.split_first() else { continue };
        let line = line(view, &points, aspect, *least);
        // One axis for all of a figure, so that the eye can compare them.
        let axis = extent(line.chart.curves.iter().flat_map(|curve| &curve.places).map(|place| place.value));
        first.extend(show(&line, !more.is_empty(), None));
        for (row, beside) in others.iter_mut().zip(further_in(more)) {
            row.extend(show(&self::line(view, &points, aspect, beside), true, axis));
        }
    }
    (first, others.into_iter().flatten().collect())
}

fn draw_apart(view: &View<'_>, strata: &[String], levels: &[&str]) -> Vec<CurveChart> {
    let mut names: Vec<&String> = Vec::new();
    for stratum in strata {
        if !names.contains(&stratum) {
            names.push(stratum);
        }
    }
    let mut charts = Vec::new();
    for aspect in Aspect::ALL {
        let points = points_of(view, aspect);
        let Some(least) = held_loads(&points, aspect).first().copied() else { continue };
        let all = line(view, &points, aspect, least);
        let axis = extent(all.chart.curves.iter().flat_map(|curve| &curve.places).map(|place| place.value));
        for (number, stratum) in names.iter().enumerate() {
            let mut chart = Chart { title: format!("{}, {stratum}", all.chart.title), ..all.chart.clone() };
            chart.curves.retain(|curve| strata.get(curve.index) == Some(*stratum));
            for curve in &mut chart.curves {
                if let Some(level) = levels.get(curve.index) {
                    (*level).clone_into(&mut curve.name);
                }
                curve.index = place_in_stratum(strata, curve.index);
            }
            let id = format!("curve-{}-of-{number}", aspect.metric());
            let wide = curves::draw_on(&chart, axis, HALF, &format!("{id}-wide"));
            let narrow = curves::draw_on(&chart, axis, SLIM, &format!("{id}-narrow"));
            let Some((wide, narrow)) = wide.zip(narrow) else { continue };
            let beside = if least > 0 { beside_words(aspect, least) } else { String::new() };
            charts.push(CurveChart { id, title: chart.title, beside, figure: Figure { wide, narrow } });
        }
    }
    charts
}

/// The middle one and the last.
fn further_in(loads: &[u32]) -> Vec<u32> {
    let Some(last) = loads.last() else { return Vec::new() };
    let middle = loads.get((loads.len() - 1) / 2).filter(|middle| *middle != last);
    middle.into_iter().chain([last]).copied().collect()
}

fn points_of(view: &View<'_>, aspect: Aspect) -> Vec<LoadPoint> {
    let trials = view.rows.iter().flat_map(|row| &row.trials);
    let mut points: Vec<LoadPoint> = trials
        .flat_map(|trial| trial.record.metrics.keys())
        .filter_map(|metric| point_of_metric(metric).filter(|(of, _)| *of == aspect))
        .map(|(_, point)| point)
        .filter(|point| own(*point, aspect) > 0)
        .collect();
    points.sort_unstable();
    points.dedup();
    points
}

fn own(point: LoadPoint, aspect: Aspect) -> u32 {
    if aspect == Aspect::Throughput { point.large } else { point.small }
}

fn held(point: LoadPoint, aspect: Aspect) -> u32 {
    if aspect == Aspect::Throughput { point.small } else { point.large }
}

/// The other loads, ascending.
fn held_loads(points: &[LoadPoint], aspect: Aspect) -> Vec<u32> {
    let mut loads: Vec<u32> = points.iter().map(|point| held(*point, aspect)).collect();
    loads.sort_unstable();
    loads.dedup();
    loads
}

fn line(view: &View<'_>, points: &[LoadPoint], aspect: Aspect, beside: u32) -> Line {
    let mut points: Vec<LoadPoint> =
        points.iter().copied().filter(|point| held(*point, aspect) == beside).collect();
    points.sort_by_key(|point| own(*point, aspect));
    let curve = |(index, row): (usize, &Row<'_>)| Curve {
        index,
        name: row.name.to_owned(),
        places: points.iter().filter_map(|point| place(row, aspect, *point)).collect(),
    };
    let title = match aspect {
        Aspect::Iops => "Small I/Os a second over load",
        Aspect::Latency => "Latency of small I/O over load",
        Aspect::Throughput => "Throughput of large I/O over load",
    };
    let load = match aspect {
        Aspect::Throughput => "outstanding large I/Os or streams",
        Aspect::Iops | Aspect::Latency => "outstanding small I/Os",
    };
    let chart = Chart {
        title: title.to_owned(),
        axis: load.to_owned(),
        unit: aspect.unit(),
        logarithmic: aspect == Aspect::Latency,
        curves: view.rows.iter().enumerate().map(curve).collect(),
        levels: Vec::new(),
        knee: None,
    };
    Line { aspect, beside, chart }
}

/// Drawn; `told` if the reader must hear even that there is no other load. With an axis to share it stands small.
fn show(line: &Line, told: bool, axis: Option<(f64, f64)>) -> Option<CurveChart> {
    // Further in, one load alone would be a chart of a dot; its map says as much.
    if axis.is_some() && line.chart.curves.iter().all(|curve| curve.places.len() < 2) {
        return None;
    }
    let word = line.aspect.metric();
    let id = if axis.is_some() { format!("curve-{word}-{}", line.beside) } else { format!("curve-{word}") };
    let wide = if axis.is_some() { SLIM } else { HALF };
    let beside = beside_words(line.aspect, line.beside);
    let chart = Chart { title: format!("{}, {beside}", line.chart.title), ..line.chart.clone() };
    let figure = Figure {
        wide: curves::draw_on(&chart, axis, wide, &format!("{id}-wide"))?,
        narrow: curves::draw_on(&chart, axis, SLIM, &format!("{id}-narrow"))?,
    };
    let title = match axis {
        Some(_) => line.aspect.title().to_owned(),
        None => line.chart.title.clone(),
    };
    let beside = if told || line.beside > 0 { beside } else { String::new() };
    Some(CurveChart { id, title, beside, figure })
}

fn beside_words(aspect: Aspect, beside: u32) -> String {
    let (none, axis) =
        if aspect == Aspect::Throughput { ("small I/O", "Small") } else { ("large I/O", "Large") };
    if beside == 0 { format!("with no {none} beside it") } else { format!("beside {axis}={beside}") }
}

/// The median of the counted trials, and from the lowest to the highest of them.
fn place(row: &Row<'_>, aspect: Aspect, point: LoadPoint) -> Option<Place> {
    let counted_any = row.trials.iter().any(|trial| trial.counts);
    let metric = format!("{}@{},{}", aspect.metric(), point.small, point.large);
    let figures = figures_of(row, &metric, counted_any);
    let band = extent(figures.iter().copied()).filter(|_| figures.len() > 1);
    let count = figures.len() as u64;
    let value = median(figures)?;
    let p99 = format!("latency_p99@{},{}", point.small, point.large);
    let slow = median(figures_of(row, &p99, counted_any)).filter(|_| aspect == Aspect::Latency);
    let slowest = slow.map(|p99| format!(", p99 {}", aspect.write(p99))).unwrap_or_default();
    let spread = band.map(|(low, high)| format!(", {} to {}", aspect.write(low), aspect.write(high)));
    let tip = format!(
        "{} · {point} · median {}{} of {}{slowest}",
        row.name,
        aspect.write(value),
        spread.unwrap_or_default(),
        counted(count, "trial")
    );
    Some(Place {
        load: own(point, aspect).into(),
        value,
        band,
        beyond: slow.into_iter().collect(),
        tip,
        // Trials that do not count are drawn hollow, as everywhere.
        estimated: !counted_any,
    })
}

/// A metric of the trials that count, or of all where none does; latencies must be positive to be drawn.
fn figures_of(row: &Row<'_>, metric: &str, counted: bool) -> Vec<f64> {
    let trials = row.trials.iter().filter(|trial| trial.counts || !counted);
    let figures = trials.filter_map(|trial| trial.record.metrics.get(metric).copied());
    figures.filter(|value| value.is_finite() && (*value > 0.0 || !metric.starts_with("latency"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_configurations_stand_apart_by_stratum_and_keep_their_marks() {
        let strata =
            |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
        assert!(!are_apart(&strata(&["", "", "", "", "", "", "", ""])));
        assert!(!are_apart(&strata(&["a", "a", "b", "b"])));
        let many = strata(&["a", "b", "c", "d", "a", "b", "c", "d"]);
        assert!(are_apart(&many));
        assert_eq!((place_in_stratum(&many, 1), place_in_stratum(&many, 5)), (0, 1));
    }

    #[test]
    fn the_middle_and_the_most_are_drawn_beside_the_least() {
        assert_eq!(further_in(&[]), [0_u32; 0]);
        assert_eq!(further_in(&[1]), [1]);
        assert_eq!(further_in(&[1, 2]), [1, 2]);
        assert_eq!(further_in(&[1, 2, 3, 4]), [2, 4]);
        assert_eq!(further_in(&[2, 4, 8]), [4, 8]);
    }
}
