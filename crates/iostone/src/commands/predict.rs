//! `iostone predict`: how long work takes on an instance and its volumes, and what binds.

pub(crate) mod quantities;
mod questions;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use iostone_cloud::{Beside, Expectation, answer, answer_configuration, catalogue};
use iostone_lab::{PlanOptions, make_plan};
use iostone_model::answer::{Answer, Answers, Unpredicted};
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::experiment::MdLevel;
use iostone_model::units::{ByteRate, Bytes, Fraction};
use iostone_report::clean;
use iostone_stack::{OutputFile, quote};

use crate::commands::run::{directory_of, parse, read_file};
use crate::exit_code::ExitCode;
use crate::output_file::{Overwrite, write_out};
use crate::printer::Printer;
use quantities::{CpuUse, Parsed};

#[derive(Debug, Args)]
#[command(after_help = PREDICT_HELP)]
pub(crate) struct PredictArguments {
    /// An experiment file; predict each of its configurations
    #[arg(conflicts_with_all = OF_QUESTIONS)]
    file: Option<PathBuf>,
    /// Override a value of the file, as in `--set workload.size=8GiB`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "file")]
    set: Vec<String>,
    /// The instance type, as in `c4.large`; repeatable, to compare
    #[arg(long, value_name = "TYPE")]
    instance: Vec<String>,
    /// The volumes, as in `gp2:220GiB` or `4xgp3:500GiB:6000iops:250MiB/s`; repeatable, to compare
    #[arg(long, value_name = "VOLUME", value_parser = quantities::volumes)]
    volume: Vec<Parsed<VolumeSpec>>,
    /// Bytes to write
    #[arg(long, value_name = "SIZE", value_parser = quantities::size, allow_hyphen_values = true)]
    write: Option<Parsed<Bytes>>,
    /// Bytes to read, evenly mixed with the writes
    #[arg(long, value_name = "SIZE", value_parser = quantities::size, allow_hyphen_values = true)]
    read: Option<Parsed<Bytes>>,
    /// Predict the bytes moved in this time instead
    #[arg(long = "for", value_name = "TIME", value_parser = quantities::seconds, conflicts_with_all = ["write", "read"])]
    span: Option<f64>,
    /// Share of writes in those bytes
    #[arg(long, value_name = "PERCENT", value_parser = quantities::share, default_value = "100%", requires = "span")]
    written: Fraction,
    /// Block size; by default as large as the kernel merges I/Os
    #[arg(long, value_name = "SIZE", value_parser = quantities::size)]
    bs: Option<Parsed<Bytes>>,
    /// Random instead of sequential I/O
    #[arg(long)]
    random: bool,
    /// Queue depth; by default unlimited
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Use the limits of this date, as in `2017-07`; by default today's
    #[arg(long, value_name = "DATE")]
    date: Option<CatalogueDate>,
    /// Writes may end in the page cache, as with `dd` without `conv=fsync`
    #[arg(long)]
    buffered: bool,
    /// Maximum rate of the data's source or destination
    #[arg(long, value_name = "RATE", value_parser = quantities::rate)]
    source: Option<Parsed<ByteRate>>,
    /// CPU limit, as in `30%` of a processor, or CPU time of the work, as in `2s/GiB`; repeatable, for both
    #[arg(long, value_name = "SHARE | TIME/GiB", value_parser = quantities::cpu)]
    cpu: Vec<CpuUse>,
    /// Latency of an I/O instead of the volume's; with `--depth` and `--bs` it limits the rate
    #[arg(long, value_name = "TIME", value_parser = quantities::seconds)]
    latency: Option<f64>,
    /// The filesystem on the volumes, newly created, for its capacity and metadata writes [default: ext4]
    #[arg(long, value_enum, value_name = "KIND")]
    filesystem: Option<MadeOn>,
    /// RAID level of several volumes; by default raid0
    #[arg(long, value_enum, value_name = "LEVEL")]
    raid: Option<Raid>,
    /// Initial fill of all burst buckets: full, empty, or a share as in `40%`; by default volumes and link are full and CPU
    /// credits are those at launch
    #[arg(long, value_name = "SHARE", value_parser = quantities::start)]
    start: Option<Fraction>,
    /// EBS bandwidth instead of the instance's; its IOPS limit stays
    #[arg(long, value_name = "RATE", value_parser = quantities::rate)]
    link: Option<Parsed<ByteRate>>,
    /// Region of the prices
    #[arg(long, value_name = "REGION", requires = "instance")]
    region: Option<String>,
    /// An expected time; report the mistaken formulas that would give it
    #[arg(long, value_name = "TIME", value_parser = quantities::expectation, conflicts_with = "span")]
    expect: Option<Expectation>,
    /// A measured time; report how far off the prediction is and why
    #[arg(long, value_name = "TIME", value_parser = quantities::seconds, conflicts_with = "span")]
    measured: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also write an HTML page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
}

/// What a question says by options, an experiment says in its file.
const OF_QUESTIONS: [&str; 21] = [
    "instance",
    "volume",
    "write",
    "read",
    "span",
    "written",
    "bs",
    "random",
    "depth",
    "date",
    "buffered",
    "source",
    "cpu",
    "latency",
    "filesystem",
    "raid",
    "start",
    "link",
    "region",
    "expect",
    "measured",
];

/// What the volumes carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MadeOn {
    /// ext4
    Ext4,
    /// XFS
    Xfs,
    /// None; the I/O goes to the device
    None,
}

impl MadeOn {
    fn word(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::None => "none",
        }
    }
}

/// How volumes are joined by md(4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Raid {
    /// Striping
    Raid0,
    /// Mirrors
    Raid1,
    /// Striped mirrors
    Raid10,
    /// Distributed parity
    Raid5,
}

impl From<Raid> for MdLevel {
    fn from(raid: Raid) -> Self {
        match raid {
            Raid::Raid0 => Self::Raid0,
            Raid::Raid1 => Self::Raid1,
            Raid::Raid10 => Self::Raid10,
            Raid::Raid5 => Self::Raid5,
        }
    }
}

/// How it is asked.
const PREDICT_HELP: &str = "\
Sizes, rates and times carry units, decimal or binary: 220GiB, 62.5MB/s, 500Mbps, 4KiB, 23min.
Mistakes in units are reported beside the answer; ambiguous values are refused.";

pub(crate) fn predict(arguments: &PredictArguments, printer: &mut Printer) -> Result<ExitCode> {
    let output = arguments.overwrite.open(arguments.html.as_deref())?;
    let answers = match &arguments.file {
        Some(file) => of_experiment(file, &arguments.set, printer)?,
        None => of_questions(arguments)?,
    };
    print(&answers, arguments, output, printer)
}

/// What the command line asks.
pub(crate) fn of_questions(arguments: &PredictArguments) -> Result<Answers> {
    let beside = Beside { expected: arguments.expect, measured: arguments.measured };
    let mut predictions = Vec::new();
    for doubted in questions::of(arguments, catalogue())? {
        let mut told: Answer = answer(catalogue(), &doubted.question, beside)?;
        told.prediction.warnings.splice(0..0, doubted.mistakes);
        told.prediction.assumptions.splice(0..0, doubted.assumptions);
        predictions.push(told);
    }
    Ok(Answers::of(predictions, Vec::new()))
}

/// Each configuration of an experiment, settled as a run would settle it.
fn of_experiment(file: &Path, set: &[String], printer: &mut Printer) -> Result<Answers> {
    let text = read_file(file)?;
    let experiment = parse(&file.display().to_string(), &text, set, printer)?;
    let options = PlanOptions {
        quick: false,
        identical_levels: false,
        overrides: set.to_vec(),
        tags: Vec::new(),
        destroy: Vec::new(),
        directory: directory_of(file)?,
    };
    let plan = make_plan(experiment, options)?;
    let (mut predictions, mut unpredicted) = (Vec::new(), Vec::new());
    for configuration in &plan.experiment.configurations {
        match answer_configuration(catalogue(), configuration) {
            Ok(told) => predictions.push(told),
            Err(error) => {
                unpredicted
                    .push(Unpredicted { label: configuration.name.clone(), reason: error.to_string() });
            }
        }
    }
    if let (true, Some(first)) = (predictions.is_empty(), unpredicted.first()) {
        bail!("cannot predict `{}`: {}", clean(&first.label), clean(&first.reason));
    }
    Ok(Answers::of(predictions, unpredicted))
}

/// The answers in the form that was asked for, and the page.
fn print(
    answers: &Answers,
    arguments: &PredictArguments,
    output: Option<OutputFile>,
    printer: &mut Printer,
) -> Result<ExitCode> {
    if let Some(output) = output {
        let page = iostone_report::predictions_html(answers, &command_line(std::env::args_os().skip(1)))?;
        write_out(output, &page, printer)?;
    }
    if arguments.json {
        let document = match answers.predictions.as_slice() {
            [only] if answers.unpredicted.is_empty() => serde_json::to_string_pretty(only)?,
            _ => serde_json::to_string_pretty(answers)?,
        };
        printer.data(&format!("{document}\n"));
    } else {
        printer.data(&iostone_report::predictions_text(answers, printer.text_style()));
    }
    Ok(ExitCode::Success)
}

/// A command line of iostone as it would be typed again.
pub(crate) fn command_line(words: impl IntoIterator<Item = OsString>) -> String {
    let words = words.into_iter().map(|word| quote(&word));
    std::iter::once("iostone".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
