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
    /// The Unix socket to serve on; with --count, -0, -1 and so on are appended
    #[arg(long, value_name = "SOCKET")]
    pub(super) socket: PathBuf,
    /// The control socket [default: the socket's name with .control appended]
    #[arg(long, value_name = "SOCKET")]
    pub(super) control: Option<PathBuf>,
    /// Size of the volume, as in 1GiB [default: that of the file]
    #[arg(long)]
    pub(super) size: Option<Bytes>,
    /// The file or block device that holds the data; a missing file is created
    #[arg(long, value_name = "FILE", conflicts_with = "memory")]
    pub(super) file: Option<PathBuf>,
    /// Bypass this machine's page cache with `O_DIRECT`
    #[arg(long, requires = "file", conflicts_with = "memory")]
    pub(super) direct: bool,
    /// Keep the data in memory, allocated as it is written; lost when the server ends
    #[arg(long)]
    pub(super) memory: bool,
    /// Number of such volumes
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) count: u32,
    /// Seed of the random numbers
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

/// Limits of a volume.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitArguments {
    /// Baseline IOPS
    #[arg(long)]
    pub(super) iops: Option<u32>,
    /// Baseline bandwidth, as in 160MiB/s
    #[arg(long, value_name = "RATE")]
    pub(super) throughput: Option<ByteRate>,
    /// Largest I/O that counts as one
    #[arg(long, value_name = "SIZE")]
    pub(super) io_size: Option<Bytes>,
    /// Count adjacent small I/Os as one up to --io-size
    #[arg(long, requires = "io_size")]
    pub(super) merge: bool,
    /// Burst IOPS while credits last
    #[arg(long, value_name = "IOPS", requires_all = ["iops", "burst_credits"])]
    pub(super) burst_iops: Option<u32>,
    /// Size of the I/O credit bucket, in I/Os
    #[arg(long, value_name = "COUNT", requires = "burst_iops")]
    pub(super) burst_credits: Option<u64>,
    /// Burst bandwidth while credits last
    #[arg(long, value_name = "RATE", requires_all = ["throughput", "burst_credit_bytes"])]
    pub(super) burst_throughput: Option<ByteRate>,
    /// Size of the byte credit bucket
    #[arg(long, value_name = "SIZE", requires = "burst_throughput")]
    pub(super) burst_credit_bytes: Option<Bytes>,
    /// Initial fill of the buckets [default: 100%]
    #[arg(long, value_name = "SHARE")]
    pub(super) burst_start: Option<Fraction>,
}

/// Limits of all volumes together.
#[derive(Debug, Args)]
#[command(next_help_heading = "Link of the instance")]
pub(super) struct LinkArguments {
    /// Bandwidth of all volumes together, as in 500Mbps
    #[arg(id = "link", long = "link", value_name = "RATE")]
    pub(super) rate: Option<ByteRate>,
    /// IOPS of all volumes together
    #[arg(id = "link_iops", long = "link-iops", value_name = "IOPS", requires = "link")]
    pub(super) iops: Option<u32>,
    /// Burst bandwidth and bucket size, as in 593MB/s:5GB
    #[arg(id = "link_burst", long = "link-burst", value_name = "RATE:SIZE", requires = "link")]
    pub(super) burst: Option<ByteBurst>,
    /// Burst IOPS and bucket size, as in 18000:250000
    #[arg(
        id = "link_burst_iops",
        long = "link-burst-iops",
        value_name = "IOPS:COUNT",
        requires = "link_iops"
    )]
    pub(super) burst_iops: Option<IoBurst>,
    /// Initial fill of the link's buckets [default: 100%]
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
    text.split_once(':').ok_or_else(|| format!("expected RATE:BUCKET, as in {example}"))
}

/// Latencies and the volatile write cache.
#[derive(Debug, Args)]
#[command(next_help_heading = "Latencies and cache")]
pub(super) struct LatencyArguments {
    /// Minimum latency of reads and writes, as in 2ms
    #[arg(long, value_name = "TIME")]
    pub(super) latency: Option<Span>,
    /// Minimum latency of writes, if different
    #[arg(long, value_name = "TIME")]
    pub(super) write_latency: Option<Span>,
    /// Minimum latency of flushes
    #[arg(long, value_name = "TIME")]
    pub(super) flush_latency: Option<Span>,
    /// Distribution of latencies
    #[arg(long, value_enum, value_name = "SHAPE")]
    pub(super) latency_spread: Option<Spread>,
    /// Size of a volatile write cache, which loses its content on a power cut
    #[arg(long, value_name = "SIZE")]
    pub(super) cache: Option<Bytes>,
}

/// Injected faults.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
pub(super) struct FaultArguments {
    /// First byte of the range with I/O errors
    #[arg(long, value_name = "SIZE")]
    pub(super) error_offset: Option<Bytes>,
    /// Length of that range [default: to the end]
    #[arg(long, value_name = "SIZE")]
    pub(super) error_length: Option<Bytes>,
    /// Requests that fail [default: reads and writes]
    #[arg(long, value_enum, value_name = "OPERATION")]
    pub(super) error_on: Option<Operation>,
    /// Share of them that fails [default: all]
    #[arg(long, value_name = "SHARE")]
    pub(super) error_share: Option<Fraction>,
    /// Interval between stalls
    #[arg(long, value_name = "TIME", requires = "stall_lasts")]
    pub(super) stall_every: Option<Span>,
    /// Duration of a stall
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
