//! What explains a figure above a ceiling: memory, credits, or nothing that is known.

use iostone_model::ceiling::{Held, HeldState};
use iostone_model::explanation::{Excess, ExcessCause};
use iostone_model::metric::Unit;
use iostone_model::units::Bytes;

use super::{Below, Flow, Measured, USUAL_DIRTY_SHARE, dirty_share};

/// A smaller share of unserved bytes is what an unfinished request can explain.
const WORTH_SAYING: f64 = 0.10;

/// What explains it: `lowest` is the lowest ceiling of the path in the long run, `narrowest` the one that lets through least
/// at its best.
pub(super) fn of(measured: &Measured, lowest: Option<&Held>, narrowest: Option<&Held>) -> Option<Excess> {
    let narrowest = narrowest?;
    if narrowest.state == HeldState::Exceeded {
        let found = above(measured, narrowest);
        let found = Excess { unserved: unserved(measured, None).is_some(), ..found };
        let unexplained = found.because == ExcessCause::AboveEveryCeiling;
        let below = measured.below.as_ref().filter(|_| unexplained);
        return below.and_then(|below| of_memory_below(below, measured.flow, &found)).or(Some(found));
    }
    let lowest = lowest?;
    matches!(lowest.state, HeldState::OnCredits | HeldState::BindsInBurst).then(|| {
        let beyond = measured.seconds.map(|seconds| (measured.value - lowest.ceiling.at_most) * seconds);
        let allowed = measured.seconds.map(|seconds| (lowest.at_best - lowest.ceiling.at_most) * seconds);
        let words = match beyond {
            Some(beyond) => format!("a bucket of credits gave {}", amount(measured.unit, beyond)),
            None => "a bucket of credits gave the rest".to_owned(),
        };
        Excess { because: ExcessCause::BurstCredits, beyond, allowed, unserved: false, words }
    })
}

/// Bytes, or a number of I/Os.
pub(super) fn amount(unit: Unit, value: f64) -> String {
    match unit {
        Unit::BytesPerSecond => Unit::Bytes.format(value),
        _ => format!("{value:.0} I/Os"),
    }
}

fn above(measured: &Measured, ceiling: &Held) -> Excess {
    let beyond = measured.seconds.map(|seconds| (measured.value - ceiling.at_best) * seconds);
    let unexplained = |words: String, allowed: Option<f64>| Excess {
        because: ExcessCause::AboveEveryCeiling,
        beyond,
        allowed,
        unserved: false,
        words,
    };
    if measured.reached_device == Some(true) {
        return unexplained(
            "every byte passed the devices, so the ceiling is not what is known of it, or it is another machine's"
                .to_owned(),
            None,
        );
    }
    if measured.unit != Unit::BytesPerSecond && measured.flow != Some(Flow::Read) {
        return unexplained("nothing that is known explains it".to_owned(), None);
    }
    match measured.flow {
        Some(Flow::Write) => written(measured, beyond),
        Some(Flow::Read) => read(measured, beyond),
        Some(Flow::Both) | None => unserved(measured, beyond).unwrap_or_else(|| {
            unexplained(
                "memory may have taken part, but how much was read and written in which time is not known"
                    .to_owned(),
                None,
            )
        }),
    }
}

/// Where the device is a file, the page cache of the machine that holds it stands below it, direct I/O or not: what the devices of
/// that file moved tells whether it did the work.
fn of_memory_below(below: &Below, flow: Option<Flow>, found: &Excess) -> Option<Excess> {
    let Below { device, moved, holders } = below;
    let Some((names, held)) = holders else {
        let words = format!(
            "every byte passed {device}, which is a file, and what its page cache answered is not known: no disk below it was \
             watched"
        );
        return Some(Excess { words, ..found.clone() });
    };
    let missing = moved - held;
    (*moved > 0.0 && missing > WORTH_SAYING * moved).then(|| {
        let did = match flow {
            Some(Flow::Read) => "answered",
            Some(Flow::Write) => "took it in",
            Some(Flow::Both) | None => "stood in for it",
        };
        Excess {
            because: ExcessCause::PageCache,
            beyond: found.beyond,
            allowed: Some(missing),
            unserved: false,
            words: format!(
                "the page cache below {device} {did}: of the {} that {device} moved, {names} moved {}",
                Unit::Bytes.format(*moved),
                Unit::Bytes.format(*held)
            ),
        }
    })
}

/// Bytes that did not fit through a ceiling in the time, against what memory may keep dirty.
fn written(measured: &Measured, beyond: Option<f64>) -> Excess {
    let excess = |because: ExcessCause, allowed: Option<f64>, words: String| Excess {
        because,
        beyond,
        allowed,
        unserved: false,
        words,
    };
    let limit = dirty_limit(measured);
    let (Some(bytes), Some(seconds)) = (beyond, measured.seconds) else {
        let words = "whether memory kept the rest is not known without the time that it took".to_owned();
        return excess(ExcessCause::AboveEveryCeiling, limit.map(|(bytes, _)| bytes), words);
    };
    let what = format!(
        "{} of the {} written did not fit through it in {}",
        Unit::Bytes.format(bytes),
        Unit::Bytes.format(measured.value * seconds),
        Unit::Seconds.format(seconds)
    );
    match limit {
        None => excess(
            ExcessCause::AboveEveryCeiling,
            None,
            format!("{what}; whether memory kept them is not known without its size"),
        ),
        Some((allowed, words)) if bytes <= allowed => {
            excess(ExcessCause::PageCache, Some(allowed), format!("{what} and stayed in memory: {words} may"))
        }
        Some((allowed, words)) => excess(
            ExcessCause::AboveEveryCeiling,
            Some(allowed),
            format!("{what}, more than memory keeps unwritten ({words})"),
        ),
    }
}

/// What may be dirty, and how to say so: "20 % of 30.0 GiB = 6.44 GB".
fn dirty_limit(measured: &Measured) -> Option<(f64, String)> {
    measured.dirty_limit.clone().or_else(|| Some(dirty_share(measured.memory_bytes?, USUAL_DIRTY_SHARE)))
}

fn read(measured: &Measured, beyond: Option<f64>) -> Excess {
    if let Some(unserved) = unserved(measured, beyond) {
        return unserved;
    }
    let excess = |because: ExcessCause, allowed: Option<f64>, words: String| Excess {
        because,
        beyond,
        allowed,
        unserved: false,
        words,
    };
    let moved = measured.seconds.filter(|_| measured.unit == Unit::BytesPerSecond);
    let moved = moved.map(|seconds| measured.value * seconds);
    let at_most = [measured.at_most_bytes, moved].into_iter().flatten().reduce(f64::min);
    match (measured.working_set_bytes, at_most, measured.memory_bytes) {
        (Some(set), _, Some(memory)) if set <= memory => excess(
            ExcessCause::PageCache,
            Some(memory),
            format!("memory answered: {} were worked on, beside {} of it", sized(set), sized(memory)),
        ),
        (Some(set), _, Some(memory)) => excess(
            ExcessCause::AboveEveryCeiling,
            Some(memory),
            format!(
                "memory alone cannot have answered: {} were worked on, beside {} of it",
                sized(set),
                sized(memory)
            ),
        ),
        (None, Some(most), Some(memory)) if most <= memory => excess(
            ExcessCause::PageCache,
            Some(memory),
            format!(
                "memory can have answered: at most {} were worked on, beside {} of it",
                sized(most),
                sized(memory)
            ),
        ),
        (None, _, Some(memory)) => excess(
            ExcessCause::AboveEveryCeiling,
            Some(memory),
            format!(
                "the page cache is likely, with {} of memory; only how much was read is not known",
                sized(memory)
            ),
        ),
        (Some(set), _, None) => excess(
            ExcessCause::AboveEveryCeiling,
            None,
            format!(
                "the page cache is likely: {} were worked on; only how much memory there is is not known",
                sized(set)
            ),
        ),
        (None, _, None) => excess(
            ExcessCause::AboveEveryCeiling,
            None,
            "the page cache is likely, but how much was read beside how much memory is not known".to_owned(),
        ),
    }
}

/// Where more was claimed than the devices served, memory answered the rest.
fn unserved(measured: &Measured, beyond: Option<f64>) -> Option<Excess> {
    let (claimed, served) = measured.claimed_and_served_bytes?;
    let missing = claimed - served;
    (claimed > 0.0 && missing > WORTH_SAYING * claimed).then(|| Excess {
        because: ExcessCause::PageCache,
        beyond,
        allowed: Some(missing),
        unserved: true,
        words: format!(
            "memory answered: of {} claimed the devices served {}",
            Unit::Bytes.format(claimed),
            Unit::Bytes.format(served)
        ),
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
