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
use crate::runs;

/// Finds a fleet directory: a path, a name below the directory of runs, or a part of one that fits one fleet only.
pub(crate) fn find(parent: &Path, named: &Path) -> Result<PathBuf> {
    if let Some(found) = [named.to_owned(), parent.join(named)].into_iter().find(|path| is_fleet(path)) {
        return Ok(found);
    }
    let word = named.to_string_lossy();
    let fleets = runs::fleets(parent);
    let fitting: Vec<&str> =
        fleets.iter().map(String::as_str).filter(|name| name.contains(word.as_ref())).collect();
    match fitting.as_slice() {
        [one] => Ok(parent.join(one)),
        [] => bail!("`{word}` is no fleet directory: it has no `fleet.json`"),
        several => bail!("`{word}` matches several fleets: {}; give more of the name", several.join(", ")),
    }
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
        printer.data(&iostone_report::fleet_text(&report, false, printer.text_style()));
    }
    printer.note(format_args!("\nreport: {}", shorten(&page).display()));
    let left_out = report.fleet.hosts.iter().any(|host| host.state != HostState::Done);
    Ok(if missing || left_out { ExitCode::Partial } else { ExitCode::Success })
}

/// `iostone report FLEETDIR`.
pub(crate) fn report(path: &Path, arguments: &ReportArguments, printer: &mut Printer) -> Result<ExitCode> {
    if arguments.baseline.is_some() || arguments.fail_if.is_given() {
        bail!("`{}` is a fleet; `--baseline` and `--fail-if` are for runs", path.display());
    }
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let report = judged(path, &FleetDirectory::read(path)?)?;
    let mut style = printer.text_style();
    style.colour &= arguments.output.is_none();
    let format = if arguments.json { ReportFormat::Json } else { arguments.format };
    if arguments.full && format != ReportFormat::Text {
        bail!("`--full` is of the text; HTML and JSON hold everything");
    }
    let text = match format {
        ReportFormat::Text => iostone_report::fleet_text(&report, arguments.full, style),
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
