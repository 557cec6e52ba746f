//! Every load point of an ORION test as a line of a table.

use iostone_model::metric::Unit;
use iostone_model::orion::{LatencyFigures, OrionRecord};

use crate::figures::{figure, percent};
use crate::load_points;

/// One load point; what does not apply is empty.
pub(super) struct PointLine {
    pub(super) number: u32,
    pub(super) small: u32,
    pub(super) large: u32,
    pub(super) iops: String,
    /// Mean, p50, p99, p99.9 and p99.99 of small I/O.
    pub(super) small_latency: [String; 5],
    pub(super) throughput: String,
    /// Mean, p50 and p99 of large I/O.
    pub(super) large_latency: [String; 3],
    pub(super) processor: String,
    pub(super) served: String,
    pub(super) precision: String,
    pub(super) seconds: String,
}

/// Which columns hold anything.
#[expect(clippy::struct_excessive_bools, reason = "each column is there or not, whatever the others are")]
pub(super) struct Columns {
    pub(super) small: bool,
    pub(super) large: bool,
    pub(super) served: bool,
    pub(super) precision: bool,
}

impl Columns {
    pub(super) fn of(lines: &[PointLine]) -> Self {
        let any = |told: &dyn Fn(&PointLine) -> &str| lines.iter().any(|line| !told(line).is_empty());
        Self {
            small: any(&|line| &line.iops),
            large: any(&|line| &line.throughput),
            served: any(&|line| &line.served),
            precision: any(&|line| &line.precision),
        }
    }
}

/// In order of measurement.
pub(super) fn lines(record: &OrionRecord) -> Vec<PointLine> {
    let line = |point: &iostone_model::orion::PointRecord| {
        let small = point.small_io.as_ref().and_then(|io| io.latency.as_ref());
        let large = point.large_io.as_ref().and_then(|io| io.latency.as_ref());
        let written = |latency: Option<&LatencyFigures>, told: &dyn Fn(&LatencyFigures) -> f64| {
            latency.map(|latency| figure(Unit::Seconds, told(latency))).unwrap_or_default()
        };
        PointLine {
            number: point.number,
            small: point.small,
            large: point.large,
            iops: point.iops().filter(|_| point.small > 0).map(load_points::iops).unwrap_or_default(),
            small_latency: [
                written(small, &|latency| latency.mean),
                written(small, &|latency| latency.p50),
                written(small, &|latency| latency.p99),
                written(small, &|latency| latency.p99_9),
                written(small, &|latency| latency.p99_99),
            ],
            throughput: point
                .throughput()
                .filter(|_| point.large > 0)
                .map(|rate| figure(Unit::BytesPerSecond, rate))
                .unwrap_or_default(),
            large_latency: [
                written(large, &|latency| latency.mean),
                written(large, &|latency| latency.p50),
                written(large, &|latency| latency.p99),
            ],
            processor: load_points::processor_per_io(point)
                .map(|seconds| figure(Unit::Seconds, seconds))
                .unwrap_or_default(),
            served: load_points::served_share(point).map(percent).unwrap_or_default(),
            precision: point.precision.map(load_points::precision).unwrap_or_default(),
            seconds: crate::figures::duration(point.seconds),
        }
    };
    record.points.iter().map(line).collect()
}
