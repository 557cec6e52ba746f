//! iostone: measures what a change to a machine's storage is worth, and leaves the machine as it found it.
//!
//! This crate orchestrates and never computes: each command is a file in `commands`, everything printed goes through
//! [`printer`], and every way to end has its code in [`exit_code`].

mod catalogue_file;
mod cli;
mod commands;
mod comparison;
mod exit_code;
mod fail_if;
mod help;
mod interrupt;
mod live;
mod named_file;
mod output_file;
mod printer;
mod progress;
mod recipe;
mod run_filter;
mod runs;
mod subject;

use clap::FromArgMatches;

use crate::cli::{Cli, Command};
use crate::exit_code::ExitCode;
use crate::printer::Printer;

fn main() -> std::process::ExitCode {
    // Before the command line is read: the kernel may have put words of its own into it.
    if iostone_machine::is_first_process(std::env::args_os()) {
        let failure = iostone_machine::be_first_process().err();
        return match failure {
            Some(failure) => {
                Printer::new(false).error(&failure.into());
                ExitCode::Failure
            }
            None => ExitCode::Success,
        }
        .into();
    }
    let parsed = help::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let error = help::without_hidden(error);
            // clap prints help and version to stdout, usage errors to stderr.
            let printed = error.print();
            return match printed {
                _ if error.use_stderr() => ExitCode::Usage,
                Err(unwritten) if unwritten.kind() != std::io::ErrorKind::BrokenPipe => {
                    printed_in_vain(&mut Printer::new(false), unwritten)
                }
                _ => ExitCode::Success,
            }
            .into();
        }
    };
    let mut printer = Printer::new(cli.quiet);
    let Some(command) = cli.command else {
        printer.data(help::FIRST);
        return ExitCode::Success.into();
    };
    // A broken catalogue of the user's stops the commands that ask it, and no others.
    let loaded = if catalogue_file::is_asked_by(&command) {
        catalogue_file::load(&command, &mut printer)
    } else {
        Ok(())
    };
    let result = loaded.and_then(|()| match command {
        Command::Run(arguments) => commands::run::run(&arguments, &mut printer),
        Command::Compare(arguments) => commands::compare::compare(&arguments, &mut printer),
        Command::Gate(arguments) => commands::gate::gate(&arguments, &mut printer),
        Command::New(arguments) => commands::new::new(&arguments, &mut printer),
        Command::Demo(arguments) => commands::demo::demo(&arguments, &mut printer),
        Command::Report(arguments) => commands::report::report(&arguments, &mut printer),
        Command::List(arguments) => commands::list::list(&arguments, &mut printer),
        Command::Diff(arguments) => commands::diff::diff(&arguments, &mut printer),
        Command::History(arguments) => commands::history::history(&arguments, &mut printer),
        Command::Serve(arguments) => commands::serve::serve(&arguments, &mut printer),
        Command::Show(arguments) => commands::show::show(&arguments, &mut printer),
        Command::Judge(arguments) => commands::judge::judge(&arguments, &mut printer),
        Command::Import(arguments) => commands::import::import(&arguments, &mut printer),
        Command::Audit(arguments) => commands::audit::audit(&arguments, &mut printer),
        Command::Casebook(arguments) => commands::casebook::casebook(&arguments, &mut printer),
        Command::Export(arguments) => commands::export::export(&arguments, &mut printer),
        Command::Io(arguments) => commands::io::io(&arguments, &mut printer),
        Command::Orion(arguments) => commands::orion::orion(&arguments, &mut printer),
        Command::Disk(arguments) => commands::disk::disk(&arguments, &mut printer),
        Command::Guest(arguments) => commands::guest::guest(&arguments, &mut printer),
        Command::Image(arguments) => commands::image::image(&arguments, &mut printer),
        Command::Credits(arguments) => commands::credits::credits(&arguments, &mut printer),
        Command::Limit(arguments) => commands::limit::limit(&arguments, &mut printer),
        Command::Catalog(arguments) => commands::catalog::catalog(&arguments, &mut printer),
        Command::Predict(arguments) => commands::predict::predict(&arguments, &mut printer),
        Command::Recommend(arguments) => commands::recommend::recommend(&arguments, &mut printer),
        Command::Explain(arguments) => commands::explain::explain(&arguments, &mut printer),
        Command::Emulate(arguments) => commands::emulate::emulate(&arguments, &mut printer),
        Command::Fleet(arguments) => commands::fleet::fleet(&arguments, &mut printer),
        Command::Doctor(arguments) => commands::doctor::doctor(&arguments, &mut printer),
        Command::Cleanup(arguments) => commands::cleanup::cleanup(&arguments, &mut printer),
        Command::Schema => commands::schema::schema(&mut printer),
        Command::Completions(arguments) => commands::completions::completions(&arguments, &mut printer),
        Command::Man(arguments) => commands::man::man(&arguments, &mut printer),
        Command::Governor => commands::governor::governor(),
        Command::Agent(arguments) => commands::agent::agent(&arguments),
    });
    let code = result.unwrap_or_else(|error| {
        printer.error(&error);
        exit_code::of_error(&error)
    });
    match printer.unwritten() {
        Some(unwritten) => {
            let failure = printed_in_vain(&mut printer, unwritten);
            if matches!(code, ExitCode::Success | ExitCode::Command(0)) { failure } else { code }.into()
        }
        None => code.into(),
    }
}

/// Says that what was asked for did not all arrive on standard output.
fn printed_in_vain(printer: &mut Printer, unwritten: std::io::Error) -> ExitCode {
    printer.error(&anyhow::Error::new(unwritten).context("writing to standard output"));
    ExitCode::Failure
}
