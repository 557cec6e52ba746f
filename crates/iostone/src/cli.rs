//! The command line.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Measures what a change to a machine's storage is worth, and leaves the machine as it found it.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None, propagate_version = true, after_help = "\
Exit codes: 0 it ran, whatever the verdict; 1 the workload failed; 2 usage or file error; 3 refused for safety; \
4 partial and resumable; 130 interrupted, after undoing.")]
pub(crate) struct Cli {
    /// Say less: no progress, no remarks
    #[arg(long, short, global = true, env = "IOSTONE_QUIET", value_parser = FalseyValueParser::new())]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment, or go on with one
    Run(RunArguments),
    /// Does ext4 run faster without barriers here? The answer in three minutes, on a disk made for it
    Demo(DemoArguments),
    /// Show what a run found
    Report(ReportArguments),
    /// List the runs
    List(ListArguments),
    /// Show one run trial by trial
    Show(ShowArguments),
    /// Judge figures from anywhere
    Judge(JudgeArguments),
    /// Load a file or a device, by the engine alone
    Io(Box<IoArguments>),
    /// Say what this machine can do, what is missing, and the command that installs it
    Doctor(DoctorArguments),
    /// Undo whatever a crash left on this machine
    Cleanup(CleanupArguments),
    /// Print the JSON Schema of experiment files
    Schema,
    /// The other end of the agent protocol, on standard input and output (not for people)
    #[command(hide = true)]
    Agent,
}

/// Where runs are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunsDirectory {
    /// Directory that holds the runs
    #[arg(long, value_name = "DIR", default_value = "runs", env = "IOSTONE_RUNS")]
    pub(crate) runs: PathBuf,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RunArguments {
    /// The experiment file
    #[arg(required_unless_present = "resume", conflicts_with = "resume")]
    pub(crate) file: Option<PathBuf>,
    /// Print every step, what will be created, and the time and room it takes; touch nothing
    #[arg(long, conflicts_with = "resume")]
    pub(crate) dry_run: bool,
    /// Set a value over the file's, as in `--set workload.bs=8KiB`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", conflicts_with = "resume")]
    pub(crate) set: Vec<String>,
    /// Go on with an unfinished run: its directory, its id, or `latest`
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
    /// Run the baseline against itself: this machine's noise, and how small a difference it could show
    #[arg(long, conflicts_with = "resume")]
    pub(crate) aa: bool,
    /// A rehearsal: one block, small sizes, no verdict
    #[arg(long, conflicts_with = "resume")]
    pub(crate) quick: bool,
    /// Print the verdicts as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Print the verdicts as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Set a value over the demo's, as in `--set decide.time=10min`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For the terminal.
    Text,
    /// One self-contained page.
    Html,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run: its directory, its id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// How it is written
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The run: its directory, its id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Show this trial in full
    #[arg(long, value_name = "NUMBER")]
    pub(crate) trial: Option<u32>,
    /// Print the whole record as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// A CSV file with a header line; `-` for standard input
    pub(crate) file: PathBuf,
    /// The column of figures
    #[arg(long, value_name = "COLUMN")]
    pub(crate) metric: String,
    /// Which way the figures are better
    #[arg(long, value_enum, default_value_t = Better::Higher)]
    pub(crate) better: Better,
    /// The column of levels
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: String,
    /// The column of blocks; without it nothing is paired and no verdict is given
    #[arg(long, value_name = "COLUMN")]
    pub(crate) block: Option<String>,
    /// The column that says in which order the trials of a block ran: positions or times
    #[arg(long, value_name = "COLUMN")]
    pub(crate) order: Option<String>,
    /// The column of a second factor: levels are compared within each of its values
    #[arg(long, value_name = "COLUMN")]
    pub(crate) within: Option<String>,
    /// The level that the others are held against
    #[arg(long, value_name = "LEVEL")]
    pub(crate) baseline: String,
    /// Differences within it do not matter
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    pub(crate) margin: iostone_model::units::Fraction,
    /// Of all verdicts and intervals together
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    pub(crate) confidence: iostone_model::units::Fraction,
    /// The number of blocks that was planned as the most
    #[arg(long, value_name = "BLOCKS", default_value_t = 40)]
    pub(crate) budget: u32,
    /// The step to which the figures were rounded, in their own unit
    #[arg(long, value_name = "STEP", default_value_t = 0.0)]
    pub(crate) resolution: f64,
    /// Print the verdicts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct IoArguments {
    /// The file or block device; a file is laid out with incompressible data first
    #[arg(long, value_name = "PATH")]
    pub(crate) filename: PathBuf,
    /// read, write, randread or randwrite
    #[arg(long, alias = "readwrite", value_parser = ["read", "write", "randread", "randwrite"], default_value = "read")]
    pub(crate) rw: String,
    /// Block size
    #[arg(long, default_value = "4KiB")]
    pub(crate) bs: iostone_model::units::Bytes,
    /// Requests in flight
    #[arg(long, default_value_t = 1)]
    pub(crate) iodepth: u32,
    /// Threads
    #[arg(long, default_value_t = 1)]
    pub(crate) numjobs: u32,
    /// Size of the file, or of the part of the device that is used
    #[arg(long)]
    pub(crate) size: Option<iostone_model::units::Bytes>,
    /// How long figures are taken
    #[arg(long)]
    pub(crate) runtime: Option<iostone_model::units::Span>,
    /// How much is read or written at most, per thread
    #[arg(long)]
    pub(crate) io_size: Option<iostone_model::units::Bytes>,
    /// Load before figures are taken
    #[arg(long, default_value = "0s")]
    pub(crate) ramp_time: iostone_model::units::Span,
    /// Past the page cache (`O_DIRECT`)
    #[arg(long)]
    pub(crate) direct: bool,
    /// fsync after every so many writes
    #[arg(long, default_value_t = 0)]
    pub(crate) fsync: u32,
    /// fdatasync after every so many writes
    #[arg(long, default_value_t = 0, conflicts_with = "fsync")]
    pub(crate) fdatasync: u32,
    /// Open with `O_DSYNC` or `O_SYNC`
    #[arg(long, value_parser = ["none", "dsync", "sync"], default_value = "none")]
    pub(crate) sync: String,
    /// Which way requests reach the kernel
    #[arg(long, alias = "ioengine", value_parser = ["auto", "io_uring", "sync"], default_value = "auto")]
    pub(crate) engine: String,
    /// Type the file's name again to write over one that iostone did not make
    #[arg(long, value_name = "PATH")]
    pub(crate) destroy: Option<PathBuf>,
    /// Seed of offsets and data; drawn and printed if left out
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print the outcome as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanupArguments {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
