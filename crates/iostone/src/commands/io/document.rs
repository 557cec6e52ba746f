//! What `iostone io --json` prints.

use iostone_engine::{Job, LatencyHistogram, Outcome, Series, Transfers};
use iostone_model::load::PerDirection;
use serde_json::{Value, json};

/// A job and what it did.
pub(super) struct Done<'a> {
    pub(super) name: &'a str,
    pub(super) job: &'a Job,
    pub(super) outcome: &'a Outcome,
}

/// The document of all jobs.
pub(super) fn document(jobs: &[Done<'_>]) -> Value {
    json!({ "schema": "iostone/io/2", "jobs": jobs.iter().map(describe).collect::<Vec<_>>() })
}

fn describe(done: &Done<'_>) -> Value {
    let Done { name, job, outcome } = done;
    json!({
        "name": name,
        "job": job,
        "engine": outcome.engine,
        "open_flags": outcome.open_flags,
        "loop": if job.pace.is_open_loop() { "open" } else { "closed" },
        "elapsed_seconds": outcome.elapsed.0.as_secs_f64(),
        "iops": outcome.iops(),
        "throughput_bytes_per_second": outcome.throughput_bytes_per_second(),
        "reads": transfers(&outcome.reads),
        "writes": transfers(&outcome.writes),
        "trims": transfers(&outcome.trims),
        "syncs": { "count": outcome.syncs.count, "latency": percentiles(&outcome.syncs.latency) },
        "durable_write_latency": percentiles(&outcome.syncs.durable_write),
        "unserved": outcome.unserved,
        "ramp_ios": outcome.ramp_ios,
        "per_100ms": { "all": series(&outcome.series), "read": series_of(&outcome.series_of, |of| &of.read),
            "write": series_of(&outcome.series_of, |of| &of.write), "trim": series_of(&outcome.series_of, |of| &of.trim) },
        "steady": super::steady::describe(outcome),
        "ended_when_steady": outcome.steady,
        "verify": outcome.verify,
        "cpu_user_seconds": outcome.cpu.process.user.0.as_secs_f64(),
        "cpu_system_seconds": outcome.cpu.process.system.0.as_secs_f64(),
        "cpu_seconds_per_io": outcome.cpu.process.total_seconds() / outcome.ios().max(1) as f64,
        "io_workers": outcome.io_workers,
        "punted": outcome.punted(),
        "scheduling": outcome.scheduling,
        "depth_levels": outcome.depth_levels,
        "stamp": outcome.stamp,
        "clock": outcome.clock,
        "interrupted": outcome.interrupted,
        "error": outcome.error,
        "errors": outcome.errors,
        "layout": outcome.layout,
    })
}

fn transfers(transfers: &Transfers) -> Value {
    json!({
        "ios": transfers.ios,
        "bytes": transfers.bytes.0,
        "latency": percentiles(&transfers.latency),
        "response": percentiles(&transfers.response),
    })
}

fn percentiles(histogram: &LatencyHistogram) -> Value {
    let at = |share: f64| histogram.percentile_ns(share);
    json!({
        "count": histogram.count(),
        "mean_ns": histogram.mean_ns(),
        "min_ns": histogram.min_ns(),
        "p50_ns": at(0.5),
        "p90_ns": at(0.9),
        "p99_ns": at(0.99),
        "p99_9_ns": at(0.999),
        "p99_99_ns": at(0.9999),
        "max_ns": histogram.max_ns(),
    })
}

fn series(series: &Series) -> Value {
    json!({ "ios": series.ios, "bytes": series.bytes, "latency": series.latency })
}

/// The series of one direction; null if the job did not go in it.
fn series_of(all: &PerDirection<Series>, pick: impl Fn(&PerDirection<Series>) -> &Series) -> Value {
    let one = pick(all);
    if one.ios.is_empty() { Value::Null } else { series(one) }
}
