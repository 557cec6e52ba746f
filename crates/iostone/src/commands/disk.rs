//! `iostone disk`: an emulated volume at a socket of its own, and its controls.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// Serves emulated volumes, and steers servers.
#[derive(Debug, Args)]
pub(crate) struct DiskArguments {
    #[command(subcommand)]
    command: DiskCommand,
}

#[derive(Debug, Subcommand)]
enum DiskCommand {
    /// Carry out a plan that stands on standard input, until it is told to end (not for people)
    #[command(hide = true)]
    Plan,
}

pub(crate) fn disk(arguments: &DiskArguments, _printer: &mut Printer) -> Result<ExitCode> {
    match arguments.command {
        DiskCommand::Plan => bail!("not built yet"),
    }
}
