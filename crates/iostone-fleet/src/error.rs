//! What goes wrong with many hosts.

use std::io;
use std::path::{Path, PathBuf};

/// Why a fleet, or one host's result, cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The file system's word on a path.
    #[error("{doing} `{path}`: {source}", path = path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A document is not what it should be.
    #[error("`{path}` is damaged: {reason}", path = path.display())]
    Damaged {
        /// The document.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// What a host delivered is refused.
    #[error("refused: {0}")]
    Refused(String),
    /// A program is not installed.
    #[error("`{program}` is not installed; {help}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// How to get it.
        help: &'static str,
    },
    /// A program failed as a whole, not for one host.
    #[error("{0}")]
    Failed(String),
    /// The caller asked for what cannot be.
    #[error("{0}")]
    Usage(String),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl FleetError {
    pub(crate) fn file(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::File { doing, path: path.to_owned(), source: source.into() }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over errors that they have no more use for"
    )]
    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// How Ansible is installed.
pub(crate) const ANSIBLE: &str =
    "install it with `apt-get install ansible-core` or `pip install ansible-core`";
