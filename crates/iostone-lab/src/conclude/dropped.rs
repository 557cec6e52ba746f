//! A flag where fsync was dropped: what a workload synced there was not durable when it was told so.

use iostone_model::experiment::{Configuration, Workload};
use iostone_model::metric::Unit;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::three_digits;
use iostone_model::verdict::{Comparison, Flag};
use iostone_stats::median::median;

use super::evidence::counted;
use crate::gates::MEMORY;

/// `sync-dropped`: on every comparison of which one side worked in a layer that is mounted `volatile`
/// (Documentation/filesystems/overlayfs.rst, "Volatile mount"), or synced to a device with a volatile cache that completed no
/// flush, and on the run where nothing was compared with it.
pub(super) fn flag(
    plan: &Plan,
    trials: &[TrialRecord],
    blocks: &[BlockRecord],
    comparisons: &mut [Comparison],
) -> Vec<Flag> {
    if let Some(flag) = below_all(plan, trials, blocks) {
        return vec![flag];
    }
    let pairs = plan.comparisons();
    let mut of_run = Vec::new();
    for (place, configuration) in plan.experiment.configurations.iter().enumerate() {
        let by = counted(&configuration.name, trials, blocks).find_map(TrialRecord::syncs_dropped_by);
        let by = by.filter(|_| configuration.workload.profile().syncs != Some(false));
        let unflushed = unflushed(configuration, trials, blocks);
        let tell = |other: Option<&Configuration>| match &by {
            Some(by) => Some(told(configuration, by, other, trials, blocks)),
            None => unflushed.clone(),
        };
        let mut is_told = false;
        for pair in pairs.iter().filter(|pair| pair.configuration == place || pair.baseline == place) {
            let other = if pair.configuration == place { pair.baseline } else { pair.configuration };
            let other = plan.experiment.configurations.get(other);
            let Some(message) = tell(other) else { continue };
            for one in comparisons.iter_mut().filter(|c| c.level == pair.level && c.stratum == pair.stratum) {
                one.flags.push(Flag::new("sync-dropped", message.clone()));
                is_told = true;
            }
        }
        if !is_told {
            of_run.extend(tell(None).map(|message| Flag::new("sync-dropped", message)));
        }
    }
    of_run
}

/// One flag where what lies below the volumes drops every fsync of every level: this machine's doing, not a level's.
fn below_all(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<Flag> {
    let mut by: Option<String> = None;
    for configuration in &plan.experiment.configurations {
        let mut own = counted(&configuration.name, trials, blocks).peekable();
        if own.peek().is_some() && configuration.workload.profile().syncs != Some(false) {
            let is_contained = |trial: &TrialRecord| trial.container.as_deref().is_some_and(|c| c.volatile);
            let trial = own.find(|trial| !is_contained(trial) && trial.syncs_dropped_by().is_some())?;
            by = trial.syncs_dropped_by();
        }
    }
    let message =
        format!("fsync is dropped below every volume ({}): nothing that was synced is durable", by?);
    Some(Flag::new("sync-dropped", message))
}

/// What to say where work that calls fsync(2) or fdatasync(2) was answered without a single flush by a device that may lose
/// what it holds. What is written through with `O_SYNC` may need none (FUA), and what is memory never goes there.
fn unflushed(
    configuration: &Configuration,
    trials: &[TrialRecord],
    blocks: &[BlockRecord],
) -> Option<String> {
    let Workload::Io(io) = &configuration.workload else { return None };
    if !io.rw.writes() || (io.fsync == 0 && io.fdatasync == 0) {
        return None;
    }
    let mut device = None;
    for trial in counted(&configuration.name, trials, blocks) {
        if trial.container.as_deref().is_some_and(|container| container.place == MEMORY) {
            return None;
        }
        let footing = trial.signals.footing()?;
        if footing.flushes? > 0 || footing.volatile_cache != Some(true) {
            return None;
        }
        device = Some(footing.name);
    }
    let (name, device) = (&configuration.name, device?);
    Some(match configuration.stack.barriers_off() {
        Some(option) => format!(
            "flushes are off under `{name}` by {option}: what was synced to {device}, which has a volatile cache, is not \
             durable after a power cut"
        ),
        None => format!(
            "{device} has a volatile cache and completed no flush under `{name}`: nothing that was synced there is durable"
        ),
    })
}

fn told(
    configuration: &Configuration,
    by: &str,
    other: Option<&Configuration>,
    trials: &[TrialRecord],
    blocks: &[BlockRecord],
) -> String {
    let own = syncs_a_second(&configuration.name, trials, blocks);
    let other = other.and_then(|other| Some((&other.name, syncs_a_second(&other.name, trials, blocks)?)));
    let rate = match (own, other) {
        (Some(own), Some((name, rate))) if rate > 0.0 => format!(
            ": {} syncs a second, {} times as many as under `{name}`",
            Unit::Plain.format(own),
            three_digits(own / rate)
        ),
        (Some(own), _) => format!(": {} syncs a second", Unit::Plain.format(own)),
        (None, _) => String::new(),
    };
    format!(
        "fsync is dropped under `{}` by {by}: nothing that was synced there is durable{rate}",
        configuration.name
    )
}

/// Median over the trials that count; none where the workload does not time its syncs.
fn syncs_a_second(configuration: &str, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<f64> {
    let rate = |trial: &TrialRecord| {
        let syncs: u64 = trial.workload.sync_latency_histogram.iter().map(|(_, count)| count).sum();
        let seconds = trial.workload.measured_seconds;
        (syncs > 0 && seconds > 0.0).then(|| syncs as f64 / seconds)
    };
    let rates: Vec<f64> = counted(configuration, trials, blocks).filter_map(rate).collect();
    median(&rates)
}

#[cfg(test)]
mod tests {
    use iostone_model::trial::ContainerFacts;

    use super::super::tests::{plan, trial};
    use super::*;

    fn records(volatile: bool) -> (Vec<TrialRecord>, [BlockRecord; 1]) {
        let mut trials = vec![trial(1, 0, 0, "on", 1.0, 0), trial(2, 0, 1, "off", 1.0, 0)];
        for (trial, syncs) in trials.iter_mut().zip([1000, 16_000]) {
            trial.workload.sync_latency_histogram = vec![(1000, syncs)];
            trial.workload.measured_seconds = 2.0;
            let volatile = volatile && trial.configuration == "off";
            trial.container = Some(Box::new(ContainerFacts { volatile, ..ContainerFacts::default() }));
        }
        (trials, [BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None }])
    }

    #[test]
    fn a_volatile_layer_is_flagged_with_the_syncs_of_both() {
        let (trials, blocks) = records(true);
        let mut plan = plan("", "");
        for configuration in &mut plan.experiment.configurations {
            if let Workload::Io(io) = &mut configuration.workload {
                io.fdatasync = 1;
            }
        }
        let [flag] = &flag(&plan, &trials, &blocks, &mut [])[..] else { panic!("one flag") };
        assert_eq!(flag.name, "sync-dropped");
        assert!(
            flag.message.contains("dropped under `off`") && flag.message.contains("8000 syncs"),
            "{}",
            flag.message
        );
        let off = plan.experiment.configurations.iter().find(|c| c.name == "off").unwrap();
        let on = plan.experiment.configurations.iter().find(|c| c.name == "on");
        let message = told(off, "its layer", on, &trials, &blocks);
        assert!(message.ends_with("16.0 times as many as under `on`"), "{message}");
        let (trials, blocks) = records(false);
        assert!(super::flag(&plan, &trials, &blocks, &mut []).is_empty());
    }

    #[test]
    fn a_volatile_cache_that_was_never_flushed_is_told_and_barriers_off_by_name() {
        let (mut trials, blocks) = records(false);
        for trial in &mut trials {
            trial.signals.devices[0].volatile_cache = Some(true);
        }
        let mut plan = plan("", "");
        for configuration in &mut plan.experiment.configurations {
            if let Workload::Io(io) = &mut configuration.workload {
                io.fdatasync = 1;
            }
        }
        let found = flag(&plan, &trials, &blocks, &mut []);
        let of = |name: &str| {
            let name = format!("under `{name}`");
            found.iter().find(|flag| flag.message.contains(&name)).map(|flag| flag.message.clone()).unwrap()
        };
        assert!(of("off").contains("flushes are off under `off` by"), "{}", of("off"));
        assert!(of("on").contains("completed no flush"), "{}", of("on"));
        for trial in &mut trials {
            let facts = ContainerFacts { place: MEMORY.to_owned(), ..ContainerFacts::default() };
            trial.container = Some(Box::new(facts));
        }
        assert!(flag(&plan, &trials, &blocks, &mut []).is_empty(), "no flush is due of what is memory");
    }

    #[test]
    fn a_mount_below_all_volumes_is_flagged_once() {
        let (mut trials, blocks) = records(false);
        for trial in &mut trials {
            trial.notes = vec![
                "backing file on overlay (overlay), mounted volatile, which drops every fsync".to_owned(),
            ];
        }
        let mut plan = plan("", "");
        for configuration in &mut plan.experiment.configurations {
            if let Workload::Io(io) = &mut configuration.workload {
                io.fdatasync = 1;
            }
        }
        let [flag] = &flag(&plan, &trials, &blocks, &mut [])[..] else { panic!("one flag") };
        assert!(
            flag.message.starts_with("fsync is dropped below every volume (backing file on"),
            "{}",
            flag.message
        );
    }

    #[test]
    fn a_workload_that_never_syncs_loses_nothing_by_it() {
        let (trials, blocks) = records(true);
        let mut plan = plan("", "");
        for configuration in &mut plan.experiment.configurations {
            if let Workload::Io(io) = &mut configuration.workload {
                (io.fdatasync, io.fsync) = (0, 0);
            }
        }
        assert!(flag(&plan, &trials, &blocks, &mut []).is_empty());
    }
}
