//! What bound a run: every rate of every configuration against each ceiling that is known of its stack, its machine and its
//! workload.

mod known;
mod orion;

use iostone_cloud::catalogue;
use iostone_cloud::explain::{
    Below, Known, Measured, Overrides, RateShape, USUAL_DIRTY_SHARE, bounds_of, bounds_of_stack, dirty_share,
    hold, known_of,
};
use iostone_model::ceiling::{BINDS, Ceiling, QueueDepth, exceeded_from};
use iostone_model::cloud::{CatalogueDate, CeilingKind};
use iostone_model::environment::Environment;
use iostone_model::evidence::{Group, RunEvidence};
use iostone_model::experiment::{BackingIo, Basis, Configuration, MachineSpec, Volume, Workload};
use iostone_model::explanation::{EXPLANATION_SCHEMA, ExplainedPart, Explanation, Flow, SERVED};
use iostone_model::metric::Unit;
use iostone_model::platform::Provider;
use iostone_model::run::{Plan, RunRecord};
use iostone_model::sample::DiskCounters;
use iostone_model::trial::{DeviceActivity, TrialRecord};

use super::balances::Owner;
use super::rates::{Rate, copies, finite_median, measured};

pub(super) use known::{above_limits, ceilings};

/// Holds everything that a run measured against what is known of its ceilings. What the user says of the machine stands over
/// what was recorded.
pub fn explain_run(record: &RunRecord, overrides: &Overrides) -> Explanation {
    let run = RunEvidence::of(&record.plan, &record.trials, &record.blocks);
    let parts: Vec<ExplainedPart> =
        run.measured().map(|group| part(&record.plan, &record.environment, group, overrides)).collect();
    let mut notes = Vec::new();
    let any = |test: &dyn Fn(&ExplainedPart) -> bool| parts.iter().any(test);
    if parts.is_empty() {
        notes.push("no trial counts, so nothing can be held against ceilings".to_owned());
    } else if !any(&|part| !part.figures.is_empty()) {
        let is_watched = record.trials.iter().any(|trial| trial.signals.device_under_test().is_some());
        let devices = if is_watched {
            "nothing is known of what limits the devices that were watched"
        } else {
            "no device was watched"
        };
        notes.push(format!(
            "the workload told no rate of bytes or I/Os that a ceiling could be held against, and {devices}"
        ));
    } else if !any(&|part| part.figures.iter().any(|figure| !figure.ceilings.is_empty())) {
        notes.push(
            "nothing is known of this machine's ceilings: name the instance with `machine.instance` in the experiment, or with \
             `iostone explain --instance TYPE --volume SPEC`"
                .to_owned(),
        );
    }
    Explanation {
        schema: EXPLANATION_SCHEMA.to_owned(),
        source: record.directory.clone(),
        rehearsal: record.plan.quick,
        parts,
        // Of another machine than the run's nothing was predicted.
        predictions: if overrides.instance.is_some() || overrides.volumes.is_some() {
            Vec::new()
        } else {
            super::predicted::predictions(&run)
        },
        notes,
    }
}

fn part(plan: &Plan, environment: &Environment, group: &Group<'_>, overrides: &Overrides) -> ExplainedPart {
    let (configuration, trials) = (group.configuration, group.trials.as_slice());
    let Machine { named, asked, replaced } = machine(plan, environment, configuration, overrides);
    let mut part = ExplainedPart {
        configuration: configuration.name.clone(),
        date: named.date.filter(|_| named.instance.is_some() || named.volumes.is_some()),
        instance: named.instance,
        instance_from: named.instance_from,
        volumes: named.volumes.as_ref().map(ToString::to_string),
        trials: u32::try_from(trials.len()).unwrap_or(u32::MAX),
        ..ExplainedPart::default()
    };
    for rate in measured(configuration, trials) {
        let shape = RateShape { flow: rate.flow, written: written(trials), io: rate.io, unit: rate.unit };
        let (mut bounds, uncounted) = bounds_of_stack(catalogue(), configuration, shape);
        bounds.retain(|bound| !replaced(owner(bound.kind)));
        let (more, notes) = bounds_of(catalogue(), &asked, shape);
        for note in notes {
            if !part.notes.contains(&note) {
                part.notes.push(note);
            }
        }
        bounds.extend(more);
        bounds.extend(of_workload(configuration, &rate, trials));
        // Counters over whole trials hold phases in which nothing moved: alone they say something only of known ceilings.
        if rate.figure == SERVED && bounds.is_empty() {
            continue;
        }
        let mut figure = hold(&figure(environment, configuration, &rate, trials), bounds);
        figure.passed_device = Some(rate.reaches_device);
        figure.uncounted = uncounted && rate.figure != SERVED && !replaced(Owner::Volumes);
        part.figures.push(figure);
    }
    part.figures.extend(orion::figures(trials));
    if is_emulated(configuration) && overrides.date.is_some() && part.date != overrides.date {
        part.notes.push(
            "`--date` changes nothing of what is emulated: that was settled when the run was planned"
                .to_owned(),
        );
    }
    let balances = super::balances::of(configuration, trials).into_iter();
    part.balances = balances.filter(|(owner, _)| !replaced(*owner)).map(|(_, balance)| balance).collect();
    part.proofs = super::proofs::of(trials);
    part
}

/// The share of the bytes that were written, as the workload claims.
fn written(trials: &[&TrialRecord]) -> f64 {
    let claims = trials.iter().map(|trial| &trial.workload);
    let [read, written] = claims.fold([0.0, 0.0], |[read, written], report| {
        [read + report.claimed_read_bytes as f64, written + report.claimed_written_bytes as f64]
    });
    if read + written > 0.0 { written / (read + written) } else { 0.5 }
}

/// The machine of a configuration.
struct Machine<Replaced: Fn(Owner) -> bool> {
    /// Whose ceilings the figures are held against, by name.
    named: Known,
    /// Of these the catalogue is asked.
    asked: Known,
    /// Whether what the user says stands in place of what is emulated.
    replaced: Replaced,
}

/// What a configuration ran on, with what the user says over it. What is emulated has the limits of its stack, settled when the
/// run was planned: of that the catalogue is not asked again, and what the user names takes its place, link for link and
/// volumes for volumes.
fn machine(
    plan: &Plan,
    environment: &Environment,
    configuration: &Configuration,
    overrides: &Overrides,
) -> Machine<impl Fn(Owner) -> bool + Copy> {
    let is_emulated = is_emulated(configuration);
    let (links, volumes) = (overrides.instance.is_some(), overrides.volumes.is_some());
    let replaced = move |owner: Owner| match owner {
        Owner::Link => links,
        Owner::Volumes => volumes,
    };
    if !is_emulated {
        let known = known_of(recorded(plan, environment, configuration), overrides);
        return Machine { named: known.clone(), asked: known, replaced };
    }
    let settled = settled(configuration);
    let date = settled.date.or_else(|| day_of(plan));
    let mut named = known_of(settled.clone(), overrides);
    let asked = known_of(Known { date, ..Known::default() }, overrides);
    named.date = if links || volumes { asked.date } else { settled.date };
    Machine { named, asked, replaced }
}

fn is_emulated(configuration: &Configuration) -> bool {
    matches!(configuration.stack.volume, Volume::Emulated(_)) || configuration.machine.emulated().is_some()
}

/// The instance and the volumes that emulated ones stand for.
fn settled(configuration: &Configuration) -> Known {
    let (volumes, of_volumes) = match &configuration.stack.volume {
        Volume::Emulated(volume) => (volume.stands_for.clone(), volume.date),
        Volume::Loop(_) | Volume::Block(_) | Volume::Directory(_) => (None, None),
    };
    let instance = configuration.machine.emulated();
    Known {
        instance: instance.map(|instance| instance.emulate.clone()),
        instance_from: instance.map(|_| "`machine.emulate`".to_owned()),
        volumes,
        date: of_volumes.or_else(|| instance?.date),
    }
}

fn owner(kind: Option<CeilingKind>) -> Owner {
    if kind == Some(CeilingKind::Link) { Owner::Link } else { Owner::Volumes }
}

fn day_of(plan: &Plan) -> Option<CatalogueDate> {
    let moment = plan.created_at.parse::<jiff::Timestamp>().ok()?;
    Some(CatalogueDate::of_day(moment.to_zoned(jiff::tz::TimeZone::UTC).date()))
}

/// The machine as the experiment and the environment name it, where nothing is emulated.
fn recorded(plan: &Plan, environment: &Environment, configuration: &Configuration) -> Known {
    let date = day_of(plan);
    let MachineSpec::Local(local) = &configuration.machine else { return Known::default() };
    let said = local.instance.clone().map(|instance| (instance, "`machine.instance`"));
    let platform = environment.platform.as_ref();
    let recognised = || {
        let aws = platform.filter(|platform| platform.provider == Provider::Aws)?;
        Some((aws.instance_type.clone()?, "the platform that the run recorded"))
    };
    let Some((instance, from)) = said.or_else(recognised) else { return Known { date, ..Known::default() } };
    Known { instance: Some(instance), instance_from: Some(from.to_owned()), volumes: None, date }
}

/// What the workload itself sets: the source that it copies from, and the processors that it is allowed.
fn of_workload(configuration: &Configuration, rate: &Rate, trials: &[&TrialRecord]) -> Vec<Ceiling> {
    let mut bounds = Vec::new();
    let by_itself = trials
        .iter()
        .filter_map(|trial| trial.workload.facts.get("source_bytes_per_second")?.parse::<f64>().ok());
    if rate.figure == "throughput"
        && let (Workload::Dd(_), Some(source)) = (&configuration.workload, finite_median(by_itself))
    {
        let (kind, from) = (Some(CeilingKind::Source), "measured before each trial");
        bounds.push(Ceiling::constant(kind, "the source by itself", source, Basis::Measured, from));
    }
    let used_of_allowed = trials.iter().filter_map(|trial| {
        let governor = trial.governor.as_deref()?;
        (governor.allowed_cpu_seconds > 0.0).then(|| governor.used_cpu_seconds / governor.allowed_cpu_seconds)
    });
    if rate.figure != SERVED
        && let Some(used) = finite_median(used_of_allowed).filter(|used| *used > 0.0)
    {
        let (kind, at_most) = (Some(CeilingKind::Cpu), rate.value / used);
        let from = "CPU time used of what the emulated allowance gave";
        bounds.push(Ceiling::constant(kind, "the CPU allowance", at_most, Basis::Measured, from));
    }
    bounds
}

/// Queue depth 1, where it is what held a rate: each I/O waited for the one before, and nothing else took time.
///
/// By Little's law rate times latency is the number under way. Of a deeper queue that says nothing: how much of the latency is waiting
/// in it nobody knows.
fn queue_depth(configuration: &Configuration, rate: &Rate, trials: &[&TrialRecord]) -> Option<QueueDepth> {
    let Workload::Io(io) = &configuration.workload else { return None };
    let is_closed_loop = io.rate.is_none() && io.rate_iops.is_none() && io.thinktime.is_none();
    let each_waits = io.iodepth * io.numjobs == 1 && rate.reaches_device && rate.figure != SERVED;
    if !(is_closed_loop && each_waits) {
        return None;
    }
    let bytes = rate.io?.bytes as f64;
    let under_way = trials.iter().filter_map(|trial| {
        let value = trial.metrics.get(&rate.figure)?;
        let ios = if rate.unit == Unit::BytesPerSecond { value / bytes } else { *value };
        Some(ios * mean_latency(trial)?)
    });
    let is_busy = finite_median(under_way).is_some_and(|under_way| under_way >= BINDS);
    let seconds = finite_median(trials.iter().filter_map(|trial| mean_latency(trial)))?;
    is_busy.then_some(QueueDepth { depth: 1, seconds })
}

/// The mean time of an I/O, in seconds.
fn mean_latency(trial: &TrialRecord) -> Option<f64> {
    let histogram = &trial.workload.latency_histogram;
    let count: u64 = histogram.iter().map(|(_, count)| count).sum();
    let sum: f64 = histogram.iter().map(|(latency_ns, count)| *latency_ns as f64 * *count as f64).sum();
    (count > 0 && sum > 0.0).then(|| sum / count as f64 / 1e9)
}

fn figure(
    environment: &Environment,
    configuration: &Configuration,
    rate: &Rate,
    trials: &[&TrialRecord],
) -> Measured {
    let seconds = finite_median(trials.iter().map(|trial| trial.workload.measured_seconds))
        .filter(|seconds| *seconds > 0.0);
    let working_set = match &configuration.workload {
        Workload::Io(io) => io.size.map(|size| size.0 as f64 * f64::from(io.numjobs)),
        _ => None,
    };
    let (memory, dirty) = memory(environment, trials);
    Measured {
        figure: rate.figure.clone(),
        unit: rate.unit,
        value: rate.value,
        seconds,
        flow: Some(rate.flow),
        reached_device: Some(rate.reaches_device),
        memory_bytes: memory,
        dirty_limit: dirty,
        working_set_bytes: working_set,
        at_most_bytes: None,
        claimed_and_served_bytes: claimed_and_served(configuration, rate.flow, trials),
        below: below(configuration, rate.flow, trials),
        queue_depth: queue_depth(configuration, rate, trials),
        tolerance: exceeded_from(seconds.unwrap_or(0.0)),
    }
}

/// What a loop device and the disks that hold its file moved, where the page cache stands between: medians.
fn below(configuration: &Configuration, flow: Flow, trials: &[&TrialRecord]) -> Option<Below> {
    let Volume::Loop(volume) = &configuration.stack.volume else { return None };
    if volume.effective_backing_io() == BackingIo::Direct {
        return None;
    }
    let of = |served: &DiskCounters| match flow {
        Flow::Read => served.read_bytes as f64,
        Flow::Write => served.written_bytes as f64,
        Flow::Both => (served.read_bytes + served.written_bytes) as f64,
    };
    let is_below = |device: &&DeviceActivity| device.role == "below";
    let last = trials.last()?;
    let device = last.signals.device_under_test()?.name;
    if last.signals.devices.iter().all(|device| is_below(&device)) {
        return None;
    }
    let moved = finite_median(
        trials.iter().filter_map(|trial| Some(of(&trial.signals.device_under_test()?.served))),
    )?;
    let held = finite_median(trials.iter().filter_map(|trial| {
        let mut devices = trial.signals.devices.iter().filter(is_below).peekable();
        devices.peek()?;
        Some(devices.map(|device| of(&device.served)).sum())
    }));
    let names: Vec<&str> =
        last.signals.devices.iter().filter(is_below).map(|device| device.name.as_str()).collect();
    let holders = held.map(|held| (names.join(" + "), held));
    Some(Below { device, moved, holders })
}

/// Medians of the bytes that the workload claims and of those that the devices served.
fn claimed_and_served(
    configuration: &Configuration,
    flow: Flow,
    trials: &[&TrialRecord],
) -> Option<(f64, f64)> {
    let claimed = finite_median(trials.iter().map(|trial| {
        let (read, written) = (trial.workload.claimed_read_bytes, trial.workload.claimed_written_bytes);
        match flow {
            Flow::Read => read as f64,
            Flow::Write => written as f64,
            Flow::Both => (read + written) as f64,
        }
    }))?;
    let served = finite_median(trials.iter().filter_map(|trial| {
        let device = trial.signals.device_under_test()?;
        let copies = if device.is_sum { copies(&configuration.stack, Flow::Write) } else { 1.0 };
        let (read, written) = (device.served.read_bytes as f64, device.served.written_bytes as f64 / copies);
        Some(match flow {
            Flow::Read => read,
            Flow::Write => written,
            Flow::Both => read + written,
        })
    }))?;
    (claimed > 0.0).then_some((claimed, served))
}

/// Memory of the machine, and how much of it may be dirty, with words for that.
fn memory(environment: &Environment, trials: &[&TrialRecord]) -> (Option<f64>, Option<(f64, String)>) {
    if let Some(guest) = trials.last().and_then(|trial| trial.guest.as_deref()) {
        let bytes = Some(guest.memory_bytes as f64).filter(|bytes| *bytes > 0.0);
        return (bytes, bytes.map(|bytes| dirty_share(bytes, USUAL_DIRTY_SHARE)));
    }
    let memory = &environment.memory;
    let total = Some(memory.total_bytes as f64).filter(|bytes| *bytes > 0.0);
    let available = Some(memory.available_bytes as f64).filter(|bytes| *bytes > 0.0).or(total);
    let dirty = match memory.dirty_limit_bytes {
        Some(bytes) => {
            Some((bytes as f64, format!("{} (`vm.dirty_bytes`)", Unit::Bytes.format(bytes as f64))))
        }
        None => available.map(|bytes| {
            let share =
                memory.dirty_ratio_percent.map_or(USUAL_DIRTY_SHARE, |percent| f64::from(percent) / 100.0);
            dirty_share(bytes, share)
        }),
    };
    (total, dirty)
}

#[cfg(test)]
mod tests;
