//! `_trace.txt`: everything that was measured at each point. ORION's own layout is published nowhere; this one is iostone's.

use std::fmt::Write;

use iostone_model::orion::{LatencyFigures, LoadFigures, OrionRecord, PointRecord, TransferFigures};

use super::cells::estimates;
use super::results::{one_line, reservations, told_points};
use super::tables::MEGABYTE;

/// The text of the trace: a line for each point in the order of measurement, `name=value` behind each other, and below it,
/// set in, its notes. Latencies are in microseconds, and a figure that there is none of is left out.
pub fn trace(record: &OrionRecord) -> String {
    let header = &record.header;
    let mut text = format!(
        "# Measured by iostone {}, begun {}. The layout is iostone's: ORION's is not published.\n\
         # A line is a point. Names end in their unit; mbps is 10^6 bytes per second, cpu seconds of the processor.\n",
        one_line(&header.iostone_version),
        one_line(&header.started_at),
    );
    for (name, fact) in &header.machine {
        let _ = writeln!(text, "# {}: {}", one_line(name), one_line(fact));
    }
    for limit in &header.limits {
        let (on, from) = (one_line(&limit.on), one_line(&limit.from));
        let _ = writeln!(text, "# limit on {on}: {:?} {} per second, from {from}", limit.kind, limit.value);
    }
    for point in &record.points {
        push_point(&mut text, point, told_points(record));
    }
    for cell in estimates(record) {
        let _ = write!(text, "estimated small={} large={}", cell.small, cell.large);
        push_some(&mut text, " iops=", cell.iops, 1.0);
        push_some(&mut text, " mean_us=", cell.latency, 1e6);
        push_some(&mut text, " mbps=", cell.throughput, 1.0 / MEGABYTE);
        let _ = writeln!(text, " within_percent={:.2}", cell.error * 100.0);
    }
    for line in reservations(record) {
        let _ = writeln!(text, "# {line}");
    }
    text
}

fn push_point(text: &mut String, point: &PointRecord, total: u32) {
    let _ = write!(
        text,
        "point={} of={total} small={} large={} started_at={} seconds={:.3}",
        point.number,
        point.small,
        point.large,
        one_line(&point.started_at),
        point.seconds,
    );
    if let Some(small) = &point.small_io {
        push_load(text, "small", small, point.seconds);
    }
    if let Some(large) = &point.large_io {
        push_load(text, "large", large, point.seconds);
    }
    let [user, system] = point.cpu_seconds;
    let _ = write!(text, " cpu.user={user:.3} cpu.system={system:.3}");
    push_some(text, " precision_percent=", point.precision, 100.0);
    if point.warming_bytes > 0 {
        let _ = write!(text, " warming_bytes={}", point.warming_bytes);
    }
    if let Some(served) = &point.served {
        let _ = write!(
            text,
            " served.devices={} served.reads={} served.read_bytes={} served.writes={} served.written_bytes={} \
             served.flushes={}",
            one_line(&served.devices.join(",")),
            served.reads,
            served.read_bytes,
            served.writes,
            served.written_bytes,
            served.flushes,
        );
    }
    text.push('\n');
    for note in &point.notes {
        let _ = writeln!(text, "    {}", one_line(note));
    }
}

fn push_load(text: &mut String, name: &str, load: &LoadFigures, seconds: f64) {
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let _ = write!(text, " {name}.iops={:.3}", per_second(load.ios()));
    let _ = write!(text, " {name}.mbps={:.3}", per_second(load.bytes()) / MEGABYTE);
    push_latency(text, name, load.latency.as_ref());
    for (kind, transfer) in [("read", &load.reads), ("write", &load.writes)] {
        push_transfer(text, &format!("{name}.{kind}"), transfer);
    }
}

fn push_transfer(text: &mut String, name: &str, transfer: &TransferFigures) {
    if transfer.ios > 0 {
        let _ = write!(text, " {name}.ios={} {name}.bytes={}", transfer.ios, transfer.bytes);
        push_latency(text, name, transfer.latency.as_ref());
    }
}

fn push_latency(text: &mut String, name: &str, latency: Option<&LatencyFigures>) {
    let Some(latency) = latency else { return };
    for (figure, seconds) in [
        ("mean", latency.mean),
        ("min", latency.min),
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p99_9),
        ("p99.99", latency.p99_99),
        ("max", latency.max),
        ("deviation", latency.deviation),
    ] {
        let _ = write!(text, " {name}.{figure}_us={:.3}", seconds * 1e6);
    }
}

fn push_some(text: &mut String, name: &str, value: Option<f64>, scale: f64) {
    if let Some(value) = value {
        let _ = write!(text, "{name}{:.3}", value * scale);
    }
}
