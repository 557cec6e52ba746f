//! The figures of the `orion` workload: ORION's three, whole curves, and each point of the matrix.

use std::borrow::Cow;

use super::super::{CurvePoint, DeclaredMetric};
use super::OrionWorkload;
use crate::metric::{Direction, Metric, Unit, metric};
use crate::orion::LoadPoint;

/// What the `orion` workload yields beside the figures of each point, `iops@4,0` and its like. A curve is all of its points,
/// compared one by one.
pub(super) const ORION_METRICS: &[Metric] = &[
    metric("max_throughput", Unit::BytesPerSecond, Direction::Higher, "highest throughput of any point"),
    metric("max_iops", Unit::PerSecond, Direction::Higher, "most small I/Os per second of any point"),
    metric("min_latency", Unit::Seconds, Direction::Lower, "lowest mean latency of any point"),
    metric("curve", Unit::Plain, Direction::Higher, "IOPS and throughput at every load"),
    metric("iops_curve", Unit::PerSecond, Direction::Higher, "small I/Os per second at every load"),
    metric("throughput_curve", Unit::BytesPerSecond, Direction::Higher, "throughput at every load"),
    metric("latency_curve", Unit::Seconds, Direction::Lower, "mean latency of small I/O at every load"),
];

/// What is told of a point.
struct Kind {
    /// Before the `@` of the name.
    name: &'static str,
    unit: Unit,
    direction: Direction,
    /// Whether it is of the small I/O, else of the large.
    small: bool,
}

const IOPS: Kind = Kind { name: "iops", unit: Unit::PerSecond, direction: Direction::Higher, small: true };
const LATENCY: Kind = Kind { name: "latency", unit: Unit::Seconds, direction: Direction::Lower, small: true };
const LATENCY_P99: Kind =
    Kind { name: "latency_p99", unit: Unit::Seconds, direction: Direction::Lower, small: true };
const THROUGHPUT: Kind =
    Kind { name: "throughput", unit: Unit::BytesPerSecond, direction: Direction::Higher, small: false };
const KINDS: [Kind; 4] = [IOPS, LATENCY, LATENCY_P99, THROUGHPUT];

impl Kind {
    fn is_at(&self, point: LoadPoint) -> bool {
        if self.small { point.small > 0 } else { point.large > 0 }
    }

    fn metric(&self, point: LoadPoint) -> String {
        point_metric(self.name, point)
    }

    fn declare(&self, point: LoadPoint) -> DeclaredMetric<'static> {
        let name = Cow::Owned(self.metric(point));
        DeclaredMetric { name, unit: self.unit, direction: self.direction }
    }
}

/// The name of a figure at a point: `iops@4,0` with four small I/Os outstanding and no large one.
pub fn point_metric(figure: &str, point: LoadPoint) -> String {
    format!("{figure}@{},{}", point.small, point.large)
}

/// The kinds of point that a figure of the table is about: all of a curve, or what a maximum is taken of.
fn kinds_of(metric: &str) -> &'static [Kind] {
    match metric {
        "curve" => &[IOPS, THROUGHPUT],
        "iops_curve" | "max_iops" => &[IOPS],
        "throughput_curve" | "max_throughput" => &[THROUGHPUT],
        "latency_curve" | "min_latency" => &[LATENCY],
        _ => &[],
    }
}

impl OrionWorkload {
    /// The points that a metric is made of, where it is a whole curve.
    pub(crate) fn curve(&self, metric: &str) -> Option<Vec<CurvePoint>> {
        if metric != "curve" && !metric.ends_with("_curve") {
            return None;
        }
        let points = self.points();
        let of = |kind: &Kind| {
            let at = points.iter().filter(|point| kind.is_at(**point));
            at.map(|point| CurvePoint {
                metric: kind.metric(*point),
                unit: kind.unit,
                direction: kind.direction,
                point: *point,
            })
            .collect::<Vec<_>>()
        };
        Some(kinds_of(metric).iter().flat_map(of).collect()).filter(|curve: &Vec<_>| !curve.is_empty())
    }

    /// The figures of the table that its points can give.
    fn summaries(points: &[LoadPoint]) -> impl Iterator<Item = &'static Metric> + '_ {
        let given = |metric: &&Metric| {
            kinds_of(metric.name).iter().any(|kind| points.iter().any(|point| kind.is_at(*point)))
        };
        ORION_METRICS.iter().filter(move |metric| given(metric))
    }

    /// Every figure that it yields.
    pub(super) fn metrics(&self) -> Vec<DeclaredMetric<'static>> {
        let points = self.points();
        let of_points = KINDS.iter().flat_map(|kind| {
            points.iter().filter(|point| kind.is_at(**point)).map(|point| kind.declare(*point))
        });
        Self::summaries(&points).map(DeclaredMetric::of).chain(of_points).collect()
    }

    /// The figure of that name; without listing those of every point.
    pub(crate) fn metric(&self, name: &str) -> Option<DeclaredMetric<'static>> {
        let points = self.points();
        let Some((figure, loads)) = name.split_once('@') else {
            return Self::summaries(&points).find(|metric| metric.name == name).map(DeclaredMetric::of);
        };
        let (small, large) = loads.split_once(',')?;
        let point = LoadPoint { small: small.parse().ok()?, large: large.parse().ok()? };
        let kind = KINDS.iter().find(|kind| kind.name == figure && kind.is_at(point))?;
        // `iops@04,0` parses too, and is no name of anything.
        points.contains(&point).then(|| kind.declare(point)).filter(|declared| declared.name == name)
    }
}
