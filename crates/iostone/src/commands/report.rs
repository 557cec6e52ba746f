//! `iostone report`: shows what a run found.

use std::fs;

use anyhow::{Context, Result};
use iostone_lab::read_run;

use crate::cli::{ReportArguments, ReportFormat};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;

pub(crate) fn report(arguments: &ReportArguments, printer: &mut Printer) -> Result<ExitCode> {
    let record = read_run(&runs::find(&arguments.runs.runs, &arguments.run, printer)?)?;
    let text = match arguments.format {
        ReportFormat::Text => {
            let mut style = printer.text_style();
            // A file is read without a terminal.
            style.colour &= arguments.output.is_none();
            iostone_report::text(&record, style)
        }
        ReportFormat::Html => iostone_report::html(&record)?,
        ReportFormat::Json => iostone_report::json(&record)?,
    };
    match &arguments.output {
        Some(path) => fs::write(path, text).with_context(|| format!("writing `{}`", path.display()))?,
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
}
