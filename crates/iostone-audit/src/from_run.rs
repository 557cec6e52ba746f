//! Makes evidence of a run's counted trials, so that iostone's own figures are audited by the rules for anybody's.

mod circumstances;
mod load;

use std::borrow::Cow;
use std::collections::BTreeMap;

use iostone_model::dataset::{Dataset, Ending, Facts, MetricNote, NO_SPACE, Observation, Order, SourceFile};
use iostone_model::environment::Environment;
use iostone_model::evidence::{Evidence, RunEvidence};
use iostone_model::experiment::Configuration;
use iostone_model::metric;
use iostone_model::run::{BlockRecord, Plan, RunRecord};
use iostone_model::trial::{TrialRecord, WorkloadReport};
use iostone_model::units::round_count;

/// A run as evidence: an observation for each trial that it is judged by, so that as many runs are spoken of here as in its
/// verdicts. A trial's file is its `trials/NNNNNN/trial.json` below `name`, the run's directory.
pub fn evidence<'a>(
    name: &str,
    plan: &'a Plan,
    trials: &'a [TrialRecord],
    blocks: &'a [BlockRecord],
    environment: &Environment,
) -> Evidence<'a> {
    let run = RunEvidence::of(plan, trials, blocks);
    let mut dataset = Dataset::new(name);
    dataset.factors = plan.experiment.factors.iter().map(|factor| factor.name.clone()).collect();
    dataset.limits_cpu = plan.experiment.limits_cpu();
    dataset.raced = plan.experiment.sweep().is_some() && !plan.quick;
    dataset.superblock = plan.superblock;
    // Blocks are always run in a random order of their own.
    dataset.order = Order::RandomisedBlocks;
    let mut counted: Vec<(&Configuration, &TrialRecord)> = run
        .groups
        .iter()
        .flat_map(|group| group.trials.iter().map(|trial| (group.configuration, *trial)))
        .collect();
    counted.sort_by_key(|(_, trial)| trial.number);
    let moments = moments(&counted);
    for ((configuration, trial), moment) in counted.iter().zip(moments) {
        let observation = observation(name, &run, environment, configuration, trial, moment);
        dataset.files.push(SourceFile {
            name: observation.file.clone(),
            tool: "iostone".to_owned(),
            ..SourceFile::default()
        });
        dataset.observations.push(observation);
    }
    for name in counted.iter().flat_map(|(_, trial)| trial.metrics.keys()) {
        if !dataset.metrics.contains_key(name) {
            dataset.metrics.insert(name.clone(), note(plan, name));
        }
    }
    Evidence { dataset: Cow::Owned(dataset), run: Some(run) }
}

/// A run that was read back, as evidence.
pub fn evidence_of_run(run: &RunRecord) -> Evidence<'_> {
    evidence(&run.directory, &run.plan, &run.trials, &run.blocks, &run.environment)
}

/// When each trial began, seconds since 1970; its number where some time cannot be read, so that all are of one kind.
fn moments(trials: &[(&Configuration, &TrialRecord)]) -> Vec<f64> {
    let read = |(_, trial): &(&Configuration, &TrialRecord)| {
        let moment: jiff::Timestamp = trial.started_at.parse().ok()?;
        Some(moment.as_second() as f64 + f64::from(moment.subsec_nanosecond()) / 1e9)
    };
    let moments: Option<Vec<f64>> = trials.iter().map(read).collect();
    moments.unwrap_or_else(|| trials.iter().map(|(_, trial)| f64::from(trial.number)).collect())
}

/// What a figure of the run is: as its workload declares it, else as the name means anywhere.
pub fn note(plan: &Plan, name: &str) -> MetricNote {
    let title = metric::find(name).map_or(name, |known| known.title).to_owned();
    let declared = plan.experiment.configurations.iter().find_map(|one| one.workload.metric(name));
    match declared {
        Some(declared) => MetricNote { unit: declared.unit, better: Some(declared.direction), title },
        None => match metric::find(name) {
            Some(known) => MetricNote { unit: known.unit, better: Some(known.direction), title },
            None => MetricNote { unit: metric::Unit::Plain, better: None, title },
        },
    }
}

fn observation(
    name: &str,
    run: &RunEvidence<'_>,
    host: &Environment,
    configuration: &Configuration,
    trial: &TrialRecord,
    moment: f64,
) -> Observation {
    let environment = &*circumstances::of_trial(host, trial);
    let mut labels = circumstances::labels(environment);
    // A factor called as a circumstance is, is that circumstance.
    labels.extend(configuration.levels.clone());
    Observation {
        table: String::new(),
        file: format!("{name}/trials/{:06}/trial.json", trial.number),
        line: None,
        tool: trial.workload.kind.clone(),
        labels,
        run: Some(trial.number.to_string()),
        block: Some(u64::from(trial.block)),
        order: Some(moment),
        figures: trial.metrics.iter().map(|(name, value)| (name.clone(), (*value).into())).collect(),
        series: BTreeMap::new(),
        facts: facts(run, environment, configuration, trial),
    }
}

fn facts(
    run: &RunEvidence<'_>,
    environment: &Environment,
    configuration: &Configuration,
    trial: &TrialRecord,
) -> Facts {
    let report = &trial.workload;
    // The stack's device served others meanwhile, if anybody.
    let device = trial.signals.device_under_test().filter(|_| !trial.works_in_memory());
    let served = device.map(|device| device.served);
    let flushes = load::flushes(configuration, trial);
    let [cpu_user_seconds, cpu_system_seconds] = load::cpu_seconds(run, configuration, trial);
    let known = Facts {
        claimed_read_bytes: claimed(report, report.claimed_read_bytes),
        claimed_written_bytes: claimed(report, report.claimed_written_bytes),
        served_read_bytes: served.map(|whole| {
            in_measured_time(trial, "read_per_claimed_byte", report.claimed_read_bytes, whole.read_bytes)
        }),
        served_written_bytes: served.map(|whole| {
            let claimed = report.claimed_written_bytes;
            in_measured_time(trial, "written_per_claimed_byte", claimed, whole.written_bytes)
        }),
        syncs_dropped_by: trial.syncs_dropped_by(),
        syncs_per_second: load::syncs_per_second(report),
        flushes_off_by: flushes
            .and_then(|_| configuration.stack.barriers_off())
            .map(|option| format!("the mount option `{option}`")),
        served_flushes: flushes.map(|(flushes, _)| flushes),
        volatile_cache: flushes.map(|(_, cache)| cache),
        compressed_by: trial.compressed_by(&configuration.stack),
        memory_bytes: circumstances::memory(environment),
        // Without a sample nothing was seen, which is not the same as nothing having been stolen.
        steal: trial.signals.steal.filter(|_| trial.signals.samples > 0),
        throttled: trial.signals.throttled,
        // dd's source is measured by itself before each trial.
        source_bytes_per_second: report
            .facts
            .get("source_bytes_per_second")
            .and_then(|rate| rate.parse().ok()),
        cpu_quota: circumstances::cpu_quota(environment),
        cpus: (environment.cpu.logical > 0).then(|| f64::from(environment.cpu.logical)),
        cpus_used: cpus_used(&trial.metrics),
        cpu_user_seconds,
        cpu_system_seconds,
        ending: Some(ending(report)),
        ..Facts::default()
    };
    load::facts(configuration, environment, known)
}

/// A workload that cannot tell reports nothing read and nothing written.
fn claimed(report: &WorkloadReport, bytes: u64) -> Option<u64> {
    (report.claimed_read_bytes > 0 || report.claimed_written_bytes > 0).then_some(bytes)
}

/// What was served in the time that a claim is of, where the trial tells how much that was for each byte claimed: what the
/// device served in a ramp makes up for nothing that memory answered later. Else what was served as a whole.
fn in_measured_time(trial: &TrialRecord, per_claimed_byte: &str, claimed: u64, whole: u64) -> u64 {
    let ratio = trial.metrics.get(per_claimed_byte).filter(|_| claimed > 0);
    ratio.map_or(whole, |ratio| round_count(*ratio * claimed as f64))
}

/// CPU time over elapsed time, getrusage(2).
fn cpus_used(metrics: &BTreeMap<String, f64>) -> Option<f64> {
    let elapsed = metrics.get("wall_time").filter(|elapsed| **elapsed > 0.0)?;
    Some((metrics.get("user_time")? + metrics.get("system_time")?) / elapsed)
}

fn ending(report: &WorkloadReport) -> Ending {
    match (&report.error, report.errno) {
        (None, _) => Ending::Completed,
        (Some(_), Some(NO_SPACE)) => Ending::DiskFull,
        (Some(error), _) => Ending::Failed(error.clone()),
    }
}

#[cfg(test)]
mod tests;
