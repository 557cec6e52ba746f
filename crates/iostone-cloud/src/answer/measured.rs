//! A measured time against the predicted one: how far off it is, in what direction, and whether memory explains it.

use iostone_model::answer::{MeasuredAgreement, MeasuredTime};
use iostone_model::metric::Unit;
use iostone_model::prediction::Prediction;
use iostone_model::units::{Bytes, Fraction};

use crate::explain::USUAL_DIRTY_SHARE;
use crate::prediction::{Route, Work};

/// Times within this share agree: the margin that iostone takes where nobody names one.
const AGREES: f64 = 0.03;

/// As many halvings tell a share to a thousandth of a percent.
const HALVINGS: usize = 17;

/// Holds a measured time against a prediction; `memory` is that of the machine, `writes` says whether the work wrote.
pub(super) fn hold(
    prediction: &Prediction,
    seconds: f64,
    memory: Option<Bytes>,
    writes: bool,
) -> MeasuredTime {
    let ratio = seconds / prediction.seconds;
    let [low, high] = prediction.seconds_interval;
    let agreement = if (ratio - 1.0).abs() <= AGREES || (low..=high).contains(&seconds) {
        MeasuredAgreement::Agrees
    } else if ratio > 1.0 {
        MeasuredAgreement::Slower
    } else {
        MeasuredAgreement::Faster
    };
    let excess_bytes = bytes_after(prediction, seconds);
    let explanation = (ratio < 1.0).then(|| in_memory(prediction, excess_bytes, memory, writes)).flatten();
    MeasuredTime { seconds, ratio, agreement, excess_bytes, explanation }
}

/// Bytes that are moved after a time, by the prediction.
fn bytes_after(prediction: &Prediction, seconds: f64) -> f64 {
    prediction
        .timeline
        .iter()
        .map(|phase| (phase.to_seconds - phase.from_seconds.max(seconds)).max(0.0) * phase.bytes_per_second)
        .sum()
}

/// Whether memory may hold what the ceilings do not let through.
fn in_memory(prediction: &Prediction, excess: f64, memory: Option<Bytes>, writes: bool) -> Option<String> {
    let (room, reason) = match (&prediction.page_cache, memory) {
        (Some(cached), _) => (cached.bytes, cached.reason.clone()),
        (None, Some(memory)) if writes => {
            let reason = format!(
                "20 % of {}, `vm.dirty_ratio`, unless the work ended with a flush",
                memory.in_words()
            );
            (memory.0 as f64 * USUAL_DIRTY_SHARE, reason)
        }
        (None, Some(memory)) => (memory.0 as f64, format!("the memory of {}", memory.in_words())),
        (None, None) => return None,
    };
    let written = |bytes: f64| Unit::Bytes.format(bytes);
    let how = if writes { "would have stayed in memory" } else { "would have come from memory" };
    (excess <= room).then(|| format!("{} {how}, and {} may ({reason})", written(excess), written(room)))
}

/// How full the buckets of volumes and link would have had to be at the start for a time that was measured; CPU credits stay
/// those of the question.
///
/// The more they hold the sooner it ends, so that halving finds it.
pub(super) fn with_other_buckets(route: &Route, work: &Work, seconds: f64) -> Option<String> {
    let mut other = route.clone();
    other.volume_start = None;
    let mut predicted = |share: f64| {
        other.start = Some(Fraction(share));
        other.predict(work).ok().map(|prediction| prediction.seconds)
    };
    let (slowest, fastest) = (predicted(0.0)?, predicted(1.0)?);
    if slowest - fastest <= fastest * AGREES {
        return None;
    }
    let time = |seconds: f64| Unit::Seconds.format(seconds.round());
    if (seconds / slowest - 1.0).abs() <= AGREES {
        return Some(format!("with empty buckets at the start it would take {}", time(slowest)));
    }
    if !(fastest..slowest).contains(&seconds) {
        return None;
    }
    let (mut emptier, mut fuller) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(emptier, fuller);
        if predicted(middle)? > seconds {
            emptier = middle;
        } else {
            fuller = middle;
        }
    }
    let share = f64::midpoint(emptier, fuller);
    let agreed = predicted(share).filter(|found| (seconds / found - 1.0).abs() <= AGREES)?;
    Some(format!("with buckets {:.0} % full at the start it would take {}", share * 100.0, time(agreed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::prediction;

    #[test]
    fn the_published_run_on_c4_4xlarge_fits_within_the_dirty_limit() {
        let mut predicted = prediction(1384.64, Vec::new());
        predicted.timeline[0].bytes_per_second = 167_772_160.0;
        let held = hold(&predicted, 1354.88, Some(Bytes(30 << 30)), true);
        assert_eq!(held.agreement, MeasuredAgreement::Agrees);
        assert!((held.excess_bytes / 4.99e9 - 1.0).abs() < 0.01, "{}", held.excess_bytes);
        let explanation = held.explanation.expect("page cache");
        assert!(
            explanation.starts_with("4.99 GB would have stayed in memory, and 6.44 GB may"),
            "{explanation}"
        );
        let small = hold(&predicted, 1354.88, Some(Bytes(16 << 30)), true);
        assert_eq!(small.explanation, None);
    }

    #[test]
    fn a_longer_time_has_no_excess() {
        let held = hold(&prediction(100.0, Vec::new()), 150.0, Some(Bytes(1 << 40)), true);
        assert_eq!((held.agreement, held.excess_bytes), (MeasuredAgreement::Slower, 0.0));
        assert_eq!(held.explanation, None);
    }
}
