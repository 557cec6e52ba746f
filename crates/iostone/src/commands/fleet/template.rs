//! `iostone fleet template`: a job for a scheduler that is there already.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use iostone_fleet::{Job, kubernetes, slurm};
use iostone_lab::{PlanOptions, make_plan};
use iostone_model::units::Span;

use crate::commands::run::{parse, source_of};
use crate::exit_code::ExitCode;
use crate::output_file::{Overwrite, write_out};
use crate::printer::Printer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scheduler {
    /// A script for `sbatch`: a job array
    Slurm,
    /// YAML for `kubectl apply`: an Indexed Job
    Kubernetes,
}

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct TemplateArguments {
    /// The scheduler
    #[arg(value_enum)]
    scheduler: Scheduler,
    /// The experiment file, `-` for standard input, or the name of a recipe
    #[arg(value_name = "FILE | RECIPE")]
    file: PathBuf,
    /// How many hosts run it
    #[arg(long, value_name = "HOSTS", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hosts: u32,
    /// Override a value of the experiment; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// The time that the scheduler gives each run
    #[arg(long, value_name = "TIME", default_value = "4h")]
    time: Span,
    /// Of Kubernetes: the image that has iostone, as `make container` builds it; by default `iostone`
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
}

pub(crate) fn template(arguments: &TemplateArguments, printer: &mut Printer) -> Result<ExitCode> {
    if arguments.scheduler == Scheduler::Slurm && arguments.image.is_some() {
        bail!("`--image` is for Kubernetes; a Slurm job runs the iostone of its node");
    }
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let source = source_of(&arguments.file)?;
    let experiment = parse(&source.name, &source.text, &arguments.set, printer)?;
    let plan = make_plan(experiment, PlanOptions { directory: source.directory, ..PlanOptions::default() })?;
    let job = Job {
        name: &plan.experiment.name,
        text: &source.text,
        hosts: arguments.hosts,
        seed: plan.seed,
        set: &arguments.set,
        minutes: arguments.time.0.as_secs().div_ceil(60).max(1),
        image: arguments.image.as_deref().unwrap_or("iostone"),
        file: arguments.output.as_deref().and_then(|file| file.to_str()),
    };
    let text = match arguments.scheduler {
        Scheduler::Slurm => slurm(&job),
        Scheduler::Kubernetes => kubernetes(&job),
    };
    match output {
        Some(output) => write_out(output, &text, printer)?,
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
}
