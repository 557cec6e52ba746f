//! `iostone io`: the load engine by itself.

mod target;

use std::fmt::Write;

use anyhow::{Result, anyhow};
use iostone_engine::{EngineChoice, EngineKind, Job, LatencyHistogram, Outcome, Rw, Stamp, WriteSync};
use iostone_model::metric::Unit;
use iostone_stack::mark_own_file;

use crate::cli::IoArguments;
use crate::exit_code::{ExitCode, IoFailed};
use crate::interrupt;
use crate::printer::{Printer, bold};

pub(crate) fn io(arguments: &IoArguments, printer: &mut Printer) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    let mut job = job(arguments)?;
    let created = target::take(&mut job, arguments.destroy.as_deref())?;
    let outcome = iostone_engine::prepare_watched(&job, &stop, &mut |_| {})
        .inspect_err(|_| {
            // Nothing was measured, so the file that was made for it goes again.
            if created {
                let _ = std::fs::remove_file(&job.target);
            }
        })?
        .run(&stop, &mut |_| {})?;
    if job.layout && job.target.is_file() {
        // From now on the file is known by the content that the load left in it.
        mark_own_file(&job.target)?;
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document(&job, &outcome))?));
    } else {
        printer.data(&in_text(&job, &outcome)?);
    }
    if let Some(fault) = &outcome.error {
        return Err(IoFailed { reason: fault.to_string(), interrupted: false }.into());
    }
    if outcome.interrupted {
        return Err(IoFailed {
            reason: "interrupted; the figures cover the time before".to_owned(),
            interrupted: true,
        }
        .into());
    }
    Ok(ExitCode::Success)
}

fn job(arguments: &IoArguments) -> Result<Job> {
    let rw = match arguments.rw.as_str() {
        "read" => Rw::Read,
        "write" => Rw::Write,
        "randread" => Rw::RandRead,
        "randwrite" => Rw::RandWrite,
        other => return Err(anyhow!("`{other}` is not a value of `--rw`")),
    };
    let seed = if let Some(seed) = arguments.seed {
        seed
    } else {
        let mut bytes = [0u8; 8];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        u64::from_ne_bytes(bytes)
    };
    Ok(Job {
        target: arguments.filename.clone(),
        rw,
        bs: arguments.bs,
        iodepth: arguments.iodepth,
        size: arguments.size,
        direct: arguments.direct,
        fsync: arguments.fsync,
        fdatasync: arguments.fdatasync,
        sync: match arguments.sync.as_str() {
            "dsync" => WriteSync::Dsync,
            "sync" => WriteSync::Sync,
            _ => WriteSync::None,
        },
        runtime: arguments.runtime,
        io_size: arguments.io_size,
        ramp_time: arguments.ramp_time,
        engine: match arguments.engine.as_str() {
            "io_uring" => EngineChoice::IoUring,
            "sync" => EngineChoice::Sync,
            _ => EngineChoice::Auto,
        },
        stamp: Stamp::PerBatch,
        seed,
        numjobs: arguments.numjobs,
        layout: true,
        invalidate: true,
    })
}

fn percentiles(histogram: &LatencyHistogram) -> serde_json::Value {
    let at = |share: f64| histogram.percentile_ns(share);
    serde_json::json!({
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

fn document(job: &Job, outcome: &Outcome) -> serde_json::Value {
    serde_json::json!({
        "schema": "iostone/io/1",
        "job": job,
        "engine": outcome.engine,
        "open_flags": outcome.open_flags,
        "elapsed_seconds": outcome.elapsed.0.as_secs_f64(),
        "iops": outcome.iops(),
        "throughput_bytes_per_second": outcome.throughput_bytes_per_second(),
        "reads": { "ios": outcome.reads.ios, "bytes": outcome.reads.bytes.0, "latency": percentiles(&outcome.reads.latency) },
        "writes": { "ios": outcome.writes.ios, "bytes": outcome.writes.bytes.0, "latency": percentiles(&outcome.writes.latency) },
        "syncs": { "count": outcome.syncs.count, "latency": percentiles(&outcome.syncs.latency) },
        "durable_write_latency": percentiles(&outcome.syncs.durable_write),
        "ramp_ios": outcome.ramp_ios,
        "ios_per_100ms": outcome.series.ios,
        "cpu_user_seconds": outcome.cpu.process.user.0.as_secs_f64(),
        "cpu_system_seconds": outcome.cpu.process.system.0.as_secs_f64(),
        "punted": outcome.punted(),
        "stamp": outcome.stamp,
        "clock": outcome.clock,
        "interrupted": outcome.interrupted,
        "error": outcome.error,
        "layout": outcome.layout,
    })
}

fn in_text(job: &Job, outcome: &Outcome) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let rate = Unit::PerSecond.format(outcome.iops());
    let throughput = Unit::BytesPerSecond.format(outcome.throughput_bytes_per_second());
    writeln!(text, "{}", bold(&format!("{rate}, {throughput}")))?;
    let engine = match outcome.engine.kind {
        EngineKind::IoUring => "io_uring",
        EngineKind::Sync => "synchronous calls",
    };
    writeln!(
        text,
        "{} {} in {:.2} s, {} bytes each, by {engine} ({})",
        outcome.ios(),
        if job.rw.writes() { "writes" } else { "reads" },
        outcome.elapsed.0.as_secs_f64(),
        outcome.bs.0,
        outcome.engine.reason
    )?;
    if outcome.layout.written.0 > 0 {
        writeln!(text, "laid out {} with random data first", outcome.layout.written.approximate())?;
    }
    writeln!(
        text,
        "\n{:<16}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "latency", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"
    )?;
    for (name, histogram) in [
        ("reads", &outcome.reads.latency),
        ("writes", &outcome.writes.latency),
        ("syncs", &outcome.syncs.latency),
        ("write + sync", &outcome.syncs.durable_write),
    ] {
        if histogram.is_empty() {
            continue;
        }
        write!(text, "{name:<16}")?;
        let mean = histogram.mean_ns().map(|ns| ns / 1e9);
        let share = |share: f64| histogram.percentile_ns(share).map(|ns| ns as f64 / 1e9);
        let max = histogram.max_ns().map(|ns| ns as f64 / 1e9);
        for value in [mean, share(0.5), share(0.9), share(0.99), share(0.999), share(0.9999), max] {
            write!(text, "{:>10}", value.map(|seconds| Unit::Seconds.format(seconds)).unwrap_or_default())?;
        }
        text.push('\n');
    }
    if outcome.ios() == 0 {
        return Ok(text);
    }
    let cpu = outcome.cpu.process.total_seconds() / outcome.ios().max(1) as f64;
    writeln!(
        text,
        "\n{} of CPU time an operation, kernel workers included; seed {}",
        Unit::Seconds.format(cpu),
        outcome.seed
    )?;
    if outcome.punted() {
        writeln!(
            text,
            "! the kernel handed requests to {} worker threads: `--engine sync` may be faster here",
            outcome.io_workers
        )?;
    }
    Ok(text)
}
