//! The answers of a server in words.

use std::fmt::Write;

use iostone_disk::{CutReport, OperationCounters, ServerReport, VolumeReport};
use iostone_model::units::{ByteRate, Bytes};
use iostone_report::clean;

/// The counters of all volumes, a line for each operation that was asked for.
pub(super) fn counters(report: &ServerReport) -> String {
    let mut text = String::new();
    for volume in &report.volumes {
        write_volume(&mut text, volume);
    }
    if let Some(rate) = report.link {
        write_link(&mut text, rate, report);
    }
    if let Some(trouble) = report.trouble_below() {
        let _ = writeln!(text, "{}", clean(&trouble));
    }
    text
}

fn write_link(text: &mut String, rate: ByteRate, report: &ServerReport) {
    let cap = report.link_iops.map(|iops| format!(" and {iops} IOPS")).unwrap_or_default();
    let (bytes, ios) = (Bytes(report.link_bytes), report.link_ios);
    let _ = writeln!(text, "link of {rate}{cap}: {bytes} in {ios} I/Os");
    if let Some(credits) = report.link_credits {
        let _ = writeln!(text, "  burst: {credits:.0} I/Os left");
    }
    if let Some(bytes) = report.link_credit_bytes {
        let _ = writeln!(text, "  burst: {bytes:.0} bytes left");
    }
}

fn write_volume(text: &mut String, volume: &VolumeReport) {
    let counters = &volume.counters;
    let power = if counters.powered { "" } else { ", power off" };
    let _ = writeln!(text, "{}{power}", clean(&volume.name));
    for (name, done) in [
        ("reads", &counters.reads),
        ("writes", &counters.writes),
        ("flushes", &counters.flushes),
        ("discards", &counters.discards),
    ] {
        write_operation(text, name, done);
    }
    if let Some(credits) = counters.credits {
        let _ = writeln!(text, "  burst: {credits:.0} I/Os left");
    }
    if let Some(bytes) = counters.credit_bytes {
        let _ = writeln!(text, "  burst: {bytes:.0} bytes left");
    }
    if let Some(cache) = &volume.cache {
        let _ = writeln!(
            text,
            "  cache: {} of {} blocks dirty; written back: {} as it was full, {} in the background, {} by flushes; {} lost",
            cache.dirty_blocks,
            cache.capacity_blocks,
            cache.evicted_blocks,
            cache.destaged_blocks,
            cache.flushed_blocks,
            cache.lost_blocks
        );
    }
}

fn write_operation(text: &mut String, name: &str, done: &OperationCounters) {
    if done.requests == 0 {
        return;
    }
    let _ = write!(text, "  {name}: {}", done.requests);
    if done.bytes > 0 {
        let _ = write!(text, ", {} bytes", done.bytes);
    }
    if done.ios > 0 {
        let _ = write!(text, ", {} I/Os as charged", done.ios);
    }
    if done.errors > 0 {
        let _ = write!(text, ", {} failed", done.errors);
    }
    if let Some(mean_ns) = done.service.mean_ns() {
        let _ = write!(text, ", {:.3}ms on average", mean_ns / 1e6);
    }
    text.push('\n');
}

/// What power cuts did.
pub(super) fn cuts(reports: &[CutReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let name = clean(&report.name);
        let _ = match report.cache {
            Some(cut) => writeln!(
                text,
                "{name}: power off, {} unflushed blocks reached the medium, {} are lost",
                cut.kept_blocks, cut.lost_blocks
            ),
            None => writeln!(text, "{name}: power off; without a cache nothing acknowledged is lost"),
        };
    }
    text
}
