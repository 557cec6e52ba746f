//! `iostone cleanup`: undoes whatever a crash left on this machine.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;
use iostone_lab::Link;
use iostone_machine::InProcess;
use iostone_report::{clean, clean_lines};
use iostone_stack::JournalOutcome;

use crate::cli::CleanupArguments;
use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;

pub(crate) fn cleanup(arguments: &CleanupArguments, printer: &mut Printer) -> Result<ExitCode> {
    let mut machine = InProcess::new(interrupt::stop_flag());
    let report = Link(&mut machine).cleanup()?;
    let code = if report.is_clean() { ExitCode::Success } else { ExitCode::Failure };
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&report)?));
        return Ok(code);
    }
    let path = |path: &Path| clean(&path.display().to_string());
    let mut text = String::new();
    for (journal, outcome) in &report.journals {
        let journal = path(journal);
        match outcome {
            JournalOutcome::Alive { owner } => {
                let whose = owner.as_ref().map_or_else(
                    || "a process".to_owned(),
                    |owner| format!("process {} ({})", owner.pid, path(&owner.run_directory)),
                );
                writeln!(text, "left alone: {whose} is running")?;
            }
            JournalOutcome::Undone { owner, undone } => {
                writeln!(text, "undone after process {} ({}):", owner.pid, path(&owner.run_directory))?;
                for what in undone {
                    writeln!(text, "  {}", clean(what))?;
                }
                if undone.is_empty() {
                    writeln!(text, "  nothing was left")?;
                }
            }
            JournalOutcome::Failed { owner, failure } => {
                let failure = clean_lines(&failure.to_string());
                writeln!(text, "not undone after process {}: {failure}", owner.pid)?;
            }
            JournalOutcome::Foreign { owner } => {
                writeln!(
                    text,
                    "left alone: {journal} was written on another machine, by process {}",
                    owner.pid
                )?;
            }
            JournalOutcome::Unreadable { reason } => {
                writeln!(text, "left alone: {journal} cannot be read: {}", clean(reason))?;
            }
        }
    }
    if text.is_empty() {
        text.push_str("nothing to undo\n");
    }
    printer.data(&text);
    Ok(code)
}
