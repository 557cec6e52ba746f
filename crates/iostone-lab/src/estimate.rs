//! How long a plan will take and how much room it needs, before anything is done.

use std::time::Duration;

use iostone_model::experiment::{Configuration, Ramp, Stack, Volume, Workload};
use iostone_model::run::Plan;
use iostone_model::units::{Bytes, Span};
use iostone_stats::race::fewest_blocks_of_sweep;

use crate::pilot::first_pilot;

/// What to expect of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// A trial of the longest configuration; none where only the workload knows.
    pub a_trial: Option<Duration>,
    /// With the fewest blocks that can decide.
    pub least: Option<Duration>,
    /// With the whole budget.
    pub most: Option<Duration>,
    /// Room needed on the file system of the images, at the same time.
    pub disk: Bytes,
    /// Trials with the fewest blocks and with the whole budget, warm-ups included.
    pub trials: (u32, u32),
}

/// A disk of a rented machine; a guess that errs on the slow side.
const FILL_BYTES_PER_SECOND: f64 = 300e6;
/// Attaching, mkfs, mounting, undoing and the records.
const HANDLING: Duration = Duration::from_millis(700);

/// Booting a guest and ending it, where QEMU has to translate instructions.
const BOOT: Duration = Duration::from_secs(10);

/// Estimates a plan. Where pilots are to find the ramp, it is taken for none at the least, and at the most for the longest
/// that their first attempt can find.
pub fn estimate(plan: &Plan) -> Estimate {
    let experiment = &plan.experiment;
    let limit = experiment.decide.time.map(|limit| limit.0);
    let disk =
        experiment.configurations.iter().map(|c| room(&c.stack, &c.workload)).max().unwrap_or_default();
    let around = |configuration: &Configuration| {
        let boot = configuration.machine.guest().map_or(Duration::ZERO, |_| BOOT);
        boot + building(&configuration.stack, &configuration.workload) + experiment.trials.settle.0
    };
    let trials = |patient: bool| -> Option<Vec<Duration>> {
        let of = |c: &Configuration| Some(around(c) + working(&c.workload, patient)?);
        experiment.configurations.iter().map(of).collect()
    };
    let pilots: Duration = experiment
        .configurations
        .iter()
        .filter_map(|configuration| Some(around(configuration) + first_pilot(plan, configuration)?.0))
        .sum();
    let count = |blocks: u32| {
        u32::try_from(experiment.configurations.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(blocks.saturating_add(experiment.trials.warmups))
    };
    let blocks = experiment.decide.blocks;
    let whole = |blocks: u32, patient: bool| {
        let a_block: Duration = trials(patient)?.iter().sum();
        Some(a_block * (blocks + experiment.trials.warmups) + pilots)
    };
    if let Some((factor, _)) = experiment.sweep().filter(|_| !plan.quick) {
        let levels = u32::try_from(factor.levels.len()).unwrap_or(u32::MAX);
        let fewest =
            fewest_blocks_of_sweep(factor.levels.len(), experiment.decide.confidence.0).max(blocks.min);
        // After the first block the best with its neighbours, and at an end of the range with one.
        let few = levels.min(2).saturating_mul(fewest.saturating_sub(1));
        let least = trials(false).map(|trials| {
            let mut shortest = trials.clone();
            shortest.sort_unstable();
            let few: Duration = shortest.iter().take(2).sum();
            trials.iter().sum::<Duration>() * (1 + experiment.trials.warmups) + few * (fewest - 1) + pilots
        });
        return Estimate {
            a_trial: trials(true).and_then(|trials| trials.into_iter().max()),
            least: bounded(least, limit),
            most: bounded(whole(blocks.max, true), limit),
            disk,
            trials: (count(1).saturating_add(few), count(blocks.max)),
        };
    }
    Estimate {
        a_trial: trials(true).and_then(|trials| trials.into_iter().max()),
        least: bounded(whole(blocks.min, false), limit),
        most: bounded(whole(blocks.max, true), limit),
        disk,
        trials: (count(blocks.min), count(blocks.max)),
    }
}

/// A run ends with its time, if that is limited.
fn bounded(time: Option<Duration>, limit: Option<Duration>) -> Option<Duration> {
    match (time, limit) {
        (Some(time), Some(limit)) => Some(time.min(limit)),
        (time, limit) => time.or(limit),
    }
}

fn room(stack: &Stack, workload: &Workload) -> Bytes {
    match &stack.volume {
        Volume::Loop(volume) => volume.size,
        Volume::Emulated(volume) => volume.total_size(),
        Volume::Directory(_) => file_size(workload),
        Volume::Block(_) => Bytes(0),
    }
}

pub(crate) fn file_size(workload: &Workload) -> Bytes {
    workload.room().unwrap_or_default()
}

fn building(stack: &Stack, workload: &Workload) -> Duration {
    let filled = match &stack.volume {
        Volume::Loop(volume) if volume.fill => volume.size.0,
        Volume::Emulated(volume) if volume.fill => volume.total_size().0,
        _ => 0,
    };
    let bytes = filled + file_size(workload).0;
    HANDLING + Duration::from_secs_f64(bytes as f64 / FILL_BYTES_PER_SECOND)
}

/// How long the workload works; unknown for a program, and for a job that is bounded by bytes alone.
fn working(workload: &Workload, patient: bool) -> Option<Duration> {
    match workload {
        Workload::Io(io) => io.runtime.map(|Span(runtime)| match io.ramp_time {
            Ramp::Fixed(Span(ramp)) => runtime + ramp,
            // A cut lies before half of a pilot, which is as long as two measured times.
            Ramp::Auto if patient => runtime + runtime,
            Ramp::Auto => runtime,
        }),
        foreign => foreign.asked_time(),
    }
}
