//! What keeps a test from being done.

use std::io;
use std::path::{Path, PathBuf};

use iostone_engine::EngineError;

/// Why a test cannot be done, or not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrionError {
    /// The `.lun` file, or what it names.
    #[error(transparent)]
    Lun(#[from] crate::lun::LunError),
    /// Blocks that were never written, which storage answers without touching its medium.
    #[error(transparent)]
    Unwritten(#[from] crate::written::Unwritten),
    /// The engine refused a point.
    #[error("the load engine: {0}")]
    Engine(#[from] EngineError),
    /// What an option of ORION's asks for cannot be done.
    #[error("{0}")]
    Refused(String),
    /// An I/O failed, which ends the test.
    #[error("at {point}: {fault}")]
    Fault {
        /// The load point, as ORION writes it.
        point: String,
        /// What failed.
        fault: String,
    },
    /// A file of the test could not be read or written.
    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A record that cannot be gone on with.
    #[error("`{}` {reason}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The LUNs are not those that the test was begun on.
    #[error("the test was begun on {change}; begin a new one")]
    Changed {
        /// The first LUN that differs, and how.
        change: String,
    },
    /// It was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl OrionError {
    /// An error about a file.
    pub fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { action, path: path.to_owned(), source }
    }
}
