//! What a trial costs beside its measured time, phase by phase.

use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::run::RunRecord;
use iostone_model::trial::{TrialPhases, TrialRecord};

use crate::figures::figure;

/// Phases below this many seconds are not told.
const TOLD_FROM: f64 = 0.05;

/// A phase by its name.
type Phase = (&'static str, fn(&TrialPhases) -> f64);

const AROUND: [Phase; 5] = [
    ("build", |phases| phases.build),
    ("prepare", |phases| phases.prepare),
    ("settle", |phases| phases.settle),
    ("verify", |phases| phases.verify),
    ("undo", |phases| phases.undo),
];

/// "2.9 s each, 1.3 s of it the workload: build 0.6 s, settle 0.5 s", medians over all trials; empty for records without phases.
pub(crate) fn sentence(run: &RunRecord) -> String {
    let of = |seconds: &dyn Fn(&TrialRecord) -> Option<f64>| median(run.trials.iter().filter_map(seconds));
    let phase = |seconds: fn(&TrialPhases) -> f64| of(&|trial| trial.phases.as_ref().map(seconds));
    let Some((total, workload)) =
        of(&|trial| trial.phases.map(|_| trial.total_seconds)).zip(phase(|p| p.run))
    else {
        return String::new();
    };
    let around: Vec<String> = AROUND
        .iter()
        .filter_map(|(name, seconds)| Some((name, phase(*seconds)?)))
        .filter(|(_, seconds)| *seconds >= TOLD_FROM)
        .map(|(name, seconds)| format!("{name} {}", figure(Unit::Seconds, seconds)))
        .collect();
    let around = if around.is_empty() { String::new() } else { format!(": {}", around.join(", ")) };
    let conditioned = of(&|trial| trial.conditioned_seconds).map(|seconds| {
        format!(" \u{b7} each after an unrecorded one of its level, {}", figure(Unit::Seconds, seconds))
    });
    format!(
        "{} each, {} of it the workload{around}{}",
        figure(Unit::Seconds, total),
        figure(Unit::Seconds, workload),
        conditioned.unwrap_or_default()
    )
}
