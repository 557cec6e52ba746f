//! What iostone knows beyond fio's keys, under the key `iostone` of each job.

use iostone_engine::{ClockKind, EngineKind, VerifyReport};

use super::entry::Entry;
use super::figures::milliseconds;
use super::json::{Detail, latency_object};
use super::session::DEFAULT_PERCENTILES;
use super::tree::{Node, Object};

/// How it was done, and what fio does not say: processor time with that of the kernel's I/O workers, what arrived and
/// was never served, what failed where, what verifying found. `lat_ns` counts from the intended start when `open_loop`.
/// The processor time of the process is that of all jobs that ran at the time, so that only a job that was alone has
/// a figure of it per I/O.
pub(super) fn extras_object(entry: &Entry<'_>, is_alone: bool, detail: Detail) -> Object {
    let outcome = &entry.outcome;
    let mut object = Object::default();
    object.put("version", env!("CARGO_PKG_VERSION"));
    object.put("engine", name_of(outcome.engine.kind));
    object.put("reason", outcome.engine.reason.as_str());
    object.put("features", texts(&outcome.engine.features));
    object.put("declined", texts(&outcome.engine.declined));
    object.put("open_flags", texts(&outcome.open_flags));
    object.put("threads", outcome.threads);
    object.put("seed", outcome.seed);
    object.put("open_loop", entry.last.job.pace.is_open_loop());
    object.put("clock", if outcome.clock == ClockKind::Tsc { "tsc" } else { "monotonic" });
    object.put("ramp_ios", outcome.ramp_ios);
    object.put("unserved_ios", outcome.unserved);
    object.put("process_usr_ms", milliseconds(outcome.cpu.process.user.0));
    object.put("process_sys_ms", milliseconds(outcome.cpu.process.system.0));
    if is_alone {
        object.put("cpu_ns_per_io", per_io(outcome.cpu.process.total_seconds() * 1e9, outcome.ios()));
    }
    let submitters = per_io(outcome.cpu.submitters.total_seconds() * 1e9, outcome.ios());
    object.put("submitter_cpu_ns_per_io", submitters);
    object.put("io_workers", outcome.io_workers);
    object.put("punted", outcome.punted());
    object.put("layout_bytes", outcome.layout.written.0);
    object.put("interrupted", outcome.interrupted);
    object.put("failed_ios", outcome.errors);
    if let Some(fault) = &outcome.error {
        object.put("fault", fault.to_string());
    }
    if !outcome.syncs.durable_write.is_empty() {
        let durable = latency_object(&outcome.syncs.durable_write, Some(&DEFAULT_PERCENTILES), detail);
        object.put("durable_write_ns", durable);
    }
    if let Some(verify) = &outcome.verify {
        object.put("verify", verify_object(verify));
    }
    object
}

fn verify_object(verify: &VerifyReport) -> Object {
    let mut object = Object::default();
    object.put("units_checked", verify.units_checked);
    object.put("bytes_checked", verify.bytes_checked.0);
    object.put("units_skipped", verify.units_skipped);
    object.put("took_ms", milliseconds(verify.took.0));
    object.put("mismatches", verify.mismatch_count);
    let first: Vec<Node> = verify.mismatches.iter().map(|mismatch| mismatch.to_string().into()).collect();
    object.put("first_mismatches", first);
    object
}

fn per_io(amount: f64, ios: u64) -> f64 {
    if ios == 0 { 0.0 } else { amount / ios as f64 }
}

fn texts(lines: &[String]) -> Vec<Node> {
    lines.iter().map(|line| line.as_str().into()).collect()
}

fn name_of(kind: EngineKind) -> &'static str {
    match kind {
        EngineKind::IoUring => "io_uring",
        EngineKind::Sync => "sync",
        EngineKind::Mmap => "mmap",
        EngineKind::Null => "null",
        EngineKind::IoUringNop => "io_uring_nop",
    }
}
