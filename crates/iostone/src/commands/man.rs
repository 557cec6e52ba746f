//! `iostone man`: a manual page for each command, from the same definition that parses the command line.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;
use iostone_stack::{OutputFile, Permit, Placing};
use roff::{Roff, roman};

use crate::commands::orion;
use crate::exit_code::ExitCode;
use crate::help;
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Directory for the pages; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn man(arguments: &ManArguments, printer: &mut Printer) -> Result<ExitCode> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory).with_context(|| format!("cannot create `{}`", directory.display()))?;
    // `help` repeats what the pages say.
    let mut program = help::command().disable_help_subcommand(true);
    program.build();
    let count = write_pages(&program, directory)?;
    printer.note(format_args!("{count} pages in {}", directory.display()));
    Ok(ExitCode::Success)
}

/// The page of a command and those of its own commands; how many they are.
fn write_pages(command: &Command, directory: &Path) -> Result<usize> {
    let page = Man::new(command.clone()).manual("iostone");
    let path = directory.join(page.get_filename());
    OutputFile::open(&path, Placing::Replace, &Permit::none())?.write(&text_of(&page, command)?)?;
    let mut count = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        count += write_pages(inner, directory)?;
    }
    Ok(count)
}

fn text_of(page: &Man, command: &Command) -> Result<String> {
    let mut roff = Vec::new();
    page.render_title(&mut roff)?;
    page.render_name_section(&mut roff)?;
    if command.get_name() == "orion" {
        // It has a parser of its own, so that clap knows none of its options.
        verbatim("DESCRIPTION", orion::HELP).to_writer(&mut roff)?;
    } else {
        page.render_synopsis_section(&mut roff)?;
        page.render_description_section(&mut roff)?;
        if command.get_arguments().any(|argument| !argument.is_hide_set()) {
            page.render_options_section(&mut roff)?;
        }
        if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
            page.render_subcommands_section(&mut roff)?;
        }
        if let Some(notes) = command.get_after_long_help().or_else(|| command.get_after_help()) {
            verbatim("NOTES", &notes.to_string()).to_writer(&mut roff)?;
        }
    }
    page.render_version_section(&mut roff)?;
    String::from_utf8(roff).context("a manual page that is not UTF-8")
}

/// A section whose lines stay as they are: clap's notes have tables, which the filling of paragraphs would run together.
fn verbatim(title: &str, text: &str) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]).control("nf", []);
    for line in text.lines() {
        section.text([roman(line)]);
    }
    section.control("fi", []);
    section
}
