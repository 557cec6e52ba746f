//! `iostone fleet collect`: run directories from anywhere become a fleet.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use iostone_fleet::Bounds;
use iostone_model::figures::counted;

use super::show;
use crate::cli::RunsDirectory;
use crate::commands::run::shorten;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct CollectArguments {
    /// Run directories, `result.tar` archives of them, and directories that hold such
    #[arg(required = true, value_name = "DIR | FILE")]
    runs_given: Vec<PathBuf>,
    /// Print the report as JSON on stdout
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    runs: RunsDirectory,
}

pub(crate) fn collect(arguments: &CollectArguments, printer: &mut Printer) -> Result<ExitCode> {
    let parent = std::path::absolute(&arguments.runs.runs).context("the current directory")?;
    fs::create_dir_all(&parent).with_context(|| format!("making `{}`", parent.display()))?;
    let collected = iostone_fleet::collect(&arguments.runs_given, &parent, &Bounds::default())?;
    for (path, host) in &collected.duplicates {
        printer.note(format_args!("`{}` is the run of {host} once more", path.display()));
    }
    for path in &collected.unsealed {
        printer.note(format_args!(
            "`{}` has no manifest, so changes after the run cannot be found",
            path.display()
        ));
    }
    for (path, host) in &collected.unfinished {
        printer.warning(format_args!(
            "the run of {host} in `{0}` is unfinished; `iostone run --resume {0}` on {host} completes it",
            path.display()
        ));
    }
    for (path, reason) in &collected.refused {
        printer.warning(format_args!("`{}` is left out: {reason}", path.display()));
    }
    let directory = &collected.directory;
    printer.note(format_args!(
        "{} in {}",
        counted(directory.fleet.hosts.len(), "host"),
        shorten(directory.path()).display()
    ));
    let code = show::conclude(directory, arguments.json, printer)?;
    runs::hand_over(directory.path(), printer);
    Ok(if collected.refused.is_empty() { code } else { ExitCode::Partial })
}
