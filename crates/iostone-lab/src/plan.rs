//! Makes the plan of an experiment: its seed and id settled, shrunk for a rehearsal, doubled for a noise run.

mod carried;
mod emulation;
mod rehearsal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use iostone_model::experiment::{
    BlockStart, Configuration, ConfoundedLevel, Experiment, Factor, Governor, MachineSpec, Price, Workload,
    confounded_sentences,
};
use iostone_model::figures::counted;
use iostone_model::metric::{Direction, Unit};
use iostone_model::run::{PLAN_SCHEMA, Plan};
use iostone_model::units::Fraction;
use iostone_stats::race::fewest_blocks_of_sweep;
use iostone_stats::{FewestBlocks, fewest_blocks, superblock_trials};

use crate::boot;
use crate::conclude::Subject;
use crate::error::LabError;
pub(crate) use carried::room_of_image;
pub use emulation::{
    InstanceNote, InstancePart, SettledInstance, settle_instance, settle_link, settle_volume,
};

/// How a plan is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanOptions {
    /// A rehearsal: one block, small sizes, no verdict.
    pub quick: bool,
    /// Two identical levels instead of the experiment's own.
    pub identical_levels: bool,
    /// What was laid over the file, as it was typed; only recorded here.
    pub overrides: Vec<String>,
    /// Words that the user finds the run by; only recorded here.
    pub tags: Vec<String>,
    /// Devices whose content may be destroyed, as the user typed them in full.
    pub destroy: Vec<String>,
    /// Where the experiment file lies, absolute: the files that a `command` needs are named from there.
    pub directory: PathBuf,
}

/// A noise run takes at least so many blocks: below, the spread is hardly known.
const NOISE_BLOCKS: u32 = 12;

/// Settles everything that is open in an experiment.
///
/// # Errors
/// Nothing to compare, or a metric that nobody knows.
pub fn make_plan(experiment: Experiment, options: PlanOptions) -> Result<Plan, LabError> {
    let mut experiment = experiment;
    if options.identical_levels {
        double(&mut experiment)?;
    } else if experiment.factors.is_empty() {
        return Err(LabError::Plan(
            "the experiment has no `[[factor]]`, so there is nothing to compare; add one, or measure the machine's \
             noise with `iostone run --aa`"
                .to_owned(),
        ));
    }
    // As the file has them: what an emulated instance comes to is several settings, and one thing.
    let confounded = Some(experiment.confounded_levels());
    // Before a rehearsal makes them smaller still: what is settled are the sizes that are made.
    emulation::settle(&mut experiment)?;
    let shrunk = options.quick.then(|| rehearsal::shrink(&mut experiment));
    place_files(&mut experiment, &options.directory);
    price_machines(&mut experiment);
    settle_governors(&mut experiment)?;
    let (unit, better) = measure_of(&experiment)?;
    let mut plan = Plan {
        schema: PLAN_SCHEMA.to_owned(),
        run_id: new_id(),
        created_at: jiff::Timestamp::now().to_string(),
        iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
        unit,
        better,
        seed: experiment.trials.seed.unwrap_or_else(random),
        superblock: 0,
        quick: options.quick,
        shrunk,
        identical_levels: options.identical_levels,
        overrides: options.overrides,
        tags: options.tags,
        destroy: options.destroy,
        confounded,
        experiment,
    };
    boot::check(&plan)?;
    carried::check_room(&plan.experiment)?;
    settle_superblock(&mut plan)?;
    check_budget(&plan)?;
    Ok(plan)
}

/// Writes down where the files of commands lie, so that a run goes on with the same wherever it is resumed.
fn place_files(experiment: &mut Experiment, directory: &Path) {
    for configuration in &mut experiment.configurations {
        let elsewhere = matches!(configuration.machine, MachineSpec::Agent(_));
        if let Workload::Command(command) = &mut configuration.workload {
            command.place_files(directory);
            // A program may as well come out of what `prepare` unpacks, or be another host's.
            for program in command.relative_programs().filter(|_| !elsewhere) {
                let beside = directory.join(program.trim_start_matches("./"));
                if beside.is_file() {
                    *program = beside.to_string_lossy().into_owned();
                }
            }
        }
    }
}

/// Writes down what an hour of each configuration costs: what the file says, else what the catalogue knows of the instance
/// that it stands for.
fn price_machines(experiment: &mut Experiment) {
    for configuration in &mut experiment.configurations {
        let machine = &configuration.machine;
        let said = machine
            .usd_per_hour()
            .map(|usd_per_hour| Price { usd_per_hour, source: "experiment file".to_owned() });
        let known = || iostone_cloud::price(machine.instance()?, iostone_cloud::DEFAULT_REGION).ok();
        configuration.price = said.or_else(known);
    }
}

/// Writes down the CPU allowance of each configuration with its figures, so that the plan tells what was emulated even where
/// a later catalogue knows better.
fn settle_governors(experiment: &mut Experiment) -> Result<(), LabError> {
    for configuration in &mut experiment.configurations {
        let Some(governed) = configuration.machine.governed() else { continue };
        let allowance = iostone_cloud::allowance(&governed.cpu, governed.law.as_deref())
            .map_err(|unknown| LabError::Plan(format!("`machine.{}`: {unknown}", unknown.key())))?;
        let governor = Governor { allowance, speed: governed.speed, start: governed.start };
        configuration.stack.governor = Some(Box::new(governor));
    }
    Ok(())
}

/// What the verdicts of a plan will not mean: levels that change more than one thing at once. A sentence each.
pub fn plan_warnings(plan: &Plan) -> Vec<String> {
    let undeclared: Vec<ConfoundedLevel> =
        plan.confounded_levels().iter().filter(|level| !level.declared).cloned().collect();
    confounded_sentences(&undeclared)
}

/// What is worth saying of a plan before it is carried out, each once: factors that go together, prices that nobody knows,
/// and limits that limit nothing on this machine.
pub fn plan_notes(plan: &Plan) -> Vec<String> {
    let declared: Vec<ConfoundedLevel> =
        plan.confounded_levels().iter().filter(|level| level.declared).cloned().collect();
    let mut notes = confounded_sentences(&declared);
    notes.extend(std::thread::available_parallelism().ok().and_then(|all| idle_limits(plan, all.get())));
    notes.extend(emulation::notes(&plan.experiment));
    for configuration in plan.experiment.configurations.iter().filter(|c| c.price.is_none()) {
        let Some(instance) = configuration.machine.instance() else { continue };
        if let Err(unknown) = iostone_cloud::price(instance, iostone_cloud::DEFAULT_REGION) {
            let note = format!("no price: {unknown}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Says which limits are above all processors that there are: a workload on this machine can use no more.
fn idle_limits(plan: &Plan, processors: usize) -> Option<String> {
    let is_idle = |configuration: &&Configuration| {
        matches!(configuration.machine, MachineSpec::Local(_))
            && configuration.stack.limit.cpu.quota().is_some_and(|quota| quota.share() > processors as f64)
    };
    let idle: Vec<&str> =
        plan.experiment.configurations.iter().filter(is_idle).map(|c| c.name.as_str()).collect();
    let (first, rest) = idle.split_first()?;
    let (names, verb) = match rest.len() {
        0 => ((*first).to_owned(), "limits"),
        more => (format!("{first} and {more} more"), "limit"),
    };
    Some(format!(
        "`limit.cpu`: {names} {verb} nothing here, where {} can give {}",
        counted(processors, "processor"),
        Fraction(processors as f64)
    ))
}

/// The unit of what decides, and which way it is better. A curve has those that its points share; without them it is a
/// plain number and higher is better, and only its points tell more.
fn measure_of(experiment: &Experiment) -> Result<(Unit, Direction), LabError> {
    let name = &experiment.decide.metric;
    let workload = experiment.configurations.first().map(|configuration| &configuration.workload);
    if let Some(points) = workload.and_then(|workload| workload.curve(name)) {
        let Some(first) = points.first() else {
            return Err(LabError::Plan(format!("`{name}` has no point, so there is nothing to compare")));
        };
        let unit = if points.iter().all(|point| point.unit == first.unit) { first.unit } else { Unit::Plain };
        let alike = points.iter().all(|point| point.direction == first.direction);
        return Ok((unit, if alike { first.direction } else { Direction::Higher }));
    }
    workload
        .and_then(|workload| workload.metric(name))
        .map(|metric| (metric.unit, metric.direction))
        .ok_or_else(|| LabError::Plan(format!("nobody knows the metric `{name}`")))
}

/// Writes down how many trials of each configuration the superblock has, where the experiment asks for one. A rehearsal has one
/// block, and a noise run is there for the spread of blocks.
fn settle_superblock(plan: &mut Plan) -> Result<(), LabError> {
    let blocks = &mut plan.experiment.decide.blocks;
    if plan.quick || plan.identical_levels {
        blocks.start = BlockStart::Pairs;
    }
    if blocks.start == BlockStart::Pairs {
        return Ok(());
    }
    let subject = Subject::of(plan);
    let refused = if subject.curve {
        Some("the points of a curve are judged by the coin of each block")
    } else if plan.experiment.sweep().is_some() {
        Some("a sweep chooses its levels block by block")
    } else if !plan.experiment.decide.covariates.is_empty() {
        Some("only blocks are adjusted for `decide.covariates`")
    } else if plan.boots().len() > 1 {
        Some("levels that need a reboot between them run together within a block")
    } else {
        None
    };
    if let Some(reason) = refused {
        return Err(LabError::Plan(format!(
            "`decide.blocks.start = \"superblock\"` runs several trials of every level in one random order, but {reason}; \
             leave it out"
        )));
    }
    let trials = superblock_trials(subject.declared(plan), plan.experiment.decide.confidence.0);
    let blocks = &mut plan.experiment.decide.blocks;
    blocks.min = blocks.min.max(trials.min(blocks.max));
    plan.superblock = trials;
    Ok(())
}

/// Curves must have points in common; and a budget below the first look would spend all its blocks for nothing.
fn check_budget(plan: &Plan) -> Result<(), LabError> {
    let decide = &plan.experiment.decide;
    let subject = Subject::of(plan);
    let comparisons = subject.declared(plan);
    if subject.curve && comparisons == 0 {
        return Err(LabError::Plan(format!(
            "no level has a point of `{}` in common with its baseline, so there is nothing to compare",
            decide.metric
        )));
    }
    if let Some((factor, _)) = plan.experiment.sweep() {
        return check_sweep(plan, factor);
    }
    // The points of a curve share the coins of their blocks, and so the chance of error of one comparison.
    let comparisons = if subject.curve { plan.comparisons().len() } else { comparisons };
    let fewest = match plan.superblock {
        0 => fewest_blocks(comparisons, decide.confidence.0),
        trials => FewestBlocks { difference: trials, equivalence: trials },
    };
    if decide.blocks.max >= fewest.difference || plan.quick {
        return Ok(());
    }
    Err(LabError::Plan(format!(
        "`decide.blocks.max` is {}, too few for {comparisons} {} at {} confidence: {fewest}; raise it with \
         `--set decide.blocks.max={}`, or rehearse with `--quick`",
        decide.blocks.max,
        match (subject.curve, comparisons) {
            (true, 1) => "curve",
            (true, _) => "curves",
            (false, 1) => "comparison",
            (false, _) => "comparisons",
        },
        decide.confidence,
        fewest.difference
    )))
}

/// A sweep needs as many blocks as a pair of its levels before it shows something.
fn check_sweep(plan: &Plan, factor: &Factor) -> Result<(), LabError> {
    let decide = &plan.experiment.decide;
    let fewest = fewest_blocks_of_sweep(factor.levels.len(), decide.confidence.0);
    if decide.blocks.max >= fewest || plan.quick {
        return Ok(());
    }
    Err(LabError::Plan(format!(
        "`decide.blocks.max` is {}, too few for a sweep over {} levels at {} confidence, which needs at least {fewest} \
         blocks; raise it with `--set decide.blocks.max={fewest}`, or \
         rehearse with `--quick`",
        decide.blocks.max,
        factor.levels.len(),
        decide.confidence,
    )))
}

/// Replaces the factors by one whose two levels are both the baseline configuration.
fn double(experiment: &mut Experiment) -> Result<(), LabError> {
    let baseline = experiment
        .configurations
        .iter()
        .find(|configuration| experiment.compared_level(configuration) == experiment.baseline_level)
        .or(experiment.configurations.first())
        .cloned()
        .ok_or_else(|| LabError::Plan("the experiment has no configuration".to_owned()))?;
    let factor = "identical".to_owned();
    experiment.configurations = ["A", "B"]
        .map(|level| Configuration {
            name: level.to_owned(),
            levels: BTreeMap::from([(factor.clone(), level.to_owned())]),
            ..baseline.clone()
        })
        .to_vec();
    let levels = vec!["A".to_owned(), "B".to_owned()];
    experiment.factors = vec![Factor { name: factor.clone(), levels, ..Factor::default() }];
    experiment.baseline_factor = factor;
    "A".clone_into(&mut experiment.baseline_level);
    "A".clone_into(&mut experiment.decide.baseline);
    let what = format!("Do two identical trials of `{}` measure the same here?", baseline.name);
    experiment.question = Some(what);
    let blocks = &mut experiment.decide.blocks;
    blocks.min = blocks.min.max(NOISE_BLOCKS.min(blocks.max));
    Ok(())
}

/// A new id, of a run or of a fleet.
pub fn new_id() -> String {
    run_id(random())
}

/// Eight letters and digits without those that look alike.
pub(crate) fn run_id(random: u64) -> String {
    const ALPHABET: &[u8] = b"23456789abcdefghjkmnpqrstuvwxyz";
    let mut rest = random;
    (0..8)
        .map(|_| {
            let letter =
                usize::try_from(rest % ALPHABET.len() as u64).ok().and_then(|index| ALPHABET.get(index));
            rest /= ALPHABET.len() as u64;
            char::from(*letter.unwrap_or(&b'x'))
        })
        .collect()
}

/// Eight random bytes of the kernel's. Without its random numbers (a kernel before 3.17) the clock must do.
pub(crate) fn random() -> u64 {
    let mut bytes = [0u8; 8];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(8) => u64::from_ne_bytes(bytes),
        _ => jiff::Timestamp::now().as_microsecond().unsigned_abs(),
    }
}
