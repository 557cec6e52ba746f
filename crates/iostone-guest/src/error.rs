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
    /// A system call that failed on a file.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, object: path.display().to_string(), source }
    }
}
