//! fio's JSON: `--output-format=json` and `json+`.

use iostone_engine::{EngineKind, LatencyHistogram};

use super::bins::bin_latencies;
use super::disk_util::DiskUtil;
use super::entry::{Entry, entries, group_rates, percent_of_group};
use super::extras::extras_object;
use super::figures::Flow;
use super::session::{Percentiles, Session, Unified};
use super::shares::{BATCHES, BOUNDS, DEPTHS, LatencyShares, shares_of};
use super::steady::steady_object;
use super::tree::{Node, Object};

/// How much of the latencies is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Extremes, mean, deviation and percentiles: fio's `json`.
    Json,
    /// The whole distribution as well, where there are percentiles: fio's `json+`.
    JsonPlus,
}

/// The results as fio 3.33 prints them, with a line feed at the end.
pub fn write_json(session: &Session<'_>, detail: Detail) -> String {
    let mut root = Object::default();
    root.put("fio version", session.version);
    let finished = session.finished.timestamp();
    root.put("timestamp", u64::try_from(finished.as_second()).unwrap_or(0));
    root.put("timestamp_ms", u64::try_from(finished.as_millisecond()).unwrap_or(0));
    root.put("time", session.finished.strftime("%a %b %e %H:%M:%S %Y").to_string());
    put_options(&mut root, "global options", &session.global_options);
    let entries = entries(session);
    let rates = group_rates(&entries);
    let jobs: Vec<Node> = entries
        .iter()
        .map(|entry| {
            let rates = rates.get(&entry.first.group).copied().unwrap_or_default();
            job_object(session, entry, rates, detail).into()
        })
        .collect();
    root.put("jobs", jobs);
    if !session.disk_util.is_empty() {
        root.put(
            "disk_util",
            session.disk_util.iter().map(|disk| disk_object(disk).into()).collect::<Vec<Node>>(),
        );
    }
    format!("{root}\n")
}

fn put_options(object: &mut Object, key: &str, options: &[(String, String)]) {
    if !options.is_empty() {
        let options: Object = options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        object.put(key, options);
    }
}

fn job_object(session: &Session<'_>, entry: &Entry<'_>, rates: [f64; 3], detail: Detail) -> Object {
    let Entry { first, last, outcome, .. } = entry;
    let mut object = Object::default();
    object.put("jobname", first.name);
    object.put("groupid", first.group);
    object.put("error", entry.errno);
    // What is reported has ended.
    object.put("eta", 0u64);
    object.put("elapsed", u64::try_from(session.elapsed.as_millis().div_ceil(1000)).unwrap_or(u64::MAX));
    put_options(&mut object, "job options", &last.options);

    let percentiles = &last.percentiles;
    if first.unified == Unified::Mixed {
        object.put("mixed", flow_object(&entry.mixed(), rates[0], percentiles, detail));
    } else {
        for ((name, flow), rate) in ["read", "write", "trim"].into_iter().zip(&entry.flows).zip(rates) {
            object.put(name, flow_object(flow, rate, percentiles, detail));
        }
        let mut sync = Object::default();
        sync.put("total_ios", outcome.syncs.count);
        let listed = percentiles.total || percentiles.completion;
        sync.put("lat_ns", latency_of_flow(&outcome.syncs.latency, percentiles, listed, detail));
        object.put("sync", sync);
    }
    if first.unified == Unified::Both {
        let rate = rates.iter().sum();
        object.put("mixed", flow_object(&entry.mixed(), rate, percentiles, detail));
    }

    object.put("job_runtime", super::figures::milliseconds(entry.thread_time));
    object.put("usr_cpu", entry.percent_of_time(outcome.cpu.submitters.user.0));
    object.put("sys_cpu", entry.percent_of_time(outcome.cpu.submitters.system.0));
    let scheduling = &outcome.scheduling;
    object.put("ctx", scheduling.voluntary_switches + scheduling.involuntary_switches);
    object.put("majf", scheduling.major_faults);
    object.put("minf", scheduling.minor_faults);
    object.put("iodepth_level", zip(&DEPTHS, shares_of(outcome.depth_levels)));
    let batches = batch_shares(entry);
    object.put("iodepth_submit", zip(&BATCHES, batches));
    object.put("iodepth_complete", zip(&BATCHES, batches));
    put_latency_shares(&mut object, &entry.flows);
    if last.job.continue_on_error {
        object.put("total_err", outcome.errors);
        object.put("first_error", outcome.error.as_ref().map_or(0, |fault| fault.errno.unsigned_abs()));
    }
    // Latency targets are none of the engine's options; these are fio's values without one.
    object.put("latency_depth", last.job.iodepth);
    object.put("latency_target", 0u64);
    object.put("latency_percentile", 100.0);
    object.put("latency_window", 0u64);
    if let Some(description) = first.description.filter(|description| !description.is_empty()) {
        object.put("desc", description);
    }
    if let Some(rule) = &last.job.steady {
        object.put("steadystate", steady_object(rule, outcome));
    }
    object.put("iostone", extras_object(entry, session.jobs.len() == entry.members, detail));
    object
}

fn flow_object(flow: &Flow, group_rate: f64, percentiles: &Percentiles, detail: Detail) -> Object {
    let mut object = Object::default();
    let bytes_per_second = flow.bytes_per_second();
    object.put("io_bytes", flow.bytes);
    object.put("io_kbytes", flow.bytes / 1024);
    object.put("bw_bytes", bytes_per_second);
    object.put("bw", bytes_per_second / 1024);
    object.put("iops", flow.ios_per_second());
    object.put("runtime", flow.runtime_ms());
    object.put("total_ios", flow.ios);
    // A short transfer is an error here, and nothing is dropped.
    object.put("short_ios", 0u64);
    object.put("drop_ios", 0u64);
    let none = LatencyHistogram::new();
    object.put("slat_ns", latency_of_flow(&none, percentiles, percentiles.submission, detail));
    object.put("clat_ns", latency_of_flow(&flow.completion, percentiles, percentiles.completion, detail));
    object.put("lat_ns", latency_of_flow(&flow.total, percentiles, percentiles.total, detail));
    let bandwidth = &flow.bandwidth;
    object.put("bw_min", bandwidth.min);
    object.put("bw_max", bandwidth.max);
    object.put("bw_agg", percent_of_group(flow, group_rate));
    object.put("bw_mean", bandwidth.mean);
    object.put("bw_dev", bandwidth.deviation());
    object.put("bw_samples", bandwidth.count);
    let iops = &flow.iops;
    object.put("iops_min", iops.min);
    object.put("iops_max", iops.max);
    object.put("iops_mean", iops.mean);
    object.put("iops_stddev", iops.deviation());
    object.put("iops_samples", iops.count);
    object
}

fn latency_of_flow(
    latencies: &LatencyHistogram,
    percentiles: &Percentiles,
    listed: bool,
    detail: Detail,
) -> Object {
    let list = percentiles.sorted();
    latency_object(latencies, listed.then_some(list.as_slice()), detail)
}

/// fio's object of latencies. Percentiles are the engine's, which are within 0.4 % and never outside the extremes;
/// fio's own are the middles of its bins.
pub(super) fn latency_object(
    latencies: &LatencyHistogram,
    percentiles: Option<&[f64]>,
    detail: Detail,
) -> Object {
    let mut object = Object::default();
    object.put("min", latencies.min_ns().unwrap_or(0));
    object.put("max", latencies.max_ns().unwrap_or(0));
    object.put("mean", latencies.mean_ns().unwrap_or(0.0));
    object.put("stddev", deviation(latencies));
    object.put("N", latencies.count());
    let Some(percentiles) = percentiles.filter(|_| !latencies.is_empty()) else { return object };
    let listed: Object = percentiles
        .iter()
        .filter_map(|percent| Some((format!("{percent:.6}"), latencies.percentile_ns(percent / 100.0)?)))
        .collect();
    object.put("percentile", listed);
    if detail == Detail::JsonPlus {
        let bins: Object =
            bin_latencies(latencies).into_iter().map(|(ns, count)| (ns.to_string(), count)).collect();
        object.put("bins", bins);
    }
    object
}

/// Standard deviation of a sample, in nanoseconds, by the middles of buckets around the exact mean.
pub(super) fn deviation(latencies: &LatencyHistogram) -> f64 {
    let (Some(mean), Some(min), Some(max)) = (latencies.mean_ns(), latencies.min_ns(), latencies.max_ns())
    else {
        return 0.0;
    };
    if latencies.count() < 2 {
        return 0.0;
    }
    let squares: f64 = latencies
        .occupied()
        .map(|(first, width, count)| {
            let middle = (first as f64 + (width - 1) as f64 / 2.0).clamp(min as f64, max as f64);
            count as f64 * (middle - mean).powi(2)
        })
        .sum();
    (squares / (latencies.count() - 1) as f64).sqrt()
}

fn put_latency_shares(object: &mut Object, flows: &[Flow]) {
    let shares = LatencyShares::of(flows.iter().map(|flow| &flow.completion));
    let bounds = BOUNDS.map(|bound| bound.to_string());
    let bounds: Vec<&str> = bounds.iter().map(String::as_str).collect();
    object.put("latency_ns", zip(&bounds, shares.ns));
    object.put("latency_us", zip(&bounds, shares.us));
    let bounds: Vec<&str> = bounds.into_iter().chain(["2000", ">=2000"]).collect();
    object.put("latency_ms", zip(&bounds, shares.ms));
}

/// How many I/Os went to the kernel at once is only known where it cannot have been more than four; elsewhere all are
/// 0, as in fio where nothing was counted.
fn batch_shares(entry: &Entry<'_>) -> [f64; 7] {
    let is_small = entry.outcome.engine.kind == EngineKind::Sync
        || entry.last.job.iodepth.min(entry.last.job.batch) <= 4;
    if is_small && entry.outcome.ios() > 0 { [0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0] } else { [0.0; 7] }
}

fn zip<const N: usize>(names: &[&str], shares: [f64; N]) -> Object {
    names.iter().copied().zip(shares).collect()
}

fn disk_object(disk: &DiskUtil) -> Object {
    let mut object = Object::default();
    object.put("name", disk.name.as_str());
    object.put("read_ios", disk.read_ios);
    object.put("write_ios", disk.write_ios);
    object.put("read_merges", disk.read_merges);
    object.put("write_merges", disk.write_merges);
    object.put("read_ticks", disk.read_ms);
    object.put("write_ticks", disk.write_ms);
    object.put("in_queue", disk.queue_ms);
    object.put("util", disk.busy_percent());
    if let Some(slaves) = &disk.slaves {
        object.put("aggr_read_ios", slaves.read_ios);
        object.put("aggr_write_ios", slaves.write_ios);
        object.put("aggr_read_merges", slaves.read_merges);
        // Without the s in fio, too.
        object.put("aggr_write_merge", slaves.write_merges);
        object.put("aggr_read_ticks", slaves.read_ms);
        object.put("aggr_write_ticks", slaves.write_ms);
        object.put("aggr_in_queue", slaves.queue_ms);
        object.put("aggr_util", slaves.busy_percent);
    }
    object
}
