//! The options of `iostone disk serve`.

use std::num::ParseIntError;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use iostone_model::experiment::{FaultyOperation, LatencySpread};
use iostone_model::units::{ByteRate, Bytes, Fraction, Span, UnitError};

/// The options.
#[derive(Debug, Args)]
pub(in crate::commands::disk) struct ServeArguments {
    /// The Unix socket at which the volume is; several have -0, -1 and so on behind the name
    #[arg(long, value_name = "SOCKET")]
    pub(super) socket: PathBuf,
    /// Where the server is steered [default: the socket's name with .control behind]
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: Option<PathBuf>,
    /// The size of the volume, as 1GiB [default: that of the file]
    #[arg(long)]
    pub(super) size: Option<Bytes>,
    /// The file or block device on which it lies; a file that is not there is made
    #[arg(long, value_name = "FILE", conflicts_with = "memory")]
    pub(super) file: Option<PathBuf>,
    /// Past the page cache of this machine
    #[arg(long, requires = "file", conflicts_with = "memory")]
    pub(super) direct: bool,
    /// In memory, which is taken as the volume is written; gone with the server
    #[arg(long)]
    pub(super) memory: bool,
    /// So many such volumes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) count: u32,
    /// Of everything random
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) limits: LimitArguments,
    #[command(flatten)]
    pub(super) link: LinkArguments,
    #[command(flatten)]
    pub(super) latencies: LatencyArguments,
    #[command(flatten)]
    pub(super) faults: FaultArguments,
}

/// How much it does.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArguments {
    /// I/Os a second in the long run
    #[arg(long)]
    pub(super) iops: Option<u32>,
    /// Bytes a second in the long run, as 160MiB/s
    #[arg(long, value_name = "RATE")]
    pub(super) throughput: Option<ByteRate>,
    /// How large an I/O may be to count as one
    #[arg(long, value_name = "SIZE")]
    pub(super) io_size: Option<Bytes>,
    /// Adjacent small I/Os count as one until they fill --io-size
    #[arg(long, requires = "io_size")]
    pub(super) merge: bool,
    /// I/Os a second while credits last
    #[arg(long, value_name = "IOPS", requires_all = ["iops", "burst_credits"])]
    pub(super) burst_iops: Option<u32>,
    /// I/Os that the full bucket holds
    #[arg(long, value_name = "COUNT", requires = "burst_iops")]
    pub(super) burst_credits: Option<u64>,
    /// Bytes a second while credits last
    #[arg(long, value_name = "RATE", requires_all = ["throughput", "burst_credit_bytes"])]
    pub(super) burst_throughput: Option<ByteRate>,
    /// Bytes that the full bucket holds
    #[arg(long, value_name = "SIZE", requires = "burst_throughput")]
    pub(super) burst_credit_bytes: Option<Bytes>,
    /// How full the buckets are at first [default: 100%]
    #[arg(long, value_name = "SHARE")]
    pub(super) burst_start: Option<Fraction>,
}

/// What all volumes together may move.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link of the instance")]
pub(super) struct LinkArguments {
    /// Bytes a second of all volumes together, as 500Mbps
    #[arg(id = "link", long = "link", value_name = "RATE")]
    pub(super) rate: Option<ByteRate>,
    /// I/Os a second of all volumes together
    #[arg(id = "link_iops", long = "link-iops", value_name = "IOPS", requires = "link")]
    pub(super) iops: Option<u32>,
    /// Bytes a second while credits last, and the bytes that the full bucket holds, as 593MB/s:5GB
    #[arg(id = "link_burst", long = "link-burst", value_name = "RATE:SIZE", requires = "link")]
    pub(super) burst: Option<ByteBurst>,
    /// I/Os a second while credits last, and the I/Os that the full bucket holds, as 18000:250000
    #[arg(
        id = "link_burst_iops",
        long = "link-burst-iops",
        value_name = "IOPS:COUNT",
        requires = "link_iops"
    )]
    pub(super) burst_iops: Option<IoBurst>,
    /// How full the buckets of the link are at first [default: 100%]
    #[arg(id = "link_burst_start", long = "link-burst-start", value_name = "SHARE", requires = "link")]
    pub(super) burst_start: Option<Fraction>,
}

/// `RATE:SIZE` as it is typed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteBurst {
    pub(super) rate: ByteRate,
    pub(super) credits: Bytes,
}

impl FromStr for ByteBurst {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (rate, credits) = halves(text, "593MB/s:5GB")?;
        let reason = |error: UnitError| error.to_string();
        Ok(Self { rate: rate.parse().map_err(reason)?, credits: credits.parse().map_err(reason)? })
    }
}

/// `IOPS:COUNT` as it is typed.
#[derive(Debug, Clone, Copy)]
pub(super) struct IoBurst {
    pub(super) iops: u32,
    pub(super) credits: u64,
}

impl FromStr for IoBurst {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (iops, credits) = halves(text, "18000:250000")?;
        let reason = |error: ParseIntError| error.to_string();
        Ok(Self { iops: iops.parse().map_err(reason)?, credits: credits.parse().map_err(reason)? })
    }
}

fn halves<'t>(text: &'t str, example: &str) -> Result<(&'t str, &'t str), String> {
    text.split_once(':')
        .ok_or_else(|| format!("a burst is what flows, a colon, and what the bucket holds: {example}"))
}

/// How long it takes, and what it holds back.
#[derive(Debug, Args)]
#[command(next_help_heading = "Latencies and cache")]
pub(super) struct LatencyArguments {
    /// The time that every read and write takes at least, as 2ms
    #[arg(long, value_name = "TIME")]
    pub(super) latency: Option<Span>,
    /// That of writes, where it is another
    #[arg(long, value_name = "TIME")]
    pub(super) write_latency: Option<Span>,
    /// The time that a flush takes at least
    #[arg(long, value_name = "TIME")]
    pub(super) flush_latency: Option<Span>,
    /// How latencies scatter
    #[arg(long, value_enum, value_name = "SHAPE")]
    pub(super) latency_spread: Option<Spread>,
    /// A write cache of this size that loses its content with the power
    #[arg(long, value_name = "SIZE")]
    pub(super) cache: Option<Bytes>,
}

/// What goes wrong.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
pub(super) struct FaultArguments {
    /// I/O errors from this byte on
    #[arg(long, value_name = "SIZE")]
    pub(super) error_offset: Option<Bytes>,
    /// On so many bytes [default: to the end]
    #[arg(long, value_name = "SIZE")]
    pub(super) error_length: Option<Bytes>,
    /// Of which requests [default: reads and writes]
    #[arg(long, value_enum, value_name = "OPERATION")]
    pub(super) error_on: Option<Operation>,
    /// The share of them that fails [default: all]
    #[arg(long, value_name = "SHARE")]
    pub(super) error_share: Option<Fraction>,
    /// A pause as often as this
    #[arg(long, value_name = "TIME", requires = "stall_lasts")]
    pub(super) stall_every: Option<Span>,
    /// How long one lasts
    #[arg(long, value_name = "TIME", requires = "stall_every")]
    pub(super) stall_lasts: Option<Span>,
}

/// [`LatencySpread`] as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Spread {
    Exponential,
    Lognormal,
    Uniform,
}

impl From<Spread> for LatencySpread {
    fn from(spread: Spread) -> Self {
        match spread {
            Spread::Exponential => Self::Exponential,
            Spread::Lognormal => Self::Lognormal,
            Spread::Uniform => Self::Uniform,
        }
    }
}

/// [`FaultyOperation`] as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Operation {
    Read,
    Write,
    Flush,
}

impl From<Operation> for FaultyOperation {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Write => Self::Write,
            Operation::Flush => Self::Flush,
        }
    }
}
