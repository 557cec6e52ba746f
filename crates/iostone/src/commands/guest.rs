//! `iostone guest`: kernels to boot, and a guest to try things in.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// Virtual machines with kernels of their own.
#[derive(Debug, Args)]
pub(crate) struct GuestArguments {
    #[command(subcommand)]
    command: GuestCommand,
}

#[derive(Debug, Subcommand)]
enum GuestCommand {
    /// List kernels that guests can boot, or fetch some
    Kernels,
}

pub(crate) fn guest(arguments: &GuestArguments, _printer: &mut Printer) -> Result<ExitCode> {
    match arguments.command {
        GuestCommand::Kernels => bail!("not built yet"),
    }
}
