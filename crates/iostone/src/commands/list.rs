//! `iostone list`: the runs there are, one line each.

use std::path::Path;

use anyhow::Result;
use iostone_model::figures::counted;
use iostone_model::summary::RunListing;
use iostone_report::{clean, listing_text};

use crate::cli::ListArguments;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;

pub(crate) fn list(arguments: &ListArguments, printer: &mut Printer) -> Result<ExitCode> {
    let parent = &arguments.runs.runs;
    let (mut runs, more) = runs::all(parent, printer)?;
    let filter = arguments.filter.filter();
    let all = runs.len();
    runs.retain(|run| filter.admits(run));
    runs.reverse();
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&runs)?));
        return Ok(ExitCode::Success);
    }
    if runs.is_empty() && all > 0 {
        printer.note(format_args!("none of {} in `{}` matches", counted(all, "run"), parent.display()));
    } else if runs.is_empty() && !more {
        printer.note(runs::none_yet(parent));
    }
    printer.data(&listing_text(&runs, printer.table_width(), printer.text_style()));
    if let Some(run) = runs.iter().find(|run| !run.finished && !run.live) {
        printer.note(format_args!("resume with `iostone run --resume {}`", named(parent, run)));
    }
    Ok(ExitCode::Success)
}

/// A run as a command finds it: by its name where runs are looked for unasked, else by its path.
fn named(parent: &Path, run: &RunListing) -> String {
    let unasked = std::env::var_os("IOSTONE_RUNS").unwrap_or_else(|| "runs".into());
    let directory = &run.directory;
    let path = if parent.as_os_str() == unasked { directory.into() } else { parent.join(directory) };
    clean(&iostone_stack::quote(path.as_os_str()))
}
