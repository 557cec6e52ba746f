//! What `iostone emulate` is asked for.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::units::ByteRate;

/// Runs a command on emulated volumes behind an emulated instance's EBS bandwidth.
///
/// The command works in a directory on the volumes (also in `IOSTONE_EMULATED_DIR`), has this terminal, its own standard
/// streams and its signals. Left out, it is a shell. Once it has ended, what it moved and what bound it goes to standard
/// error, and everything is taken away with what lies on the volumes. The status is the command's own, as with
/// `iostone limit`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct EmulateArguments {
    /// The instance type, as in `c4.large`; see `iostone catalog search`
    #[arg(value_name = "INSTANCE")]
    pub(super) instance: String,
    /// The volumes, as in `gp2:220GiB`, `gp3:100GiB:4000iops:250MiB/s` or `4xgp2:220GiB`
    #[arg(long, value_name = "SPEC")]
    pub(super) volume: VolumeSpec,
    /// Speed up time by this factor: sizes and burst buckets are divided by it, rates stay
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(super) speed: f64,
    /// Use the limits of this date, as in `2017-07`; by default today's
    #[arg(long, value_name = "DATE")]
    pub(super) date: Option<CatalogueDate>,
    /// The filesystem to create
    #[arg(long, value_enum, default_value = "ext4")]
    pub(super) filesystem: FilesystemKind,
    /// Mount options, comma-separated
    #[arg(long, value_name = "OPTIONS", value_delimiter = ',')]
    pub(super) mount_options: Vec<String>,
    /// RAID level of several volumes, by md, or by btrfs if that is the filesystem; by default raid0
    #[arg(long, value_enum)]
    pub(super) raid: Option<Raid>,
    /// CPU credits and burst credits when the command starts
    #[arg(long, value_enum, default_value = "launch")]
    pub(super) start: Start,
    /// Do not emulate the instance's processors
    #[arg(long)]
    pub(super) no_cpu: bool,
    /// EBS bandwidth instead of the catalogue's, as in `500Mbps`; constant, without burst
    #[arg(long, value_name = "RATE")]
    pub(super) link: Option<ByteRate>,
    /// EBS IOPS instead of the catalogue's; constant, without burst
    #[arg(long, value_name = "IOPS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) link_iops: Option<u32>,
    /// Where to create the volumes' files; by default $TMPDIR if set, else /var/tmp
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) directory: Option<PathBuf>,
    /// Continue without CPU emulation if this machine cannot emulate the instance's processors
    #[arg(long)]
    pub(super) keep_going: bool,
    /// Print the figures as JSON on stdout; the command's own output then goes to stderr
    #[arg(long)]
    pub(super) json: bool,
    /// The command and its arguments; by default a shell
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

const HELP: &str = "\
Needs root, and disk space for the volumes (their size divided by --speed):
  iostone emulate c4.large --volume gp2:220GiB --speed 60 --date 2017-07 -- \\
      dd if=/dev/urandom of=file bs=1M count=3400 conv=fdatasync
  iostone emulate m5.large --volume gp2:100GiB --speed 20
Writes that stay in the page cache are not limited by any volume: end them with fsync.";

/// Filesystems that can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FilesystemKind {
    /// ext4
    Ext4,
    /// XFS
    Xfs,
    /// btrfs
    Btrfs,
    /// None; `IOSTONE_EMULATED_DEVICE` names the device
    None,
}

/// Levels of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Raid {
    /// Striping
    Raid0,
    /// Mirrors
    Raid1,
    /// Striped mirrors
    Raid10,
}

/// What allowances and buckets hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Start {
    /// Those of a newly launched instance: launch credits, full buckets
    Launch,
    /// The maximum balance
    Full,
    /// None
    Empty,
}
