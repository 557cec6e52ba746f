//! What `iostone emulate` is asked for.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::units::ByteRate;

/// Runs a command on emulated volumes, behind the link of an emulated instance.
///
/// The command works in a directory on the volumes (also in `IOSTONE_EMULATED_DIR`), has this terminal, its own standard
/// streams and its signals. Left out, it is a shell. Once it has ended, what it moved and what bound it goes to standard
/// error, and everything is taken away with what lies on the volumes. The status is the command's own, as with
/// `iostone limit`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct EmulateArguments {
    /// The instance type, as in `c4.large`; `iostone catalog search` has them
    #[arg(value_name = "INSTANCE")]
    pub(super) instance: String,
    /// The volumes, as in `gp2:220GiB`, `gp3:100GiB:4000iops:250MiB/s` or `4xgp2:220GiB`
    #[arg(long, value_name = "SPEC")]
    pub(super) volume: VolumeSpec,
    /// How many times faster time goes by: sizes and buckets are divided by it, rates stay
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(super) speed: f64,
    /// The limits of which time hold, as in `2017-07`; those of today if left out
    #[arg(long, value_name = "DATE")]
    pub(super) date: Option<CatalogueDate>,
    /// The filesystem that is made
    #[arg(long, value_enum, default_value = "ext4")]
    pub(super) filesystem: FilesystemKind,
    /// How it is mounted: options as in fstab, with commas between
    #[arg(long, value_name = "OPTIONS", value_delimiter = ',')]
    pub(super) mount_options: Vec<String>,
    /// What joins several volumes: md, or btrfs where that is the filesystem; raid0 if left out
    #[arg(long, value_enum)]
    pub(super) raid: Option<Raid>,
    /// What allowances and buckets hold when the command begins
    #[arg(long, value_enum, default_value = "launch")]
    pub(super) start: Start,
    /// Leave the processors as they are
    #[arg(long)]
    pub(super) no_cpu: bool,
    /// The link to the volumes, in place of the catalogue's, as in `500Mbps`: all the time, without its burst
    #[arg(long, value_name = "RATE")]
    pub(super) link: Option<ByteRate>,
    /// I/Os a second over it, all the time; those of the catalogue if left out
    #[arg(long, value_name = "IOPS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) link_iops: Option<u32>,
    /// Where the files of the volumes are made; $TMPDIR if that is set, else /var/tmp
    #[arg(long, value_name = "DIRECTORY")]
    pub(super) directory: Option<PathBuf>,
    /// Go on without the instance's processors where they cannot be emulated here
    #[arg(long)]
    pub(super) keep_going: bool,
    /// Print the figures as JSON on stdout; what the command prints goes to stderr then
    #[arg(long)]
    pub(super) json: bool,
    /// The command and its arguments; a shell if left out
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

const HELP: &str = "\
Needs root, and room for the volumes at the size that the speed leaves of them:
  iostone emulate c4.large --volume gp2:220GiB --speed 60 --date 2017-07 -- \\
      dd if=/dev/urandom of=file bs=1M count=3400 conv=fdatasync
  iostone emulate m5.large --volume gp2:100GiB --speed 20
Writes that stay in the page cache are not held by any volume: end them with fsync.";

/// Filesystems that can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FilesystemKind {
    /// ext4
    Ext4,
    /// XFS
    Xfs,
    /// btrfs
    Btrfs,
    /// None: the command finds the device in `IOSTONE_EMULATED_DEVICE`
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
    /// What an instance has that was just started: launch credits, full buckets
    Launch,
    /// As much as they can hold
    Full,
    /// Nothing
    Empty,
}
