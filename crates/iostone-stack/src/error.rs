//! What can go wrong while a stack is built, checked or undone, told apart by what the caller can do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use iostone_model::experiment::SettingProblem;
use serde::{Deserialize, Serialize};

use crate::device::size_in_words;

/// Why a stack could not be built, verified or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// The guard refused a device for the safety of what is on it; nothing was changed. Exit code 3.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The stack as described cannot be built, or not at that place: what the user set has to change. Exit code 2.
    #[error("`{object}`: {reason}")]
    Usage {
        /// What has to change: the key (`stack.volume.size`), a variable of the environment or, where no key was set,
        /// the directory that was taken instead.
        object: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// Only root may do this.
    #[error(
        "{what} needs root; run it with `sudo`, or use `volume = {{ kind = \"directory\" }}` without a filesystem"
    )]
    NeedsRoot {
        /// What needs it: "a loop device".
        what: String,
    },
    /// A program is not installed.
    #[error("`{tool}` is not installed; install it with `{install}`")]
    MissingTool {
        /// The program's name.
        tool: String,
        /// The package that holds it.
        package: String,
        /// The command that installs that package.
        install: String,
    },
    /// A setting was made without an error, but the kernel reports another one.
    #[error("{layer}: asked for `{asked}`, but {from} reports `{read_back}`")]
    NotApplied {
        /// The layer: volume, throttle, queue, filesystem, mount.
        layer: &'static str,
        /// What was asked.
        asked: String,
        /// What the kernel reports instead.
        read_back: String,
        /// Where that was read.
        from: String,
    },
    /// A setting was made without an error, but the kernel has no word about it, so that nobody knows whether it holds.
    #[error(
        "{layer}: asked for `{asked}`, but {from} shows only `{reported}`; leave it out or spell it otherwise"
    )]
    NotReported {
        /// The layer: mount.
        layer: &'static str,
        /// What was asked.
        asked: String,
        /// All that the kernel reports.
        reported: String,
        /// Where that was read.
        from: String,
    },
    /// Too little room; nothing was written if this was found before, everything was removed if after.
    #[error(
        "`{directory}` has {} free but {} is needed: {} short; free some, {instead}",
        size_in_words(*.free_bytes),
        size_in_words(*.needed_bytes),
        size_in_words(*.missing_bytes)
    )]
    NoSpace {
        /// The directory on the filesystem that is too full.
        directory: String,
        /// Bytes that the image, or the workload's files, need.
        needed_bytes: u64,
        /// Bytes that may be used, the reserve for others taken off.
        free_bytes: u64,
        /// The difference.
        missing_bytes: u64,
        /// What else helps: "make `volume.size` smaller".
        instead: String,
    },
    /// A foreign program failed.
    #[error("`{command}` {outcome}: {output}")]
    Tool {
        /// The command line as it would be typed.
        command: String,
        /// "ended with status 1".
        outcome: String,
        /// The end of what it printed, on one line.
        output: String,
    },
    /// A system call failed.
    #[error("{action} `{object}`: {source}")]
    Io {
        /// The system call, or what was being done: "mount".
        action: &'static str,
        /// The file, device or directory.
        object: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A fact that the kernel should tell could not be understood.
    #[error("`{object}`: {reason}")]
    Unexpected {
        /// The file, device or directory.
        object: String,
        /// What was found.
        reason: String,
    },
    /// A look at the machine found that it lacks what limits or kernel settings need; nothing was done. Exit code 2.
    #[error("`{object}`: {reason}")]
    Lacking {
        /// The file or directory that tells.
        object: String,
        /// What is lacking, and the next command.
        reason: String,
    },
    /// The governor of an emulated CPU allowance ended or failed: what ran since then was held to no allowance, so that it
    /// does not count.
    #[error("`governor`: {0}; the CPU allowance was no longer enforced, so the trial does not count")]
    Ungoverned(String),
    /// A container could not be had: its daemon, its image or itself; the trial has failed, and the next gets a new one.
    #[error("{engine}: {reason}")]
    Container {
        /// `docker`, `podman`, `overlay`.
        engine: &'static str,
        /// What failed, the engine's own words, and what to do.
        reason: String,
    },
    /// The user asked to stop; what had been built was undone. Exit code 130.
    #[error("interrupted")]
    Interrupted,
    /// Something could not be undone; the journal stays, so `iostone cleanup` can try again.
    #[error("{}not everything could be undone: {failure}; the journal `{journal}` is kept", before(.cause.as_deref()))]
    UndoFailed {
        /// What is left, why, and what to do.
        failure: Box<UndoFailure>,
        /// The journal that still lists it.
        journal: String,
        /// What led to undoing, if it was an error itself.
        cause: Option<Box<StackError>>,
    },
}

fn before(cause: Option<&StackError>) -> String {
    cause.map(|cause| format!("{cause}; then ")).unwrap_or_default()
}

impl StackError {
    /// An error of a system call on a path.
    pub(crate) fn io(action: &'static str, object: impl AsRef<Path>, source: impl Into<io::Error>) -> Self {
        Self::Io { action, object: object.as_ref().display().to_string(), source: source.into() }
    }

    /// An error in the description of the stack.
    pub(crate) fn usage(key: &'static str, reason: impl Into<String>) -> Self {
        Self::Usage { object: format!("stack.{key}"), reason: reason.into() }
    }

    /// Refuses the first of the problems of a layer's settings.
    ///
    /// # Errors
    /// [`StackError::Usage`] with it.
    pub(crate) fn refuse_settings(layer: &str, problems: Vec<SettingProblem>) -> Result<(), Self> {
        let Some(problem) = problems.into_iter().next() else { return Ok(()) };
        let reason = format!("{}: {}", problem.message, problem.expected);
        Err(Self::Usage { object: format!("stack.{layer}.{}", problem.key), reason })
    }

    /// An error in something that the user set, or left unset, outside the description of the stack.
    pub(crate) fn setting(object: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Usage { object: object.as_ref().display().to_string(), reason: reason.into() }
    }

    /// Something that the kernel or a file reported and that makes no sense.
    pub(crate) fn unexpected(object: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Unexpected { object: object.as_ref().display().to_string(), reason: reason.into() }
    }
}

/// What could not be undone: the object, the reason and the next command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoFailure {
    /// The mount, device, file or directory.
    pub object: String,
    /// Why it is still there.
    pub reason: String,
    /// The command that helps.
    pub next: String,
}

impl fmt::Display for UndoFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`: {}; next: `{}`", self.object, self.reason, self.next)
    }
}

/// Why the guard refused a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// It is not a block device.
    NotABlockDevice,
    /// It, or something on it, is mounted.
    Mounted,
    /// The root filesystem stands on it.
    Root,
    /// md, device mapper, LVM, bcache or a loop device stands on it.
    Held,
    /// It serves as swap, or as the place of a hibernation image.
    Swap,
    /// Some process or kernel part has it open.
    Open,
    /// It is divided into partitions.
    Partitioned,
    /// It carries the signature of a filesystem, a volume manager, a partition table or the like.
    Signature,
    /// It cannot be written.
    ReadOnly,
    /// It is too small for any filesystem.
    TooSmall,
    /// It, or a part of it, could not be read, so nothing proves it empty.
    Unreadable,
    /// It is a file that iostone did not make.
    ForeignFile,
    /// It is a block device, named as a file for output.
    NotAFile,
    /// Another iostone, or another program that follows udev's locking convention, has claimed it.
    Claimed,
    /// It holds data of no known format.
    Data,
    /// A symbolic link on the way to it can be changed by another user.
    SwappableLink,
    /// Another user can rename a directory on the way to it.
    Exposed,
}

/// The guard's answer to a device that must not be touched. Not a byte of it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The device as it was given.
    pub device: PathBuf,
    /// How to tell it from others: stable name, serial or backing file, and size.
    pub identity: String,
    /// The kind of reason.
    pub reason: RefusalReason,
    /// The reason in words, with the object: "`/dev/sdb1` on it is mounted on `/srv`".
    pub because: String,
    /// What would be lost, one item each.
    pub loses: Vec<String>,
    /// What to do, best first, with the exact commands in backticks.
    pub next: Vec<String>,
    /// What has to be typed in full to destroy the content nevertheless; none while anything on it is alive.
    pub destroy: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` ({}) is refused: {}", self.device.display(), self.identity, self.because)?;
        if !self.loses.is_empty() {
            write!(formatter, "; would be lost: {}", self.loses.join(", "))?;
        }
        for (index, next) in self.next.iter().enumerate() {
            write!(formatter, "{}{next}", if index == 0 { "; next: " } else { ", or " })?;
        }
        Ok(())
    }
}
