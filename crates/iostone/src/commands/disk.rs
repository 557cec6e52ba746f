//! `iostone disk`: emulated volumes at sockets of their own, their controls, and what real volumes of EC2 count.

mod control;
mod plan;
mod serve;
mod statistics;
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
    /// What an EBS volume, or an instance store disk of Amazon EC2, has counted by itself
    Statistics(statistics::StatisticsArguments),
    /// Carry out a plan, one line of JSON on standard input, until that is closed (not for people)
    #[command(hide = true)]
    Plan,
}

pub(crate) fn disk(arguments: &DiskArguments, printer: &mut Printer) -> Result<ExitCode> {
    match &arguments.command {
        DiskCommand::Serve(arguments) => serve::serve(arguments, printer),
        DiskCommand::Control(arguments) => control::control(arguments, printer),
        DiskCommand::Statistics(arguments) => statistics::statistics(arguments, printer),
        DiskCommand::Plan => plan::plan(printer),
    }
}
