//! `iostone fleet cleanup`: leaves every host of a fleet as it was found.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use iostone_fleet::{Campaign, FleetDirectory, News, Timing};
use iostone_model::fleet::{HostState, is_host_name};

use super::run::{Reach, USUAL_LEASE, programs};
use crate::cli::RunsDirectory;
use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;

/// Connections are kept for as long between two steps.
const BETWEEN: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct CleanupArguments {
    /// The fleet directory
    #[arg(value_name = "FLEETDIR")]
    fleet: PathBuf,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    runs: RunsDirectory,
}

pub(crate) fn cleanup(arguments: &CleanupArguments, printer: &mut Printer) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    let mut directory = FleetDirectory::open(&super::find(&arguments.runs.runs, &arguments.fleet)?)?;
    if directory.fleet.inventory.is_empty() {
        bail!("`{}` was collected from directories: no host has anything of it", arguments.fleet.display());
    }
    let hosts: Vec<String> = directory
        .fleet
        .hosts
        .iter()
        .map(|host| host.name.clone())
        .filter(|name| is_host_name(name))
        .collect();
    let reach = &arguments.reach;
    // Nothing is started, so that nothing waits for the next question.
    let timing = Timing { poll: BETWEEN, lease: USUAL_LEASE, connect: reach.connect_timeout.0 };
    let mut tell = |news: News<'_>| match news {
        News::Cleaned { host, failure: None } => printer.note(format_args!("{host}: clean")),
        News::Cleaned { host, failure: Some(failure) } => {
            printer.warning(format_args!("{host} was not cleaned: {failure}"));
        }
        _ => {}
    };
    let failed =
        Campaign::new(&mut directory, programs(&[])?, timing, reach.forks, reach.becomes, &stop, &mut tell)?
            .clean(&hosts)?;
    for host in directory.fleet.hosts.iter_mut().filter(|host| host.state == HostState::Running) {
        host.state = HostState::Missing;
        host.reason = Some("it was cleaned before its result was fetched".to_owned());
    }
    directory.save()?;
    Ok(if failed == 0 { ExitCode::Success } else { ExitCode::Partial })
}
