//! The engine's outcome in the words of a trial: figures, facts, and what failed.

use std::collections::BTreeMap;

use iostone_engine::{EngineKind, LatencyHistogram, Outcome, Stamp, VerifyReport};
use iostone_model::experiment::{IoWorkload, RateProcess};
use iostone_model::trial::WorkloadReport;

use crate::Measurement;

/// What a program that uses the file waits for: with a sync after every write, the write and its sync together; in
/// an open loop the response, which the wait for room in the queue is part of.
fn waited_for(outcome: &Outcome) -> LatencyHistogram {
    let response = outcome.response();
    if !response.is_empty() {
        return response;
    }
    let durable = &outcome.syncs.durable_write;
    if durable.is_empty() {
        return outcome.latency();
    }
    let mut waited = durable.clone();
    waited.merge(&outcome.reads.latency);
    waited.merge(&outcome.trims.latency);
    waited
}

/// The engine's outcome of a workload in the words of a trial.
pub fn measurement(spec: &IoWorkload, outcome: &Outcome) -> Measurement {
    let latency = waited_for(outcome);
    let mut metrics = BTreeMap::new();
    if outcome.succeeded() && outcome.ios() > 0 {
        metrics.insert("iops".to_owned(), outcome.iops());
        metrics.insert("throughput".to_owned(), outcome.throughput_bytes_per_second());
        let shares = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)];
        insert_times(&mut metrics, "latency", &latency, &shares);
        if let Some(max) = latency.max_ns() {
            metrics.insert("latency_max".to_owned(), seconds(max));
        }
        let shares = [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)];
        insert_times(&mut metrics, "service", &outcome.latency(), &shares);
    }
    let report = WorkloadReport {
        kind: "io".to_owned(),
        measured_seconds: outcome.elapsed.0.as_secs_f64(),
        claimed_read_bytes: outcome.reads.bytes.0,
        claimed_written_bytes: outcome.writes.bytes.0,
        must_reach_device: spec.must_reach_device(),
        error: failure(outcome),
        errno: outcome.error.as_ref().map(|fault| fault.errno).filter(|errno| *errno > 0),
        facts: facts(spec, outcome),
        operations: Some(outcome.ios()),
        operations_per_100ms: outcome.series.ios.clone(),
        latency_histogram: midpoints(&latency),
        sync_latency_histogram: midpoints(&outcome.syncs.latency),
        ..WorkloadReport::default()
    };
    Measurement { metrics, report, raw: Vec::new(), interrupted: outcome.interrupted, cpu: None }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Mean and percentiles of a histogram, as metrics whose names begin alike.
fn insert_times(
    metrics: &mut BTreeMap<String, f64>,
    prefix: &str,
    times: &LatencyHistogram,
    shares: &[(&str, f64)],
) {
    for (name, share) in shares {
        if let Some(ns) = times.percentile_ns(*share) {
            metrics.insert(format!("{prefix}_{name}"), seconds(ns));
        }
    }
    if let Some(mean) = times.mean_ns() {
        metrics.insert(format!("{prefix}_mean"), mean / 1e9);
    }
}

/// What went wrong, in one sentence.
fn failure(outcome: &Outcome) -> Option<String> {
    if let Some(fault) = &outcome.error {
        return Some(fault.to_string());
    }
    if let Some(verify) = outcome.verify.as_ref().filter(|verify| verify.mismatch_count > 0) {
        let first = verify.mismatches.first().map_or_else(String::new, ToString::to_string);
        let more = verify.mismatch_count - 1;
        return Some(if more == 0 { first } else { format!("{first}; and {more} more") });
    }
    (outcome.ios() == 0 && !outcome.interrupted)
        .then(|| "not one request completed in the measured time".to_owned())
}

fn midpoints(histogram: &LatencyHistogram) -> Vec<(u64, u64)> {
    histogram.occupied().map(|(first, width, count)| (first + width / 2, count)).collect()
}

fn facts(spec: &IoWorkload, outcome: &Outcome) -> BTreeMap<String, String> {
    let mut facts = engine_facts(outcome);
    let mut insert = |name: &str, text: String| facts.insert(name.to_owned(), text);
    insert("loop", loop_words(spec));
    if let Some(distribution) = spec.skew() {
        insert("distribution", distribution.to_string());
    }
    let counts =
        [("reads", outcome.reads.ios), ("writes", outcome.writes.ios), ("discards", outcome.trims.ios)];
    let counts: Vec<String> =
        counts.iter().filter(|(_, ios)| *ios > 0).map(|(name, ios)| format!("{ios} {name}")).collect();
    if spec.rw.is_mixed() && outcome.ios() > 0 {
        let share = outcome.reads.ios as f64 / outcome.ios() as f64 * 100.0;
        insert("mix", format!("{share:.1} % reads: {}", counts.join(", ")));
    } else if spec.rw.trims() && outcome.ios() > 0 {
        insert("mix", format!("{}; {} discarded", counts.join(", "), outcome.trims.bytes.approximate()));
    }
    if spec.is_open_loop() {
        let due = outcome.response().count().max(outcome.unserved);
        let text = format!("{} of {due} arrivals found no room within the measured time", outcome.unserved);
        insert("unserved", text);
        insert("latency", "from the intended start of a request to its completion".to_owned());
    } else if !outcome.syncs.durable_write.is_empty() {
        insert("latency", "of a write and its sync together".to_owned());
    }
    if let Some(verify) = &outcome.verify {
        insert("verify", verified(spec, verify));
    }
    facts
}

fn loop_words(spec: &IoWorkload) -> String {
    let depth = spec.iodepth;
    let rates = match (spec.rate_iops, spec.rate) {
        (Some(rates), _) => [rates.reads().to_string(), rates.writes().to_string()],
        (None, Some(rates)) => [rates.reads().to_string(), rates.writes().to_string()],
        (None, None) => return format!("closed: {depth} in flight a thread"),
    };
    let [reads, writes] = rates;
    let directions = [
        (reads, "reads", spec.rw.reads()),
        (writes.clone(), "writes", spec.rw.writes()),
        (writes, "discards", spec.rw.trims()),
    ];
    let a_second = if spec.rate_iops.is_some() { " a second" } else { "" };
    let rates: Vec<String> = directions
        .iter()
        .filter(|(_, _, goes)| *goes)
        .map(
            |(rate, name, _)| {
                if a_second.is_empty() { format!("{rate} of {name}") } else { format!("{rate} {name}") }
            },
        )
        .collect();
    let arrivals = match spec.rate_process.unwrap_or_default() {
        RateProcess::Linear => "at equal distances",
        RateProcess::Poisson => "at random (Poisson)",
    };
    format!("open: {}{a_second} a thread, {arrivals}, up to {depth} in flight", rates.join(" and "))
}

fn verified(spec: &IoWorkload, verify: &VerifyReport) -> String {
    let wrong = match verify.mismatch_count {
        0 => "none wrong".to_owned(),
        count => format!("{count} wrong"),
    };
    format!(
        "{}: {} blocks ({}) checked, {wrong}; {} read and never written by this workload; reading back took {:.2} s",
        spec.verify.word(),
        verify.units_checked,
        verify.bytes_checked.approximate(),
        verify.units_skipped,
        verify.took.0.as_secs_f64(),
    )
}

fn engine_facts(outcome: &Outcome) -> BTreeMap<String, String> {
    let engine = match outcome.engine.kind {
        EngineKind::IoUring => "io_uring",
        EngineKind::Sync => "sync",
        EngineKind::Mmap => "mmap",
        EngineKind::Null => "null",
        EngineKind::IoUringNop => "io_uring_nop",
    };
    let cpu = &outcome.cpu.process;
    let mut facts = BTreeMap::from([
        ("engine".to_owned(), format!("{engine}: {}", outcome.engine.reason)),
        ("threads".to_owned(), outcome.threads.to_string()),
        (
            "cpu_seconds".to_owned(),
            format!("{:.3} user, {:.3} system", cpu.user.0.as_secs_f64(), cpu.system.0.as_secs_f64()),
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
    if outcome.ios() > 0 {
        let each = |span: iostone_model::units::Span| span.0.as_secs_f64() / outcome.ios() as f64 * 1e6;
        let text = format!(
            "{:.2} µs user, {:.2} µs system a request, the kernel's workers included",
            each(cpu.user),
            each(cpu.system)
        );
        facts.insert("cpu_per_io".to_owned(), text);
    }
    for (name, list) in [
        ("open_flags", &outcome.open_flags),
        ("engine_features", &outcome.engine.features),
        ("engine_declined", &outcome.engine.declined),
    ] {
        if !list.is_empty() {
            facts.insert(name.to_owned(), list.join(", "));
        }
    }
    if outcome.punted() {
        let note = format!("{} kernel worker threads did the requests", outcome.io_workers);
        facts.insert("punted".to_owned(), note);
    }
    facts
}
