//! What explains a figure above a ceiling: memory, credits, or nothing that is known.

use iostone_model::ceiling::{Held, HeldState};
use iostone_model::explanation::{Excess, ExcessCause};
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;

use super::{Below, Flow, Measured, USUAL_DIRTY_SHARE, dirty_share};

/// A smaller share of unserved bytes is what an unfinished request can explain.
const WORTH_SAYING: f64 = 0.10;

/// What explains it: `lowest` is the lowest ceiling in the long run, `narrowest` the one that lets through least at its best.
pub(super) fn of(measured: &Measured, lowest: Option<&Held>, narrowest: Option<&Held>) -> Option<Excess> {
    let narrowest = narrowest?;
    if narrowest.state == HeldState::Exceeded {
        let beyond = measured.seconds.map(|seconds| (measured.value - narrowest.at_best) * seconds);
        let found = above(measured, beyond);
        let unexplained = found.because == ExcessCause::AboveEveryCeiling;
        let below = measured.below.as_ref().filter(|_| unexplained);
        let found = below.and_then(|below| of_memory_below(below, measured.flow)).unwrap_or(found);
        return Some(Excess { beyond, unserved: unserved(measured).is_some(), ..found });
    }
    let lowest = lowest?;
    matches!(lowest.state, HeldState::OnCredits | HeldState::BindsInBurst).then(|| {
        let beyond = measured.seconds.map(|seconds| (measured.value - lowest.ceiling.at_most) * seconds);
        let allowed = measured.seconds.map(|seconds| (lowest.at_best - lowest.ceiling.at_most) * seconds);
        let words = match beyond {
            Some(beyond) => format!("a bucket of credits gave {}", amount(measured.unit, beyond)),
            None => "a bucket of credits gave the rest".to_owned(),
        };
        Excess { beyond, ..excess(ExcessCause::BurstCredits, allowed, words) }
    })
}

/// An explanation, and what it allows beyond the ceiling.
fn excess(because: ExcessCause, allowed: Option<f64>, words: impl Into<String>) -> Excess {
    Excess { because, beyond: None, allowed, unserved: false, words: words.into() }
}

/// Nothing that is known explains it, and why not.
fn unexplained(allowed: Option<f64>, words: impl Into<String>) -> Excess {
    excess(ExcessCause::AboveEveryCeiling, allowed, words)
}

/// Bytes, or a number of I/Os.
pub(super) fn amount(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => Unit::Bytes.format(value),
        _ => format!("{value:.0} I/Os"),
    }
}

fn above(measured: &Measured, beyond: Option<f64>) -> Excess {
    if measured.reached_device == Some(true) {
        let words = "every byte passed the devices, so the ceiling is not what is known of it, or it is another machine's";
        return unexplained(None, words);
    }
    if measured.unit != Unit::BytesPerSecond && measured.flow != Some(Flow::Read) {
        return unexplained(None, "nothing that is known explains it");
    }
    match measured.flow {
        Some(Flow::Write) => written(measured, beyond),
        Some(Flow::Read) => unserved(measured).unwrap_or_else(|| read(measured)),
        Some(Flow::Both) | None => unserved(measured).unwrap_or_else(|| {
            let words =
                "memory may have taken part, but how much was read and written in which time is not known";
            unexplained(None, words)
        }),
    }
}

/// Where the device is a file, the page cache of the machine that holds it stands below it, direct I/O or not: what the devices of
/// that file moved tells whether it did the work.
fn of_memory_below(below: &Below, flow: Option<Flow>) -> Option<Excess> {
    let Below { device, moved, holders } = below;
    let Some((names, held)) = holders else {
        let words = format!(
            "every byte passed {device}, which is a file, and what its page cache answered is not known: no disk below it was \
             watched"
        );
        return Some(unexplained(None, words));
    };
    let missing = moved - held;
    (*moved > 0.0 && missing > WORTH_SAYING * moved).then(|| {
        let did = match flow {
            Some(Flow::Read) => "answered",
            Some(Flow::Write) => "took it in",
            Some(Flow::Both) | None => "stood in for it",
        };
        let words = format!(
            "the page cache below {device} {did}: of the {} that {device} moved, {names} moved {}",
            Unit::Bytes.format(*moved),
            Unit::Bytes.format(*held)
        );
        excess(ExcessCause::PageCache, Some(missing), words)
    })
}

/// Bytes that did not fit through a ceiling in the time, against what memory may keep dirty.
fn written(measured: &Measured, beyond: Option<f64>) -> Excess {
    let limit = dirty_limit(measured);
    let (Some(bytes), Some(seconds)) = (beyond, measured.seconds) else {
        let words = "whether memory kept the rest is not known without the time that it took";
        return unexplained(limit.map(|(bytes, _)| bytes), words);
    };
    let what = format!(
        "{} of the {} written did not fit through it in {}",
        Unit::Bytes.format(bytes),
        Unit::Bytes.format(measured.value * seconds),
        Unit::Seconds.format(seconds)
    );
    match limit {
        None => unexplained(None, format!("{what}; whether memory kept them is not known without its size")),
        Some((allowed, words)) if bytes <= allowed => {
            let words = format!("{what} and stayed in memory: {words} may");
            excess(ExcessCause::PageCache, Some(allowed), words)
        }
        Some((allowed, words)) => {
            unexplained(Some(allowed), format!("{what}, more than memory keeps unwritten ({words})"))
        }
    }
}

/// What may be dirty, and how to say so: "20 % of 30.0 GiB = 6.44 GB".
fn dirty_limit(measured: &Measured) -> Option<(f64, String)> {
    measured.dirty_limit.clone().or_else(|| Some(dirty_share(measured.memory_bytes?, USUAL_DIRTY_SHARE)))
}

fn read(measured: &Measured) -> Excess {
    let moved = measured.seconds.filter(|_| measured.unit == Unit::BytesPerSecond);
    let moved = moved.map(|seconds| measured.value * seconds);
    let at_most = [measured.at_most_bytes, moved].into_iter().flatten().reduce(f64::min);
    match (measured.working_set_bytes, at_most, measured.memory_bytes) {
        (Some(set), _, Some(memory)) => {
            let beside = format!("{} were worked on, beside {} of it", sized(set), sized(memory));
            if set <= memory {
                excess(ExcessCause::PageCache, Some(memory), format!("memory answered: {beside}"))
            } else {
                unexplained(Some(memory), format!("memory alone cannot have answered: {beside}"))
            }
        }
        (None, Some(most), Some(memory)) if most <= memory => {
            let beside = format!("at most {} were worked on, beside {} of it", sized(most), sized(memory));
            excess(ExcessCause::PageCache, Some(memory), format!("memory can have answered: {beside}"))
        }
        (None, _, Some(memory)) => {
            let kept = sized(memory);
            let words = format!(
                "the page cache is likely, with {kept} of memory; only how much was read is not known"
            );
            unexplained(Some(memory), words)
        }
        (Some(set), _, None) => {
            let set = sized(set);
            let words = format!(
                "the page cache is likely: {set} were worked on; only how much memory there is is not known"
            );
            unexplained(None, words)
        }
        (None, _, None) => {
            let words = "the page cache is likely, but how much was read beside how much memory is not known";
            unexplained(None, words)
        }
    }
}

/// Where more was claimed than the devices served, memory answered the rest.
fn unserved(measured: &Measured) -> Option<Excess> {
    let (claimed, served) = measured.claimed_and_served_bytes?;
    let missing = claimed - served;
    (claimed > 0.0 && missing > WORTH_SAYING * claimed).then(|| {
        let (claimed, served) = (Unit::Bytes.format(claimed), Unit::Bytes.format(served));
        let words = format!("memory answered: of {claimed} claimed the devices served {served}");
        excess(ExcessCause::PageCache, Some(missing), words)
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are positive and below 2^53"
)]
pub(super) fn sized(bytes: f64) -> String {
    Bytes(bytes.max(0.0) as u64).approximate()
}
