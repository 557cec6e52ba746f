//! Rate and latency over the load, of one kind of I/O alone.

use iostone_model::metric::Unit;
use iostone_model::orion::{Plateau, PointRecord};

use crate::schedule::growth::{GROWTH, Growth, Step, growth_at_the_top};

/// Rates this near to their mean, and to each other at the ends, are the same.
const FLAT: f64 = 0.05;
/// A plateau spans at least this factor of load.
const SHORTEST: f64 = 2.0;

/// The first row, or the first column.
pub(super) struct Curve<'a> {
    pub(super) small: bool,
    /// By ascending load.
    pub(super) points: Vec<CurvePoint<'a>>,
}

/// A load and what it came to.
#[derive(Clone, Copy)]
pub(super) struct CurvePoint<'a> {
    pub(super) record: &'a PointRecord,
    pub(super) load: u32,
    /// I/Os a second of small I/O, bytes a second of large.
    pub(super) rate: f64,
    /// Mean, seconds.
    latency: f64,
}

impl<'a> Curve<'a> {
    pub(super) fn of(records: &'a [PointRecord], small: bool) -> Self {
        let point = |record: &'a PointRecord| {
            let (load, beside, io, rate) = if small {
                (record.small, record.large, record.small_io.as_ref(), record.iops())
            } else {
                (record.large, record.small, record.large_io.as_ref(), record.throughput())
            };
            let latency = io?.latency.as_ref()?.mean;
            let rate = rate.filter(|rate| *rate > 0.0 && rate.is_finite())?;
            (load > 0 && beside == 0).then_some(CurvePoint { record, load, rate, latency })
        };
        let mut points: Vec<CurvePoint> = records.iter().filter_map(point).collect();
        points.sort_by_key(|point| point.load);
        Self { small, points }
    }

    /// The first of its highest rates.
    pub(super) fn best(&self) -> Option<CurvePoint<'a>> {
        self.points.iter().copied().reduce(|best, point| if point.rate > best.rate { point } else { best })
    }

    /// Whether it goes on beyond the highest load.
    pub(super) fn growth(&self) -> Growth {
        let step = |point: &CurvePoint| Step {
            load: point.load,
            rate: point.rate,
            precision: point.record.precision,
        };
        growth_at_the_top(&self.points.iter().map(step).collect::<Vec<_>>())
    }

    /// The least load that came as near to the highest rate as is no growth any more.
    pub(super) fn reached(&self) -> Option<CurvePoint<'a>> {
        let best = self.best()?;
        self.points.iter().copied().find(|point| best.rate <= point.rate * (1.0 + GROWTH))
    }

    pub(super) fn unit(&self) -> Unit {
        if self.small { Unit::PerSecond } else { Unit::BytesPerSecond }
    }
}

/// The plateaus of a curve, ascending: the longest first, then what is left beside it.
pub(super) fn flat_ranges(curve: &Curve) -> Vec<Plateau> {
    let mut found = Vec::new();
    look_within(curve, &curve.points, &mut found);
    found
}

fn look_within(curve: &Curve, points: &[CurvePoint], found: &mut Vec<Plateau>) {
    let ends = |from: usize| (from + 1..points.len()).map(move |to| (from, to));
    let span = |(from, to): (usize, usize)| match (points.get(from), points.get(to)) {
        (Some(first), Some(last)) => f64::from(last.load) / f64::from(first.load),
        _ => 0.0,
    };
    let longest = (0..points.len())
        .flat_map(ends)
        .filter_map(|(from, to)| Some(((from, to), flat(curve, points.get(from..=to)?)?)))
        .reduce(|longest, other| if span(other.0) > span(longest.0) { other } else { longest });
    let Some(((from, to), plateau)) = longest else { return };
    look_within(curve, points.get(..from).unwrap_or_default(), found);
    found.push(plateau);
    look_within(curve, points.get(to + 1..).unwrap_or_default(), found);
}

/// These points as a plateau, if they are one.
fn flat(curve: &Curve, points: &[CurvePoint]) -> Option<Plateau> {
    let [first, .., last] = points else { return None };
    let more_load = f64::from(last.load) / f64::from(first.load);
    // Noise may hide a little of the growth, but not the half of it.
    if more_load < SHORTEST || last.latency < first.latency * more_load.sqrt() {
        return None;
    }
    let mean = points.iter().map(|point| point.rate).sum::<f64>() / points.len() as f64;
    let spread = points.iter().map(|point| (point.rate / mean - 1.0).abs()).fold(0.0, f64::max);
    let drift = (last.rate / first.rate).ln().abs();
    (spread <= FLAT && drift <= FLAT).then(|| Plateau {
        small: curve.small,
        from: first.load,
        to: last.load,
        rate: mean,
        unit: curve.unit(),
        spread,
    })
}
