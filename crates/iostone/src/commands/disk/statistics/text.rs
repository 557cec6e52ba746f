//! The statistics in words and tables.

use std::fmt::Write;
use std::path::Path;

use iostone_model::sample::{NvmeActivity, NvmeCounters, NvmeLatencyBin, NvmeSizeClass, nvme_percentile};
use iostone_model::units::Bytes;
use iostone_probe::nvme::Reading;
use iostone_report::clean;

/// The percentiles that are told.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
const LABEL_WIDTH: usize = 31;

/// The device, what it counted, how long limits were exceeded, and the latencies; over an interval if there is one.
pub(super) fn in_words(path: &Path, reading: &Reading, activity: Option<&NvmeActivity>) -> String {
    let statistics = &reading.statistics;
    let mut text = format!("{}: {}", clean(&path.display().to_string()), statistics.kind.name());
    if let Some(identity) = &reading.identity {
        let _ = write!(text, " {}", clean(&identity.serial));
        if let Some(name) = &identity.attached_as {
            let _ = write!(text, ", attached as {}", clean(name));
        }
    }
    let (counters, queue) = if let Some(activity) = activity {
        let _ = writeln!(text, ", over {:.3} s", activity.seconds);
        let (before, after) = (activity.queue_length_before, activity.queue_length_after);
        (&activity.grown, format!("{before} before, {after} after"))
    } else {
        let _ = writeln!(text, ", since the volume was attached or the instance started");
        (&statistics.counters, format!("{} now", statistics.queue_length))
    };
    write_totals(&mut text, counters);
    line(&mut text, "queue", &queue);
    write_exceeded(&mut text, counters, activity.map(|activity| activity.seconds));
    write_latencies(&mut text, "reads", &counters.read_latency);
    write_latencies(&mut text, "writes", &counters.write_latency);
    for class in &counters.by_size {
        write_class(&mut text, class, counters);
    }
    text
}

fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<LABEL_WIDTH$} {value}");
}

fn write_totals(text: &mut String, counters: &NvmeCounters) {
    let total = |count: u64, bytes: u64, time_us: u64| {
        let mean = if count == 0 {
            String::new()
        } else {
            format!(", {:.0} us each", time_us as f64 / count as f64)
        };
        format!("{count}, {}{mean}", Bytes(bytes).approximate())
    };
    line(text, "reads", &total(counters.reads, counters.read_bytes, counters.read_time_us));
    line(text, "writes", &total(counters.writes, counters.written_bytes, counters.write_time_us));
}

fn write_exceeded(text: &mut String, counters: &NvmeCounters, of_seconds: Option<f64>) {
    let limits = [
        ("above the volume's IOPS", counters.volume_iops_exceeded_us),
        ("above the volume's throughput", counters.volume_throughput_exceeded_us),
        ("above the instance's IOPS", Some(counters.instance_iops_exceeded_us)),
        ("above the instance's throughput", Some(counters.instance_throughput_exceeded_us)),
    ];
    for (label, exceeded_us) in limits {
        let Some(exceeded_us) = exceeded_us else { continue };
        let seconds = exceeded_us as f64 / 1e6;
        let share = of_seconds
            .filter(|of| *of > 0.0)
            .map(|of| format!(", {:.1} % of the time", 100.0 * seconds / of))
            .unwrap_or_default();
        line(text, label, &format!("{seconds:.3} s{share}"));
    }
}

/// Percentiles, then each bin that holds something.
fn write_latencies(text: &mut String, of: &str, bins: &[NvmeLatencyBin]) {
    let percentiles: Vec<String> = PERCENTILES
        .iter()
        .filter_map(|(name, share)| {
            nvme_percentile(bins, *share).map(|bin| format!("{name} {}", within(bin)))
        })
        .collect();
    if percentiles.is_empty() {
        return;
    }
    let _ = writeln!(text, "latency of {of}: {}", percentiles.join(", "));
    for bin in bins.iter().filter(|bin| bin.count > 0) {
        line(text, &bounds(*bin), &bin.count.to_string());
    }
}

fn write_class(text: &mut String, class: &NvmeSizeClass, counters: &NvmeCounters) {
    let size = class.largest_bytes.map_or_else(
        || "of any larger size".to_owned(),
        |bytes| format!("of up to {}", Bytes(u64::from(bytes)).approximate()),
    );
    for (of, counts, bins) in
        [("reads", &class.reads, &counters.read_latency), ("writes", &class.writes, &counters.write_latency)]
    {
        let held = counts.iter().zip(bins).filter(|(count, _)| **count > 0);
        let parts: Vec<String> = held.map(|(count, bin)| format!("{} {count}", bounds(*bin))).collect();
        if !parts.is_empty() {
            let _ = writeln!(text, "{of} {size}: {}", parts.join(", "));
        }
    }
}

/// No more is known of a percentile than the bounds of its bin.
fn within(bin: NvmeLatencyBin) -> String {
    bin.upper_us.map_or_else(|| format!("above {} us", bin.lower_us), |upper| format!("up to {upper} us"))
}

fn bounds(bin: NvmeLatencyBin) -> String {
    bin.upper_us.map_or_else(
        || format!("above {} us", bin.lower_us),
        |upper| format!("{} to {upper} us", bin.lower_us),
    )
}
