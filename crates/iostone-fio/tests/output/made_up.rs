//! An outcome made up, so that every figure in a report of it is known.

use std::time::Duration;

use iostone_engine::{
    ClockKind, CpuTime, CpuUse, EngineKind, EngineReport, IntervalLatency, Job, LatencyHistogram, Layout,
    Outcome, Scheduling, Series, Stamp, Syncs, Transfers,
};
use iostone_fio::output::{DiskUtil, FIO_VERSION, Reported, Session, SlavesUtil};
use iostone_model::load::{PerDirection, Rw};
use iostone_model::units::{Bytes, Span};
use jiff::{Timestamp, tz::TimeZone};

pub(crate) fn recorded(latencies: impl IntoIterator<Item = u64>) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    for ns in latencies {
        histogram.record(ns);
    }
    histogram
}

fn interval(mean_ns: f64, max_ns: u64) -> IntervalLatency {
    IntervalLatency { mean_ns, p50_ns: max_ns / 2, p99_ns: max_ns, p99_9_ns: max_ns, max_ns }
}

/// One second and 50 ms: reads of 4 KiB, ten per 100 ms and one at the end, each taking a microsecond more than the
/// one before it; in the first half of the second as many writes, of which each takes 10 µs; two syncs.
pub(crate) fn outcome() -> Outcome {
    let mut reads = Series { ios: vec![10; 10], ..Series::default() };
    reads.ios.push(1);
    reads.bytes = reads.ios.iter().map(|ios| ios * 4096).collect();
    reads.latency = (0u32..10)
        .map(|tenth| interval(f64::from(tenth) * 10_000.0 + 5_500.0, u64::from(tenth + 1) * 10_000))
        .chain([interval(101_000.0, 101_000)])
        .map(Some)
        .collect();
    let mut writes = Series { ios: vec![10; 5], ..Series::default() };
    writes.ios.resize(11, 0);
    writes.bytes = writes.ios.iter().map(|ios| ios * 4096).collect();
    writes.latency = writes.ios.iter().map(|ios| (*ios > 0).then(|| interval(10_000.0, 10_000))).collect();
    let both =
        |of: fn(&Series) -> &Vec<u64>| of(&reads).iter().zip(of(&writes)).map(|(a, b)| a + b).collect();
    let series = Series {
        ios: both(|series| &series.ios),
        bytes: both(|series| &series.bytes),
        latency: vec![None; 11],
    };
    let seconds = |seconds| Span(Duration::from_secs_f64(seconds));
    Outcome {
        engine: EngineReport {
            kind: EngineKind::Sync,
            reason: "asked for".into(),
            features: Vec::new(),
            declined: Vec::new(),
        },
        open_flags: vec!["O_DIRECT".into()],
        threads: 1,
        seed: 137,
        elapsed: seconds(1.05),
        reads: Transfers {
            ios: 101,
            bytes: Bytes(101 * 4096),
            latency: recorded((1..=101).map(|us| us * 1000)),
            response: LatencyHistogram::new(),
        },
        writes: Transfers {
            ios: 50,
            bytes: Bytes(50 * 4096),
            latency: recorded([10_000; 50]),
            response: LatencyHistogram::new(),
        },
        trims: Transfers::default(),
        syncs: Syncs { count: 2, latency: recorded([1_000_000, 3_000_000]), ..Syncs::default() },
        series,
        series_of: PerDirection { read: reads, write: writes, trim: Series::default() },
        unserved: 0,
        depth_levels: [151, 0, 0, 0, 0, 0, 0],
        ramp_ios: 0,
        cpu: CpuUse {
            process: CpuTime { user: seconds(0.21), system: seconds(0.42) },
            submitters: CpuTime { user: seconds(0.105), system: seconds(0.21) },
        },
        io_workers: 0,
        stamp: Stamp::PerIo,
        clock: ClockKind::Tsc,
        interrupted: false,
        error: None,
        errors: 0,
        verify: None,
        steady: None,
        scheduling: Scheduling {
            voluntary_switches: 152,
            involuntary_switches: 3,
            major_faults: 0,
            minor_faults: 7,
        },
        layout: Layout::default(),
    }
}

pub(crate) fn job() -> Job {
    let mut job = Job::new("/data/file", Rw::RandRw);
    job.fsync = 25;
    job
}

pub(crate) fn disk() -> DiskUtil {
    DiskUtil {
        name: "md0".into(),
        read_ios: 101,
        write_ios: 50,
        read_ms: 5,
        write_ms: 1,
        queue_ms: 6,
        busy_ms: 210,
        elapsed_ms: 1050,
        slaves: Some(SlavesUtil { read_ios: 50, write_ios: 25, busy_percent: 12.5, ..SlavesUtil::default() }),
        ..DiskUtil::default()
    }
}

/// A session of these jobs, ended at a time that is known.
pub(crate) fn session(jobs: Vec<Reported<'_>>) -> Session<'_> {
    Session {
        version: FIO_VERSION,
        finished: Timestamp::from_millisecond(1_709_618_828_900).unwrap().to_zoned(TimeZone::UTC),
        elapsed: Duration::from_millis(1100),
        global_options: vec![("bs".into(), "4k".into())],
        jobs,
        disk_util: vec![disk()],
    }
}
