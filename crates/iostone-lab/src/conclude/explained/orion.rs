//! The rates of an ORION test: which known limit held them, as most trials of a configuration found it.

use iostone_cloud::explain::{Measured, hold};
use iostone_model::ceiling::{Ceiling, exceeded_from};
use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::Basis;
use iostone_model::explanation::{ExplainedFigure, Flow};
use iostone_model::metric::Unit;
use iostone_model::orion::{BoundBy, KnownLimit, LimitKind};
use iostone_model::trial::TrialRecord;

use super::super::rates::finite_median;

/// Small and large I/O by themselves, where a limit held most trials: the median over those that it held.
pub(super) fn figures(trials: &[&TrialRecord]) -> Vec<ExplainedFigure> {
    [true, false].into_iter().filter_map(|small| figure(trials, small)).collect()
}

fn figure(trials: &[&TrialRecord], small: bool) -> Option<ExplainedFigure> {
    let held: Vec<(&KnownLimit, f64)> = trials
        .iter()
        .flat_map(|trial| trial.workload.ceilings.iter().filter(|ceiling| ceiling.small == small))
        .filter_map(|ceiling| match &ceiling.bound_by {
            BoundBy::Limit { limit, share } => Some((limit, *share)),
            BoundBy::Plateau | BoundBy::Load => None,
        })
        .collect();
    let like = |one: &KnownLimit, other: &KnownLimit| {
        one.kind == other.kind && device(one) == device(other) && (one.value / other.value - 1.0).abs() < 1e-3
    };
    let alike =
        |limit: &KnownLimit| held.iter().filter(|(own, _)| like(own, limit)).copied().collect::<Vec<_>>();
    let most = held.iter().map(|(limit, _)| alike(limit)).max_by_key(Vec::len)?;
    let (limit, _) = most.first().filter(|_| most.len() * 2 > trials.len())?;
    let share = finite_median(most.iter().map(|(_, share)| *share))?;
    let seconds = finite_median(trials.iter().map(|trial| trial.workload.measured_seconds));
    let (flow, unit, what) = match limit.kind {
        LimitKind::ReadIops => (Flow::Read, Unit::PerSecond, "reads a second"),
        LimitKind::WriteIops => (Flow::Write, Unit::PerSecond, "writes a second"),
        LimitKind::ReadBytes => (Flow::Read, Unit::BytesPerSecond, "of reads"),
        LimitKind::WriteBytes => (Flow::Write, Unit::BytesPerSecond, "of writes"),
    };
    let value = unit.format(limit.value);
    let value =
        value.strip_suffix("/s").filter(|_| unit == Unit::PerSecond).map_or(value.as_str(), str::trim_end);
    let name = format!("{value} {what} on {}", device(limit));
    let measured = Measured {
        figure: if small { "small I/O" } else { "large I/O" }.to_owned(),
        seconds,
        flow: Some(flow),
        tolerance: exceeded_from(seconds.unwrap_or(0.0)),
        ..Measured::of(unit, share * limit.value)
    };
    let (kind, from) = (Some(CeilingKind::Volume), limit.from.as_str());
    Some(hold(&measured, vec![Ceiling::constant(kind, name, limit.value, Basis::Published, from)]))
}

/// The device without its number: each trial has a loop device of its own.
fn device(limit: &KnownLimit) -> String {
    let word = |word: &str| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if name == "loop" { name.to_owned() } else { word.to_owned() }
    };
    limit.on.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use iostone_model::ceiling::HeldState;
    use iostone_model::orion::Ceiling as OrionCeiling;

    use super::*;

    #[test]
    fn the_limit_of_most_trials_is_told_with_the_share_in_the_middle() {
        let trial = |words: Option<String>| {
            let mut trial: TrialRecord = crate::conclude::tests::trial(1, 0, 0, "a", 1.0, 0);
            trial.workload.measured_seconds = 60.0;
            trial.workload.ceilings =
                words.map(|words| OrionCeiling::of_sentence(true, &words).unwrap()).into_iter().collect();
            trial
        };
        let words = |device: u32, share: &str| {
            Some(format!("500 writes a second on loop{device} bind: 499 were measured, {share} %"))
        };
        let trials = [trial(words(0, "99.2")), trial(words(1, "99.8")), trial(words(2, "100"))];
        let all: Vec<&TrialRecord> = trials.iter().collect();
        let found = figures(&all).remove(0);
        assert_eq!(found.binds.as_deref(), Some("500 writes a second on loop"));
        assert_eq!((found.measured, found.ceilings[0].state), (499.0, HeldState::Binds));
        // Of an even number the two in the middle are averaged.
        assert!((figures(&all[..2])[0].measured - 497.5).abs() < 1e-9);
        let bytes = "64.0 MB/s of writes on loop0 (25.0 % of the volume) were exceeded: 80.0 MB/s were measured, 125 %; a cache, or \
                     a burst";
        let found = figures(&[&trial(Some(bytes.to_owned()))]).remove(0);
        assert_eq!((found.unit, found.measured), (Unit::BytesPerSecond, 80e6));
        assert_eq!(found.ceilings[0].state, HeldState::Exceeded);
        let free = trial(None);
        assert_eq!(figures(&[&trials[0], &trials[1], &trials[2], &free]).len(), 1);
        assert_eq!(figures(&[&trials[0], &free, &free]), []);
    }
}
