//! What iostone keeps of a test: a line for the test, one for each point as it ends, one for the end.
//!
//! The file is `PREFIX_record.jsonl`, appended to and made durable point by point, so that a test that was killed goes on
//! where it was. Everything else that a test leaves is written from it.

use crate::omitted::is_default;
use serde::{Deserialize, Serialize};

use super::{CellEstimate, FileData, Knee, KnownLimit, LoadPoint, OrionTest};

/// The version of [`OrionHeader`] and of the lines behind it.
pub const ORION_SCHEMA: &str = "iostone/orion/1";

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase")]
pub enum RecordLine {
    /// The first: what is asked.
    Test(Box<OrionHeader>),
    /// A point that was measured.
    Point(Box<PointRecord>),
    /// The test ended. A test that goes on after an interruption has several.
    End(OrionEnd),
}

/// What is asked, and of what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrionHeader {
    /// [`ORION_SCHEMA`].
    pub schema: String,
    /// The version of iostone.
    pub iostone_version: String,
    /// The test began then, RFC 3339 with the zone.
    pub started_at: String,
    /// The command line behind `iostone orion`, as it was typed.
    pub arguments: Vec<String>,
    /// The directory it was begun in, from where the `.lun` file and the LUNs are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// What it means.
    pub test: OrionTest,
    /// The disks that scale the loads.
    pub num_disks: u32,
    /// The LUNs, in order.
    pub luns: Vec<LunRecord>,
    /// Seed of all offsets and data; each point derives its own.
    pub seed: u64,
    /// Whether the page cache is gone around (`O_DIRECT`).
    pub direct: bool,
    /// What the LUNs were filled with where the test made them, and what is written.
    #[serde(default, skip_serializing_if = "FileData::is_random")]
    pub data: FileData,
    /// A point ends once the half width of the 95 % interval of its rate is at most this share of it, `--until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// Only as many points as the knee needs are measured, `--knee`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub knee: bool,
    /// Points whose rates the measured ones predict within this share are not measured, `--adaptive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<f64>,
    /// The points of the whole plan.
    pub total_points: u32,
    /// Limits that are known to lie on the LUNs' devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<KnownLimit>,
    /// Facts about the machine in plain words, by name: `kernel`, `cpu`, `filesystem`.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub machine: std::collections::BTreeMap<String, String>,
}

/// What a line of the `.lun` file named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LunRecord {
    /// As it was written there.
    pub name: String,
    /// A file or a device.
    pub kind: LunKind,
    /// Its size.
    pub bytes: u64,
    /// What tells it from others of that name and size: a file's inode and when that was made, a device's stable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// What a LUN is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LunKind {
    /// A regular file.
    File,
    /// A block device.
    Device,
}

/// One load point, measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PointRecord {
    /// Its place in the order of measurement, from 1.
    pub number: u32,
    /// Outstanding small I/Os.
    pub small: u32,
    /// Outstanding large I/Os, or streams.
    pub large: u32,
    /// When its measured time began, RFC 3339 with the zone.
    pub started_at: String,
    /// Seconds measured.
    pub seconds: f64,
    /// What the small I/O came to; none without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub small_io: Option<LoadFigures>,
    /// What the large I/O came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large_io: Option<LoadFigures>,
    /// Processor seconds that iostone and its kernel workers used in the measured time, user and system.
    pub cpu_seconds: [f64; 2],
    /// What the LUNs' devices served in the measured time, where the kernel counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedAtPoint>,
    /// The half width of the 95 % interval of the rate, as a share of it, where it was asked for or can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Bytes moved unmeasured before it, to warm the array's cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub warming_bytes: u64,
    /// What is to be said of it, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl PointRecord {
    /// Where in the matrix it lies.
    pub fn point(&self) -> LoadPoint {
        LoadPoint { small: self.small, large: self.large }
    }

    /// Small I/Os per second.
    pub fn iops(&self) -> Option<f64> {
        self.small_io.as_ref().and_then(|io| per_second(io.ios(), self.seconds))
    }

    /// Bytes per second of the large I/O.
    pub fn throughput(&self) -> Option<f64> {
        self.large_io.as_ref().and_then(|io| per_second(io.bytes(), self.seconds))
    }

    /// Mean latency of the small I/Os, in seconds.
    pub fn latency(&self) -> Option<f64> {
        self.small_io.as_ref()?.latency.as_ref().map(|latency| latency.mean)
    }
}

/// One of the two loads of a point.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoadFigures {
    /// Reads.
    pub reads: TransferFigures,
    /// Writes.
    pub writes: TransferFigures,
    /// Latencies of both together; none where nothing completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyFigures>,
    /// I/Os completed in each 100 ms of the measured time.
    pub ios_per_100ms: Vec<u64>,
}

impl LoadFigures {
    /// I/Os completed.
    pub fn ios(&self) -> u64 {
        self.reads.ios + self.writes.ios
    }

    /// Bytes transferred.
    pub fn bytes(&self) -> u64 {
        self.reads.bytes + self.writes.bytes
    }
}

/// I/Os of one direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TransferFigures {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Their latencies; none where nothing completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyFigures>,
}

/// Latencies, in seconds. Percentiles and the deviation come from a histogram whose buckets are at most 1.6 % wide.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// Maximum.
    pub max: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p99_9: f64,
    /// 99.99th percentile.
    pub p99_99: f64,
    /// `(start of the bucket in ns, its width in ns, count)`, sparse and ascending.
    pub histogram: Vec<(u64, u64, u64)>,
}

/// What devices served during a point, all LUNs' devices together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServedAtPoint {
    /// The devices' kernel names.
    pub devices: Vec<String>,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes; 0 also where the kernel does not count them.
    pub flushes: u64,
}

/// How a test, or a session of it, ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OrionEnd {
    /// When, RFC 3339 with the zone.
    pub ended_at: String,
    /// Whether every point of the plan was measured, or settled otherwise.
    pub finished: bool,
    /// Why not: `interrupted`, or what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The knee, where it was looked for and found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
    /// Points that were not measured but estimated from their neighbours, with `--adaptive`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimates: Vec<CellEstimate>,
}

/// A test read back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrionRecord {
    /// What was asked.
    pub header: OrionHeader,
    /// The points measured, in order.
    pub points: Vec<PointRecord>,
    /// How it ended; none when it was killed.
    pub end: Option<OrionEnd>,
}

impl OrionRecord {
    /// The record of a point, if it was measured.
    pub fn at(&self, point: LoadPoint) -> Option<&PointRecord> {
        self.points.iter().find(|record| record.point() == point)
    }

    /// Whether the test is over, or can go on.
    pub fn is_finished(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.finished)
    }
}

fn per_second(count: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| count as f64 / seconds)
}
