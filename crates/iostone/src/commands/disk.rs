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

/// Serves emulated volumes and controls servers.
#[derive(Debug, Args)]
pub(crate) struct DiskArguments {
    #[command(subcommand)]
    command: DiskCommand,
}

#[derive(Debug, Subcommand)]
enum DiskCommand {
    /// Serve one or more emulated volumes over NBD until Ctrl-C
    Serve(Box<serve::ServeArguments>),
    /// Print a server's counters, or change its limits while it runs
    Control(control::ControlArguments),
    /// Print the NVMe statistics of an EBS volume or EC2 instance store disk
    Statistics(statistics::StatisticsArguments),
    /// Serve a plan, one line of JSON on standard input, until it is closed (internal)
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
