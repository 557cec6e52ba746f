//! `iostone limit`: a command under limits, and where its time went.

mod arguments;
mod document;
mod text;

use std::io;

use anyhow::{Context, Result};
use iostone_machine::{LimitedProgram, LimitedRun, run_limited};
use iostone_stack::OutputFile;
use iostone_workload::WorkloadError;
use iostone_workload::foreground::Dispositions;

use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::output_file::write_out;
use crate::printer::Printer;
pub(crate) use arguments::LimitArguments;
use document::document;

/// What shells give where a command is not found, and where it cannot be executed (POSIX, "Exit Status for Commands").
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

pub(crate) fn limit(arguments: &LimitArguments, printer: &mut Printer) -> Result<ExitCode> {
    let program = asked(arguments, Dispositions::now())?;
    // Before anything runs: a place that cannot be written is not found out after an hour's work.
    let output = arguments.overwrite.open(arguments.output.as_deref()).context("nothing was run")?;
    let stop = interrupt::stop_flag();
    // Under nohup(1) a hangup is nobody's business, ours neither.
    program.dispositions.restore();
    let run = run_limited(&program, &stop)?;
    let mut is_told = true;
    let code = match &run.ran {
        Ok(ran) => {
            is_told = report(arguments, &program, &run, output, printer)?;
            ExitCode::Command(ran.ending.exit_code())
        }
        Err(WorkloadError::Spawn { source, .. }) => ExitCode::Command(match source.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => NOT_EXECUTABLE,
        }),
        Err(_) => ExitCode::Failure,
    };
    let is_well = is_told && run.trouble.is_empty();
    for trouble in run.trouble {
        printer.error(&trouble.into());
    }
    if let Err(error) = run.ran {
        printer.error(&error.into());
    }
    // What the command says of itself goes before, unless it says that all is well.
    Ok(if !is_well && code == ExitCode::Command(0) { ExitCode::Failure } else { code })
}

fn asked(arguments: &LimitArguments, dispositions: Dispositions) -> Result<LimitedProgram> {
    let work_directory = std::env::current_dir().context("finding the current directory")?;
    Ok(LimitedProgram {
        argv: arguments.command.clone(),
        limit: arguments.limit()?,
        governor: arguments.governor()?,
        // Then standard output is the document's alone, and can be piped to whoever reads JSON.
        stdout_to_stderr: arguments.json && arguments.output.is_none(),
        dispositions,
        work_directory,
    })
}

/// Says where the time went: in words on standard error, or as the document that was asked for. False if that could not be
/// written where it was to go; it is on standard error then.
fn report(
    arguments: &LimitArguments,
    program: &LimitedProgram,
    run: &LimitedRun,
    output: Option<OutputFile>,
    printer: &mut Printer,
) -> Result<bool> {
    let written = if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&document(program, run))?)
    } else {
        text::describe(&document(program, run))
    };
    let mut is_told = true;
    match output {
        Some(output) => {
            if let Err(error) = write_out(output, &written, printer) {
                is_told = false;
                printer.error(&error);
                printer.note(written.trim_end());
            }
        }
        None if arguments.json => printer.data(&written),
        None => printer.note(written.trim_end()),
    }
    let left = match run.left_running {
        0 => return Ok(is_told),
        1 => "a process".to_owned(),
        several => format!("{several} processes"),
    };
    // One that did not end is reported separately.
    let ended = if run.trouble.is_empty() { "killed" } else { "signalled" };
    printer.warning(format_args!("the command left {left} running, {ended} when its limits were removed"));
    Ok(is_told)
}
