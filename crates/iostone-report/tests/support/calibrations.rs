//! ORION tests made up from a seed: a closed system with a limit, so that curves look as real ones do.

use std::collections::BTreeMap;

use iostone_model::metric::Unit;
use iostone_model::orion::{
    BoundBy, Ceiling, CellEstimate, Knee, KnownLimit, LatencyFigures, LimitKind, LoadFigures, LoadPoint,
    LunKind, LunRecord, Matrix, ORION_SCHEMA, OrionEnd, OrionFindings, OrionHeader, OrionRecord, OrionTest,
    Plateau, PointRecord, RunLevel, ServedAtPoint, TransferFigures,
};

use crate::synthetic::{Random, whole};

/// The limits of the made-up volume.
const READS: f64 = 2000.0;
const BYTES: f64 = 64e6;

fn header(test: OrionTest, num_disks: u32, arguments: &str) -> OrionHeader {
    let total_points = u32::try_from(test.points(num_disks).len()).unwrap_or(u32::MAX);
    let lun = |at: u32| LunRecord {
        name: format!("/srv/lab/orion-{at}.data"),
        kind: LunKind::File,
        bytes: 10 << 30,
        identity: None,
    };
    OrionHeader {
        schema: ORION_SCHEMA.to_owned(),
        iostone_version: "0.1.0".to_owned(),
        started_at: "2026-11-21T19:40:07+09:00".to_owned(),
        arguments: arguments.split(' ').map(str::to_owned).collect(),
        directory: None,
        test,
        num_disks,
        luns: vec![lun(1), lun(2)],
        seed: 0x5eed,
        direct: true,
        data: iostone_model::orion::FileData::Random,
        until: None,
        knee: false,
        adaptive: None,
        total_points,
        limits: vec![limit(LimitKind::ReadIops, READS), limit(LimitKind::ReadBytes, BYTES)],
        machine: BTreeMap::from([
            ("kernel".to_owned(), "6.12.9-amd64".to_owned()),
            ("cpu".to_owned(), "AMD EPYC 7543P, 64 logical".to_owned()),
            ("filesystem".to_owned(), "ext4 on loop0".to_owned()),
        ]),
    }
}

fn limit(kind: LimitKind, value: f64) -> KnownLimit {
    KnownLimit { on: "loop0".to_owned(), kind, value, from: "/sys/fs/cgroup/lab/io.max".to_owned() }
}

/// Figures of a load of that many I/Os in flight which completes `rate` of them a second.
fn load(random: &mut Random, in_flight: f64, rate: f64, size: u64, seconds: f64) -> LoadFigures {
    let ios = whole(rate * seconds);
    let mean = in_flight / rate;
    let latency = LatencyFigures {
        mean,
        min: mean * 0.4,
        max: mean * 31.0,
        deviation: mean * 0.7,
        p50: mean * 0.86,
        p90: mean * 1.5,
        p99: mean * (2.6 + 0.4 * random.uniform()),
        p99_9: mean * (6.0 + 2.0 * random.uniform()),
        p99_99: mean * (14.0 + 6.0 * random.uniform()),
        histogram: vec![(whole(mean * 1e9), 1024, ios)],
    };
    let stall = random.uniform() < 0.12;
    let slots = (0..whole(seconds * 10.0)).map(|slot| {
        let dip = if stall && (20..24).contains(&slot) { 0.2 } else { 1.0 };
        whole(rate / 10.0 * dip * (1.0 + 0.03 * random.normal()))
    });
    let slots = slots.collect();
    let reads = TransferFigures { ios, bytes: ios * size, latency: Some(latency.clone()) };
    LoadFigures { reads, latency: Some(latency), ios_per_100ms: slots, ..LoadFigures::default() }
}

/// A device that answers a small I/O in 0.9 ms and a large one in 28 ms, up to its limits; the two share it.
fn point(random: &mut Random, number: u32, place: LoadPoint, seconds: f64) -> PointRecord {
    let (small, large) = (f64::from(place.small), f64::from(place.large));
    let share = 1.0 / (1.0 + 0.09 * large);
    let noise = 1.0 + 0.004 * random.normal();
    let iops = (small / 0.9e-3).min(READS * 0.997) * share * noise;
    let throughput = (large * 1_048_576.0 / 28e-3).min(BYTES * 0.996) / (1.0 + 0.012 * small) * noise;
    let small_io = (place.small > 0).then(|| load(random, small, iops, 8192, seconds));
    let large_io = (place.large > 0).then(|| load(random, large, throughput / 1_048_576.0, 1 << 20, seconds));
    let moved: u64 = small_io.iter().chain(&large_io).map(LoadFigures::bytes).sum();
    let reads: u64 = small_io.iter().chain(&large_io).map(LoadFigures::ios).sum();
    PointRecord {
        number,
        small: place.small,
        large: place.large,
        started_at: format!("2026-11-21T19:{:02}:07+09:00", number % 60),
        seconds,
        small_io,
        large_io,
        cpu_seconds: [0.012 * seconds, 0.041 * seconds],
        served: Some(ServedAtPoint {
            devices: vec!["loop0".to_owned()],
            reads,
            read_bytes: moved + moved / 500,
            ..ServedAtPoint::default()
        }),
        precision: (moved > 0).then_some(0.004 + 0.006 * random.uniform()),
        ..PointRecord::default()
    }
}

fn measured(header: OrionHeader, seconds: f64) -> OrionRecord {
    let mut random = Random(11);
    let places = header.test.points(header.num_disks);
    let points =
        (1..).zip(places).map(|(number, place)| point(&mut random, number, place, seconds)).collect();
    let end =
        OrionEnd { ended_at: "2026-11-21T20:09:40+09:00".to_owned(), finished: true, ..OrionEnd::default() };
    OrionRecord { header, points, end: Some(end) }
}

/// What would be found: rough stand-ins, good enough to be drawn.
pub(crate) fn findings(record: &OrionRecord) -> OrionFindings {
    let maxima = record.maxima();
    let ceiling = |small: bool, kind: LimitKind, value: f64, word: &str| {
        let maximum = if small { maxima.iops } else { maxima.throughput }?;
        let share = maximum.value / value;
        let bound_by =
            if share > 0.9 { BoundBy::Limit { limit: limit(kind, value), share } } else { BoundBy::Load };
        let sentence = format!("{word} on `loop0` bind: {:.1} % of that was measured", share * 100.0);
        Some(Ceiling { small, point: maximum.point, bound_by, sentence })
    };
    let row = record.points.iter().filter(|point| point.large == 0 && point.small > 1);
    let heaviest = row.map(|point| point.small).max();
    let plateau = heaviest.filter(|heaviest| *heaviest > 2).map(|to| Plateau {
        small: true,
        from: 2,
        to,
        rate: READS * 0.997,
        unit: Unit::PerSecond,
        spread: 0.006,
    });
    let knee = plateau.as_ref().map(|_| Knee {
        small: true,
        load: 1.79,
        at: 2,
        iops: 1990.0,
        latency: 1.005e-3,
        share_of_maximum: 0.991,
        latency_ratio: 1.12,
        saturated: !record.header.knee,
    });
    OrionFindings {
        maxima,
        ceilings: [
            ceiling(true, LimitKind::ReadIops, READS, "2000 reads a second"),
            ceiling(false, LimitKind::ReadBytes, BYTES, "64 MB/s of reads"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        plateaus: plateau.into_iter().collect(),
        knee,
        remarks: record.points.iter().flat_map(|point| point.notes.clone()).collect(),
    }
}

/// The first row and the first column, four disks.
pub(crate) fn basic() -> OrionRecord {
    let mut test = OrionTest::new(RunLevel::Advanced);
    test.test_name = String::from("/srv/lab/orion-test");
    measured(header(test, 4, "-run advanced -testname /srv/lab/orion-test -size_small 8 -num_disks 4"), 6.0)
}

/// The whole matrix of four disks.
pub(crate) fn detailed() -> OrionRecord {
    measured(header(OrionTest::new(RunLevel::Normal), 4, "-run normal -num_disks 4"), 2.0)
}

/// The whole matrix of one disk: few enough columns for maps side by side.
pub(crate) fn normal() -> OrionRecord {
    measured(header(OrionTest::new(RunLevel::Normal), 1, "-run normal -num_disks 1"), 2.0)
}

/// The whole matrix, half of it estimated, and stopped.
pub(crate) fn adaptive() -> OrionRecord {
    let mut record = detailed();
    let (kept, left): (Vec<PointRecord>, Vec<PointRecord>) =
        record.points.drain(..).partition(|point| (point.small + point.large) % 2 == 0 || point.large == 0);
    record.points = kept;
    // The last row was not reached.
    record.points.retain(|point| point.large < 8);
    let estimates = left.iter().filter(|point| point.large < 8).map(|point| CellEstimate {
        small: point.small,
        large: point.large,
        iops: point.iops(),
        latency: point.latency(),
        throughput: point.throughput(),
        error: 0.043,
    });
    record.end = Some(OrionEnd {
        ended_at: "2026-11-21T20:09:40+09:00".to_owned(),
        finished: false,
        reason: Some("interrupted".to_owned()),
        knee: None,
        estimates: estimates.collect(),
    });
    record.header.adaptive = Some(0.05);
    record.header.until = Some(0.02);
    record
}

/// One load point.
pub(crate) fn single() -> OrionRecord {
    let mut test = OrionTest::new(RunLevel::Advanced);
    (test.matrix, test.num_small, test.num_large) = (Matrix::Point, Some(4), Some(0));
    measured(header(test, 1, "-run advanced -matrix point -num_small 4 -num_large 0"), 3.0)
}

/// Small loads beside three large ones.
pub(crate) fn row() -> OrionRecord {
    let mut test = OrionTest::new(RunLevel::Advanced);
    (test.matrix, test.num_large) = (Matrix::Row, Some(3));
    measured(header(test, 2, "-run advanced -matrix row -num_large 3 -num_disks 2"), 3.0)
}

/// Large loads alone.
pub(crate) fn dss() -> OrionRecord {
    measured(header(OrionTest::new(RunLevel::Dss), 1, "-run dss"), 3.0)
}

/// Killed before its first point.
pub(crate) fn nothing() -> OrionRecord {
    let mut record = basic();
    record.points.clear();
    record.end = None;
    record
}

/// A search for the knee that did not come to it, on one LUN, with more to be said than anybody reads.
pub(crate) fn unreached() -> OrionRecord {
    let mut record = basic();
    record.header.knee = true;
    record.header.total_points = 8;
    record.header.luns.truncate(1);
    for point in &mut record.points {
        point.precision = Some(0.0);
        point.notes = vec![format!("what is to be said of {}", point.point())];
    }
    record
}

/// Text and figures at their worst.
pub(crate) fn hostile() -> OrionRecord {
    let mut record = basic();
    record.header.test.test_name = String::from("</title><script>alert(1)</script>\u{1b}[2J\u{202e}");
    record.header.arguments = vec!["-testname".to_owned(), "'<script>alert(2)</script>\u{7}".to_owned()];
    record
        .header
        .machine
        .insert("<img src=x onerror=alert(3)>".to_owned(), "</dd><svg onload=alert(4)>".to_owned());
    record.header.direct = false;
    for lun in &mut record.header.luns {
        lun.name = String::from("</dl><script>alert(5)</script>");
    }
    for (point, seconds) in record.points.iter_mut().skip(1).zip([0.0, f64::NAN, f64::INFINITY, 1e-300]) {
        point.seconds = seconds;
        point.notes = vec!["</li><script>alert(6)</script>".to_owned()];
        if let Some(latency) = point.small_io.as_mut().and_then(|io| io.latency.as_mut()) {
            (latency.mean, latency.p50, latency.p99) = (f64::NAN, 0.0, f64::INFINITY);
        }
    }
    record
}

/// A made-up test and the name it is called by.
pub(crate) type NamedCalibration = (&'static str, fn() -> OrionRecord);

/// Every one.
pub(crate) const ALL: [NamedCalibration; 10] = [
    ("basic", basic),
    ("detailed", detailed),
    ("normal", normal),
    ("adaptive", adaptive),
    ("single", single),
    ("row", row),
    ("dss", dss),
    ("nothing", nothing),
    ("unreached", unreached),
    ("hostile", hostile),
];
