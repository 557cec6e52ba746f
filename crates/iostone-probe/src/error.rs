//! What can go wrong before a probe samples; once it runs, a lost signal is a fact of the recording instead.

use std::path::PathBuf;

/// Why a probe could not start.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The kernel has no block device of that name.
    #[error(
        "`{name}` cannot be watched: neither `/sys/class/block` nor `/proc/diskstats` knows a block device of that \
         name, see `lsblk`"
    )]
    UnknownDevice {
        /// The name as it was asked for.
        name: String,
    },
    /// The device exists and its counters are not what the kernel documents.
    #[error("`{name}` cannot be watched: `{}` holds no counters of a block device", path.display())]
    NoCounters {
        /// The device.
        name: String,
        /// The file that was read.
        path: PathBuf,
    },
    /// A file that every Linux kernel has could not be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// A file that every Linux kernel has does not look as documented.
    #[error("`{}` cannot be understood: no {wanted} in it", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// The interval between samples must be positive.
    #[error("the probe cannot sample every 0 s: give an interval such as `100ms`")]
    ZeroInterval,
    /// No thread for the probe.
    #[error("the probe's thread cannot be started: {source}")]
    Thread {
        /// What the kernel answered.
        source: std::io::Error,
    },
}
