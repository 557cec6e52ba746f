//! fio's terse lines, version 3: one line per job, fields by semicolons in a fixed order.
//!
//! The order of the fields is that of fio's manual, "Terse output": `terse version`, version, name, group, error, 41
//! fields of reads, 41 of writes, 5 of the processor, 7 of depths, 10 of microseconds, 12 of milliseconds, then 9 for
//! each disk and the description.

use std::fmt::Write as _;

use iostone_engine::LatencyHistogram;

use super::disk_util::DiskUtil;
use super::entry::{Entry, entries, group_rates, percent_of_group};
use super::figures::Flow;
use super::json::deviation;
use super::session::{MOST_PERCENTILES, Percentiles, Session, Unified};
use super::shares::{LatencyShares, shares_of};

/// The results as fio 3.33 prints them with `--output-format=terse`, each line with a line feed.
///
/// A semicolon in a name becomes an underscore, because readers count fields.
pub fn write_terse(session: &Session<'_>) -> String {
    let entries = entries(session);
    let rates = group_rates(&entries);
    let mut text = String::new();
    for entry in &entries {
        let rates = rates.get(&entry.first.group).copied().unwrap_or_default();
        let mut line = Line(format!("3;{}", plain(session.version)));
        line.put(plain(entry.first.name));
        line.put(entry.first.group);
        line.put(entry.errno);
        put_flows(&mut line, entry, rates);
        put_processor(&mut line, entry);
        put_shares(&mut line, entry);
        for disk in &session.disk_util {
            put_disk(&mut line, disk);
        }
        if entry.last.job.continue_on_error {
            line.put(entry.outcome.errors);
            line.put(entry.outcome.error.as_ref().map_or(0, |fault| fault.errno));
        }
        if let Some(description) = entry.first.description.filter(|description| !description.is_empty()) {
            line.put(plain(description));
        }
        text.push_str(&line.0);
        text.push('\n');
    }
    text
}

/// Text that is one field of one line.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char == ';' || char.is_control() { '_' } else { char }).collect()
}

struct Line(String);

impl Line {
    fn put(&mut self, field: impl std::fmt::Display) {
        // Writing to a string does not fail.
        let _ = write!(self.0, ";{field}");
    }

    fn put_real(&mut self, field: f64) {
        self.put(format_args!("{field:.6}"));
    }
}

fn put_flows(line: &mut Line, entry: &Entry<'_>, rates: [f64; 3]) {
    let percentiles = &entry.last.percentiles;
    let [read, write, _] = &entry.flows;
    if entry.first.unified == Unified::Mixed {
        put_flow(line, &entry.mixed(), rates[0], percentiles);
    } else {
        put_flow(line, read, rates[0], percentiles);
        put_flow(line, write, rates[1], percentiles);
    }
    if entry.first.unified == Unified::Both {
        put_flow(line, &entry.mixed(), rates.iter().sum(), percentiles);
    }
}

fn put_flow(line: &mut Line, flow: &Flow, group_rate: f64, percentiles: &Percentiles) {
    line.put(flow.bytes / 1024);
    line.put(flow.bytes_per_second() / 1024);
    line.put(super::figures::whole(flow.ios_per_second()));
    line.put(flow.runtime_ms());
    // Submission latency, which the engine has none of.
    put_latency(line, &LatencyHistogram::new());
    put_latency(line, &flow.completion);
    let listed = match (percentiles.total, percentiles.completion) {
        (true, _) => Some(&flow.total),
        (false, true) => Some(&flow.completion),
        (false, false) => None,
    };
    let list = if listed.is_some() { percentiles.sorted() } else { Vec::new() };
    for percent in &list {
        let ns = listed.and_then(|latencies| latencies.percentile_ns(percent / 100.0)).unwrap_or(0);
        line.put(format_args!("{percent:.6}%={}", ns / 1000));
    }
    for _ in list.len()..MOST_PERCENTILES {
        line.put("0%=0");
    }
    put_latency(line, &flow.total);
    line.put(flow.bandwidth.min);
    line.put(flow.bandwidth.max);
    line.put(format_args!("{:.6}%", percent_of_group(flow, group_rate)));
    line.put_real(flow.bandwidth.mean);
    line.put_real(flow.bandwidth.deviation());
}

/// Minimum, maximum, mean and deviation in microseconds.
fn put_latency(line: &mut Line, latencies: &LatencyHistogram) {
    line.put(latencies.min_ns().unwrap_or(0) / 1000);
    line.put(latencies.max_ns().unwrap_or(0) / 1000);
    line.put_real(latencies.mean_ns().unwrap_or(0.0) / 1000.0);
    line.put_real(deviation(latencies) / 1000.0);
}

fn put_processor(line: &mut Line, entry: &Entry<'_>) {
    let outcome = &entry.outcome;
    line.put(format_args!("{:.6}%", entry.percent_of_time(outcome.cpu.submitters.user.0)));
    line.put(format_args!("{:.6}%", entry.percent_of_time(outcome.cpu.submitters.system.0)));
    line.put(outcome.scheduling.voluntary_switches + outcome.scheduling.involuntary_switches);
    line.put(outcome.scheduling.major_faults);
    line.put(outcome.scheduling.minor_faults);
}

fn put_shares(line: &mut Line, entry: &Entry<'_>) {
    for share in shares_of(entry.outcome.depth_levels) {
        line.put(format_args!("{share:.1}%"));
    }
    let mut shares = LatencyShares::of(entry.flows.iter().map(|flow| &flow.completion));
    // The format is older than nanoseconds: what took less than a microsecond is in the first class.
    shares.us[0] += shares.ns.iter().sum::<f64>();
    for share in shares.us.iter().chain(&shares.ms) {
        line.put(format_args!("{share:.2}%"));
    }
}

fn put_disk(line: &mut Line, disk: &DiskUtil) {
    line.put(plain(&disk.name));
    for count in [
        disk.read_ios,
        disk.write_ios,
        disk.read_merges,
        disk.write_merges,
        disk.read_ms,
        disk.write_ms,
        disk.queue_ms,
    ] {
        line.put(count);
    }
    line.put(format_args!("{:.2}%", disk.busy_percent()));
    let Some(slaves) = &disk.slaves else { return };
    line.put("slaves");
    for count in [
        slaves.read_ios,
        slaves.write_ios,
        slaves.read_merges,
        slaves.write_merges,
        slaves.read_ms,
        slaves.write_ms,
        slaves.queue_ms,
    ] {
        line.put(count);
    }
    line.put(format_args!("{:.2}%", slaves.busy_percent));
}
