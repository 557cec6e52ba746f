//! `iostone compare`: an experiment in one line.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use iostone_model::units::{Fraction, Span};

use crate::cli::RunOptions;
use crate::comparison::{
    Comparison, DEFAULT_LOAD, Load, NAMED_LOADS, SMALL_FILES, Shell, Varied, VolumeChoice,
};
use crate::exit_code::ExitCode;
use crate::output_file::Overwrite;
use crate::printer::Printer;
use crate::{commands, interrupt};

#[derive(Debug, Args)]
#[command(after_help = loads())]
pub(crate) struct CompareArguments {
    /// Commands to compare, the first of them the baseline; one alone is the load under the settings that are varied
    #[arg(value_name = "COMMAND")]
    commands: Vec<String>,
    /// Mount options to compare, those of a level joined by commas as in fstab; `defaults` is none
    #[arg(long, value_name = "OPTIONS", num_args = 1.., help_heading = "What to compare")]
    mount: Vec<String>,
    /// Filesystems to compare: ext4, xfs, btrfs, ext2, f2fs
    #[arg(long, value_name = "KIND", num_args = 1.., help_heading = "What to compare")]
    fs: Vec<String>,
    /// I/O schedulers to compare: none, mq-deadline, bfq, kyber
    #[arg(long, value_name = "NAME", num_args = 1.., help_heading = "What to compare")]
    scheduler: Vec<String>,
    /// Readahead to compare, as sizes: 128KiB 1MiB
    #[arg(long, value_name = "SIZE", num_args = 1.., help_heading = "What to compare")]
    readahead: Vec<String>,
    /// Values of any key of an experiment, as in `workload.direct=true,false`; repeatable
    #[arg(long, value_name = "PATH=A,B,...", help_heading = "What to compare")]
    set_factor: Vec<String>,
    /// The level that the others are compared with; the first by default
    #[arg(long, value_name = "LEVEL", help_heading = "What to compare")]
    baseline: Option<String>,
    /// The load: a name from the list below, options such as 'rw=randread bs=4k', or a fio job file
    #[arg(long, value_name = "LOAD")]
    load: Option<String>,
    /// The volume: the size of a loop device, a directory, a device, or a volume type with its size (gp3:8GiB)
    #[arg(long, value_name = "VOLUME")]
    volume: Option<String>,
    /// The metric that decides: iops, throughput, `latency_p99`, `wall_time` ...
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Equivalence margin: the largest difference that does not matter
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    margin: Fraction,
    /// Confidence of all verdicts and ratio intervals jointly; by default 99% for commands, 95% for loads
    #[arg(long, value_name = "PERCENT")]
    confidence: Option<Fraction>,
    /// End after this time, whatever has been found
    #[arg(long, value_name = "TIME")]
    time: Option<Span>,
    #[command(flatten)]
    of_commands: CommandOptions,
    /// Write the experiment to this file, `-` for standard output, and run nothing
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    #[command(flatten)]
    options: RunOptions,
}

/// How commands are run, whoever compares them.
#[derive(Debug, Clone, Args)]
pub(crate) struct CommandOptions {
    /// A command's name in the report; repeatable, in the order of the commands
    #[arg(
        long,
        short = 'n',
        value_name = "NAME",
        requires = "commands",
        help_heading = "Options for commands"
    )]
    pub(crate) name: Vec<String>,
    /// Unrecorded trials of each level first
    #[arg(long, short, value_name = "TRIALS", help_heading = "Options for commands")]
    pub(crate) warmup: Option<u32>,
    /// Run this before every trial, untimed; once for all commands, or once for each
    #[arg(long, short, value_name = "COMMAND", requires = "commands", help_heading = "Options for commands")]
    pub(crate) prepare: Vec<String>,
    /// The shell of the commands, or `none`; by default `sh` where a line needs one
    #[arg(
        long,
        short = 'S',
        value_name = "SHELL",
        conflicts_with = "no_shell",
        requires = "commands",
        help_heading = "Options for commands"
    )]
    shell: Option<String>,
    /// Run the commands without a shell; the same as `--shell none`
    #[arg(short = 'N', requires = "commands", help_heading = "Options for commands")]
    no_shell: bool,
}

impl CommandOptions {
    /// Whether any of them is given.
    pub(crate) fn is_given(&self) -> bool {
        let asks_shell = self.shell.is_some() || self.no_shell;
        !self.name.is_empty() || !self.prepare.is_empty() || self.warmup.is_some() || asks_shell
    }

    pub(crate) fn shell(&self) -> Result<Shell> {
        match &self.shell {
            _ if self.no_shell => Ok(Shell::Never),
            Some(shell) => Shell::named(shell),
            None => Ok(Shell::WhereNeeded),
        }
    }
}

/// The loads by their names.
fn loads() -> String {
    let width = NAMED_LOADS.iter().map(|load| load.name.len()).max().unwrap_or_default();
    let files = (SMALL_FILES, "2 000 small files, each read once; the default for access times");
    let named = NAMED_LOADS.iter().map(|load| (load.name, load.summary)).chain([files]);
    let loads: Vec<String> = named.map(|(name, summary)| format!("  {name:width$}  {summary}")).collect();
    format!("Loads (default {DEFAULT_LOAD}):\n{}", loads.join("\n"))
}

pub(crate) fn compare(arguments: &CompareArguments, printer: &mut Printer) -> Result<ExitCode> {
    let to_stdout = arguments.save.as_deref() == Some(Path::new("-"));
    let output = arguments.overwrite.open(arguments.save.as_deref().filter(|_| !to_stdout))?;
    let comparison = understood(arguments)?;
    let text = comparison.to_toml();
    let name = arguments.save.as_ref().map_or("compare".to_owned(), |path| path.display().to_string());
    let experiment = commands::run::parse(&name, &text, &arguments.options.set, printer)?;
    if to_stdout {
        printer.data(&text);
        return Ok(ExitCode::Success);
    }
    if let Some(output) = output {
        output.write(&text)?;
        printer.note(format_args!("{name} written; run it with `iostone run {name}`"));
        return Ok(ExitCode::Success);
    }
    let here = std::env::current_dir()?;
    commands::run::start(experiment, &text, here, &arguments.options, interrupt::stop_flag(), printer)
}

/// What the command line asks for.
fn understood(arguments: &CompareArguments) -> Result<Comparison> {
    let CommandOptions { name, prepare, warmup, .. } = &arguments.of_commands;
    let shell = arguments.of_commands.shell()?;
    let mut varied = Vec::new();
    if !arguments.mount.is_empty() {
        varied.push(Varied::mount(&arguments.mount)?);
    }
    if !arguments.fs.is_empty() {
        varied.push(Varied::filesystem(&arguments.fs)?);
    }
    if !arguments.scheduler.is_empty() {
        varied.push(Varied::scheduler(&arguments.scheduler)?);
    }
    if !arguments.readahead.is_empty() {
        varied.push(Varied::readahead(&arguments.readahead)?);
    }
    for setting in &arguments.set_factor {
        varied.push(Varied::setting(setting)?);
    }
    let settings_are_varied = !varied.is_empty();
    let several = arguments.commands.len() > 1;
    if several {
        varied.push(Varied::commands(&arguments.commands, name, prepare, &shell)?);
    }
    if varied.is_empty() {
        bail!(
            "nothing to compare: give two commands, or `--mount`, `--fs`, `--scheduler`, `--readahead` or `--set-factor` with two levels \
             (`iostone compare --help` has examples)"
        );
    }
    if !several && (!name.is_empty() || prepare.len() > 1) {
        bail!("`--name`, and `--prepare` more than once, are for several commands");
    }
    let volume = match &arguments.volume {
        Some(volume) => VolumeChoice::named(volume)?,
        None if settings_are_varied => VolumeChoice::default_loop(),
        None => VolumeChoice::Directory(None),
    };
    let load = match (&arguments.load, arguments.commands.as_slice()) {
        (Some(_), [_, ..]) => bail!("`--load` and a command are two loads; leave one of them out"),
        (Some(load), []) => Load::named(load)?,
        (None, []) if varied.iter().any(Varied::is_of_access_times) => Load::named(SMALL_FILES)?,
        (None, []) if !arguments.readahead.is_empty() => Load::named("buffered-read")?,
        (None, []) => Load::named(DEFAULT_LOAD)?,
        (None, commands) => {
            // On a volume of its own a command starts there.
            let here = std::env::current_dir()?;
            let directory = (!settings_are_varied && arguments.volume.is_none()).then_some(here.as_path());
            let for_all = prepare.first().filter(|_| prepare.len() == 1);
            let line = commands.first().filter(|_| !several);
            Load::of_command(line.map(String::as_str), directory, for_all.map(String::as_str), &shell)?
        }
    };
    Ok(Comparison {
        asked: asked(),
        varied,
        volume,
        load,
        metric: arguments.metric.clone(),
        baseline: arguments.baseline.clone(),
        margin: arguments.margin,
        confidence: arguments.confidence,
        time: arguments.time,
        warmups: *warmup,
    })
}

/// The command line, as one would type it.
pub(crate) fn asked() -> String {
    let words = std::env::args_os().skip(1);
    let words: Vec<String> =
        words.map(|word| iostone_model::experiment::quoted(&word.to_string_lossy())).collect();
    format!("iostone {}", words.join(" "))
}
