//! What ORION prints: how long a test will take, and its maxima at the end.

use std::fmt::Write;

use iostone_model::orion::{LoadPoint, OrionHeader, OrionRecord, TransferFigures};

use super::Format;
use super::cells::estimates;
use super::tables::MEGABYTE;

/// What is printed as a test begins, or goes on with that many points measured before: the minutes that what is left of it
/// will take, in ORION's words.
pub fn announcement(header: &OrionHeader, measured: usize, format: Format) -> String {
    let points = usize::try_from(header.total_points).unwrap_or(usize::MAX);
    let minutes = header.test.estimated_minutes(points.saturating_sub(measured));
    match format {
        Format::V11_1 => {
            format!("Test will take approximately {minutes} minutes\nLarger caches may take longer\n")
        }
        Format::V12 => format!(
            "Calibration will take approximately {minutes} minutes.\n\
             Using a large value for -cache_size may take longer.\n"
        ),
    }
}

/// What is printed as a test ends: its maxima, each where there is one, and before them what limits them.
pub fn console(record: &OrionRecord, format: Format) -> String {
    let mut text = String::new();
    for line in reservations(record) {
        let _ = writeln!(text, "{line}");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &maxima(record, format)
}

/// ORION's result lines. A test of small I/O alone has those about small I/O, one of large I/O alone that about large I/O.
pub(super) fn maxima(record: &OrionRecord, format: Format) -> String {
    let maxima = record.maxima();
    // 12 puts what it says of a point below it, and an empty line between.
    let between = if format == Format::V12 { "\n" } else { "" };
    let mut parts: Vec<String> = Vec::new();
    if let Some(most) = maxima.throughput {
        parts.push(format!("Maximum Large MBPS={:.2} @ {}\n", most.value / MEGABYTE, most.point));
    }
    if let Some(most) = maxima.iops {
        let details = details(record, most.point, format);
        parts.push(format!("Maximum Small IOPS={:.0} @ {}\n{details}", most.value.round(), most.point));
    }
    if let Some(least) = maxima.latency {
        let value = match format {
            Format::V11_1 => format!("{:.2}", least.value * 1e3),
            Format::V12 => format!("{:.3} usecs", least.value * 1e6),
        };
        let details = details(record, least.point, format);
        parts.push(format!("Minimum Small Latency={value} @ {}\n{details}", least.point));
    }
    parts.join(between)
}

/// `Small Read Latency: avg=...` of 12, and the same of writes where there are any.
fn details(record: &OrionRecord, point: LoadPoint, format: Format) -> String {
    let mut text = String::new();
    let small = record.at(point).and_then(|record| record.small_io.as_ref());
    if let Some(small) = small.filter(|_| format == Format::V12) {
        push_detail(&mut text, "Read", &small.reads, point);
        push_detail(&mut text, "Write", &small.writes, point);
    }
    text
}

fn push_detail(text: &mut String, kind: &str, transfer: &TransferFigures, point: LoadPoint) {
    let Some(latency) = transfer.latency.as_ref().filter(|_| transfer.ios > 0) else { return };
    let [mean, min, max, deviation] =
        [latency.mean, latency.min, latency.max, latency.deviation].map(|seconds| seconds * 1e6);
    let _ = writeln!(
        text,
        "Small {kind} Latency: avg={mean:.3} us, min={min:.3} us, max={max:.3} us, std dev={deviation:.3} us @ {point}"
    );
}

/// What has to be known of the figures: points that are missing or estimated, and the knee.
pub(super) fn reservations(record: &OrionRecord) -> Vec<String> {
    let mut lines = Vec::new();
    let total = told_points(record);
    let estimated: Vec<f64> = estimates(record).map(|cell| cell.error).collect();
    if !record.is_finished() {
        let measured = record.points.len();
        let reason = record.end.as_ref().and_then(|end| end.reason.clone());
        let reason = reason.map(|reason| format!(" ({})", one_line(&reason))).unwrap_or_default();
        // How many points a knee takes is not known beforehand.
        let of = if record.header.knee { String::new() } else { format!(" of {total}") };
        let were = if measured == 1 { "was" } else { "were" };
        let points = if measured == 1 && of.is_empty() { "point" } else { "points" };
        lines.push(format!("Not finished: {measured}{of} {points} {were} measured{reason}"));
    }
    if !estimated.is_empty() {
        let error = estimated.iter().copied().fold(0.0, f64::max) * 100.0;
        let count = estimated.len();
        let were = if count == 1 { "was" } else { "were" };
        lines.push(format!(
            "{count} of {total} points {were} estimated, the least certain to about {error:.1} %"
        ));
    }
    if let Some(knee) = record.end.as_ref().and_then(|end| end.knee.as_ref()) {
        let what = if knee.small { "small" } else { "large" };
        lines.push(if knee.saturated {
            format!(
                "Knee of {what} I/O: {:.1} outstanding; at {} it does {:.0} IOPS in {:.3} ms",
                knee.load,
                knee.at,
                knee.iops.round(),
                knee.latency * 1e3,
            )
        } else {
            let loads = record.points.iter().map(|point| if knee.small { point.small } else { point.large });
            let highest = loads.max().unwrap_or(knee.at);
            format!("No knee of {what} I/O up to load {highest}: the rate still grows")
        });
    }
    lines
}

/// The points of a test: those of its plan, or those that the search for the knee took, to which no plan applies.
pub(super) fn told_points(record: &OrionRecord) -> u32 {
    if record.header.knee {
        u32::try_from(record.points.len()).unwrap_or(u32::MAX)
    } else {
        record.header.total_points
    }
}

/// Text from outside in one line, so that it cannot pass for lines of ORION.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
