//! `iostone list`: the runs there are.

use std::fmt::Write;

use anyhow::Result;
use iostone_lab::list_runs;

use crate::cli::ListArguments;
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};

pub(crate) fn list(arguments: &ListArguments, printer: &mut Printer) -> Result<ExitCode> {
    let parent = &arguments.runs.runs;
    let (runs, damaged) = list_runs(parent)?;
    for error in &damaged {
        printer.warning(error);
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&runs)?));
        return Ok(ExitCode::Success);
    }
    if runs.is_empty() && damaged.is_empty() {
        printer.note(format_args!("no run in `{}` yet; make one with `iostone demo`", parent.display()));
    }
    let mut text = String::new();
    for run in &runs {
        let state = if run.finished {
            String::new()
        } else {
            format!("  (unfinished: `iostone run --resume {}` goes on with it)", run.directory)
        };
        let plural = if run.trials == 1 { "trial" } else { "trials" };
        writeln!(text, "{}  {} {plural}{state}", bold(&run.directory), run.trials)?;
        if let Some(headline) = &run.headline {
            writeln!(text, "  {headline}")?;
        }
    }
    printer.data(&text);
    Ok(ExitCode::Success)
}
