//! How long a plan will take and how much room it needs, before anything is done.

use std::time::Duration;

use iostone_cloud::{catalogue, predict_configuration};
use iostone_model::experiment::{Configuration, Container, Stack, Volume, Workload};
use iostone_model::run::Plan;
use iostone_model::units::Bytes;
use iostone_stats::race::{RACED_WHOLE, SCREENINGS, fewest_blocks_of_sweep};

use crate::conclude::blocks_of_pairs;
use crate::pilot::first_pilot;
use crate::plan::room_of_image;

/// What to expect of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// A trial of the longest configuration; none where only the workload knows.
    pub a_trial: Option<Duration>,
    /// Where only the workload knows: after how long the most patient of the trials is ended, if all of them are.
    pub timeout: Option<Duration>,
    /// With the fewest blocks that can decide; none where only the workload knows.
    pub least: Option<Duration>,
    /// With the whole budget, or with the time that the run or its trials are given.
    pub most: Option<Duration>,
    /// Room needed on the file system of the images, at the same time.
    pub disk: Bytes,
    /// Trials with the fewest blocks and with the whole budget, warm-ups included.
    pub trials: (u32, u32),
    /// The fewest blocks that can decide, and the whole budget.
    pub blocks: (u32, u32),
}

/// A disk of a rented machine; a guess that errs on the slow side.
const FILL_BYTES_PER_SECOND: f64 = 300e6;
/// Attaching, mkfs, mounting, undoing and the records.
const HANDLING: Duration = Duration::from_millis(700);

/// A daemon's start, the import of an image, a container's start, and the end of all three, without the bytes of the image.
/// Of eight trials each of `io` on ext4 over a loop volume of a virtual machine of two processors, those with Docker 28.2
/// took 1.2 s longer in the median than those without a container, 0.4 s of it for an image of 134 MB; rounded up.
const DOCKER: Duration = Duration::from_secs(1);
/// Likewise with Podman 4.3: 2.0 s longer, with the same image.
const PODMAN: Duration = Duration::from_secs(2);

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
    let trials = |length: fn(&Configuration) -> Option<Duration>| -> Option<Vec<Duration>> {
        // What conditions a trial is at most as long, and builds its stack itself.
        let times = if experiment.decide.conditioning { 2 } else { 1 };
        let of = |c: &Configuration| Some((around(c) + length(c)?) * times);
        experiment.configurations.iter().map(of).collect()
    };
    let longest = |trials: Vec<Duration>| trials.into_iter().max();
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
    let a_trial = trials(patient).and_then(longest);
    let timeout = match a_trial {
        Some(_) => None,
        None => trials(bound).and_then(|_| {
            experiment.configurations.iter().filter_map(|c| c.workload.profile().timeout).max()
        }),
    };
    let budget = experiment.decide.blocks;
    let fewest = blocks_of_pairs(plan).filter(|_| !plan.quick).unwrap_or(budget.min);
    let whole = |blocks: u32, length| {
        let a_block: Duration = trials(length)?.iter().sum();
        Some(a_block * (blocks + experiment.trials.warmups) + pilots)
    };
    let mut estimate = Estimate {
        a_trial,
        timeout,
        least: whole(fewest, brief),
        most: whole(budget.max, bound)
            .map_or(limit, |most| Some(limit.map_or(most, |limit| most.min(limit)))),
        disk,
        trials: (count(fewest), count(budget.max)),
        blocks: (fewest, budget.max),
    };
    if let Some((factor, _)) = experiment.sweep().filter(|_| !plan.quick) {
        let fewest =
            fewest_blocks_of_sweep(factor.levels.len(), experiment.decide.confidence.0).max(budget.min);
        estimate.blocks.0 = fewest;
        // No level leaves a race before it can be shown to be worse; after the two blocks that screen, a sweep of more levels
        // goes on with the best and its neighbours, at an end of the range with one.
        let (in_full, few) = if factor.levels.len() <= RACED_WHOLE {
            (fewest, 0)
        } else {
            (SCREENINGS, fewest.saturating_sub(SCREENINGS))
        };
        estimate.least = trials(brief).map(|mut trials| {
            let all = trials.iter().sum::<Duration>() * (in_full + experiment.trials.warmups);
            trials.sort_unstable();
            all + trials.iter().take(2).sum::<Duration>() * few + pilots
        });
        estimate.trials.0 = count(in_full).saturating_add(few.saturating_mul(2));
    }
    // A run ends with its time, if that is limited.
    estimate.least = estimate.least.map(|least| limit.map_or(least, |limit| least.min(limit)));
    estimate
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
    let bytes = filled + file_size(workload).0 + room_of_image(stack).0;
    let engine = match &stack.container {
        Container::Docker(_) => DOCKER,
        Container::Podman(_) => PODMAN,
        Container::None | Container::Overlay(_) => Duration::ZERO,
    };
    HANDLING + engine + Duration::from_secs_f64(bytes as f64 / FILL_BYTES_PER_SECOND)
}

/// How long the workload works, at the least: what it is asked for, else what the ceilings that are known let it take; unknown
/// for a program, and for a job that is bounded by bytes alone and by nothing that is known.
fn brief(configuration: &Configuration) -> Option<Duration> {
    configuration.workload.profile().takes.map(|[least, _]| least).or_else(|| predicted(configuration))
}

/// What the ceilings of a configuration let its work take at least.
fn predicted(configuration: &Configuration) -> Option<Duration> {
    let prediction = predict_configuration(catalogue(), configuration).ok()?;
    Duration::try_from_secs_f64(prediction.seconds).ok()
}

/// The same with the longest warm-up that pilots may find: a cut lies before half of a pilot, which is as long as two
/// measured times.
fn patient(configuration: &Configuration) -> Option<Duration> {
    configuration.workload.profile().takes.map(|[_, most]| most).or_else(|| predicted(configuration))
}

/// The longest that the workload can take: what it does, else until it is ended.
fn bound(configuration: &Configuration) -> Option<Duration> {
    patient(configuration).or_else(|| configuration.workload.profile().timeout)
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::read;

    use super::*;
    use crate::plan::{PlanOptions, make_plan};

    const COMMAND: &str = "name = \"build\"\n[stack]\nvolume = { kind = \"directory\" }\n[[factor]]\nname = \"word\"\n\
        levels = { a = { workload.env.WORD = \"a\" }, b = { workload.env.WORD = \"b\" } }\n[workload]\n\
        kind = \"command\"\nargv = [\"true\"]\n[decide]\nmetric = \"wall_time\"\nbaseline = \"a\"\n\
        blocks = { min = 6, max = 10 }\n[trials]\nwarmups = 0\nsettle = \"300ms\"\n";

    fn estimated(text: &str) -> Estimate {
        estimate(&make_plan(read(text, &[]).unwrap(), PlanOptions::default()).unwrap())
    }

    #[test]
    fn a_timeout_bounds_a_program_and_is_no_guess_at_its_length() {
        let bounded = estimated(&COMMAND.replace("[\"true\"]", "[\"true\"]\ntimeout = \"2min\""));
        assert_eq!((bounded.a_trial, bounded.least), (None, None));
        assert_eq!(bounded.timeout, Some(Duration::from_secs(120)));
        assert_eq!(bounded.most, Some(Duration::from_secs(121) * 20));
        let unbounded = estimated(COMMAND);
        assert_eq!((unbounded.timeout, unbounded.least, unbounded.most), (None, None, None));
    }

    #[test]
    fn an_engine_takes_its_time_in_every_trial() {
        let in_container = |container: &str| {
            let stack = format!(
                "volume = {{ kind = \"loop\", size = \"8GiB\" }}\nfilesystem.kind = \"ext4\"\ncontainer = {{ {container} }}"
            );
            let text = COMMAND.replace("volume = { kind = \"directory\" }", &stack);
            let bounded = text.replace("[\"true\"]", "[\"true\"]\ntimeout = \"1min\"");
            estimated(&bounded).most.unwrap() / 20
        };
        let alone = in_container("kind = \"none\"");
        assert_eq!(in_container("kind = \"overlay\""), alone);
        let (docker, podman) = (in_container("kind = \"docker\""), in_container("kind = \"podman\""));
        assert!(docker >= alone + DOCKER && podman >= alone + PODMAN && docker < podman);
        assert!(
            in_container("kind = \"docker\", driver = \"vfs\"") > docker,
            "copies of the image take time"
        );
    }

    #[test]
    fn the_time_of_the_run_bounds_what_only_the_workload_knows() {
        let limited = estimated(&COMMAND.replace("[decide]", "[decide]\ntime = \"1h\""));
        assert_eq!((limited.least, limited.most), (None, Some(Duration::from_hours(1))));
        assert_eq!((limited.trials, limited.blocks), ((12, 20), (6, 10)));
    }
}
