//! `iostone recommend`: what to rent for a target, and what each further dollar buys.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use iostone_cloud::{Architecture, Goal, RangeOf, Status, Wanted, Work, catalogue, recommend as look};
use iostone_model::cloud::CatalogueDate;
use iostone_model::units::{ByteRate, Bytes, Fraction, Span};

use crate::commands::predict::{command_line, quantities};
use crate::exit_code::ExitCode;
use crate::output_file::{Overwrite, write_out};
use crate::printer::Printer;
use quantities::Parsed;

#[derive(Debug, Args)]
#[command(after_help = RECOMMEND_HELP)]
pub(crate) struct RecommendArguments {
    /// Target: complete the work within this time
    #[arg(long, value_name = "TIME", value_parser = quantities::seconds, conflicts_with_all = ["iops", "throughput", "span"])]
    within: Option<f64>,
    /// Target: random IOPS at block size `--bs`
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "throughput")]
    iops: Option<u32>,
    /// Target: bandwidth
    #[arg(long, value_name = "RATE", value_parser = quantities::rate)]
    throughput: Option<Parsed<ByteRate>>,
    /// How long to sustain the rate, so that bursts count; by default indefinitely
    #[arg(long = "for", value_name = "TIME", value_parser = quantities::seconds)]
    span: Option<f64>,
    /// Bytes to write within the time
    #[arg(long, value_name = "SIZE", value_parser = quantities::size, requires = "within")]
    write: Option<Parsed<Bytes>>,
    /// Bytes to read within the time, evenly mixed with the writes
    #[arg(long, value_name = "SIZE", value_parser = quantities::size, requires = "within")]
    read: Option<Parsed<Bytes>>,
    /// Capacity of the volumes; by default the bytes written or read
    #[arg(long, value_name = "SIZE", value_parser = quantities::size)]
    size: Option<Parsed<Bytes>>,
    /// Block size; by default 4KiB with `--iops`, else as large as the kernel merges I/Os
    #[arg(long, value_name = "SIZE", value_parser = quantities::size)]
    bs: Option<Parsed<Bytes>>,
    /// Random instead of sequential I/O; implied by `--iops`
    #[arg(long)]
    random: bool,
    /// Queue depth; by default unlimited
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    depth: Option<u32>,
    /// Latency of an I/O; with `--depth` and `--bs` it limits the rate
    #[arg(long, value_name = "TIME", value_parser = quantities::seconds, requires = "depth")]
    latency: Option<f64>,
    /// Initial fill of all burst buckets, where bursts count: full, empty, or a share as in `40%`; by default full
    #[arg(long, value_name = "SHARE", value_parser = quantities::start)]
    start: Option<Fraction>,
    /// Region of the prices
    #[arg(long, value_name = "REGION", default_value = iostone_cloud::DEFAULT_REGION)]
    region: String,
    /// Only instances with this instruction set
    #[arg(long, value_enum, value_name = "SET")]
    arch: Option<Set>,
    /// Only instances with this many vCPUs, as in `4..` or `4..16`
    #[arg(long, value_name = "RANGE")]
    vcpus: Option<RangeOf<u32>>,
    /// Only instances with this much memory, as in `16GiB..`
    #[arg(long, value_name = "RANGE")]
    memory: Option<RangeOf<Bytes>>,
    /// Only these instance families or types, as in `c*,m5` or `c4.large`
    #[arg(long, value_name = "PATTERN,...", value_delimiter = ',')]
    family: Vec<String>,
    /// Only instances of this status; by default all but retired ones
    #[arg(long, value_enum, value_name = "STATUS,...", value_delimiter = ',')]
    status: Vec<Generation>,
    /// Whether to include instances with instance store disks; the disks are not used
    #[arg(long, value_enum, value_name = "ok | no", default_value = "ok")]
    local_disk: Consent,
    /// Whether to include burstable instances
    #[arg(long, value_enum, value_name = "ok | no", default_value = "no")]
    burstable: Consent,
    /// Only these volume types, as in `gp3,io2`
    #[arg(long, value_name = "TYPE,...", value_delimiter = ',')]
    volume_type: Vec<String>,
    /// Maximum number of striped volumes
    #[arg(long, value_name = "COUNT", default_value = "8", value_parser = clap::value_parser!(u32).range(1..=64))]
    max_volumes: u32,
    /// Use the volume limits of this date, as in `2017-07`; by default today's
    #[arg(long, value_name = "DATE")]
    date: Option<CatalogueDate>,
    /// List everything that was excluded, and every step that more money buys
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also write an HTML page to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
}

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Set {
    /// 64-bit x86
    #[value(name = "x86_64")]
    X86,
    /// 64-bit ARM
    Arm64,
}

/// Generation of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Generation {
    /// Of the current generation
    Current,
    /// Of a previous generation
    Previous,
    /// Retired, or in few regions
    Retired,
}

/// Whether to include a kind of instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Consent {
    /// Include them
    Ok,
    /// Leave them out
    No,
}

/// How it is asked.
const RECOMMEND_HELP: &str = "\
One target: --within TIME with --write or --read, or --iops, or --throughput. Exit code 1 if nothing in the catalogue meets it.
Sizes, rates and times carry units: 220GiB, 500MB/s, 16KiB, 25min.";

pub(crate) fn recommend(arguments: &RecommendArguments, printer: &mut Printer) -> Result<ExitCode> {
    let output = arguments.overwrite.open(arguments.html.as_deref())?;
    let wanted = wanted(arguments, printer)?;
    let found = look(catalogue(), &wanted)?;
    if let Some(output) = output {
        let page = iostone_report::recommendation_html(&found, &command_line(std::env::args_os().skip(1)))?;
        write_out(output, &page, printer)?;
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    } else {
        printer.data(&iostone_report::recommendation_text(&found, arguments.all, printer.text_style()));
    }
    // A target is a threshold that was asked for.
    Ok(if found.is_met { ExitCode::Success } else { ExitCode::Failure })
}

fn wanted(arguments: &RecommendArguments, printer: &mut Printer) -> Result<Wanted> {
    let sizes = [&arguments.write, &arguments.read, &arguments.size, &arguments.bs];
    let mistakes = sizes
        .into_iter()
        .flatten()
        .flat_map(|asked| &asked.mistakes)
        .chain(arguments.throughput.iter().flat_map(|asked| &asked.mistakes));
    for flag in mistakes {
        printer.note(format!("{}: {}", flag.name, flag.message));
    }
    let bytes = |asked: &Option<Parsed<Bytes>>| asked.as_ref().map_or(Bytes(0), |asked| asked.value);
    let (read, write) = (bytes(&arguments.read), bytes(&arguments.write));
    let mut work = Work::sequential(read, write);
    work.io_size = arguments.bs.as_ref().map(|asked| asked.value);
    work.depth = arguments.depth;
    if arguments.iops.is_some() {
        work.io_size = work.io_size.or(Some(SMALL));
    }
    if work.io_size == Some(Bytes(0)) {
        bail!("`--bs` must be larger than 0");
    }
    if arguments.random || arguments.iops.is_some() {
        work.pattern = iostone_cloud::Pattern::Random;
        work.io_size = work.io_size.or(Some(SMALL));
    }
    let span = arguments.span.map(span_of);
    let goal = match (arguments.within, arguments.iops, &arguments.throughput) {
        (Some(_), None, None) if read.0 == 0 && write.0 == 0 => {
            bail!("give the bytes to move within the time: `--write SIZE` or `--read SIZE`")
        }
        (Some(seconds), None, None) => Goal::Within(span_of(seconds)),
        (None, Some(iops), None) => {
            let size = work.io_size.unwrap_or(SMALL);
            let bytes_per_second = f64::from(iops) * size.0 as f64;
            Goal::Rate { bytes_per_second, ios_per_second: Some(f64::from(iops)), span }
        }
        (None, None, Some(rate)) => {
            Goal::Rate { bytes_per_second: rate.value.0 as f64, ios_per_second: None, span }
        }
        _ => bail!(
            "give a target: `--within TIME` with `--write SIZE` or `--read SIZE`, or `--iops COUNT`, or `--throughput RATE`"
        ),
    };
    if arguments.start.is_some() && matches!(goal, Goal::Rate { span: None, .. }) {
        bail!("`--start` needs `--within` or `--for`: burst buckets do not affect the long-term rate");
    }
    let moved = read.max(write);
    let capacity = match &arguments.size {
        Some(size) if size.value < write => {
            bail!("`--size {}` is less than the {} to write; increase it", size.said, write)
        }
        Some(size) => size.value,
        None if moved.0 > 0 => moved,
        None => bail!("give the capacity of the volumes, as in `--size 220GiB`"),
    };
    let date = arguments.date.unwrap_or_else(|| CatalogueDate::of_day(jiff::Zoned::now().date()));
    Ok(Wanted {
        region: arguments.region.clone(),
        architecture: arguments.arch.map(|set| match set {
            Set::X86 => Architecture::X86_64,
            Set::Arm64 => Architecture::Arm64,
        }),
        vcpus: arguments.vcpus,
        memory: arguments.memory,
        families: arguments.family.clone(),
        statuses: arguments
            .status
            .iter()
            .map(|status| match status {
                Generation::Current => Status::Current,
                Generation::Previous => Status::Previous,
                Generation::Retired => Status::Retired,
            })
            .collect(),
        local_disks: arguments.local_disk == Consent::Ok,
        burstable: arguments.burstable == Consent::Ok,
        volume_types: arguments.volume_type.clone(),
        most_volumes: arguments.max_volumes,
        start: arguments.start,
        latency: arguments.latency.map(span_of),
        ..Wanted::new(goal, work, capacity, date)
    })
}

/// A small I/O where nobody says its size: fio's default.
const SMALL: Bytes = Bytes(4096);

fn span_of(seconds: f64) -> Span {
    Span(Duration::from_secs_f64(seconds))
}
