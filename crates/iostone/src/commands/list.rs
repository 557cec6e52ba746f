//! `iostone list`: the runs there are.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use iostone_lab::{RunListing, read_run};
use iostone_report::clean;

use crate::cli::ListArguments;
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};
use crate::runs;

pub(crate) fn list(arguments: &ListArguments, printer: &mut Printer) -> Result<ExitCode> {
    let parent = &arguments.runs.runs;
    let (runs, more) = runs::all(parent, printer)?;
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&runs)?));
        return Ok(ExitCode::Success);
    }
    if runs.is_empty() && !more {
        printer.note(format_args!("no runs in `{}` yet; start one with `iostone demo`", parent.display()));
    }
    let mut text = String::new();
    for run in &runs {
        let directory = clean(&run.directory);
        let state = if run.finished {
            String::new()
        } else if run.live {
            "  (running now)".to_owned()
        } else {
            format!("  (unfinished; resume with `iostone run --resume {}`)", named(parent, &run.directory))
        };
        let noun = if run.imported { "observation" } else { "trial" };
        let plural = if run.trials == 1 { noun.to_owned() } else { format!("{noun}s") };
        writeln!(text, "{}  {} {plural}{state}", bold(&directory), run.trials)?;
        let mut lines: Vec<String> = ending(run).into_iter().collect();
        if run.finished || run.imported || lines.is_empty() || has_complete_block(parent, run) {
            lines.extend(run.headline.clone());
        }
        for line in lines {
            writeln!(text, "  {}", clean(&line))?;
        }
    }
    printer.data(&text);
    Ok(ExitCode::Success)
}

/// A run as a command finds it: by its name where runs are looked for unasked, else by its path.
fn named(parent: &Path, directory: &str) -> String {
    let unasked = std::env::var_os("IOSTONE_RUNS").unwrap_or_else(|| "runs".into());
    let path = if parent.as_os_str() == unasked { directory.into() } else { parent.join(directory) };
    clean(&iostone_stack::quote(path.as_os_str()))
}

/// Why an unfinished run is not at work any more, where its last session told.
fn ending(run: &RunListing) -> Option<String> {
    // While a session is at work, the reason is that of an earlier one.
    let reason = run.ended.as_deref().filter(|_| !run.finished && !run.live)?;
    let is_no_failure = reason == "interrupted" || reason.starts_with("waiting for a reboot");
    Some(if is_no_failure { reason.to_owned() } else { format!("failed: {reason}") })
}

/// Without one, what was concluded says nothing that the reason of the end does not.
fn has_complete_block(parent: &Path, run: &RunListing) -> bool {
    read_run(&parent.join(&run.directory)).is_ok_and(|record| record.blocks.iter().any(|block| block.counted))
}
