//! What an ORION test asked, and of what: the lines below its figures.

use iostone_model::orion::{LargeIo, LunKind, OrionRecord, SimulatedArray};

use super::when;
use crate::figures::{count, counted, declared_percent, duration};
use crate::html::quote;
use crate::load_points::{self, size};

/// What was asked, a line each.
pub(super) fn test(record: &OrionRecord) -> Vec<(String, String)> {
    let header = &record.header;
    let test = &header.test;
    let mut lines: Vec<(&str, String)> = vec![
        (
            "Run",
            format!(
                "{}, matrix {}, {}",
                test.run.word(),
                test.shape().word(),
                counted(u64::from(header.num_disks), "disk")
            ),
        ),
        ("Small I/O", format!("{} at random places", size(test.size_small.0))),
        (
            "Large I/O",
            match test.large_io {
                LargeIo::Rand => format!("{} at random places", size(test.size_large.0)),
                LargeIo::Seq => format!(
                    "{} in sequential streams, {} in flight each",
                    size(test.size_large.0),
                    test.num_stream_io
                ),
            },
        ),
        ("Writes", format!("{} %", test.write_percent)),
        (
            "Array",
            match test.simulate {
                SimulatedArray::Concat => "the LUNs one behind the other".to_owned(),
                SimulatedArray::Raid0 => format!("striped over the LUNs, {} at a time", size(test.stripe.0)),
            },
        ),
        (
            "Each point",
            match header.until {
                Some(share) => format!("until its rate is known to ±{}", declared_percent(share)),
                None => duration(test.duration.0.as_secs_f64()),
            },
        ),
    ];
    if let Some(share) = header.adaptive {
        let rule = format!("points that the others predict within {} are estimated", declared_percent(share));
        lines.push(("Adaptive", rule));
    }
    let warmed: u64 = record.points.iter().map(|point| point.warming_bytes).fold(0, u64::saturating_add);
    if warmed > 0 {
        lines.push(("Warming", format!("{} moved unmeasured before sequential points", size(warmed))));
    }
    lines.push(("Page cache", if header.direct { "gone around (O_DIRECT)" } else { "in use" }.to_owned()));
    lines.push(("Seed", format!("{:#x}", header.seed)));
    for (at, lun) in header.luns.iter().enumerate() {
        let kind = match lun.kind {
            LunKind::File => "file",
            LunKind::Device => "device",
        };
        let label = if at == 0 { "LUNs" } else { "" };
        lines.push((label, format!("{}, {kind}, {} ({} B)", lun.name, size(lun.bytes), count(lun.bytes))));
    }
    for (at, limit) in header.limits.iter().enumerate() {
        let label = if at == 0 { "Limits" } else { "" };
        lines.push((label, format!("{} (from {})", load_points::limit_words(limit), limit.from)));
    }
    if let Some(end) = &record.end {
        lines.push(("Ended", when(&end.ended_at)));
    }
    lines.into_iter().map(|(label, text)| (label.to_owned(), text)).collect()
}

/// `block_device` as "Block device".
pub(super) fn words(name: &str) -> String {
    match name {
        "cpu" => "CPU".to_owned(),
        other => crate::svg::forest::capitalised(&other.replace('_', " ")),
    }
}

pub(super) fn command(record: &OrionRecord) -> String {
    let words = record.header.arguments.iter().map(|word| quote(word));
    let words: Vec<String> = ["iostone".to_owned(), "orion".to_owned()].into_iter().chain(words).collect();
    words.join(" ")
}
