//! The `io` workload: iostone's own load engine on a file of the stack, or on the bare device.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use iostone_engine::{EngineChoice, EngineKind, Job, LatencyHistogram, Outcome, Rw, Stamp, WriteSync};
use iostone_model::experiment::{IoEngine, IoWorkload, ReadWrite, SyncMode};
use iostone_model::trial::WorkloadReport;

use crate::{Measurement, Place, Prepared, TrialContext, WorkloadError};

/// The file that the engine works on, in the directory that the stack offers.
const FILE_NAME: &str = "iostone.data";

struct PreparedIo {
    engine: iostone_engine::Prepared,
}

/// Turns a workload of the experiment file into a job of the engine on a target.
pub fn job(spec: &IoWorkload, target: std::path::PathBuf, seed: u64) -> Job {
    let rw = match spec.rw {
        ReadWrite::Read => Rw::Read,
        ReadWrite::Write => Rw::Write,
        ReadWrite::Randread => Rw::RandRead,
        ReadWrite::Randwrite => Rw::RandWrite,
    };
    let mut job = Job::new(target, rw);
    job.bs = spec.bs.into();
    job.iodepth = spec.iodepth;
    job.size = spec.size;
    job.direct = spec.direct;
    job.fsync = spec.fsync;
    job.fdatasync = spec.fdatasync;
    job.sync = match spec.sync {
        SyncMode::None => WriteSync::None,
        SyncMode::Dsync => WriteSync::Dsync,
        SyncMode::Sync => WriteSync::Sync,
    };
    job.runtime = spec.runtime;
    job.io_size = spec.io_size;
    job.ramp_time = spec.ramp_time.span();
    job.engine = match spec.engine {
        IoEngine::Auto => EngineChoice::Auto,
        IoEngine::IoUring => EngineChoice::IoUring,
        IoEngine::Sync => EngineChoice::Sync,
    };
    job.seed = seed;
    job.numjobs = spec.numjobs;
    job
}

pub(crate) fn prepare(
    spec: &IoWorkload,
    place: &Place,
    context: &TrialContext,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let target = match (&place.directory, &place.device) {
        (Some(directory), _) => directory.join(FILE_NAME),
        (None, Some(device)) => device.clone(),
        (None, None) => return Err(WorkloadError::NoDirectory { kind: "io" }),
    };
    let job = job(spec, target, context.seed);
    Ok(Box::new(PreparedIo { engine: iostone_engine::prepare(&job)? }))
}

impl Prepared for PreparedIo {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        Ok(measurement(&self.engine.run(stop, &mut |_| {})?))
    }
}

/// What a program that uses the file waits for: with a sync after every write, the write and its sync together; in
/// an open loop the response, which the wait for room in the queue is part of.
fn waited_for(outcome: &Outcome) -> LatencyHistogram {
    let durable = &outcome.syncs.durable_write;
    let response = outcome.response();
    if !response.is_empty() {
        response
    } else if durable.is_empty() {
        outcome.latency()
    } else {
        durable.clone()
    }
}

/// The engine's outcome in the words of a trial.
pub fn measurement(outcome: &Outcome) -> Measurement {
    let latency = waited_for(outcome);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut metrics = BTreeMap::new();
    if outcome.error.is_none() && outcome.ios() > 0 {
        metrics.insert("iops".to_owned(), outcome.iops());
        metrics.insert("throughput".to_owned(), outcome.throughput_bytes_per_second());
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)]
        {
            if let Some(ns) = latency.percentile_ns(share) {
                metrics.insert(format!("latency_{name}"), seconds(ns));
            }
        }
        if let (Some(mean), Some(max)) = (latency.mean_ns(), latency.max_ns()) {
            metrics.insert("latency_mean".to_owned(), mean / 1e9);
            metrics.insert("latency_max".to_owned(), seconds(max));
        }
    }
    let error = match (&outcome.error, outcome.ios()) {
        (Some(fault), _) => Some(fault.to_string()),
        (None, 0) if !outcome.interrupted => {
            Some("not one request completed in the measured time".to_owned())
        }
        (None, _) => None,
    };
    let report = WorkloadReport {
        kind: "io".to_owned(),
        measured_seconds: outcome.elapsed.0.as_secs_f64(),
        claimed_read_bytes: outcome.reads.bytes.0,
        claimed_written_bytes: outcome.writes.bytes.0,
        error,
        facts: facts(outcome),
        operations_per_100ms: outcome.series.ios.clone(),
        latency_histogram: midpoints(&latency),
        sync_latency_histogram: midpoints(&outcome.syncs.latency),
        stderr_tail: None,
    };
    Measurement { metrics, report, raw: Vec::new(), interrupted: outcome.interrupted }
}

fn midpoints(histogram: &LatencyHistogram) -> Vec<(u64, u64)> {
    histogram.occupied().map(|(first, width, count)| (first + width / 2, count)).collect()
}

fn facts(outcome: &Outcome) -> BTreeMap<String, String> {
    let engine = match outcome.engine.kind {
        EngineKind::IoUring => "io_uring",
        EngineKind::Sync => "sync",
        EngineKind::Mmap => "mmap",
        EngineKind::Null => "null",
        EngineKind::IoUringNop => "io_uring_nop",
    };
    let mut facts = BTreeMap::from([
        ("engine".to_owned(), format!("{engine}: {}", outcome.engine.reason)),
        ("threads".to_owned(), outcome.threads.to_string()),
        (
            "cpu_seconds".to_owned(),
            format!(
                "{:.3} user, {:.3} system",
                outcome.cpu.process.user.0.as_secs_f64(),
                outcome.cpu.process.system.0.as_secs_f64()
            ),
        ),
        ("syncs".to_owned(), outcome.syncs.count.to_string()),
        ("laid_out".to_owned(), outcome.layout.written.to_string()),
        (
            "stamp".to_owned(),
            match outcome.stamp {
                Stamp::PerBatch => "one clock reading a batch of completions".to_owned(),
                Stamp::PerIo => "one clock reading a request".to_owned(),
                Stamp::None => "none".to_owned(),
            },
        ),
    ]);
    for (name, list) in [
        ("open_flags", &outcome.open_flags),
        ("engine_features", &outcome.engine.features),
        ("engine_declined", &outcome.engine.declined),
    ] {
        if !list.is_empty() {
            facts.insert(name.to_owned(), list.join(", "));
        }
    }
    if !outcome.syncs.durable_write.is_empty() {
        facts.insert("latency".to_owned(), "of a write and its sync together".to_owned());
    }
    if outcome.punted() {
        let note = format!("{} kernel worker threads did the requests", outcome.io_workers);
        facts.insert("punted".to_owned(), note);
    }
    facts
}
