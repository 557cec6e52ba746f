//! `iostone fleet host`: the end of a fleet on a host. It runs the experiment by itself; the controller only asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::Args;
use iostone_fleet::{HostDirectory, seal, seed_of, write_status};
use iostone_lab::{LabError, Link};
use iostone_machine::{InProcess, StopFlag};
use iostone_model::fleet::{HostStatus, RunState, STATUS_SCHEMA};
use iostone_model::units::Span;

use crate::cli::{MetadataChoice, RunOptions, RunsDirectory};
use crate::commands::run;
use crate::exit_code::{self, ExitCode, Resumable};
use crate::interrupt;
use crate::printer::Printer;

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct HostArguments {
    /// The fleet's directory on this host
    directory: PathBuf,
    /// Renew the lease and print the status
    #[arg(long, conflicts_with = "stop")]
    poll: bool,
    /// End the run, and undo whatever it left
    #[arg(long)]
    stop: bool,
    /// The fleet's id
    #[arg(long, value_name = "ID", default_value = "")]
    fleet: String,
    /// This host's name in the inventory
    #[arg(long, value_name = "NAME", default_value = "")]
    host: String,
    /// End after nobody has asked for this long
    #[arg(long, value_name = "TIME", default_value = "30min")]
    lease: Span,
    /// The fleet's seed
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Override a value of the experiment
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Rehearse
    #[arg(long)]
    quick: bool,
    /// Allow the data on this device to be destroyed
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    metadata: MetadataChoice,
}

pub(crate) fn host(arguments: &HostArguments, printer: &mut Printer) -> Result<ExitCode> {
    let directory = HostDirectory::at(&arguments.directory)?;
    if arguments.poll {
        printer.data(&format!("{}\n", serde_json::to_string(&directory.poll()?)?));
        return Ok(ExitCode::Success);
    }
    if arguments.stop {
        directory.stop()?;
        let report = Link(&mut InProcess::new(interrupt::stop_flag())).cleanup()?;
        if !report.is_clean() {
            bail!("not everything was undone; `iostone cleanup` says what is left");
        }
        return Ok(ExitCode::Success);
    }
    let _lock = directory.lock()?;
    let mut status = HostStatus {
        schema: STATUS_SCHEMA.to_owned(),
        iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        ..HostStatus::default()
    };
    write_status(&directory.status_file(), &status)?;
    let stop = interrupt::stop_flag();
    let expired = directory.watch_lease(arguments.lease.0, StopFlag::clone(&stop));
    let ended = carry_out(&directory, arguments, &stop, printer)
        .and_then(|()| directory.run().context("the run directory is gone"))
        .and_then(|run| Ok((seal(&run, &directory.archive(), &arguments.fleet, &arguments.host)?, run)));
    let code = match ended {
        Ok((archive, run)) => {
            let summary = iostone_lab::read_or_make(&run)?;
            (status.trials, status.blocks) = (summary.trials, summary.blocks);
            (status.state, status.archive) = (RunState::Done, Some(archive));
            ExitCode::Success
        }
        Err(error) => {
            let code = exit_code::of_error(&error);
            // How to go on is the fleet's or the job's to say: the run may lie elsewhere by then.
            let error = match error.downcast::<Resumable>() {
                Ok(resumable) => resumable.error.into(),
                Err(other) => other,
            };
            printer.error(&error);
            let is_over = expired.load(Ordering::Relaxed);
            status.state = if is_over { RunState::Expired } else { RunState::Failed };
            status.reason = Some(if is_over {
                "its lease was over before anybody asked: it stopped and undid everything".to_owned()
            } else {
                format!("{error:#}")
            });
            code
        }
    };
    write_status(&directory.status_file(), &status)?;
    Ok(code)
}

/// Runs the experiment, or goes on with it; a run that has ended already is taken as it is.
fn carry_out(
    directory: &HostDirectory,
    arguments: &HostArguments,
    stop: &StopFlag,
    printer: &mut Printer,
) -> Result<()> {
    let mut set = arguments.set.clone();
    set.push(format!("trials.seed={}", seed_of(arguments.seed, &arguments.host)));
    let options = RunOptions {
        set,
        quick: arguments.quick,
        destroy: arguments.destroy.clone(),
        metadata: arguments.metadata.clone(),
        runs: RunsDirectory { runs: directory.runs() },
        status: Some(directory.status_file()),
        ..RunOptions::default()
    };
    if let Some(unfinished) = directory.run() {
        return match run::resume(&unfinished, &options, Arc::clone(stop), printer) {
            Err(error) if matches!(error.downcast_ref(), Some(LabError::Finished { .. })) => Ok(()),
            ended => ended.map(|_| ()),
        };
    }
    let file = directory.path().join("experiment.toml");
    let text = run::read_file(&file)?;
    let experiment = run::parse(&file.display().to_string(), &text, &options.set, printer)?;
    let place = file.parent().unwrap_or(Path::new("/")).to_owned();
    run::start(experiment, &text, place, &options, Arc::clone(stop), printer).map(|_| ())
}
