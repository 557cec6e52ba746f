//! The command line.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::agent::AgentArguments;
use crate::commands::catalog::CatalogArguments;
use crate::commands::credits::CreditsArguments;
use crate::commands::disk::DiskArguments;
use crate::commands::emulate::EmulateArguments;
use crate::commands::explain::ExplainArguments;
use crate::commands::guest::GuestArguments;
use crate::commands::image::ImageArguments;
use crate::commands::limit::LimitArguments;
use crate::commands::predict::PredictArguments;
use crate::commands::recommend::RecommendArguments;
use crate::output_file::Overwrite;

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
    /// Bring what other tools printed into a run
    Import(ImportArguments),
    /// Say what is doubtful in figures: a run's, or anybody's
    Audit(AuditArguments),
    /// Published investigations, judged again
    Casebook(CasebookArguments),
    /// Write a run's figures for other programs
    Export(ExportArguments),
    /// Load a file or a device, by the engine alone
    Io(Box<IoArguments>),
    /// Oracle ORION's test of storage: its command line, its load points, its files
    Orion(OrionArguments),
    /// An emulated volume at a socket: limits, bursts, latencies, a cache that can lose its power
    Disk(DiskArguments),
    /// Virtual machines with kernels of their own
    Guest(GuestArguments),
    /// Disk images turned between raw, qcow2, vmdk, vhd and vhdx, checked before and after
    Image(ImageArguments),
    /// How long work takes on an instance whose processors are rationed, and what it spends
    Credits(CreditsArguments),
    /// A command under limits of CPU time and memory, and where its time went
    Limit(Box<LimitArguments>),
    /// Instances and volumes of the cloud, with their limits
    Catalog(Box<CatalogArguments>),
    /// How long work takes on an instance and its volumes, and what binds
    Predict(Box<PredictArguments>),
    /// What to rent for a target, and what each further dollar buys
    Recommend(Box<RecommendArguments>),
    /// What bound a run: every ceiling held against what was measured
    Explain(Box<ExplainArguments>),
    /// A command on an emulated volume, behind the link of an emulated instance
    Emulate(Box<EmulateArguments>),
    /// Say what this machine can do, what is missing, and the command that installs it
    Doctor(DoctorArguments),
    /// Undo whatever a crash left on this machine
    Cleanup(CleanupArguments),
    /// Print the JSON Schema of experiment files
    Schema,
    /// Move a control group's CPU quota by the law of an emulated allowance: a plan on standard input (not for people)
    #[command(hide = true)]
    Governor,
    /// The other end of the agent protocol, on standard input and output (not for people)
    #[command(hide = true)]
    Agent(AgentArguments),
}

/// Where runs are kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunsDirectory {
    /// Directory that holds the runs
    #[arg(long, value_name = "DIR", default_value = "runs", env = "IOSTONE_RUNS")]
    pub(crate) runs: PathBuf,
}

/// Whether the metadata service of a cloud is asked which instance this is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MetadataChoice {
    /// Do not ask the cloud's metadata service which instance this is; only the machine's own marks are looked at
    #[arg(long, env = "IOSTONE_NO_METADATA", value_parser = FalseyValueParser::new())]
    pub(crate) no_metadata: bool,
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
    /// Let the content of this device be destroyed: its stable id, or the identity that a refusal printed, in full;
    /// repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) destroy: Vec<String>,
    #[command(flatten)]
    pub(crate) metadata: MetadataChoice,
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
    /// Hold the recorded trials against another level, of any factor: `ext4`, or `filesystem=ext4`
    #[arg(long, value_name = "LEVEL")]
    pub(crate) baseline: Option<String>,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
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
    /// A CSV file with a header line, `-` for standard input, or an import: its directory or its id
    pub(crate) file: PathBuf,
    /// The column of figures
    #[arg(long, value_name = "COLUMN")]
    pub(crate) metric: String,
    /// Which way the figures are better; as is known of the metric or its unit when left out
    #[arg(long, value_enum)]
    pub(crate) better: Option<Better>,
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
    /// The number of blocks that was planned from the start: one look at all of them instead of looks on the way
    #[arg(long, value_name = "BLOCKS", conflicts_with = "budget")]
    pub(crate) planned: Option<u32>,
    /// The step to which the figures were rounded, in their own unit; when left out, that of their last written digit, and more
    /// where they repeat
    #[arg(long, value_name = "STEP")]
    pub(crate) resolution: Option<f64>,
    /// Vouch that the order of the trials in each block was drawn by lot, where no column tells it
    #[arg(long)]
    pub(crate) randomised: bool,
    /// Print the verdicts as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArguments {
    /// Files that other tools wrote; the first word may be the tool's name
    #[arg(required = true, value_name = "[TOOL] FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The tool that wrote them, where their content leaves it open
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Take conditions from the files' names, as in `{condition}-{run}.log`
    #[arg(long, value_name = "PATTERN")]
    pub(crate) by: Option<String>,
    /// What the import is called; the first file's name when left out
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// A label that was varied on purpose, beside those of `--by`; repeatable
    #[arg(long = "factor", value_name = "LABEL")]
    pub(crate) factors: Vec<String>,
    /// Print the import as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

/// What can be imported.
const IMPORT_HELP: &str = "\
Tools: dbench, bonnie, fio, dd, time, vmstat, iostat, sar, sysbench, ioping, orion, elbencho, hyperfine, phoronix, csv. Which of \
them wrote a file is told by its content. The files are kept beside what was read from them.
In `--by`, `{run}`, `{block}` and `{order}` say which repetition, block and place in time a file is, `{_}` is passed over, and every \
other name is a condition.";

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding.
    Note,
    /// A warning or worse.
    Warning,
    /// A serious finding.
    Serious,
}

/// What is known of the order of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListedOrder {
    /// They were measured in the order in which they stand
    AsListed,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// A run (its directory, its id, or `latest`), files that other tools wrote, or a TOML file that describes figures
    #[arg(default_value = "latest", value_name = "RUN | FILE")]
    pub(crate) subjects: Vec<String>,
    /// The tool that wrote the files, where their content leaves it open
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Take conditions from the files' names, as in `{condition}-{run}.log`
    #[arg(long, value_name = "PATTERN")]
    pub(crate) by: Option<String>,
    /// A label that was varied on purpose; repeatable
    #[arg(long = "factor", value_name = "LABEL")]
    pub(crate) factors: Vec<String>,
    /// A limit that is known, as in `--ceiling 'instance link=500Mbps'`; repeatable
    #[arg(long = "ceiling", value_name = "NAME=LIMIT")]
    pub(crate) ceilings: Vec<String>,
    /// Memory of the machine that was measured
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<iostone_model::units::Bytes>,
    /// What is known of the order of the figures
    #[arg(long, value_enum)]
    pub(crate) order: Option<ListedOrder>,
    /// End with status 1 where something this grave is found
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub(crate) fail_on: Option<FailOn>,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

/// How the casebook is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CasebookFormat {
    /// For the terminal
    Text,
    /// One self-contained page
    Html,
    /// For programs
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct CasebookArguments {
    /// One case only, by its name or a part of it
    pub(crate) case: Option<String>,
    /// How it is written
    #[arg(long, value_enum, default_value_t = CasebookFormat::Text)]
    pub(crate) format: CasebookFormat,
    /// Print JSON: the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

/// What figures are exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A table, a row for each figure
    Csv,
    /// The dataset as iostone keeps it
    Json,
    /// bonnie++'s CSV, as `bon_csv2html` takes it
    Bonnie,
    /// fio's JSON
    Fio,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The run or import: its directory, its id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// What to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub(crate) format: ExportFormat,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

/// How `iostone io` prints what it measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum IoFormat {
    /// For people
    #[default]
    Normal,
    /// As fio's JSON
    Json,
    /// As fio's JSON with the bins of its histograms
    #[value(name = "json+")]
    JsonPlus,
    /// As fio's terse format, version 3
    Terse,
}

/// When `iostone io` shows how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Eta {
    /// On a terminal
    #[default]
    Auto,
    /// Not at all
    Never,
}

#[derive(Debug, Args)]
#[command(after_help = IO_HELP)]
pub(crate) struct IoArguments {
    #[command(flatten)]
    pub(crate) options: IoOptions,
    /// Job files of fio's, and options of fio's for loads beside them: --filename, --rw, --bs, --size, ...
    #[arg(value_name = "JOBFILE | --OPTION=VALUE", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) load: Vec<String>,
}

/// What a load's options look like; all of them are in `docs/reference/fio-options.md`.
const IO_HELP: &str = "\
Loads are described in fio's language, on the command line or in job files:
  --filename=PATH     file or block device; files that are new are made, `--size` large
  --rw=KIND           read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite, randtrimwrite
  --bs=SIZE           block size; also --bsrange and --bssplit
  --iodepth=N         requests in flight; --numjobs=N loads of the kind beside each other
  --engine=NAME       auto, io_uring, psync, mmap, null; fio's --ioengine
  --size=SIZE         of the file, or of the part of a device that is used
  --runtime=TIME      end after this long, and with --time_based not before; --ramp_time=TIME goes before
  --direct            past the page cache; --fsync=N, --fdatasync=N, --sync=dsync make writes durable
  --rate_iops=N       an open loop: requests arrive by the clock; --rate, --rate_process=poisson
  --rwmixread=N       share of reads in a mix; --random_distribution=zipf:1.2 and others
  --verify=crc32c     blocks carry their place, generation and checksum, and are read back
  --name=NAME         begins a further load
Units are iostone's (4KiB is 4096 bytes, 4kB is 4000) or, without a B, fio's (4k is 4096). In job files they are fio's.";

/// iostone's own options of `iostone io`, beside fio's.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct IoOptions {
    /// Print everything that was measured as JSON
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// Print in a format of fio's
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "normal")]
    pub(crate) output_format: IoFormat,
    /// The same as --output-format=terse
    #[arg(long, conflicts_with_all = ["json", "output_format"])]
    pub(crate) minimal: bool,
    /// The version of the terse format; there is one
    #[arg(long, value_parser = ["3"], value_name = "VERSION")]
    pub(crate) terse_version: Option<String>,
    /// Whether to show how far the load is
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) eta: Eta,
    /// Refuse loads that write
    #[arg(long)]
    pub(crate) readonly: bool,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Type the name of a load's file, an output or a log again to write over one that iostone did not make, or a device's
    /// identity as its refusal prints it; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Drop options that are not honoured, and list them, instead of refusing them
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Only this section of the job files; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) section: Vec<String>,
    /// Read everything, say what would be done, and do nothing
    #[arg(long)]
    pub(crate) parse_only: bool,
    /// Keep the generations of verified blocks in this file, so that a later check can tell a stale block
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// The machine lost power since the blocks were written: what no sync made durable may be older
    #[arg(long)]
    pub(crate) after_crash: bool,
}

#[derive(Debug, Args)]
#[command(override_help = crate::commands::orion::HELP)]
pub(crate) struct OrionArguments {
    /// ORION's options, with iostone's own anywhere among them
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) metadata: MetadataChoice,
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
