//! `iostone recommend`: what to rent for a target, and what each further dollar buys.

use anyhow::{Result, bail};
use clap::Args;

use crate::exit_code::ExitCode;
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct RecommendArguments {
    /// A target
    target: Option<String>,
}

pub(crate) fn recommend(arguments: &RecommendArguments, _printer: &mut Printer) -> Result<ExitCode> {
    bail!("`recommend` cannot do anything yet with {:?}", arguments.target)
}
