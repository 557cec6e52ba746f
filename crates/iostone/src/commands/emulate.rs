//! `iostone emulate`: a command, or a shell, on emulated volumes behind the link of an emulated instance.

mod arguments;
mod document;
mod request;
mod served;
mod text;

use std::io;

use anyhow::{Result, bail};
use iostone_machine::{EmulatedProgram, EmulatedRun, Moment, examine_emulated, run_emulated};
use iostone_workload::WorkloadError;
use iostone_workload::foreground::Dispositions;

use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;
pub(crate) use arguments::EmulateArguments;
use document::document;
use request::EmulationRequest;
use served::Served;

/// What shells give where a command is not found, and where it cannot be executed (POSIX, "Exit Status for Commands").
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

pub(crate) fn emulate(arguments: &EmulateArguments, printer: &mut Printer) -> Result<ExitCode> {
    let dispositions = Dispositions::now();
    let mut asked = arguments.asked()?;
    asked.require_room()?;
    if let Err(missing) = examine_emulated(&asked.stack, &asked.work_directory) {
        if !(arguments.keep_going && asked.limits_cpu()) {
            return Err(asked.with_advice(missing));
        }
        asked.leave_cpu_out();
        examine_emulated(&asked.stack, &asked.work_directory)
            .map_err(|missing| asked.with_advice(missing))?;
        printer
            .warning(format_args!("not emulating the processors of {}: {missing}", asked.instance.emulate));
    }
    for note in &asked.notes {
        printer.note(format_args!("note: {note}"));
    }
    let program = EmulatedProgram {
        argv: asked.argv.clone(),
        stack: asked.stack.clone(),
        work_directory: asked.work_directory.clone(),
        // Then standard output is the document's alone.
        stdout_to_stderr: arguments.json,
        dispositions,
    };
    let stop = interrupt::stop_flag();
    // Under nohup(1) a hangup is nobody's business, ours neither.
    dispositions.restore();
    let mut served = Served::default();
    let run = run_emulated(&program, &stop, &mut |moment, control| {
        if let Moment::Begins(applied) = moment {
            printer.note(text::welcome(&asked, applied));
        }
        served.look(moment, control);
    })?;
    conclude(&asked, arguments.json, run, &served, printer)
}

fn conclude(
    asked: &EmulationRequest,
    json: bool,
    run: EmulatedRun,
    served: &Served,
    printer: &mut Printer,
) -> Result<ExitCode> {
    let code = match &run.ran {
        Ok(ran) => {
            let document = document(asked, ran, &run, served);
            if json {
                printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
            } else {
                printer.note(text::describe(&document).trim_end());
            }
            ExitCode::Command(ran.ending.exit_code())
        }
        Err(WorkloadError::Spawn { source, .. }) => ExitCode::Command(match source.kind() {
            io::ErrorKind::NotFound => NOT_FOUND,
            _ => NOT_EXECUTABLE,
        }),
        Err(_) => ExitCode::Failure,
    };
    let is_well = run.trouble.is_empty() && served.trouble.is_empty();
    for trouble in &served.trouble {
        printer.warning(trouble);
    }
    for trouble in run.trouble {
        printer.error(&trouble.into());
    }
    if let Err(error) = run.ran {
        printer.error(&error.into());
    }
    // What the command says of itself goes before, unless it says that all is well.
    Ok(if !is_well && code == ExitCode::Command(0) { ExitCode::Failure } else { code })
}

/// The shell of whoever asks, where no command was given.
fn shell() -> Result<std::ffi::OsString> {
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    if !std::path::Path::new(&shell).is_file() {
        bail!("`$SHELL` is `{}`, which is not a program; name a command after `--`", shell.to_string_lossy());
    }
    Ok(shell)
}
