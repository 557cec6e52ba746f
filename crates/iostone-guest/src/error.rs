//! Why a guest could not be prepared, started, or died.

use std::io;
use std::path::Path;

/// Why a guest could not be prepared, started, or died.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestError {
    /// What was asked for cannot be: a kernel that is none, a module that the kernel lacks.
    #[error("{0}")]
    Unsuitable(String),
    /// A program, or a kernel, is not on this machine; with the command that brings it.
    #[error("{0}")]
    Missing(String),
    /// The guest did not boot, panicked, hung, or ended; with the last lines of its console.
    #[error("{0}")]
    Died(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// A system call failed.
    #[error("{action} `{object}`: {source}")]
    Io {
        /// What was being done.
        action: &'static str,
        /// To what.
        object: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl GuestError {
    /// The same as a fault of what an experiment names with `key`: also a file there that cannot be read.
    #[must_use]
    pub fn of_key(self, key: &str) -> Self {
        let with = |reason: String| if reason.contains(key) { reason } else { format!("`{key}`: {reason}") };
        match self {
            Self::Missing(reason) => Self::Missing(with(reason)),
            error @ (Self::Unsuitable(_) | Self::Io { .. }) => Self::Unsuitable(with(error.to_string())),
            other => other,
        }
    }

    /// A system call that failed on a file.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, object: path.display().to_string(), source }
    }
}
