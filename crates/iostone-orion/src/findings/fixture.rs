//! Tests as they would be recorded on storage that is known.

use iostone_model::orion::{
    KnownLimit, LatencyFigures, LimitKind, LoadFigures, LoadPoint, ORION_SCHEMA, OrionEnd, OrionHeader,
    OrionRecord, OrionTest, PointRecord, RunLevel, TransferFigures,
};

/// Each point was measured for so long.
pub(crate) const SECONDS: f64 = 10.0;

/// A simple test on one disk, without any point yet.
pub(crate) fn record(limits: Vec<KnownLimit>) -> OrionRecord {
    let test = OrionTest::new(RunLevel::Simple);
    OrionRecord {
        header: OrionHeader {
            schema: ORION_SCHEMA.to_owned(),
            iostone_version: "0".to_owned(),
            started_at: String::new(),
            arguments: Vec::new(),
            directory: None,
            test,
            num_disks: 1,
            luns: Vec::new(),
            seed: 0,
            direct: true,
            data: iostone_model::orion::FileData::Random,
            until: None,
            knee: false,
            adaptive: None,
            total_points: 8,
            limits,
            machine: std::collections::BTreeMap::new(),
        },
        points: Vec::new(),
        end: Some(OrionEnd { finished: true, ..OrionEnd::default() }),
    }
}

pub(crate) fn limit(kind: LimitKind, value: f64) -> KnownLimit {
    KnownLimit { on: "loop0".to_owned(), kind, value, from: "io.max".to_owned() }
}

/// What a load came to, with that many reads and writes a second of a size.
pub(crate) fn figures(load: u32, reads: f64, writes: f64, size: u64) -> LoadFigures {
    let transfer = |rate: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "figures of the tests' own"
        )]
        let ios = (rate * SECONDS) as u64;
        TransferFigures { ios, bytes: ios * size, latency: None }
    };
    let latency =
        Some(LatencyFigures { mean: f64::from(load) / (reads + writes), ..LatencyFigures::default() });
    LoadFigures { reads: transfer(reads), writes: transfer(writes), latency, ios_per_100ms: Vec::new() }
}

pub(crate) fn small(load: u32, reads: f64, writes: f64) -> PointRecord {
    let small_io = Some(figures(load, reads, writes, 8192));
    PointRecord { small: load, seconds: SECONDS, small_io, ..PointRecord::default() }
}

pub(crate) fn large(load: u32, reads: f64, writes: f64) -> PointRecord {
    let large_io = Some(figures(load, reads, writes, 1 << 20));
    PointRecord { large: load, seconds: SECONDS, large_io, ..PointRecord::default() }
}

pub(crate) fn at(small: u32, large: u32) -> LoadPoint {
    LoadPoint { small, large }
}
