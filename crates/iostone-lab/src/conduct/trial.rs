//! One trial: build, verify, lay out, settle, run under the probe, verify again, undo.

use std::time::{Duration, Instant};

use iostone_machine::{Failure, FailureKind, Measured, Prepare, RunTrial, Settle, Settled};
use iostone_model::covariate::DeclaredCovariate;
use iostone_model::experiment::{Configuration, Gate, Workload};
use iostone_model::run::Plan;
use iostone_model::sample::Sample;
use iostone_model::trial::{Check, GuestFacts, TRIAL_SCHEMA, TrialPhases, TrialRecord, WorkloadReport};
use iostone_model::units::Span;
use iostone_stats::schedule::SplitMix64;
use iostone_workload::RawOutput;

use super::{common_figures, taken};
use crate::conclude::Subject;
use crate::error::LabError;
use crate::gates;
use crate::link::Link;
use crate::steadiness;

/// The number of what is no trial: a warm-up, a pilot.
pub(super) const WARM_UP: u32 = 0;
/// Ten samples a second.
const SAMPLE_EVERY: Span = Span(Duration::from_millis(100));
/// How many times the settle time is waited for devices that do not come to rest, ...
const PATIENCE: u32 = 10;
/// ... and how long at least: writeback of what others have written takes some seconds.
const LEAST_PATIENCE: Duration = Duration::from_secs(5);

/// What a trial yielded, before it is held against the gates.
pub(super) struct Outcome {
    pub(super) measured: Measured,
    pub(super) samples: Vec<Sample>,
    pub(super) settled: Settled,
    pub(super) checks: Vec<Check>,
    pub(super) notes: Vec<String>,
    pub(super) syncs_dropped_below: bool,
    pub(super) guest: Option<Box<GuestFacts>>,
    /// What failed, where the workload is not to blame.
    pub(super) failure: Option<Failure>,
    pub(super) total: Duration,
    pub(super) phases: TrialPhases,
}

/// Where a trial stands in its run.
pub(super) struct Place {
    pub(super) number: u32,
    pub(super) block: u32,
    pub(super) position: u32,
    pub(super) session: u32,
    /// How long the unrecorded trial before it took.
    pub(super) conditioned: Option<Duration>,
}

/// Carries a trial out and undoes its stack, also when it fails. A guest that did not boot, panicked or hung, a governor
/// that died, or a program of `workload.prepare` that failed, fails the trial and not the run: the next trial gets a new one.
pub(super) fn carry_out(
    link: &mut Link<'_>,
    plan: &Plan,
    configuration: &Configuration,
    number: u32,
) -> Result<Outcome, LabError> {
    let started = Instant::now();
    let mut phases = TrialPhases::default();
    // Each trial has data and offsets of its own, but the same again when the run is repeated with its seed.
    let seed = SplitMix64::new(plan.seed ^ (u64::from(number) << 32)).next_u64();
    let is_guest = configuration.machine.guest().is_some();
    let (mut notes, mut syncs_dropped_below, mut guest) = (Vec::new(), false, None);
    let applied = timed(&mut phases.build, || link.apply(configuration, number, seed));
    let measured = match applied {
        Ok(applied) => {
            (notes, syncs_dropped_below, guest) = (applied.notes, applied.syncs_dropped_below, applied.guest);
            measure(link, plan, configuration, number, seed, &mut phases)
        }
        Err(LabError::Machine(failure))
            if (is_guest && failure.kind == FailureKind::Guest)
                || matches!(failure.kind, FailureKind::Governor | FailureKind::Container) =>
        {
            Err(failure.into())
        }
        Err(error) => return Err(error),
    };
    let evidence = if is_guest { link.evidence() } else { Ok(Vec::new()) };
    let undone = timed(&mut phases.undo, || link.undo());
    let mut died = None;
    let (mut measured, samples, settled, checks) = match measured {
        Err(LabError::Machine(failure))
            if matches!(
                failure.kind,
                FailureKind::Guest
                    | FailureKind::Governor
                    | FailureKind::Container
                    | FailureKind::Preparation
            ) =>
        {
            let reason = failure.message.clone();
            died = (failure.kind != FailureKind::Preparation).then_some(failure);
            (failed(configuration, reason), Vec::new(), at_rest(), Vec::new())
        }
        other => other?,
    };
    match undone {
        // What hung on its way down was no sound machine.
        Err(LabError::Machine(failure)) if failure.kind == FailureKind::Guest => {
            measured.report.error.get_or_insert(failure.message);
        }
        other => other?,
    }
    measured.raw.extend(evidence?);
    notes.extend(measured.losses.iter().cloned());
    let total = started.elapsed();
    Ok(Outcome {
        measured,
        samples,
        settled,
        checks,
        notes,
        syncs_dropped_below,
        guest,
        failure: died,
        total,
        phases,
    })
}

/// Does a part of a trial and notes its seconds.
fn timed<T>(seconds: &mut f64, part: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = part();
    *seconds = started.elapsed().as_secs_f64();
    done
}

/// What is recorded of a trial whose machine, or its governor, died under it.
fn failed(configuration: &Configuration, reason: String) -> Measured {
    Measured {
        started_at: jiff::Timestamp::now().to_string(),
        report: WorkloadReport {
            kind: configuration.workload.kind().to_owned(),
            error: Some(reason),
            ..WorkloadReport::default()
        },
        ..Measured::default()
    }
}

/// Nobody looked: the trial has failed for another reason.
fn at_rest() -> Settled {
    Settled { at_rest: true, waited_seconds: 0.0, bytes_per_second: 0.0, busiest: None }
}

fn measure(
    link: &mut Link<'_>,
    plan: &Plan,
    configuration: &Configuration,
    number: u32,
    seed: u64,
    phases: &mut TrialPhases,
) -> Result<(Measured, Vec<Sample>, Settled, Vec<Check>), LabError> {
    let prepare = Prepare {
        workload: configuration.workload.clone(),
        trial: number,
        configuration: configuration.name.clone(),
        seed,
    };
    timed(&mut phases.prepare, || link.prepare(prepare))?;
    let settle = plan.experiment.trials.settle;
    let rest = Settle {
        window: settle,
        patience: Span((settle.0 * PATIENCE).max(LEAST_PATIENCE)),
        limit_bytes_per_second: match plan.experiment.gates.idle {
            Gate::Off => None,
            Gate::Limit(limit) => Some(limit.0),
        },
    };
    let settled = timed(&mut phases.settle, || link.settle(rest))?;
    let run = RunTrial { sample_every: SAMPLE_EVERY };
    let (mut measured, samples) = timed(&mut phases.run, || link.run(run))?;
    if measured.interrupted {
        let interrupted = Failure::new(FailureKind::Interrupted, "interrupted");
        return Err(interrupted.into());
    }
    common_figures::add(&mut measured, &configuration.workload, &samples);
    require_figure(plan, &mut measured);
    // Once more after the load: a setting that did not last would make the figure another's.
    let checks = timed(&mut phases.verify, || link.verify())?;
    Ok((measured, samples, settled, checks))
}

/// A trial without the figure that decides has failed: said at once, not after a budget of blocks. A rehearsal decides
/// nothing, and its sizes are often too small for a tool to time. Of a curve some points may be missing.
fn require_figure(plan: &Plan, measured: &mut Measured) {
    let metric = &plan.experiment.decide.metric;
    let subject = Subject::of(plan);
    if measured.report.error.is_some() || subject.is_in(&measured.metrics) {
        return;
    }
    // Kept with the trial too, where reports find it.
    let reason = match measured.report.absent.get(metric) {
        Some(reason) => reason.clone(),
        None => common_figures::reason_without(metric).unwrap_or("the workload did not give it").to_owned(),
    };
    measured.report.absent.entry(metric.clone()).or_insert_with(|| reason.clone());
    let sentence = if subject.curve {
        format!("no point of `{metric}` has a figure: {reason}")
    } else {
        format!("there is no figure `{metric}`: {reason}")
    };
    if plan.quick {
        measured.losses.push(sentence);
    } else {
        measured.report.error = Some(sentence);
    }
}

/// Seconds of load before the measured time.
pub(super) fn ramp_seconds(workload: &Workload) -> f64 {
    workload.profile().ramp.unwrap_or_default().span().0.as_secs_f64()
}

impl Outcome {
    /// The durable form of it.
    pub(super) fn into_record(
        self,
        plan: &Plan,
        configuration: &Configuration,
        place: &Place,
        covariates: &[DeclaredCovariate],
    ) -> (TrialRecord, Vec<Sample>, Vec<RawOutput>) {
        let gates =
            gates::evaluate(&plan.experiment, configuration, &self.settled, &self.measured, covariates);
        let ramp = ramp_seconds(&configuration.workload);
        let taken = (!covariates.is_empty()).then(|| {
            let until = ramp + self.measured.report.measured_seconds;
            taken::between(&self.measured, &self.samples, ramp, until)
        });
        let record = TrialRecord {
            schema: TRIAL_SCHEMA.to_owned(),
            number: place.number,
            block: place.block,
            position: place.position,
            configuration: configuration.name.clone(),
            session: place.session,
            started_at: self.measured.started_at,
            total_seconds: self.total.as_secs_f64(),
            phases: Some(self.phases),
            conditioned_seconds: place.conditioned.map(|length| length.as_secs_f64()),
            metrics: self.measured.metrics,
            ramp_seconds: ramp,
            taken,
            steady_state: steadiness::check(&self.measured.report),
            workload: self.measured.report,
            checks: self.checks,
            notes: self.notes,
            syncs_dropped_below: Some(self.syncs_dropped_below),
            guest: self.guest,
            container: self.measured.container,
            space: self.measured.space,
            governor: self.measured.governor,
            signals: self.measured.signals,
            valid: gates.iter().all(|gate| gate.passed),
            gates,
        };
        (record, self.samples, self.measured.raw)
    }
}
