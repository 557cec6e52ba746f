//! `iostone fleet`: one experiment on many hosts, and what they say together.

mod cleanup;
mod collect;
mod host;
mod plan;
mod run;
mod show;
mod sign;
mod template;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) use show::{find, report};

/// Runs an experiment on many hosts and judges over them.
#[derive(Debug, Args)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Run an experiment on every host of an Ansible inventory, or complete a fleet
    #[command(
        override_usage = "iostone fleet run [OPTIONS] --inventory <INVENTORY> <FILE | RECIPE>\n       \
                                iostone fleet run [OPTIONS] --resume <FLEETDIR>"
    )]
    Run(Box<run::FleetRunArguments>),
    /// Merge run directories and archives from anywhere into a fleet, and report
    Collect(collect::CollectArguments),
    /// Stop what runs on the hosts of a fleet, undo everything and remove what was pushed
    Cleanup(cleanup::CleanupArguments),
    /// Sign a run directory with an SSH key
    Sign(sign::SignArguments),
    /// Verify the manifest and the signature of run directories
    Verify(sign::VerifyArguments),
    /// Print a job for Slurm or Kubernetes that runs an experiment on many hosts
    Template(template::TemplateArguments),
    /// Run an experiment in a fleet's directory on a host (internal)
    #[command(hide = true)]
    Host(host::HostArguments),
}

pub(crate) fn fleet(arguments: &FleetArguments, printer: &mut Printer) -> Result<ExitCode> {
    match &arguments.command {
        FleetCommand::Run(arguments) => run::run(arguments, printer),
        FleetCommand::Collect(arguments) => collect::collect(arguments, printer),
        FleetCommand::Cleanup(arguments) => cleanup::cleanup(arguments, printer),
        FleetCommand::Sign(arguments) => sign::sign(arguments, printer),
        FleetCommand::Verify(arguments) => sign::verify(arguments, printer),
        FleetCommand::Template(arguments) => template::template(arguments, printer),
        FleetCommand::Host(arguments) => host::host(arguments, printer),
    }
}
