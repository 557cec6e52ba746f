//! An ORION test as every format shows it: its readings in rows and columns, and the words for them.

use iostone_model::metric::Unit;
use iostone_model::orion::{
    BoundBy, Ceiling, Knee, KnownLimit, LargeIo, LimitKind, LoadFigures, LoadPoint, MaximumAt, OrionFindings,
    OrionRecord, Plateau, PointRecord,
};
use iostone_model::units::{Bytes, three_digits};

use crate::figures::{NO_FIGURE, counted, figure, percent, round_number};

/// More of what should be known beside the figures is not read.
const REMARKS: usize = 6;
/// From this share of the highest rate on, what is left to gain is hardly any.
const NEARLY_ALL: f64 = 0.9;

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
        0 if record.points.is_empty() => format!("{name}: nothing measured yet"),
        0 => format!("{name}: no load measured yet"),
        _ => format!("{name}: {} at best", told.join(", ")),
    }
}

/// "21 of 29 points, 2 LUNs, 20.0 GiB together". A search for the knee takes as many points as it needs, whatever the plan
/// has.
pub(crate) fn extent_words(record: &OrionRecord) -> String {
    let (measured, all) = (record.points.len() as u64, u64::from(record.header.total_points));
    let points = if measured == all || record.header.knee {
        counted(measured, "point")
    } else {
        format!("{measured} of {}", counted(all, "point"))
    };
    let total: u64 = record.header.luns.iter().map(|lun| lun.bytes).fold(0, u64::saturating_add);
    match record.header.luns.len() as u64 {
        1 => format!("{points}, 1 LUN of {}", size(total)),
        luns => format!("{points}, {}, {} together", counted(luns, "LUN"), size(total)),
    }
}

/// A size in binary units, as ORION counts its own: `8 KiB`, `20.0 GiB`; digits only where it is no whole number of them.
pub(crate) fn size(bytes: u64) -> String {
    let units = [("TiB", 1_u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) if bytes.is_multiple_of(factor) => format!("{}\u{a0}{unit}", bytes / factor),
        _ => Bytes(bytes).approximate().replace(' ', "\u{a0}"),
    }
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
    let spread = precision(plateau.spread);
    format!("flat at {rate} ({spread}) from load {} to {}", plateau.from, plateau.to)
}

/// "knee at load 8"; none where the rate still grew at the highest load. It is the measured load, because the figures beside
/// it are that load's.
pub(crate) fn knee_words(knee: &Knee) -> Option<String> {
    knee.saturated.then(|| format!("knee at load {}", knee.at))
}

/// What the knee means: the figures at the measured load nearest above it. Or that there is none yet.
pub(crate) fn knee_sentence(knee: &Knee, points: &[PointRecord]) -> String {
    if !knee.saturated {
        let loads = points.iter().map(|point| if knee.small { point.small } else { point.large });
        let highest = loads.max().unwrap_or(knee.at);
        return format!("No knee up to load {highest}: the rate still grows.");
    }
    let load = if knee.small { "Small" } else { "Large" };
    let beyond = if knee.share_of_maximum >= NEARLY_ALL {
        "more load brings more latency, hardly more rate".to_owned()
    } else {
        format!(
            "more load brings up to {} times that rate, and more latency",
            three(knee.share_of_maximum.recip())
        )
    };
    format!(
        "The asymptotes meet at load {}. At {load}={} the rate is {} of the highest, and latency {} times the lowest ({}); \
         {beyond}.",
        three(knee.load),
        knee.at,
        percent(knee.share_of_maximum),
        three(knee.latency_ratio),
        figure(Unit::Seconds, knee.latency)
    )
}

/// Half of an interval, as a share: `±1.2 %`. What is below a tenth of a percent no measurement of such length knows.
pub(crate) fn precision(share: f64) -> String {
    format!("±{}", percent(if share.is_finite() { share.max(0.001) } else { share }))
}

/// The first of what should be known, and how many more there are.
pub(crate) fn first_remarks(remarks: &[String]) -> Vec<String> {
    let mut told: Vec<String> = remarks.iter().take(REMARKS).cloned().collect();
    let more = remarks.len().saturating_sub(REMARKS);
    if more > 0 {
        let stand = if more == 1 { "stands" } else { "stand" };
        told.push(format!("{} {stand} in the record", counted(more as u64, "more note")));
    }
    told
}

/// Where a maximum lies, as ORION writes it, and how sure it is where that is known.
pub(crate) fn place_words(maximum: &MaximumAt, record: &OrionRecord) -> String {
    match record.at(maximum.point).and_then(|point| point.precision) {
        Some(share) if share.is_finite() => format!("at {}, {}", maximum.point, precision(share)),
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
    fn a_knee_far_below_the_highest_rate_does_not_say_that_hardly_more_is_to_come() {
        let knee = |share_of_maximum| Knee {
            small: true,
            load: 2.6,
            at: 3,
            iops: 17_440.0,
            latency: 172e-6,
            share_of_maximum,
            latency_ratio: 2.16,
            saturated: true,
        };
        assert!(
            knee_sentence(&knee(0.95), &[]).ends_with("; more load brings more latency, hardly more rate.")
        );
        let told = knee_sentence(&knee(0.5), &[]);
        assert!(told.ends_with("; more load brings up to 2.00 times that rate, and more latency."), "{told}");
    }

    #[test]
    fn sizes_are_binary_with_a_blank() {
        let told = [20 << 20, 10 << 30, 8192, (3 << 30) + 5, 512, 0].map(size);
        assert_eq!(
            told.map(|text| text.replace('\u{a0}', " ")),
            ["20 MiB", "10 GiB", "8 KiB", "3.00 GiB", "512 B", "0 B"]
        );
    }

    #[test]
    fn no_precision_is_nothing() {
        let told = [0.0, 0.000_4, 0.001, 0.012, 0.43].map(precision);
        assert_eq!(
            told.map(|text| text.replace('\u{a0}', " ")),
            ["±0.1 %", "±0.1 %", "±0.1 %", "±1.2 %", "±43.0 %"]
        );
    }

    #[test]
    fn few_remarks_are_told_and_the_rest_counted() {
        let remarks = |count: u32| (0..count).map(|at| format!("remark {at}")).collect::<Vec<_>>();
        assert_eq!(first_remarks(&remarks(6)), remarks(6));
        assert_eq!(first_remarks(&remarks(7)).last().unwrap(), "1 more note stands in the record");
        let told = first_remarks(&remarks(18));
        assert_eq!((told.len(), told.last().unwrap().as_str()), (7, "12 more notes stand in the record"));
    }

    #[test]
    fn rates_are_whole_where_decimals_say_nothing() {
        assert_eq!(iops(58_778.4), "58\u{202f}778");
        assert_eq!(iops(499.6), "500");
        assert_eq!(iops(12.34), "12.3");
    }
}
