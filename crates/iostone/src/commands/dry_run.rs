//! `iostone run --dry-run`: every step of every configuration, and what it will take. Touches nothing.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use iostone_lab::{Estimate, estimate, first_pilot, plan_notes, reboots};
use iostone_machine::WORK_INSIDE;
use iostone_model::covariate::Covariate;
use iostone_model::environment::Kernel;
use iostone_model::experiment::{
    Allowance, Configuration, EmulatedBy, EmulatedInstance, MachineSpec, Profile, Stack, Timing, Volume,
    Workload,
};
use iostone_model::figures::{counted, list};
use iostone_model::run::Plan;
use iostone_model::units::{Bytes, Span};
use iostone_report::clean;
use iostone_stack::{PlannedStep, plan_guest_steps, plan_steps};
use serde::Serialize;

use crate::printer::{Printer, bold};
use crate::progress::in_words;

#[derive(Serialize)]
struct DryRun<'a> {
    schema: &'static str,
    plan: &'a Plan,
    configurations: Vec<ConfigurationSteps<'a>>,
    trials_at_least: u32,
    trials_at_most: u32,
    seconds_at_least: Option<f64>,
    seconds_at_most: Option<f64>,
    disk_bytes: u64,
}

#[derive(Serialize)]
struct ConfigurationSteps<'a> {
    name: &'a str,
    steps: Vec<PlannedStep>,
}

pub(crate) fn print(plan: &Plan, runs: &Path, json: bool, printer: &mut Printer) -> Result<()> {
    let estimate = estimate(plan);
    let date = plan.created_at.get(..10).unwrap_or_default();
    let directory = runs.join(format!("{date}-{}-{}", plan.experiment.name, plan.run_id));
    let configurations: Vec<ConfigurationSteps<'_>> = plan
        .experiment
        .configurations
        .iter()
        .map(|configuration| ConfigurationSteps {
            name: &configuration.name,
            steps: steps(configuration, plan, &directory),
        })
        .collect();
    if json {
        let document = DryRun {
            schema: "iostone/dry-run/1",
            plan,
            configurations,
            trials_at_least: estimate.trials.0,
            trials_at_most: estimate.trials.1,
            seconds_at_least: estimate.least.map(|time| time.as_secs_f64()),
            seconds_at_most: estimate.most.map(|time| time.as_secs_f64()),
            disk_bytes: estimate.disk.0,
        };
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else {
        printer.data(&in_text(plan, &directory, &configurations, &estimate)?);
    }
    Ok(())
}

/// The stack's steps with the workload's between building and undoing.
fn steps(configuration: &Configuration, plan: &Plan, directory: &Path) -> Vec<PlannedStep> {
    let stack = &configuration.stack;
    let machine = machine_step(&configuration.machine, stack);
    let mut steps = match (machine, configuration.machine.guest()) {
        (Some(boot), Some(_)) => plan_guest_steps(stack, directory, Path::new(WORK_INSIDE), boot),
        (machine, _) => machine.into_iter().chain(plan_steps(stack, directory)).collect(),
    };
    let undoing = steps.iter().position(|step| step.layer == "undo").unwrap_or(steps.len());
    let settle = plan.experiment.trials.settle;
    let own = [
        configuration.workload.profile().preparation.map(|done| (done.words, done.bytes.0)),
        Some((format!("wait until the devices have been idle for {settle}"), 0)),
        Some((workload_step(configuration), 0)),
        Some(("read every setting back again".to_owned(), 0)),
    ];
    let own = own.into_iter().flatten().map(|(text, bytes)| PlannedStep {
        layer: "workload".to_owned(),
        text,
        creates: None,
        bytes,
    });
    steps.splice(undoing..undoing, own);
    steps
}

/// What is booted, has to run already, or is emulated.
fn machine_step(machine: &MachineSpec, stack: &Stack) -> Option<PlannedStep> {
    let with = |words: &[String]| {
        if words.is_empty() {
            String::new()
        } else {
            format!(", with {} in its command line", words.join(" "))
        }
    };
    let text = match machine {
        MachineSpec::Guest(guest) => {
            let system = match &guest.rootfs {
                Some(rootfs) => format!("root filesystem {}", rootfs.display()),
                None => "only the agent and its programs".to_owned(),
            };
            let carried: Vec<String> = guest.carry.iter().map(|path| path.display().to_string()).collect();
            let carried = if carried.is_empty() {
                String::new()
            } else {
                format!(", {} carried in", carried.join(", "))
            };
            let cpus = if guest.cpus == 1 { "processor" } else { "processors" };
            format!(
                "boot a guest: kernel {}{}, {} {cpus}, {} of memory, {system}{carried}",
                guest.kernel,
                with(&guest.kernel_arguments),
                guest.cpus,
                guest.memory
            )
        }
        MachineSpec::Local(local) if local.kernel.is_some() || !local.kernel_arguments.is_empty() => {
            let kernel = local.kernel.as_deref().unwrap_or("as it is");
            format!(
                "kernel {kernel}{}; stop for a reboot if another kernel runs",
                with(&local.kernel_arguments)
            )
        }
        MachineSpec::Emulate(emulated) => standing_for(emulated, stack),
        MachineSpec::Governed(_) => {
            let governor = stack.governor.as_deref()?;
            let Allowance { law, source, .. } = &governor.allowance;
            format!("emulate the processors of {}: {}; {source}", governor.in_words(), law.in_words())
        }
        MachineSpec::Local(_) | MachineSpec::Agent(_) => return None,
    };
    Some(PlannedStep { layer: "machine".to_owned(), text, creates: None, bytes: 0 })
}

/// "stand for c4.large: a link of 62.5MB/s, gp2:220GiB as 1/60 of it (3.67GiB), limits of 2017-07; 60 times faster".
fn standing_for(emulated: &EmulatedInstance, stack: &Stack) -> String {
    let pace = if emulated.speed > 1.0 {
        format!("{} times faster", emulated.speed)
    } else {
        "in real time".to_owned()
    };
    let volumes = match &stack.volume {
        Volume::Emulated(volume) => volume.stands_for.as_ref().map(|spec| {
            let size = volume.size.approximate();
            if emulated.speed > 1.0 { format!("{spec} made {size} small") } else { format!("{spec}") }
        }),
        _ => None,
    };
    let parts = [
        stack.link.map(|link| format!("a link of {}", link.in_words())),
        volumes,
        stack.governor.as_ref().map(|governor| format!("the allowance {}", governor.in_words())),
        emulated.date.map(|date| format!("limits of {date}")),
        Some(pace),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("stand for {}: {}", emulated.emulate, parts.join(", "))
}

fn workload_step(configuration: &Configuration) -> String {
    let text = workload_text(&configuration.workload);
    // A server's limits hold for whoever uses its volumes.
    let by_server = matches!(&configuration.stack.volume,
        Volume::Emulated(volume) if volume.effective_by(configuration.stack.link) == EmulatedBy::Server);
    let in_group =
        configuration.stack.volume.is_throttled() && !by_server && configuration.machine.guest().is_none();
    if in_group { format!("in the cgroup: {text}") } else { text }
}

/// What it does, and how much of it counts in no figure.
fn workload_text(workload: &Workload) -> String {
    let Profile { mut summary, ramp, .. } = workload.profile();
    match ramp {
        Some(Timing::Fixed(ramp)) if !ramp.0.is_zero() => summary.push(format!("{ramp} ramp not measured")),
        Some(Timing::Auto) => summary.push("the ramp found by pilots not measured".to_owned()),
        _ => {}
    }
    summary.join(", ")
}

fn in_text(
    plan: &Plan,
    directory: &Path,
    configurations: &[ConfigurationSteps<'_>],
    estimate: &Estimate,
) -> Result<String, std::fmt::Error> {
    let experiment = &plan.experiment;
    let mut text = String::new();
    writeln!(text, "{}", bold(&clean(experiment.question.as_deref().unwrap_or(&experiment.name))))?;
    writeln!(text, "would run in {}, seed {}\n", clean(&directory.display().to_string()), plan.seed)?;
    for ConfigurationSteps { name, steps } in configurations {
        let baseline = plan.experiment.configurations.iter().any(|configuration| {
            configuration.name == **name
                && experiment.compared_level(configuration) == experiment.baseline_level
        });
        writeln!(text, "{}{}", bold(&clean(name)), if baseline { " (baseline)" } else { "" })?;
        for step in steps {
            writeln!(text, "  {:<10} {}", clean(&step.layer), clean(&step.text))?;
        }
        text.push('\n');
    }
    let range = |(least, most): (u32, u32)| {
        if least == most { least.to_string() } else { format!("{least} to {most}") }
    };
    let (_, most_blocks) = estimate.blocks;
    let levels = configurations.len();
    // A sweep of many levels tries all twice and goes on with those that may be best, mostly one with its neighbours.
    let of = match experiment.sweep().filter(|_| !plan.quick) {
        Some(_) if levels > iostone_stats::race::RACED_WHOLE => {
            format!(", the first two of {levels}, later ones mostly of about 3")
        }
        Some(_) => format!(" of {levels} at first; levels shown to be worse are dropped later"),
        None => format!(" of {levels}"),
    };
    let start = match plan.superblock {
        0 => String::new(),
        trials => format!(
            "; first a superblock that counts as {trials}: {trials} trials of each, {} in one random order",
            trials as usize * levels
        ),
    };
    let warmups = match experiment.trials.warmups {
        0 => String::new(),
        count => format!(", with {count} unrecorded of each configuration first"),
    };
    let conditioning = if experiment.decide.conditioning {
        "; each trial follows an unrecorded one of its own level"
    } else {
        ""
    };
    writeln!(
        text,
        "{} trials in {} {}{of}{start}{warmups}{conditioning}",
        range(estimate.trials),
        range(estimate.blocks),
        if most_blocks == 1 { "block" } else { "blocks" },
    )?;
    if let Some(pilots) = pilots(plan) {
        writeln!(text, "{pilots}")?;
    }
    if let Some(boots) = boots(plan) {
        writeln!(text, "boots   {boots}")?;
    }
    writeln!(text, "time    {}", time(estimate, plan))?;
    let disk = if estimate.disk == Bytes(0) { "almost none".to_owned() } else { estimate.disk.approximate() };
    writeln!(text, "disk    {disk} at a time, removed afterwards; some MiB of records remain")?;
    for note in plan_notes(plan) {
        writeln!(text, "note    {}", clean(&note))?;
    }
    writeln!(text, "nothing was touched")?;
    Ok(text)
}

/// Which kernel runs now, and how often another has to be booted, where levels ask for kernels of this host.
fn boots(plan: &Plan) -> Option<String> {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let running = Kernel {
        release: read("/proc/sys/kernel/osrelease")?,
        command_line: read("/proc/cmdline"),
        ..Kernel::default()
    };
    let (least, most) = reboots(plan, &running)?;
    let count = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let noun = if most == 1 { "reboot" } else { "reboots" };
    Some(format!("{} runs now; {count} {noun}, each ending a session with exit code 4", running.release))
}

/// What comes before the first block where the ramp is left to pilots.
fn pilots(plan: &Plan) -> Option<String> {
    let mut lengths: Vec<Span> =
        plan.experiment.configurations.iter().filter_map(|c| first_pilot(plan, c)).collect();
    let count = lengths.len();
    lengths.sort_unstable();
    let (shortest, longest) = (lengths.first()?, lengths.last()?);
    let length = if shortest == longest { shortest.to_string() } else { format!("{shortest} to {longest}") };
    let pilots = counted(count, "pilot");
    let covariates: Vec<String> =
        plan.experiment.decide.covariates.iter().map(Covariate::to_string).collect();
    let worth = if covariates.is_empty() {
        String::new()
    } else {
        format!("; they also give the slopes for {}", list(&covariates))
    };
    Some(format!(
        "{pilots} of {length} first, one a configuration: where MSER-5 cuts them is declared as the warm-up of \
         every trial{worth}"
    ))
}

fn time(estimate: &Estimate, plan: &Plan) -> String {
    match (estimate.least, estimate.most, estimate.a_trial, estimate.timeout) {
        (Some(least), Some(most), Some(trial), _) if least < most => {
            format!("about {} to {}, {} a trial", in_words(least), in_words(most), in_words(trial))
        }
        (_, Some(most), Some(trial), _) => format!("about {}, {} a trial", in_words(most), in_words(trial)),
        // All trials together hardly ever take as long as their timeouts do, so the sum is nothing to go by.
        (_, most, None, Some(timeout)) => {
            let whole = match (plan.experiment.decide.time, most) {
                (Some(_), Some(most)) => format!(", {} in all", in_words(most)),
                _ => String::new(),
            };
            format!("depends on the workload; at most {} per trial (its timeout){whole}", in_words(timeout))
        }
        (_, Some(most), None, None) => format!("depends on the workload; at most {}", in_words(most)),
        _ => {
            let can_time_out = |one: &Configuration| one.workload.profile().may_time_out;
            let trial = if plan.experiment.configurations.iter().all(can_time_out) {
                ", `workload.timeout` per trial"
            } else {
                ""
            };
            format!("depends on the workload; `decide.time` limits the run{trial}")
        }
    }
}
