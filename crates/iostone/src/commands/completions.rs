//! `iostone completions`: what a shell completes, from the same definition that parses the command line.

use anyhow::{Context, Result};
use clap::Args;
use clap_complete::Shell;

use crate::exit_code::ExitCode;
use crate::help;
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(arguments: &CompletionsArguments, printer: &mut Printer) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::command(), "iostone", &mut script);
    printer.data(&String::from_utf8(script).context("completions that are not UTF-8")?);
    Ok(ExitCode::Success)
}
