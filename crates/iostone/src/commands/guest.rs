//! `iostone guest`: kernels to boot, and a guest to try things in.

mod kernels;
mod run;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::printer::Printer;
use kernels::KernelsArguments;
use run::RunInGuestArguments;

/// Virtual machines with kernels of their own.
#[derive(Debug, Args)]
pub(crate) struct GuestArguments {
    #[command(subcommand)]
    command: GuestCommand,
}

#[derive(Debug, Subcommand)]
enum GuestCommand {
    /// List, fetch and remove the kernels that guests can boot
    Kernels(KernelsArguments),
    /// Boot a guest, run a program in it, remove the guest
    Run(Box<RunInGuestArguments>),
}

pub(crate) fn guest(arguments: &GuestArguments, printer: &mut Printer) -> Result<ExitCode> {
    match &arguments.command {
        GuestCommand::Kernels(arguments) => kernels::kernels(arguments, printer),
        GuestCommand::Run(arguments) => run::run(arguments, printer),
    }
}
