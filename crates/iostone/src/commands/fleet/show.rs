//! What a fleet found, for `iostone fleet` and `iostone report`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use iostone_fleet::{FleetDirectory, is_fleet, judge};
use iostone_model::fleet::{FleetReport, HostState};

use crate::cli::{ReportArguments, ReportFormat};
use crate::commands::run::shorten;
use crate::exit_code::ExitCode;
use crate::output_file::write_out;
use crate::printer::Printer;

/// Finds a fleet directory: a path, or a name below the directory of runs.
pub(crate) fn find(parent: &Path, named: &Path) -> Result<PathBuf> {
    let found = [named.to_owned(), parent.join(named)].into_iter().find(|path| is_fleet(path));
    found
        .ok_or_else(|| anyhow::anyhow!("`{}` is no fleet directory: it has no `fleet.json`", named.display()))
}

/// Judges over the hosts, writes the page beside them, prints the report. Exit code 4 where a host is missing.
pub(super) fn conclude(directory: &FleetDirectory, json: bool, printer: &mut Printer) -> Result<ExitCode> {
    let missing = directory.fleet.hosts.iter().any(|host| host.state != HostState::Done);
    if !directory.fleet.hosts.iter().any(|host| host.state == HostState::Done) {
        printer.warning("no host has a result yet");
        return Ok(ExitCode::Partial);
    }
    let report = judged(directory.path(), &directory.fleet)?;
    let page = directory.write_report("report.html", &iostone_report::fleet_html(&report)?)?;
    if json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&report)?));
    } else {
        printer.data(&iostone_report::fleet_text(&report, printer.text_style()));
    }
    printer.note(format_args!("\nreport: {}", shorten(&page).display()));
    let left_out = report.fleet.hosts.iter().any(|host| host.state != HostState::Done);
    Ok(if missing || left_out { ExitCode::Partial } else { ExitCode::Success })
}

/// `iostone report FLEETDIR`.
pub(crate) fn report(path: &Path, arguments: &ReportArguments, printer: &mut Printer) -> Result<ExitCode> {
    if arguments.baseline.is_some() || arguments.fail_if.is_given() || arguments.full {
        bail!("`{}` is a fleet; `--baseline`, `--fail-if` and `--full` are for runs", path.display());
    }
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let report = judged(path, &FleetDirectory::read(path)?)?;
    let mut style = printer.text_style();
    style.colour &= arguments.output.is_none();
    let format = if arguments.json { ReportFormat::Json } else { arguments.format };
    let text = match format {
        ReportFormat::Text => iostone_report::fleet_text(&report, style),
        ReportFormat::Html => iostone_report::fleet_html(&report)?,
        ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
    };
    match output {
        Some(output) => write_out(output, &text, printer)?,
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
}

fn judged(path: &Path, fleet: &iostone_model::fleet::Fleet) -> Result<FleetReport> {
    let mut report = judge(path, fleet)?;
    report.headline = iostone_report::fleet_headline(&report);
    Ok(report)
}
