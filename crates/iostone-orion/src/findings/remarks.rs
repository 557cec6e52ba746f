//! What should be known beside the figures of a test, a sentence each.

use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::orion::{LoadPoint, OrionRecord, SimulatedArray};
use iostone_model::units::Bytes;

use super::notes::tell_notes;
use super::served::tell_served;
use crate::point::untested_bytes;

/// Where no precision was asked for, a rate known no better than this is worth a remark.
const WIDE: f64 = 0.10;
/// Noise of this share of what is allowed to an estimate hardly adds to it.
const PRECISE_ENOUGH: f64 = 0.4;
/// At the point of most IOPS, latency this much above its minimum is no accident.
const LATENCY_RATIO: f64 = 1.1;
/// Less than this share of the LUNs left out is the odd end of one.
const UNTESTED: f64 = 0.01;

/// All remarks, in the order in which they matter.
pub(super) fn remarks(record: &OrionRecord) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(tell_page_cache(record));
    remarks.extend(tell_untested(record));
    remarks.extend(tell_idleness(record));
    remarks.extend(tell_served(record));
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

/// That a part of the LUNs is never read or written.
fn tell_untested(record: &OrionRecord) -> Option<String> {
    let (test, luns) = (&record.header.test, &record.header.luns);
    let all: u64 = luns.iter().map(|lun| lun.bytes).sum();
    let untested = untested_bytes(test, luns);
    let cause = if luns.len() > 1 && test.simulate == SimulatedArray::Raid0 {
        "RAID 0 uses as much of each LUN as the smallest has, in whole stripes"
    } else {
        "they fill no block at the end of a LUN"
    };
    (untested > 0 && untested as f64 >= UNTESTED * all as f64).then(|| {
        let (untested, all) = (Bytes(untested).approximate(), Bytes(all).approximate());
        format!("{untested} of {all} are not tested: {cause}")
    })
}

/// What was noted at the point without load.
fn tell_idleness(record: &OrionRecord) -> Vec<String> {
    record.at(LoadPoint { small: 0, large: 0 }).map(|point| point.notes.clone()).unwrap_or_default()
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

/// Points that are known less precisely than was asked for, and what would help where estimates rest on them.
fn tell_precision(record: &OrionRecord) -> Option<String> {
    let header = &record.header;
    let wanted = header.until.or(header.adaptive).unwrap_or(WIDE);
    let known = || record.points.iter().filter_map(|point| Some((point.precision?, point.point())));
    let wide = || known().filter(|(precision, _)| *precision > wanted);
    let (worst, at) = wide().reduce(|worst, other| if other.0 > worst.0 { other } else { worst })?;
    let (count, all) = (wide().count(), record.points.len());
    let told = Unit::Share.format(worst);
    let usual = median(known().map(|it| it.0)).unwrap_or(worst);
    let Some(target) = header.adaptive.filter(|target| usual > *target) else {
        let wanted = Unit::Share.format(wanted);
        let are = if count == 1 { "is" } else { "are" };
        return Some(format!(
            "{count} of {all} points {are} less precise than ±{wanted}, the worst ±{told} at {at}"
        ));
    };
    // With an end by precision it was the duration that ended these.
    let or_until = match header.until {
        Some(_) => String::new(),
        None => format!(" or `--until {}`", plain_percent(target * PRECISE_ENOUGH).replace(' ', "")),
    };
    Some(format!(
        "points are known to ±{} in the middle (the worst to ±{told} at {at}), worse than the {} asked for: a longer \
         `-duration`{or_until} would let more points be estimated",
        Unit::Share.format(usual),
        plain_percent(target),
    ))
}

/// `5 %`, `2.5 %`.
fn plain_percent(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

fn tell_estimates(record: &OrionRecord) -> Option<String> {
    let estimates = &record.end.as_ref()?.estimates;
    let worst = estimates.iter().map(|cell| cell.error).reduce(f64::max)?;
    let (count, all) = (estimates.len(), record.header.total_points);
    let (worst, were) = (Unit::Share.format(worst), if count == 1 { "was" } else { "were" });
    Some(format!(
        "{count} of {all} points {were} not measured but estimated, the least certain to about ±{worst}"
    ))
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
