//! Why a job could not be started; what goes wrong once it runs is an [`IoFault`](crate::IoFault) instead.

use std::io;
use std::path::PathBuf;

use iostone_model::units::Bytes;

/// Why a job could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A field of the job that cannot be right whatever the target.
    #[error("`{field}` of `{value}` is refused: {reason}")]
    Invalid {
        /// The field's name.
        field: &'static str,
        /// Its value as it was given.
        value: String,
        /// What is wrong with it and what would be right.
        reason: String,
    },
    /// The kernel did not let a thread run where, or as urgently as, the job says.
    #[error("a thread cannot {what}: {source}")]
    Processors {
        /// What it was to do.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file that remembers the generations of verified blocks cannot be used.
    #[error("the ledger `{}` cannot be used: {reason}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// Why, as a clause.
        reason: String,
    },
    /// More than one I/O in flight was asked for and no ring is at hand.
    #[error("`iodepth` of `{iodepth}` needs `io_uring`: {reason}")]
    DepthNeedsRing {
        /// The depth asked for.
        iodepth: u32,
        /// Why there is no ring.
        reason: String,
    },
    /// `engine = "io_uring"` was asked for and this machine has none to offer.
    #[error("`io_uring` is not available: {reason}")]
    NoRing {
        /// What the kernel said, and the setting behind it where one is known.
        reason: String,
    },
    /// Neither a regular file nor a block device nor one of the memory devices.
    #[error("`{}` is {found}; a target is a regular file, a block device, `/dev/null`, `/dev/zero` or `/dev/full`", path.display())]
    NotATarget {
        /// The target.
        path: PathBuf,
        /// What it is, with its article.
        found: &'static str,
    },
    /// The target does not exist, or has no length, and the job does not say which.
    #[error("`{}` {state}: give `size`", path.display())]
    SizeUnknown {
        /// The target.
        path: PathBuf,
        /// "does not exist", "is empty", "has no size of its own".
        state: &'static str,
    },
    /// The target is shorter than the job needs, and must not be extended.
    #[error("`{}` has {has} where {needs} are needed, and {why_not_extended}", path.display())]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size.
        has: Bytes,
        /// What the job needs.
        needs: Bytes,
        /// "a block device cannot be extended", "`layout` is off".
        why_not_extended: &'static str,
    },
    /// A block device that something else holds.
    #[error("`{}` is in use (mounted, or held by md, dm, LVM, swap or another program): `lsblk {}` shows by what", path.display(), path.display())]
    Busy {
        /// The device.
        path: PathBuf,
    },
    /// `bs` does not meet the alignment that `O_DIRECT` needs on this target.
    #[error("`bs` of `{bs}` does not suit `direct` on `{}`: it must be a multiple of {required}", path.display())]
    Unaligned {
        /// The target.
        path: PathBuf,
        /// The block size of the job.
        bs: Bytes,
        /// The alignment that is needed.
        required: Bytes,
    },
    /// Where a volume cuts blocks, `O_DIRECT` does not allow it on this member.
    #[error(
        "`volume` of `{volume}` is refused: `direct` on `{}` needs multiples of {required}, and blocks are cut at \
         multiples of {unit}",
        path.display()
    )]
    UnalignedPieces {
        /// The member.
        path: PathBuf,
        /// The kind of volume, as it is written in a job.
        volume: &'static str,
        /// The alignment that is needed.
        required: Bytes,
        /// What blocks are cut at.
        unit: Bytes,
    },
    /// The filesystem or device has no `O_DIRECT`.
    #[error("`{}` cannot be opened with `direct`: its filesystem or driver has no O_DIRECT", path.display())]
    NoDirect {
        /// The target.
        path: PathBuf,
    },
    /// A flag was asked for and the kernel's own record of the open file lacks it.
    #[error("`{}` was opened without {flag}, though the job asked for it", path.display())]
    FlagNotTaken {
        /// The target.
        path: PathBuf,
        /// The flag, as in open(2).
        flag: &'static str,
    },
    /// A system call on the target failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Target {
        /// The target.
        path: PathBuf,
        /// What was tried: "open", "lay out".
        action: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The buffers of all threads together would not fit in memory, and the kernel would end processes to make room.
    #[error(
        "`numjobs` times `iodepth` times `bs` (twice for reads mixed with writes) is {needed} of I/O buffers, more than \
         half of the {available} of memory that are available; lower one of them"
    )]
    TooMuchMemory {
        /// What the job would take.
        needed: Bytes,
        /// What there is.
        available: Bytes,
    },
    /// Memory for the I/O buffers could not be had.
    #[error("cannot get {bytes} of I/O buffers per thread (`iodepth` times `bs`): {source}")]
    Buffers {
        /// Size of the buffers of one thread.
        bytes: Bytes,
        /// What the kernel said.
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for each of `numjobs`: {source}")]
    Threads {
        /// What the kernel said.
        source: io::Error,
    },
    /// The caller's stop flag was raised before the I/O began.
    #[error("interrupted while the target was being laid out")]
    Interrupted,
}
