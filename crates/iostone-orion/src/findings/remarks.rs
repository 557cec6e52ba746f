//! What should be known beside the figures of a test, a sentence each.

use iostone_model::metric::Unit;
use iostone_model::orion::{LoadFigures, LoadPoint, OrionRecord, PointRecord, TransferFigures};

/// Claimed and served bytes of a whole test may differ by this share: requests under way at the edges of each point.
const SERVED_TOLERANCE: f64 = 0.05;
/// Where no precision was asked for, a rate known no better than this is worth a remark.
const WIDE: f64 = 0.10;
/// At the point of most IOPS, latency this much above its minimum is no accident.
const LATENCY_RATIO: f64 = 1.1;

/// All remarks, in the order in which they matter.
pub(super) fn remarks(record: &OrionRecord) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(tell_page_cache(record));
    remarks.extend(tell_idleness(record));
    remarks.extend(tell_served(record, "read", |io| &io.reads, |served| served.read_bytes));
    remarks.extend(tell_served(record, "written", |io| &io.writes, |served| served.written_bytes));
    remarks.extend(tell_extremes(record));
    remarks.extend(tell_precision(record));
    remarks.extend(tell_estimates(record));
    remarks.extend(tell_notes(record));
    remarks.extend(tell_end(record));
    remarks
}

fn tell_page_cache(record: &OrionRecord) -> Option<String> {
    let sentence = "I/O went through the page cache: rates and latencies may be those of memory";
    (!record.header.direct).then(|| sentence.to_owned())
}

/// What was noted at the point without load.
fn tell_idleness(record: &OrionRecord) -> Vec<String> {
    record.at(LoadPoint { small: 0, large: 0 }).map(|point| point.notes.clone()).unwrap_or_default()
}

/// Bytes claimed against bytes served, of all points where both are known.
fn tell_served(
    record: &OrionRecord,
    word: &str,
    direction: fn(&LoadFigures) -> &TransferFigures,
    served_bytes: fn(&iostone_model::orion::ServedAtPoint) -> u64,
) -> Option<String> {
    let (mut claimed, mut served) = (0, 0);
    let mut devices: Vec<&str> = Vec::new();
    for point in &record.points {
        let bytes: u64 = loads(point).map(|io| direction(io).bytes).sum();
        let Some(counted) = point.served.as_ref().filter(|_| bytes > 0) else { continue };
        claimed += bytes;
        served += served_bytes(counted);
        devices.extend(counted.devices.iter().map(String::as_str));
    }
    devices.sort_unstable();
    devices.dedup();
    let share = if claimed > 0 { served as f64 / claimed as f64 } else { 1.0 };
    let (claimed, told) = (Unit::Bytes.format(claimed as f64), Unit::Bytes.format(served as f64));
    let (devices, share_told) = (devices.join(", "), Unit::Share.format(share));
    if share < 1.0 - SERVED_TOLERANCE {
        let cause = "the rest came to a cache above, so the rates are not the storage's";
        Some(format!("of {claimed} {word}, {devices} served {told} ({share_told}): {cause}"))
    } else if share > 1.0 + SERVED_TOLERANCE {
        let cause = "others used it too, or what lies above adds I/O of its own";
        Some(format!("{devices} served {told} {word} where {claimed} were asked for ({share_told}): {cause}"))
    } else {
        None
    }
}

fn loads(point: &PointRecord) -> impl Iterator<Item = &LoadFigures> {
    [&point.small_io, &point.large_io].into_iter().flatten()
}

/// ORION prints most IOPS and least latency one below the other, and readers take them for one state of the storage.
fn tell_extremes(record: &OrionRecord) -> Option<String> {
    let maxima = record.maxima();
    let (most, least) = (maxima.iops?, maxima.latency?);
    let latency = record.at(most.point)?.latency()?;
    let ratio = latency / least.value;
    (most.point != least.point && ratio >= LATENCY_RATIO).then(|| {
        let (there, lowest) = (Unit::Seconds.format(latency), Unit::Seconds.format(least.value));
        format!(
            "Maximum IOPS ({}) and minimum latency ({}) lie at different points: at the maximum, latency is {ratio:.1} times the minimum, {there} to {lowest}",
            most.point, least.point
        )
    })
}

fn tell_precision(record: &OrionRecord) -> Option<String> {
    let wanted = record.header.until.unwrap_or(WIDE);
    let precise = |point: &PointRecord| point.precision.filter(|precision| *precision > wanted);
    let wide = record.points.iter().filter_map(|point| Some((precise(point)?, point.point())));
    let count = wide.clone().count();
    let (worst, at) = wide.reduce(|worst, other| if other.0 > worst.0 { other } else { worst })?;
    let (wanted, worst) = (Unit::Share.format(wanted), Unit::Share.format(worst));
    let all = record.points.len();
    Some(format!("{count} of {all} points are less precise than ±{wanted}, the worst ±{worst} at {at}"))
}

fn tell_estimates(record: &OrionRecord) -> Option<String> {
    let estimates = &record.end.as_ref()?.estimates;
    let worst = estimates.iter().map(|cell| cell.error).reduce(f64::max)?;
    let (count, all) = (estimates.len(), record.header.total_points);
    let worst = Unit::Share.format(worst);
    Some(format!("{count} of {all} points were not measured but estimated, each within {worst} at most"))
}

fn tell_notes(record: &OrionRecord) -> Option<String> {
    let loaded = |point: &&PointRecord| point.small > 0 || point.large > 0;
    let noted =
        record.points.iter().filter(loaded).filter_map(|point| Some((point.point(), point.notes.first()?)));
    let count = noted.clone().count();
    match noted.clone().next()? {
        (at, note) if count == 1 => Some(format!("at {at}: {note}")),
        (at, note) => Some(format!("{count} points have notes; the first, at {at}: {note}")),
    }
}

fn tell_end(record: &OrionRecord) -> Option<String> {
    if record.is_finished() {
        return None;
    }
    let (count, all) = (record.points.len(), record.header.total_points);
    // How many points a knee takes is not known beforehand.
    let of = if record.header.knee || record.header.adaptive.is_some() {
        String::new()
    } else {
        format!(" of {all}")
    };
    let reason = record.end.as_ref().and_then(|end| end.reason.as_deref()).unwrap_or("it was killed");
    Some(format!("the test is not finished, with {count}{of} points measured: {reason}"))
}
