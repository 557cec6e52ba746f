//! What people read of a load: its rates, its latencies, what it cost, and what to beware of.

use std::fmt::{Error, Write};

use iostone_engine::{EngineKind, LatencyHistogram, Outcome, VerifyReport};
use iostone_model::figures::list;
use iostone_model::metric::Unit;
use iostone_report::clean;

use super::document::Done;
use crate::printer::bold;

/// Mismatches beyond this many are in the JSON only.
const MISMATCHES_SHOWN: usize = 5;

/// Everything about one job.
pub(super) fn describe(done: &Done<'_>, has_name: bool, has_neighbours: bool) -> Result<String, Error> {
    let outcome = done.outcome;
    let mut text = String::new();
    if done.job.verify.as_ref().is_some_and(|verify| verify.only) {
        // Nothing was measured, only looked at.
        if let Some(verify) = &outcome.verify {
            write_verified(&mut text, verify)?;
        }
        return Ok(text);
    }
    let rate = Unit::PerSecond.format(outcome.iops());
    let throughput = Unit::BytesPerSecond.format(outcome.throughput_bytes_per_second());
    let title = if has_name { format!("{}: ", clean(done.name)) } else { String::new() };
    writeln!(text, "{}", bold(&format!("{title}{rate}, {throughput}")))?;
    write_counts(&mut text, outcome)?;
    if outcome.layout.written.0 > 0 {
        writeln!(text, "laid out {} with random data first", outcome.layout.written.approximate())?;
    }
    write_latencies(&mut text, outcome)?;
    if let Some(verify) = &outcome.verify {
        text.push('\n');
        write_verified(&mut text, verify)?;
    }
    if outcome.ios() == 0 {
        return Ok(text);
    }
    if let Some(sentence) = super::steady::in_words(outcome) {
        writeln!(text, "\n{sentence}")?;
    }
    let cpu = outcome.cpu.process.total_seconds() / outcome.ios().max(1) as f64;
    writeln!(
        text,
        "\n{} of CPU time an operation{}, kernel workers included",
        Unit::Seconds.format(cpu),
        if has_neighbours { " of this and the jobs beside it" } else { "" }
    )?;
    write_cautions(&mut text, outcome)?;
    Ok(text)
}

fn write_counts(text: &mut String, outcome: &Outcome) -> Result<(), Error> {
    let counted = [("reads", &outcome.reads), ("writes", &outcome.writes), ("discards", &outcome.trims)];
    let done: Vec<String> = counted
        .iter()
        .filter(|(_, transfers)| transfers.ios > 0)
        .map(|(name, transfers)| {
            format!("{} {name} of {}", transfers.ios, average(transfers.bytes.0, transfers.ios))
        })
        .collect();
    let done = if done.is_empty() { "nothing".to_owned() } else { list(&done) };
    let engine = match outcome.engine.kind {
        EngineKind::IoUring => "io_uring",
        EngineKind::Sync => "synchronous calls",
        EngineKind::Mmap => "a mapping",
        EngineKind::Null => "nothing at all",
        EngineKind::IoUringNop => "io_uring without any I/O",
    };
    writeln!(
        text,
        "{done} in {:.2} s, {} by {engine} ({})",
        outcome.elapsed.0.as_secs_f64(),
        if outcome.response().is_empty() { "closed loop" } else { "open loop" },
        outcome.engine.reason
    )
}

/// "4096 bytes each", or about how many.
fn average(bytes: u64, ios: u64) -> String {
    if bytes.is_multiple_of(ios) {
        format!("{} bytes each", bytes / ios)
    } else {
        format!("about {} bytes each", bytes / ios)
    }
}

fn write_latencies(text: &mut String, outcome: &Outcome) -> Result<(), Error> {
    writeln!(
        text,
        "\n{:<16}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "latency", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"
    )?;
    for (name, histogram) in [
        ("reads", &outcome.reads.latency),
        ("read response", &outcome.reads.response),
        ("writes", &outcome.writes.latency),
        ("write response", &outcome.writes.response),
        ("discards", &outcome.trims.latency),
        ("discard response", &outcome.trims.response),
        ("syncs", &outcome.syncs.latency),
        ("write + sync", &outcome.syncs.durable_write),
    ] {
        if !histogram.is_empty() {
            write_row(text, name, histogram)?;
        }
    }
    Ok(())
}

fn write_row(text: &mut String, name: &str, histogram: &LatencyHistogram) -> Result<(), Error> {
    write!(text, "{name:<16}")?;
    let mean = histogram.mean_ns().map(|ns| ns / 1e9);
    let share = |share: f64| histogram.percentile_ns(share).map(|ns| ns as f64 / 1e9);
    let max = histogram.max_ns().map(|ns| ns as f64 / 1e9);
    for value in [mean, share(0.5), share(0.9), share(0.99), share(0.999), share(0.9999), max] {
        write!(text, "{:>10}", value.map(|seconds| Unit::Seconds.format(seconds)).unwrap_or_default())?;
    }
    text.push('\n');
    Ok(())
}

fn write_verified(text: &mut String, verify: &VerifyReport) -> Result<(), Error> {
    writeln!(
        text,
        "verified {} blocks ({}): {}",
        verify.units_checked,
        verify.bytes_checked.approximate(),
        match verify.mismatch_count {
            0 => "each holds what was written".to_owned(),
            1 => "1 does not hold what was written".to_owned(),
            many => format!("{many} do not hold what was written"),
        }
    )?;
    if verify.units_skipped > 0 {
        writeln!(text, "{} blocks were never written and not looked at", verify.units_skipped)?;
    }
    for mismatch in verify.mismatches.iter().take(MISMATCHES_SHOWN) {
        writeln!(text, "! {}", clean(&mismatch.to_string()))?;
    }
    let more = verify.mismatch_count.saturating_sub(MISMATCHES_SHOWN as u64);
    if more > 0 {
        writeln!(text, "! and {more} more; `--json` has the first hundred")?;
    }
    Ok(())
}

fn write_cautions(text: &mut String, outcome: &Outcome) -> Result<(), Error> {
    if outcome.punted() {
        writeln!(
            text,
            "! the kernel handed requests to {} worker threads: `--engine sync` may be faster here",
            outcome.io_workers
        )?;
    }
    if outcome.unserved > 0 {
        writeln!(
            text,
            "! {} requests were due and found no room in the queue: the target does not keep up with the rate; they \
             count in the response times with as long as they had waited",
            outcome.unserved
        )?;
    }
    if outcome.errors > 1 || (outcome.errors == 1 && outcome.error.is_none()) {
        writeln!(text, "! {} requests failed", outcome.errors)?;
    }
    Ok(())
}
