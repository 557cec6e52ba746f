//! `iostone catalog`: instance types and volume types of the cloud, with their limits and prices.

mod compare;
mod exchange;
mod facts;
pub(crate) mod page;
mod search;
mod show;
mod summary;
mod table;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::printer::Printer;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CatalogArguments {
    #[command(subcommand)]
    command: Option<CatalogCommand>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum CatalogCommand {
    /// Search for types
    Search(search::SearchArguments),
    /// Show everything known about a type
    Show(show::ShowArguments),
    /// Compare types side by side
    Compare(compare::CompareArguments),
    /// Write the whole catalogue, including your rows
    Export(exchange::ExportArguments),
    /// Import rows into your catalogue from an export or the output of `aws ec2 describe-instance-types`
    Update(exchange::UpdateArguments),
}

impl CatalogArguments {
    /// Whether the user's file is to be written, so that it need not be there yet.
    pub(crate) fn is_update(&self) -> bool {
        matches!(self.command, Some(CatalogCommand::Update(_)))
    }
}

pub(crate) fn catalog(arguments: &CatalogArguments, printer: &mut Printer) -> Result<ExitCode> {
    match &arguments.command {
        None => summary::summary(arguments.json, printer),
        Some(CatalogCommand::Search(arguments)) => search::search(arguments, printer),
        Some(CatalogCommand::Show(arguments)) => show::show(arguments, printer),
        Some(CatalogCommand::Compare(arguments)) => compare::compare(arguments, printer),
        Some(CatalogCommand::Export(arguments)) => exchange::export(arguments, printer),
        Some(CatalogCommand::Update(arguments)) => exchange::update(arguments, printer),
    }
}
