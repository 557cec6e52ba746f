//! The command line.

use std::path::PathBuf;

use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use iostone_model::units::Span;

use crate::commands::agent::AgentArguments;
use crate::commands::catalog::CatalogArguments;
use crate::commands::compare::CompareArguments;
use crate::commands::completions::CompletionsArguments;
use crate::commands::credits::CreditsArguments;
use crate::commands::diff::DiffArguments;
use crate::commands::disk::DiskArguments;
use crate::commands::emulate::EmulateArguments;
use crate::commands::explain::ExplainArguments;
use crate::commands::fleet::FleetArguments;
use crate::commands::gate::GateArguments;
use crate::commands::guest::GuestArguments;
use crate::commands::history::HistoryArguments;
use crate::commands::image::ImageArguments;
use crate::commands::limit::LimitArguments;
use crate::commands::man::ManArguments;
use crate::commands::new::NewArguments;
use crate::commands::predict::PredictArguments;
use crate::commands::recommend::RecommendArguments;
use crate::commands::serve::ServeArguments;
use crate::fail_if::FailIf;
use crate::output_file::Overwrite;
use crate::run_filter::RunFilterArguments;

/// Measure whether a change makes storage faster, by how much and why.
#[derive(Debug, Parser)]
#[command(version, about, long_about = None, propagate_version = true, after_help = "\
Exit codes: 0 it ran, whatever the verdict; 1 the workload failed, or a verdict of `--fail-if` was given; 2 usage or file error; 3 refused for safety; \
4 partial and resumable; 5 `gate` cannot tell; 130 interrupted, after undoing.")]
pub(crate) struct Cli {
    /// Print no progress and no notes, and of a report the answer and its table only
    #[arg(long, short, global = true, env = "IOSTONE_QUIET", value_parser = FalseyValueParser::new())]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment, or resume one
    Run(RunArguments),
    /// Compare commands, or the levels of any setting, in one line
    Compare(Box<CompareArguments>),
    /// Prove that a change made nothing worse: exit code 0 not worse, 1 worse, 5 cannot tell
    Gate(Box<GateArguments>),
    /// Write an experiment file to begin with, from a recipe
    New(NewArguments),
    /// Measure in three minutes whether ext4 is faster without write barriers
    Demo(DemoArguments),
    /// Report the verdicts of a run, with the reasons
    Report(ReportArguments),
    /// List runs
    List(ListArguments),
    /// Hold runs against each other: what was recorded differently, then their figures
    Diff(DiffArguments),
    /// Find where the figures of an experiment changed from run to run, and what changed with them
    History(HistoryArguments),
    /// Serve runs, histories, differences and predictions as web pages; it reads only
    Serve(ServeArguments),
    /// Show a run trial by trial
    Show(ShowArguments),
    /// Judge figures from a CSV file or an import
    Judge(JudgeArguments),
    /// Import the output of fio, dd, iostat and other tools
    Import(ImportArguments),
    /// Check a run or a data set for design errors and impossible figures
    Audit(AuditArguments),
    /// Judge published benchmarks again
    Casebook(CasebookArguments),
    /// Export runs as CSV, Parquet, JSON, OpenMetrics, SVG and formats of other tools
    Export(ExportArguments),
    /// Run an I/O load on files or block devices, in fio's language
    Io(Box<IoArguments>),
    /// Run Oracle ORION's storage test, with its options and output files
    Orion(OrionArguments),
    /// Serve emulated volumes over NBD: limits, bursts, latency, faults and power cuts
    Disk(DiskArguments),
    /// Run programs in virtual machines with a kernel of your choice
    Guest(GuestArguments),
    /// Convert disk images between raw, qcow2, vmdk, vhd and vhdx, and check them
    Image(ImageArguments),
    /// Predict how long work takes on a burstable instance, and the CPU credits it spends
    Credits(CreditsArguments),
    /// Run a command under CPU and memory limits and report where its time went
    Limit(Box<LimitArguments>),
    /// Look up instance and volume types and their limits
    Catalog(Box<CatalogArguments>),
    /// Predict how long I/O takes on an instance and its volumes, and which limit binds
    Predict(Box<PredictArguments>),
    /// Recommend instances and volumes for a target, by price
    Recommend(Box<RecommendArguments>),
    /// Explain which limit bound a run: every ceiling against the measured figures
    Explain(Box<ExplainArguments>),
    /// Run a command on emulated volumes behind an emulated instance's EBS bandwidth
    Emulate(Box<EmulateArguments>),
    /// Run an experiment on many hosts by Ansible, and judge over them
    Fleet(Box<FleetArguments>),
    /// Check what this machine can measure, and how to install what is missing
    Doctor(DoctorArguments),
    /// Undo what a crashed run left on this machine
    Cleanup(CleanupArguments),
    /// Print the JSON Schema of experiment files
    Schema,
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Write the manual pages into a directory
    Man(ManArguments),
    /// Adjust a cgroup's CPU quota by an emulated allowance; reads a plan on standard input (internal)
    #[command(hide = true)]
    Governor,
    /// Serve the agent protocol on standard input and output (internal)
    #[command(hide = true)]
    Agent(AgentArguments),
}

/// Where runs are kept.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunsDirectory {
    /// Directory that holds the runs
    #[arg(long, value_name = "DIR", default_value = "runs", env = "IOSTONE_RUNS")]
    pub(crate) runs: PathBuf,
}

/// Whether the metadata service of a cloud is asked which instance this is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MetadataChoice {
    /// Do not query the cloud's metadata service; identify the instance from DMI and the kernel only
    #[arg(long, env = "IOSTONE_NO_METADATA", value_parser = FalseyValueParser::new())]
    pub(crate) no_metadata: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The experiment file, `-` for standard input, or the name of a recipe (`iostone new` lists them)
    #[arg(value_name = "FILE | RECIPE", required_unless_present = "resume")]
    pub(crate) file: Option<PathBuf>,
    /// End after this time, whatever has been found: `--set decide.time=TIME`
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<Span>,
    /// Resume an unfinished run: its directory, its id, or `latest`
    #[arg(long, value_name = "RUN", conflicts_with_all = ["file", "set", "tag", "dry_run", "aa", "quick", "time"])]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// How an experiment is run, wherever it comes from.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct RunOptions {
    /// Print every step, what will be created, and the time and space needed; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Override a value of the experiment, as in `--set workload.bs=8KiB`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Tag the run with a word that `list --tag` finds it by; repeatable
    #[arg(long, value_name = "NAME", value_parser = tag)]
    pub(crate) tag: Vec<String>,
    /// A/A check: run the baseline against itself to find the smallest difference this machine can detect
    #[arg(long)]
    pub(crate) aa: bool,
    /// Rehearse: one block, small sizes, no verdict
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print the verdicts as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the whole report, not one screen of it
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub(crate) full: bool,
    /// Show the run on a screen as it goes on: rates, latency and queue of each device, steal, the interval as it narrows
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) live: bool,
    #[command(flatten)]
    pub(crate) fail_if: FailIf,
    /// Allow the data on this device to be destroyed: its stable id, or the identity that a refusal printed, in full;
    /// repeatable
    #[arg(long, value_name = "ID")]
    pub(crate) destroy: Vec<String>,
    #[command(flatten)]
    pub(crate) metadata: MetadataChoice,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
    /// Of a host of a fleet: where it says after each trial how far it is.
    #[arg(skip)]
    pub(crate) status: Option<PathBuf>,
}

impl RunOptions {
    /// The same with the time of the run overridden, where one is given.
    pub(crate) fn with_time(&self, time: Option<Span>) -> Self {
        let mut options = self.clone();
        options.set.extend(time.map(|time| format!("decide.time={time}")));
        options
    }
}

/// A tag: a word that a command line and a table hold without quotes.
pub(crate) fn tag(typed: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:/+@".contains(c);
    if typed.is_empty() || typed.chars().count() > 64 || !typed.chars().all(is_plain) {
        return Err("a tag has 1 to 64 letters, digits and `-_.:/+@`".to_owned());
    }
    Ok(typed.to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Print the verdicts as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the whole report, not one screen of it
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    /// Override a value of the demo, as in `--set decide.time=10min`; repeatable
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
    /// The run, or fleet: its directory, its id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub(crate) format: ReportFormat,
    /// Print JSON; the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print the whole report, not one screen of it
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) fail_if: FailIf,
    /// Compare the recorded trials with another baseline: a level of any factor, as in `ext4` or `filesystem=ext4`
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
    pub(crate) filter: RunFilterArguments,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The run: its directory, its id, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) run: String,
    /// Show this trial in detail
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

#[derive(Debug, Clone, Args)]
pub(crate) struct JudgeArguments {
    /// A table with a header line, output files of other tools, what `iostone export` wrote, `-` for standard input, or an
    /// import: its directory or its id
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The column with the measured values; without it or `--by` or `--baseline` print the columns and a command to type
    #[arg(long, value_name = "COLUMN")]
    pub(crate) metric: Option<String>,
    /// Whether higher or lower values are better; by default known from the metric or its unit
    #[arg(long, value_enum)]
    pub(crate) better: Option<Better>,
    /// The column with the levels to compare, or the conditions in the names of several files: `{setting}-{run}.json`
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,
    /// The column with the block; without it trials are not paired and there is no verdict
    #[arg(long, value_name = "COLUMN")]
    pub(crate) block: Option<String>,
    /// The column with the order of trials within a block: positions or times
    #[arg(long, value_name = "COLUMN")]
    pub(crate) order: Option<String>,
    /// The column with another factor; levels are compared within each of its values, or combination of them; repeatable
    #[arg(long, value_name = "COLUMN")]
    pub(crate) within: Vec<String>,
    /// The level that the others are compared with
    #[arg(long, value_name = "LEVEL")]
    pub(crate) baseline: Option<String>,
    /// Equivalence margin: the largest difference that does not matter
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    pub(crate) margin: iostone_model::units::Fraction,
    /// Confidence of all verdicts and ratio intervals jointly
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    pub(crate) confidence: iostone_model::units::Fraction,
    /// The maximum number of blocks that was planned
    #[arg(long, value_name = "BLOCKS", default_value_t = 40)]
    pub(crate) budget: u32,
    /// The number of blocks, if it was fixed in advance: one analysis at the end, no interim analyses
    #[arg(long, value_name = "BLOCKS", conflicts_with = "budget")]
    pub(crate) planned: Option<u32>,
    /// The step to which the values were rounded, in their own unit; by default taken from their last digit, or coarser where
    /// they repeat
    #[arg(long, value_name = "STEP")]
    pub(crate) resolution: Option<f64>,
    /// Assert that the order of trials within each block was randomised, where no column shows it
    #[arg(long)]
    pub(crate) randomised: bool,
    /// The tool that wrote the files, if their content is ambiguous
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Print the verdicts as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the whole report, not one screen of it
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) fail_if: FailIf,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct ImportArguments {
    /// Output files of other tools; the first word may be the tool's name
    #[arg(required = true, value_name = "[TOOL] FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The tool that wrote them, if their content is ambiguous
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Take conditions from the file names, as in `{condition}-{run}.log`
    #[arg(long, value_name = "PATTERN")]
    pub(crate) by: Option<String>,
    /// Name of the import; by default that of the first file
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
Tools: dbench, bonnie, fio, dd, time, vmstat, iostat, sar, sysbench, ioping, orion, elbencho, hyperfine, phoronix, iostone, csv. The \
tool is recognised by the content of a file. The files are copied into the import.
In `--by`, `{run}`, `{block}` and `{order}` are a file's repetition, block and order in time, `{_}` is ignored, and every \
other name is a condition.";

/// The severity from which `--fail-on` fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any finding.
    Note,
    /// A warning or worse.
    Warning,
    /// A serious finding.
    Serious,
}

/// The order in which the values were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListedOrder {
    /// In the order listed
    AsListed,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// A run (its directory, its id, or `latest`), output files of other tools, or a TOML file that describes a data set
    #[arg(default_value = "latest", value_name = "RUN | FILE")]
    pub(crate) subjects: Vec<String>,
    /// The tool that wrote the files, if their content is ambiguous
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Take conditions from the file names, as in `{condition}-{run}.log`
    #[arg(long, value_name = "PATTERN")]
    pub(crate) by: Option<String>,
    /// A label that was varied on purpose; repeatable
    #[arg(long = "factor", value_name = "LABEL")]
    pub(crate) factors: Vec<String>,
    /// A known limit, as in `--ceiling 'instance link=500Mbps'`; repeatable
    #[arg(long = "ceiling", value_name = "NAME=LIMIT")]
    pub(crate) ceilings: Vec<String>,
    /// RAM of the measured machine
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<iostone_model::units::Bytes>,
    /// The order in which the values were measured
    #[arg(long, value_enum)]
    pub(crate) order: Option<ListedOrder>,
    /// Exit with code 1 if there is a finding of at least this severity
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
    /// Only this case, by its name or a part of it
    pub(crate) case: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = CasebookFormat::Text)]
    pub(crate) format: CasebookFormat,
    /// Print JSON; the same as `--format json`
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
    /// A table with a row for each value
    Csv,
    /// A table with a row for each trial and a column for each metric
    CsvWide,
    /// Parquet with a row for each value; needs `--output`
    Parquet,
    /// iostone's dataset document
    Json,
    /// bonnie++'s CSV, for `bon_csv2html`
    Bonnie,
    /// fio's JSON
    Fio,
    /// The text format of OpenMetrics, for Prometheus
    Openmetrics,
    /// Bencher Metric Format
    Bencher,
    /// The Go benchmark format, for benchstat
    Go,
    /// A table of change points for Apache Otava
    Otava,
    /// Every plot of the report as an SVG file; `--output` is their directory
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// The run or import: its directory, its id, or `latest`
    #[arg(conflicts_with = "all")]
    pub(crate) run: Option<String>,
    /// Export every run, or those that the filters below leave; `--output` is the directory of their files
    #[arg(long, requires = "output", conflicts_with = "overwrite")]
    pub(crate) all: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub(crate) format: ExportFormat,
    /// Print JSON; the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write to this file instead of stdout; the directory of several files
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
    #[command(flatten)]
    pub(crate) filter: RunFilterArguments,
    #[command(flatten)]
    pub(crate) runs: RunsDirectory,
}

/// How `iostone io` prints what it measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum IoFormat {
    /// For people
    #[default]
    Normal,
    /// fio's JSON
    Json,
    /// fio's JSON with histogram bins
    #[value(name = "json+")]
    JsonPlus,
    /// fio's terse format, version 3
    Terse,
}

/// When `iostone io` shows how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Eta {
    /// Only on a terminal
    #[default]
    Auto,
    /// Never
    Never,
}

#[derive(Debug, Args)]
#[command(after_help = IO_HELP)]
pub(crate) struct IoArguments {
    #[command(flatten)]
    pub(crate) options: IoOptions,
    /// fio job files, and fio options for further loads: --filename, --rw, --bs, --size, ...
    #[arg(value_name = "JOBFILE | --OPTION=VALUE", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) load: Vec<String>,
}

/// What a load's options look like; all of them are in `docs/reference/fio-options.md`.
const IO_HELP: &str = "\
Loads are described in fio's language, on the command line or in job files:
  --filename=PATH     file or block device; a new file is created with --size bytes
  --rw=KIND           read, write, randread, randwrite, rw, randrw, trim, randtrim, trimwrite, randtrimwrite
  --bs=SIZE           block size; also --bsrange and --bssplit
  --iodepth=N         queue depth; --numjobs=N runs N copies of the load at once
  --engine=NAME       auto, io_uring, psync, mmap, null; fio's --ioengine
  --size=SIZE         size of the file, or of the part of the device to use
  --runtime=TIME      stop after this time; --time_based repeats the load until then; --ramp_time=TIME is not measured
  --direct            O_DIRECT, without the page cache; --fsync=N, --fdatasync=N, --sync=dsync make writes durable
  --rate_iops=N       open loop at N requests a second; also --rate, --rate_process=poisson
  --rwmixread=N       percentage of reads in a mix; --random_distribution=zipf:1.2 and others
  --verify=crc32c     write offset, generation and checksum into each block and check them
  --name=NAME         start another load
Units are iostone's (4KiB is 4096 bytes, 4kB is 4000) or, without a B, fio's (4k is 4096). In job files they are fio's.";

/// iostone's own options of `iostone io`, beside fio's.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct IoOptions {
    /// Print all measurements as JSON
    #[arg(long, conflicts_with = "output_format")]
    pub(crate) json: bool,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "normal")]
    pub(crate) output_format: IoFormat,
    /// The same as --output-format=terse
    #[arg(long, conflicts_with_all = ["json", "output_format"])]
    pub(crate) minimal: bool,
    /// Version of the terse format; only 3 exists
    #[arg(long, value_parser = ["3"], value_name = "VERSION")]
    pub(crate) terse_version: Option<String>,
    /// When to show progress
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) eta: Eta,
    /// Refuse loads that write
    #[arg(long)]
    pub(crate) readonly: bool,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Allow overwriting this file (a load's, an output or a log) that iostone did not create, or this device, by the
    /// identity that its refusal prints; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Ignore unsupported options and list them, instead of refusing them
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Run only this section of the job files; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) section: Vec<String>,
    /// Parse everything, print what would run, and do no I/O
    #[arg(long)]
    pub(crate) parse_only: bool,
    /// Record the generation of each verified block in this file, so that a later check detects stale blocks
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,
    /// Check after a power cut: blocks that were not synced may be older
    #[arg(long)]
    pub(crate) after_crash: bool,
}

#[derive(Debug, Args)]
#[command(override_help = crate::commands::orion::HELP)]
pub(crate) struct OrionArguments {
    /// ORION's options and iostone's, in any order
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
