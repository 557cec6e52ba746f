//! An ORION test as every format shows it: its readings in rows and columns, and the words for them.

use iostone_model::metric::Unit;
use iostone_model::orion::{
    BoundBy, Ceiling, Knee, KnownLimit, LargeIo, LimitKind, LoadFigures, LoadPoint, MaximumAt, OrionFindings,
    OrionRecord, Plateau, PointRecord,
};
use iostone_model::units::three_digits;

use crate::figures::{NO_FIGURE, bytes, counted, figure, percent, round_number};

/// A load point's figures, measured or estimated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// Where it lies.
    pub(crate) point: LoadPoint,
    /// What was measured; none where it was estimated.
    pub(crate) record: Option<&'a PointRecord>,
    /// Small I/Os a second.
    pub(crate) iops: Option<f64>,
    /// Mean latency of small I/O, seconds.
    pub(crate) latency: Option<f64>,
    /// Bytes a second of large I/O.
    pub(crate) throughput: Option<f64>,
    /// Of an estimate: the share by which it may be off.
    pub(crate) error: Option<f64>,
}

/// One of the three figures of a load point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aspect {
    Iops,
    Latency,
    Throughput,
}

impl Aspect {
    pub(crate) const ALL: [Self; 3] = [Self::Iops, Self::Latency, Self::Throughput];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::Latency => "Mean latency",
            Self::Throughput => "Throughput",
        }
    }

    /// As it begins the name of a trial's metric: `iops@4,0`.
    pub(crate) fn metric(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Latency => "latency",
            Self::Throughput => "throughput",
        }
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Iops => Unit::PerSecond,
            Self::Latency => Unit::Seconds,
            Self::Throughput => Unit::BytesPerSecond,
        }
    }

    /// With its unit: `2500 IOPS`, `402 µs`, `80.0 MB/s`.
    pub(crate) fn write(self, value: f64) -> String {
        match self {
            Self::Iops => format!("{}\u{a0}IOPS", iops(value)),
            Self::Latency | Self::Throughput => figure(self.unit(), value),
        }
    }
}

impl Reading<'_> {
    pub(crate) fn get(&self, aspect: Aspect) -> Option<f64> {
        let value = match aspect {
            Aspect::Iops => self.iops,
            Aspect::Latency => self.latency,
            Aspect::Throughput => self.throughput,
        };
        value.filter(|value| value.is_finite())
    }
}

/// Everything of a test in order of measurement, estimates behind.
pub(crate) fn readings(record: &OrionRecord) -> Vec<Reading<'_>> {
    let measured = record.points.iter().map(|point| Reading {
        point: point.point(),
        record: Some(point),
        iops: point.iops().filter(|_| point.small > 0),
        latency: point.latency(),
        throughput: point.throughput().filter(|_| point.large > 0),
        error: None,
    });
    let estimates = record.end.iter().flat_map(|end| &end.estimates).map(|cell| Reading {
        point: LoadPoint { small: cell.small, large: cell.large },
        record: None,
        iops: cell.iops.filter(|_| cell.small > 0),
        latency: cell.latency,
        throughput: cell.throughput.filter(|_| cell.large > 0),
        error: Some(cell.error),
    });
    let estimates = estimates.filter(|reading| record.at(reading.point).is_none());
    measured.chain(estimates).collect()
}

/// Small loads beside the least large load that has any, ascending: ORION's first row. With that large load.
pub(crate) fn first_row<'a>(readings: &[Reading<'a>]) -> (u32, Vec<Reading<'a>>) {
    let small = || readings.iter().filter(|reading| reading.point.small > 0);
    let large = small().map(|reading| reading.point.large).min().unwrap_or(0);
    let mut row: Vec<Reading<'a>> = small().filter(|r| r.point.large == large).copied().collect();
    row.sort_by_key(|reading| reading.point);
    (large, row)
}

/// Large loads beside the least small load that has any: ORION's first column. With that small load.
pub(crate) fn first_column<'a>(readings: &[Reading<'a>]) -> (u32, Vec<Reading<'a>>) {
    let large = || readings.iter().filter(|reading| reading.point.large > 0);
    let small = large().map(|reading| reading.point.small).min().unwrap_or(0);
    let mut column: Vec<Reading<'a>> = large().filter(|r| r.point.small == small).copied().collect();
    column.sort_by_key(|reading| reading.point);
    (small, column)
}

/// The loads of both axes at which an aspect has a figure, ascending; none where the points do not make a matrix.
pub(crate) fn axes_of(readings: &[Reading<'_>], aspect: Aspect) -> Option<(Vec<u32>, Vec<u32>)> {
    let has = || readings.iter().filter(|reading| reading.get(aspect).is_some());
    if !has().any(|reading| reading.point.small > 0 && reading.point.large > 0) {
        return None;
    }
    let sorted = |mut loads: Vec<u32>| {
        loads.sort_unstable();
        loads.dedup();
        loads
    };
    let columns = sorted(has().map(|reading| reading.point.small).collect());
    let rows = sorted(has().map(|reading| reading.point.large).collect());
    (columns.len() > 1 && rows.len() > 1).then_some((columns, rows))
}

/// The test's name without the folder that `-testname` may hold.
pub(crate) fn short_name(record: &OrionRecord) -> &str {
    let name = record.header.test.test_name.as_str();
    name.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(name)
}

/// What a large load counts.
pub(crate) fn large_word(record: &OrionRecord) -> &'static str {
    match record.header.test.large_io {
        LargeIo::Rand => "outstanding large I/Os",
        LargeIo::Seq => "sequential streams",
    }
}

/// I/Os a second: whole from a hundred on, three digits below.
pub(crate) fn iops(value: f64) -> String {
    if (99.95..EXTREME).contains(&value) { round_number(value.round()) } else { three(value) }
}

/// Beyond this a figure is nonsense, and must at least stay short.
const EXTREME: f64 = 1e9;

/// Three digits of a figure whose unit stands elsewhere.
pub(crate) fn three(value: f64) -> String {
    match value {
        plain if plain.abs() < EXTREME => three_digits(plain),
        extreme if extreme.is_finite() => format!("{extreme:.2e}"),
        _ => NO_FIGURE.to_owned(),
    }
}

/// "orion-test: 2500 IOPS, 80.0 MB/s, 402 µs at best".
pub(crate) fn answer(record: &OrionRecord, findings: &OrionFindings) -> String {
    let maxima = findings.maxima;
    let told = [
        maxima.iops.map(|maximum| Aspect::Iops.write(maximum.value)),
        maxima.throughput.map(|maximum| Aspect::Throughput.write(maximum.value)),
        maxima.latency.map(|maximum| Aspect::Latency.write(maximum.value)),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    let name = short_name(record);
    match told.len() {
        0 => format!("{name}: nothing measured yet"),
        _ => format!("{name}: {} at best", told.join(", ")),
    }
}

/// "29 of 29 points, 2 LUNs of 20.0 GB".
pub(crate) fn extent_words(record: &OrionRecord) -> String {
    let (measured, all) = (record.points.len() as u64, u64::from(record.header.total_points));
    let points = if measured == all {
        counted(all, "point")
    } else {
        format!("{measured} of {}", counted(all, "point"))
    };
    let total: u64 = record.header.luns.iter().map(|lun| lun.bytes).fold(0, u64::saturating_add);
    let luns = counted(record.header.luns.len() as u64, "LUN");
    format!("{points}, {luns} of {}", bytes(total))
}

/// `500 writes/s on loop0`.
pub(crate) fn limit_words(limit: &KnownLimit) -> String {
    let rate = match limit.kind {
        LimitKind::ReadIops => format!("{} reads/s", iops(limit.value)),
        LimitKind::WriteIops => format!("{} writes/s", iops(limit.value)),
        LimitKind::ReadBytes => format!("{} of reads", figure(Unit::BytesPerSecond, limit.value)),
        LimitKind::WriteBytes => format!("{} of writes", figure(Unit::BytesPerSecond, limit.value)),
    };
    format!("{rate} on {}", limit.on)
}

/// A known limit that bound, as the rate it would allow in this mix, and its name.
pub(crate) fn ceiling_level(ceiling: &Ceiling, record: &OrionRecord) -> Option<(f64, String)> {
    let BoundBy::Limit { limit, share } = &ceiling.bound_by else { return None };
    let point = record.at(ceiling.point)?;
    let rate = if ceiling.small { point.iops() } else { point.throughput() }?;
    let level = rate / share;
    let used = percent(*share);
    (level.is_finite() && level > 0.0)
        .then(|| (level, format!("limit: {} ({used} used)", limit_words(limit))))
}

/// "flat at 499 IOPS (±0.3 %) from load 3 to 20".
pub(crate) fn plateau_words(plateau: &Plateau) -> String {
    let rate = match plateau.unit {
        Unit::PerSecond => Aspect::Iops.write(plateau.rate),
        unit => figure(unit, plateau.rate),
    };
    format!("flat at {rate} (±{}) from load {} to {}", percent(plateau.spread), plateau.from, plateau.to)
}

/// "knee at load 7.4", or that it may lie higher.
pub(crate) fn knee_words(knee: &Knee) -> String {
    let load = three(knee.load);
    if knee.saturated { format!("knee at load {load}") } else { format!("knee at load {load} or above") }
}

/// What the knee means: the figures at the measured load nearest above it.
pub(crate) fn knee_sentence(knee: &Knee) -> String {
    let load = if knee.small { "Small" } else { "Large" };
    let sentence = format!(
        "At {load}={} the rate is {} of the highest, and latency {} times the lowest ({}); more load brings more latency, \
         hardly more rate.",
        knee.at,
        percent(knee.share_of_maximum),
        three(knee.latency_ratio),
        figure(Unit::Seconds, knee.latency)
    );
    if knee.saturated {
        sentence
    } else {
        format!("{sentence} The rate still grew at the highest load, so the knee may lie higher.")
    }
}

/// Where a maximum lies, as ORION writes it, and how sure it is where that is known.
pub(crate) fn place_words(maximum: &MaximumAt, record: &OrionRecord) -> String {
    let precision = record.at(maximum.point).and_then(|point| point.precision);
    match precision {
        Some(share) if share.is_finite() => format!("at {}, ±{}", maximum.point, percent(share)),
        _ => format!("at {}", maximum.point),
    }
}

/// Whether a test came to its end, and why not.
pub(crate) fn ending(record: &OrionRecord) -> Option<String> {
    match &record.end {
        Some(end) if end.finished => None,
        Some(end) => {
            let reason = end.reason.as_deref().unwrap_or("it was stopped");
            Some(format!("The test has not come to its end ({reason}); it can be resumed."))
        }
        None => Some("The test has not come to its end; it can be resumed.".to_owned()),
    }
}

/// Seconds of processor per I/O, both loads together.
pub(crate) fn processor_per_io(point: &PointRecord) -> Option<f64> {
    let ios: u64 = point.small_io.iter().chain(&point.large_io).map(LoadFigures::ios).sum();
    (ios > 0).then(|| point.cpu_seconds.iter().sum::<f64>() / ios as f64)
}

/// Bytes that the devices served over those that the test moved.
pub(crate) fn served_share(point: &PointRecord) -> Option<f64> {
    let served = point.served.as_ref()?;
    let claimed: u64 = point.small_io.iter().chain(&point.large_io).map(LoadFigures::bytes).sum();
    (claimed > 0).then(|| (served.read_bytes as f64 + served.written_bytes as f64) / claimed as f64)
}

/// Notes on points, a sentence each with where it belongs; the same note once for all points that have it.
pub(crate) fn notes(record: &OrionRecord) -> Vec<(String, String)> {
    let mut notes: Vec<(Vec<LoadPoint>, &str)> = Vec::new();
    for point in &record.points {
        for note in &point.notes {
            match notes.iter_mut().find(|(_, known)| known == note) {
                Some((places, _)) => places.push(point.point()),
                None => notes.push((vec![point.point()], note)),
            }
        }
    }
    let named = |places: Vec<LoadPoint>| match places.as_slice() {
        [one] => one.to_string(),
        [first, ..] => format!("{} points from {first}", places.len()),
        [] => String::new(),
    };
    notes.into_iter().map(|(places, note)| (named(places), note.to_owned())).collect()
}

/// The figure and the load point that a trial's metric is of: `iops@4,0`.
pub(crate) fn point_of_metric(name: &str) -> Option<(Aspect, LoadPoint)> {
    let (figure, place) = name.split_once('@')?;
    let aspect = Aspect::ALL.into_iter().find(|aspect| aspect.metric() == figure)?;
    let (small, large) = place.split_once(',')?;
    Some((aspect, LoadPoint { small: small.parse().ok()?, large: large.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_of_a_load_point_is_read() {
        let point = LoadPoint { small: 4, large: 10 };
        assert_eq!(point_of_metric("iops@4,10"), Some((Aspect::Iops, point)));
        assert_eq!(point_of_metric("throughput@4,10"), Some((Aspect::Throughput, point)));
        for other in ["iops", "latency_p99@1,0", "iops@1", "iops@x,0", "", "@1,1"] {
            assert_eq!(point_of_metric(other), None, "{other}");
        }
    }

    #[test]
    fn rates_are_whole_where_decimals_say_nothing() {
        assert_eq!(iops(58_778.4), "58\u{202f}778");
        assert_eq!(iops(499.6), "500");
        assert_eq!(iops(12.34), "12.3");
    }
}
