//! The warm-up of a run in writing: the ramp of every trial, where it came from, and how steady the trials were.

use iostone_model::experiment::Timing;
use iostone_model::run::RunRecord;
use iostone_model::units::Span;
use iostone_model::warm_up::SteadyState;

use crate::figures::counted;

/// How the trials of a run fared in the check of their steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) steady: u64,
    pub(crate) not_steady: u64,
    pub(crate) not_checked: u64,
}

impl Tally {
    /// Over every trial of the run, those that do not count too.
    pub(crate) fn of(run: &RunRecord) -> Self {
        let mut tally = Self::default();
        for state in run.trials.iter().filter_map(|trial| trial.steady_state.as_ref()) {
            match state {
                SteadyState::Steady { .. } => tally.steady += 1,
                SteadyState::NotSteady { .. } => tally.not_steady += 1,
                SteadyState::NotChecked { .. } => tally.not_checked += 1,
            }
        }
        tally
    }

    pub(crate) fn checked(self) -> u64 {
        self.steady + self.not_steady
    }
}

/// "4s not counted in every trial: the largest cut of 2 pilots (MSER-5), declared before block 1 · 12 of 12 trials
/// steady"; empty where there is nothing to tell.
pub(crate) fn sentence(run: &RunRecord) -> String {
    let runtime = run.declared_ramp.as_ref().and_then(|declared| declared.runtime.as_ref());
    let runtime = runtime.map(|declared| format!("{declared}, declared before block 1"));
    let covariates = run.covariates.iter().map(|declared| format!("{declared}, declared before block 1"));
    let parts: Vec<String> =
        ramp(run).into_iter().chain(runtime).chain(steadiness(run)).chain(covariates).collect();
    parts.join(" · ")
}

fn ramp(run: &RunRecord) -> Option<String> {
    if let Some(declared) = &run.declared_ramp {
        let mut doubt = String::new();
        if declared.at_limit {
            doubt.push_str("; it may last longer, as a cut stood at its limit");
        }
        let disturbed = run.pilots.iter().filter(|pilot| pilot.gates.iter().any(|gate| !gate.passed)).count();
        if disturbed > 0 {
            let pilots = counted(run.pilots.len() as u64, "pilot");
            doubt = format!("{doubt}; {disturbed} of {pilots} failed a gate");
        }
        if declared.ramp.0.is_zero() {
            let pilots = counted(declared.pilots, "pilot");
            return Some(format!(
                "none, as {pilots} showed no need of it (MSER-5), declared before block 1{doubt}"
            ));
        }
        let cuts = if declared.pilots == 1 {
            "the cut of one pilot (MSER-5)".to_owned()
        } else {
            let pilots = counted(declared.pilots, "pilot");
            format!("the {} cut of {pilots} (MSER-5), that of {}", declared.rule, declared.asked_by)
        };
        let span = declared.ramp;
        return Some(format!("{span} not counted in every trial: {cuts}, declared before block 1{doubt}"));
    }
    let mut ramps: Vec<Timing> = Vec::new();
    for configuration in &run.plan.experiment.configurations {
        let ramp = configuration.workload.profile().ramp;
        ramps.extend(ramp.filter(|ramp| !ramps.contains(ramp)));
    }
    match ramps.as_slice() {
        [Timing::Auto] => Some("left to pilots, and not declared yet".to_owned()),
        [Timing::Fixed(Span(ramp))] if ramp.is_zero() => None,
        [Timing::Fixed(ramp)] => Some(format!("{ramp} not counted in every trial, as the experiment says")),
        _ => None,
    }
}

fn steadiness(run: &RunRecord) -> Option<String> {
    let tally = Tally::of(run);
    let reason = || {
        run.trials.iter().find_map(|trial| match &trial.steady_state {
            Some(SteadyState::NotChecked { reason }) => Some(reason.as_str()),
            _ => None,
        })
    };
    match (tally.checked(), tally.not_checked) {
        (0, 0) => None,
        (0, _) => Some(format!("steady state not checked, the trials are {}", reason().unwrap_or("unfit"))),
        (checked, 0) => Some(format!("{} of {} steady", tally.steady, counted(checked, "trial"))),
        (checked, unchecked) => {
            let trials = counted(checked, "checked trial");
            Some(format!("{} of {trials} steady, {unchecked} not checked", tally.steady))
        }
    }
}
