//! Says what bounded the rates of a test: a known limit, a plateau, or the load itself.

mod curve;
mod usage;

use iostone_model::ceiling::{BINDS, exceeded_from, slice};
use iostone_model::orion::{BoundBy, Ceiling, OrionRecord, Plateau};

use crate::schedule::growth::Growth;
use curve::{Curve, flat_ranges};
use usage::{Usage, usages};

/// Less above a limit than this share shows as 100 %.
const SHOWN: f64 = 0.005;

/// What bounds small I/O alone, and large I/O alone, at the point of its highest rate.
///
/// Of the known limits ([`OrionHeader::limits`](iostone_model::orion::OrionHeader::limits)) the one that is used most binds
/// when at least 95 % of it is used, reads and writes counted apart; one that is used by more than 103 %, and what a slice of
/// the kernel's clock adds in a short time, is told to be exceeded. The kernel counts I/Os after it has split large ones
/// into what the device takes at once (`max_sectors_kb`), so large I/O is held against limits on I/Os by the requests that
/// the limited device served, where they were counted. Without such a limit it is a plateau where the rate lies on one of
/// [`plateaus`], or where the highest load did not bring over 5 %, and more than the points' precision, above every lower
/// load; otherwise the load itself.
pub fn ceilings(record: &OrionRecord) -> Vec<Ceiling> {
    [true, false].into_iter().filter_map(|small| ceiling(record, small)).collect()
}

/// Ranges of load, a doubling or more, over which the rate of small (then of large) I/O alone stayed within 5 % while
/// latency grew by at least the square root of the load.
pub fn plateaus(record: &OrionRecord) -> Vec<Plateau> {
    [true, false].into_iter().flat_map(|small| flat_ranges(&Curve::of(&record.points, small))).collect()
}

fn ceiling(record: &OrionRecord, small: bool) -> Option<Ceiling> {
    let curve = Curve::of(&record.points, small);
    let best = curve.best()?;
    let mut used = usages(&record.header.limits, best.record, small);
    used.sort_by(|a, b| b.share.total_cmp(&a.share));
    let (bound_by, sentence) = match used.first() {
        Some(most) if most.share >= BINDS => {
            let others = used.iter().skip(1).filter(|other| other.share >= BINDS);
            let sentence = tell_limit(most, others, best.record.seconds, record.header.direct);
            (BoundBy::Limit { limit: most.limit.clone(), share: most.share }, sentence)
        }
        most => tell_curve(&curve, most),
    };
    Some(Ceiling { small, point: best.record.point(), bound_by, sentence })
}

fn tell_limit<'a>(
    most: &Usage,
    others: impl Iterator<Item = &'a Usage<'a>>,
    seconds: f64,
    direct: bool,
) -> String {
    let exceeded = exceeded_from(seconds);
    let (limit, measured, share) = (most.limit_in_words(), most.measured_in_words(), most.share_in_words());
    let on = &most.limit.on;
    let mut sentence = if most.share > exceeded {
        let why = if direct { "a cache, or a burst" } else { "the page cache, or a burst" };
        format!("{limit} on {on} were exceeded: {measured} were measured, {share}; {why}")
    } else {
        let known = tell_slice(most.share, seconds);
        format!("{limit} on {on} bind: {measured} were measured, {share}{known}")
    };
    for other in others {
        let (limit, share, on) = (other.limit_in_words(), other.share_in_words(), &other.limit.on);
        let place = if *on == most.limit.on { String::new() } else { format!(" on {on}") };
        let verb = if other.share > exceeded { "were exceeded as well" } else { "bind as well" };
        sentence = format!("{sentence}; {limit}{place} {verb}, {share}");
    }
    sentence
}

/// Why more than all of a limit was measured, where the window's edges explain it.
fn tell_slice(share: f64, seconds: f64) -> String {
    let slice = slice(seconds);
    if (SHOWN..=slice).contains(&(share - 1.0)) {
        // No more digits than either has a meaning to.
        let (window, known) = ((seconds * 10.0).round() / 10.0, (slice * 1000.0).round() / 10.0);
        format!(" (a window of {window} s is known to ±{known} %)")
    } else {
        String::new()
    }
}

fn tell_curve(curve: &Curve, most: Option<&Usage>) -> (BoundBy, String) {
    let what = if curve.small { "small" } else { "large" };
    let (Some(best), Some(top)) = (curve.best(), curve.points.last()) else {
        return (BoundBy::Load, String::new());
    };
    let rate = curve.unit().format(best.rate);
    let plateau = flat_ranges(curve).into_iter().find(|flat| (flat.from..=flat.to).contains(&best.load));
    let (bound_by, mut sentence) = if let Some(flat) = plateau {
        let (from, mean) = (flat.from, curve.unit().format(flat.rate));
        let until = if flat.to == top.load { "on".to_owned() } else { format!("to {}", flat.to) };
        (
            BoundBy::Plateau,
            format!("{what} I/O stays at {mean} from load {from} {until}, and only latency grows"),
        )
    } else if curve.points.len() == 1 {
        (BoundBy::Load, format!("{what} I/O was measured at one load, {rate} may not be all it can do"))
    } else if curve.growth() == Growth::Continues {
        let verb = if best.load == top.load { "still grew at" } else { "grew nearly up to" };
        (
            BoundBy::Load,
            format!("{what} I/O {verb} the highest load, {}: {rate} may not be all it can do", top.load),
        )
    } else {
        (BoundBy::Plateau, tell_end_of_growth(curve, what))
    };
    if let Some(most) = most {
        let (share, limit, on) = (most.share_in_words(), most.limit_in_words(), &most.limit.on);
        sentence = format!("{sentence}; of the known limits, {limit} on {on} were used most, {share}");
    } else if bound_by == BoundBy::Plateau {
        sentence += "; no limit is known that would explain it";
    }
    (bound_by, sentence)
}

/// Where a rate that grows no more stopped growing.
fn tell_end_of_growth(curve: &Curve, what: &str) -> String {
    let (Some(best), Some(reached)) = (curve.best(), curve.reached()) else { return String::new() };
    let (rate, there) = (curve.unit().format(best.rate), curve.unit().format(reached.rate));
    if curve.growth() == Growth::Unsure {
        let load = best.load;
        format!(
            "{what} I/O came to {rate} at load {load}, above lower loads by less than the points are known to"
        )
    } else if reached.load == best.load {
        format!("{what} I/O stopped growing at {rate}, which load {} reached", best.load)
    } else if there == rate {
        format!("{what} I/O stopped growing at {rate}, which load {} already reached", reached.load)
    } else {
        format!(
            "{what} I/O stopped growing near {rate}, of load {}: load {} already reached {there}",
            best.load, reached.load
        )
    }
}

#[cfg(test)]
mod tests;
