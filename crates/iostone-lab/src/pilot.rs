//! Pilots: how long they run, where their series are cut, and the one ramp that follows for every trial.

use std::time::Duration;

use iostone_model::experiment::{Configuration, FIRST_PILOT, SHORTEST_FOUND, Timing, Workload};
use iostone_model::run::Plan;
use iostone_model::trial::WorkloadReport;
use iostone_model::units::Span;
use iostone_model::warm_up::{DeclaredRamp, DeclaredRuntime, PilotCut, PilotRecord};
use iostone_stats::steady;
use iostone_stats::trial_length::{self, Purpose};
use iostone_stats::warmup::{common_cut, mser5};

use crate::error::LabError;

/// Length of an interval of a workload's series.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);
/// A cut lies before half of the series. With a pilot twice as long as the measured time, a warm-up as long as that
/// time is still found, and what is left behind it is as long as what a trial will measure.
const RUNTIMES: u32 = 2;
/// Ten batches of MSER-5: fewer are too coarse to cut. A rehearsal makes do with what it has.
const SHORTEST: Duration = Duration::from_secs(5);
/// What others take comes and goes in bursts; in less than that they may well stay away.
const SHORTEST_OF_COVARIATES: Duration = Duration::from_secs(30);
/// How often a pilot whose cut stands at its limit is repeated at twice the length.
const DOUBLINGS: u32 = 2;

/// How long the first pilot of a configuration runs: twice the measured time of its trials, at least 5 s, or 30 s where
/// verdicts are to be adjusted for covariates; none where it needs no pilot. Where pilots are to find the measured time as well, 30 s.
pub fn first_pilot(plan: &Plan, configuration: &Configuration) -> Option<Span> {
    let Workload::Io(io) = &configuration.workload else { return None };
    let Span(runtime) = io.asked_runtime().filter(|_| io.ramp_time.is_auto())?;
    if io.is_runtime_auto() {
        return Some(Span(FIRST_PILOT));
    }
    let length = runtime.saturating_mul(RUNTIMES);
    let shortest =
        if plan.experiment.decide.covariates.is_empty() { SHORTEST } else { SHORTEST_OF_COVARIATES };
    Some(Span(if plan.quick { length } else { length.max(shortest) }))
}

/// A configuration as its pilot runs it: so long, and from the very start.
pub(crate) fn as_pilot(configuration: &Configuration, runtime: Span) -> Configuration {
    let mut pilot = settled(configuration, None);
    if let Workload::Io(io) = &mut pilot.workload {
        io.runtime = Some(Timing::Fixed(runtime));
    }
    pilot
}

/// A configuration as it runs to condition its trial: of `io` for the ramp of the trial, a tenth of its measured time or two
/// seconds, whichever is longest, and at most that time. Workloads that know no such length run whole.
pub(crate) fn as_conditioning(configuration: &Configuration) -> Configuration {
    let mut conditioning = configuration.clone();
    if let Workload::Io(io) = &mut conditioning.workload
        && let Some(Span(runtime)) = io.asked_runtime()
    {
        let length = io.ramp_time.span().0.max(runtime / 10).max(Duration::from_secs(2));
        io.ramp_time = Timing::Fixed(Span::default());
        io.runtime = Some(Timing::Fixed(Span(length.min(runtime))));
    }
    conditioning
}

/// A configuration as a machine is told of it: what is left to pilots is what was declared. Before that there is no ramp, and
/// the measured time is the shortest that may be found: an unrecorded trial needs no more.
pub(crate) fn settled(configuration: &Configuration, declared: Option<&DeclaredRamp>) -> Configuration {
    let mut settled = configuration.clone();
    if let Workload::Io(io) = &mut settled.workload {
        if io.ramp_time.is_auto() {
            io.ramp_time = Timing::Fixed(declared.map(|declared| declared.ramp).unwrap_or_default());
        }
        if io.is_runtime_auto() {
            let found = declared.and_then(|declared| declared.runtime.as_ref()).map(|found| found.runtime);
            io.runtime = Some(Timing::Fixed(found.unwrap_or(SHORTEST_FOUND)));
        }
    }
    settled
}

/// The plan with the measured time that pilots found.
pub(crate) fn with_found_runtime(plan: &Plan, declared: Option<&DeclaredRamp>) -> Plan {
    let mut plan = plan.clone();
    let found = declared.and_then(|declared| declared.runtime.as_ref()).map(|found| found.runtime);
    for configuration in &mut plan.experiment.configurations {
        if let Workload::Io(io) = &mut configuration.workload
            && io.is_runtime_auto()
        {
            io.runtime = found.map(Timing::Fixed).or(io.runtime);
        }
    }
    plan
}

/// The operations of each whole interval of a workload's measured time.
pub(crate) fn whole_intervals(report: &WorkloadReport) -> &[u64] {
    steady::whole_intervals(&report.operations_per_100ms, report.measured_seconds, INTERVAL.as_secs_f64())
}

/// Where MSER-5 cuts a pilot.
pub(crate) fn cut_of(report: &WorkloadReport) -> Option<PilotCut> {
    let samples: Vec<f64> = whole_intervals(report).iter().map(|operations| *operations as f64).collect();
    let cut = mser5(&samples)?;
    let intervals = u32::try_from(cut.samples).unwrap_or(u32::MAX);
    Some(PilotCut { after: Span(INTERVAL * intervals), at_limit: cut.at_limit })
}

/// What the pilots so far lead to.
#[derive(Debug, PartialEq)]
pub(crate) enum NextPilot<'a> {
    /// This configuration has to be run so long.
    Run(&'a Configuration, Span),
    /// All have been run: this is the ramp of every trial.
    Declare(DeclaredRamp),
}

/// The pilot to run next, or the ramp. A function of what is recorded, so that a resumed run goes on where it was.
pub(crate) fn next_pilot<'a>(plan: &'a Plan, pilots: &[PilotRecord]) -> Result<NextPilot<'a>, LabError> {
    let mut cuts: Vec<(Span, &str)> = Vec::new();
    let mut any_at_limit = false;
    for configuration in &plan.experiment.configurations {
        let Some(first) = first_pilot(plan, configuration) else { continue };
        let Some(last) = pilots.iter().rev().find(|pilot| pilot.configuration == configuration.name) else {
            return Ok(NextPilot::Run(configuration, first));
        };
        let found = last.cut.filter(|cut| !cut.at_limit);
        if let (None, false) = (found, plan.quick) {
            if last.runtime.0 >= first.0.saturating_mul(1 << DOUBLINGS) {
                return Err(no_steady_state(&configuration.name, last));
            }
            return Ok(NextPilot::Run(configuration, Span(last.runtime.0.saturating_mul(2))));
        }
        any_at_limit |= found.is_none();
        cuts.push((last.cut.map(|cut| cut.after).unwrap_or_default(), &configuration.name));
    }
    let spans: Vec<Span> = cuts.iter().map(|(span, _)| *span).collect();
    let Some((ramp, rule)) = common_cut(&spans) else {
        return Err(LabError::Plan("no configuration leaves its ramp to a pilot".to_owned()));
    };
    let runtime = match find_runtime(plan, pilots, ramp) {
        RuntimeSearch::NotAsked => None,
        RuntimeSearch::Found(found) => Some(found),
        RuntimeSearch::Longer(configuration, length) => return Ok(NextPilot::Run(configuration, length)),
    };
    let asked_by = cuts.iter().find(|(span, _)| *span == ramp).map(|(_, name)| (*name).to_owned());
    Ok(NextPilot::Declare(DeclaredRamp {
        ramp,
        rule: rule.to_string(),
        pilots: u32::try_from(cuts.len()).unwrap_or(u32::MAX),
        asked_by: asked_by.unwrap_or_default(),
        at_limit: any_at_limit,
        runtime,
    }))
}

/// What the pilots say of how long trials are to be measured.
enum RuntimeSearch<'a> {
    /// The file says it.
    NotAsked,
    Found(DeclaredRuntime),
    /// They are too short to say: this configuration is to run so long.
    Longer(&'a Configuration, Span),
}

fn find_runtime<'a>(plan: &'a Plan, pilots: &[PilotRecord], ramp: Span) -> RuntimeSearch<'a> {
    let is_auto = |configuration: &&Configuration| matches!(&configuration.workload, Workload::Io(io) if io.is_runtime_auto());
    let wanted: Vec<&Configuration> = plan.experiment.configurations.iter().filter(is_auto).collect();
    let last = |configuration: &Configuration| {
        pilots.iter().rev().find(|pilot| pilot.configuration == configuration.name)
    };
    let pairs: Vec<(&Configuration, &PilotRecord)> =
        wanted.into_iter().filter_map(|configuration| Some((configuration, last(configuration)?))).collect();
    let Some((shortest, pilot)) = pairs.iter().min_by_key(|(_, pilot)| pilot.runtime) else {
        return RuntimeSearch::NotAsked;
    };
    let decide = &plan.experiment.decide;
    let overhead =
        pairs.iter().map(|(_, pilot)| pilot.total_seconds - pilot.workload.measured_seconds).sum::<f64>()
            / pairs.len() as f64;
    let ramp = ramp.0.as_secs_f64();
    // What conditions a trial builds its stack itself, and works for two seconds at the least.
    let conditioning = if decide.conditioning { overhead + ramp.max(2.0) } else { 0.0 };
    let purpose = Purpose {
        gap: overhead.max(0.0) + ramp + conditioning,
        margin: decide.margin.0,
        confidence: decide.confidence.0,
        comparisons: u32::try_from(plan.comparisons().len().max(1)).unwrap_or(u32::MAX),
        budget: decide.blocks.max,
        minimum: decide.blocks.min,
    };
    let behind_ramp = |pilot: &PilotRecord| -> Vec<f64> {
        let whole = whole_intervals(&pilot.workload);
        let is_ramp = |place: u32| f64::from(place) * INTERVAL.as_secs_f64() < ramp - 1e-9;
        (0..)
            .zip(whole)
            .skip_while(|(place, _)| is_ramp(*place))
            .map(|(_, operations)| operations)
            .map(|operations| *operations as f64)
            .collect()
    };
    let series: Vec<Vec<f64>> = pairs.iter().map(|(_, pilot)| behind_ramp(pilot)).collect();
    let is_last = pilot.runtime.0 >= FIRST_PILOT.saturating_mul(1 << DOUBLINGS);
    match trial_length::choose(&series, purpose, is_last) {
        Some(found) => RuntimeSearch::Found(DeclaredRuntime {
            runtime: Span(Duration::from_secs_f64(found.seconds)),
            gap_seconds: purpose.gap,
            spread: found.spread.filter(|spread| spread.is_finite()),
            blocks: found.blocks,
            pilot: pilot.runtime,
        }),
        None => RuntimeSearch::Longer(shortest, Span(pilot.runtime.0.saturating_mul(2))),
    }
}

fn no_steady_state(configuration: &str, last: &PilotRecord) -> LabError {
    let found = match last.cut {
        Some(cut) => format!("the rate still changes after {}", cut.after),
        None => "its series is too short".to_owned(),
    };
    LabError::Plan(format!(
        "the warm-up of `{configuration}` has no end within half of a pilot of {}: {found}. Without a steady state the \
         figures are those of the first seconds from a reset; if that is the question, declare \
         `workload.ramp_time = \"0s\"`, else raise `workload.runtime`, or declare a `workload.ramp_time` of your own",
        last.runtime
    ))
}

#[cfg(test)]
mod tests;
