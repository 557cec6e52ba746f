//! Records to write files from: published figures, and made-up ones for every shape of test.

use std::time::Duration;

use iostone_model::orion::{
    LatencyFigures, LoadFigures, LoadPoint, LunKind, LunRecord, ORION_SCHEMA, OrionEnd, OrionHeader,
    OrionRecord, OrionTest, PointRecord, TransferFigures,
};

/// A record without points of the test that those words ask for.
pub(crate) fn asked(words: &str, default_disks: u32) -> OrionRecord {
    let arguments: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let test = OrionTest::parse(&arguments).expect("a good command line");
    let num_disks = test.num_disks.unwrap_or(default_disks);
    let total_points = u32::try_from(test.points(num_disks).len()).unwrap();
    let lun = LunRecord {
        name: "/dev/sda2".to_owned(),
        kind: LunKind::Device,
        bytes: 629_143_441_920,
        identity: None,
    };
    let header = OrionHeader {
        schema: ORION_SCHEMA.to_owned(),
        iostone_version: "0.1.0".to_owned(),
        started_at: "2018-09-13T00:34:05+02:00[Europe/Berlin]".to_owned(),
        arguments,
        directory: None,
        test,
        num_disks,
        luns: vec![lun],
        seed: 1,
        direct: true,
        data: iostone_model::orion::FileData::Random,
        until: None,
        knee: false,
        adaptive: None,
        total_points,
        limits: Vec::new(),
        machine: std::collections::BTreeMap::default(),
    };
    let end = OrionEnd { finished: true, ..OrionEnd::default() };
    OrionRecord { header, points: Vec::new(), end: Some(end) }
}

/// All points of that test, with made-up figures; a part of the I/Os writes as was asked.
pub(crate) fn measured(words: &str, default_disks: u32) -> OrionRecord {
    let mut record = asked(words, default_disks);
    let points = record.header.test.points(record.header.num_disks);
    let writes = f64::from(record.header.test.write_percent) / 100.0;
    for (point, number) in points.into_iter().zip(1..) {
        let small_rate = 9_000.0 * f64::from(point.small) / (f64::from(point.small) + 2.5);
        let large_rate = 250.0 * f64::from(point.large) / (f64::from(point.large) + 1.5);
        let latency = |load: u32, rate: f64| f64::from(load) / rate;
        record.points.push(point_of(
            number,
            point,
            (point.small > 0).then(|| figures(small_rate, 8192, latency(point.small, small_rate), writes)),
            (point.large > 0).then(|| figures(large_rate, 1 << 20, latency(point.large, large_rate), writes)),
        ));
    }
    record
}

/// The published test of 11.1 on one disk.
pub(crate) fn published() -> OrionRecord {
    let mut record = asked("-run simple", 1);
    let small = [(2302.0, 0.43), (4398.0, 0.45), (5450.0, 0.55), (6006.0, 0.67), (6210.0, 0.80)];
    let large = [271.58, 374.26];
    record.points.push(point_of(1, LoadPoint { small: 0, large: 0 }, None, None));
    for ((iops, ms), load) in small.into_iter().zip(1..) {
        let io = figures(iops, 8192, ms / 1e3, 0.0);
        record.points.push(point_of(load + 1, LoadPoint { small: load, large: 0 }, Some(io), None));
    }
    for (mbps, load) in large.into_iter().zip(1..) {
        // Bytes to the one, since these are not whole I/Os of 1 MiB.
        let mut io = figures(mbps, 1_000_000, f64::from(load) / mbps, 0.0);
        io.reads.bytes = rounded(mbps * 60e6);
        record.points.push(point_of(load + 6, LoadPoint { small: 0, large: load }, None, Some(io)));
    }
    record
}

pub(crate) fn point_of(
    number: u32,
    point: LoadPoint,
    small_io: Option<LoadFigures>,
    large_io: Option<LoadFigures>,
) -> PointRecord {
    PointRecord {
        number,
        small: point.small,
        large: point.large,
        started_at: "2018-09-13T00:34:05+02:00[Europe/Berlin]".to_owned(),
        seconds: 60.0,
        small_io,
        large_io,
        cpu_seconds: [1.5, 2.25],
        ..PointRecord::default()
    }
}

/// What 60 s at so many I/Os a second came to.
pub(crate) fn figures(per_second: f64, size: u64, latency: f64, write_share: f64) -> LoadFigures {
    let ios = rounded(per_second * 60.0);
    let writes = rounded(ios as f64 * write_share);
    let transfer = |ios: u64, mean: f64| TransferFigures {
        ios,
        bytes: ios * size,
        latency: (ios > 0).then(|| latencies(mean, ios)),
    };
    LoadFigures {
        reads: transfer(ios - writes, latency * 0.9),
        writes: transfer(writes, latency * 1.1),
        latency: (ios > 0).then(|| latencies(latency, ios)),
        ios_per_100ms: vec![ios / 600; 600],
    }
}

fn latencies(mean: f64, count: u64) -> LatencyFigures {
    let nanoseconds = u64::try_from(Duration::from_secs_f64(mean).as_nanos()).unwrap();
    LatencyFigures {
        mean,
        min: mean / 2.0,
        max: mean * 40.0,
        deviation: mean / 10.0,
        p50: mean,
        p90: mean * 1.1,
        p99: mean * 2.0,
        p99_9: mean * 5.0,
        p99_99: mean * 20.0,
        histogram: vec![
            (nanoseconds, nanoseconds / 64 + 1, count - count / 50),
            (nanoseconds * 20, nanoseconds / 3 + 1, count / 50),
        ],
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and never negative")]
fn rounded(count: f64) -> u64 {
    count.round() as u64
}
