//! `iostone disk`: emulated volumes at sockets of their own, and their controls.

mod control;
mod plan;
mod serve;
mod uri;

use anyhow::Result;
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
    /// Serve an emulated volume, or several, over NBD until Ctrl-C
    Serve(Box<serve::ServeArguments>),
    /// Ask a server for its counters, or change what it does while it runs
    Control(control::ControlArguments),
    /// Carry out a plan, one line of JSON on standard input, until that is closed (not for people)
    #[command(hide = true)]
    Plan,
}

pub(crate) fn disk(arguments: &DiskArguments, printer: &mut Printer) -> Result<ExitCode> {
    match &arguments.command {
        DiskCommand::Serve(arguments) => serve::serve(arguments, printer),
        DiskCommand::Control(arguments) => control::control(arguments, printer),
        DiskCommand::Plan => plan::plan(printer),
    }
}
