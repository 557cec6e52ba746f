//! What can go wrong while a run is made, resumed or read.

use std::path::{Path, PathBuf};

use iostone_machine::{Failure, FailureKind};
use iostone_model::diagnostic::Diagnostic;

/// Why a run could not go on, or could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The machine refused or failed.
    #[error(transparent)]
    Machine(#[from] Failure),
    /// The workload failed, so that there is nothing to measure.
    #[error("the workload failed under `{configuration}`: {reason}")]
    Workload {
        /// The configuration.
        configuration: String,
        /// What it said.
        reason: String,
    },
    /// A file of the run directory could not be read or written.
    #[error("{action} `{}`: {source}", path.display())]
    File {
        /// What was being done: "writing".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of the run directory is not what it should be.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The run directory was removed while the run went on.
    #[error("`{}` was removed while the run was writing to it", path.display())]
    Removed {
        /// The run directory.
        path: PathBuf,
    },
    /// There is no such run.
    #[error("`{}` is not a run directory: it has no `plan.json`; `iostone list` shows the runs there are", path.display())]
    NotARun {
        /// The path given.
        path: PathBuf,
    },
    /// Another process is at work in the run directory.
    #[error("`{}` is being written by another iostone; wait for it, or interrupt it with Ctrl-C", path.display())]
    Busy {
        /// The run directory.
        path: PathBuf,
    },
    /// The run has ended; there is nothing to resume.
    #[error("`{}` has finished; show it with `iostone report {}`", path.display(), path.display())]
    Finished {
        /// The run directory.
        path: PathBuf,
    },
    /// The plan cannot be made or carried out as it stands.
    #[error("{0}")]
    Plan(String),
    /// The baseline that another look asks for is none of the run's.
    #[error("{}", .0.message)]
    Baseline(Box<Diagnostic>),
    /// The figures could not be judged.
    #[error("the figures cannot be judged")]
    Judge(#[from] iostone_stats::judge::JudgeError),
    /// The agent answered something else than was asked.
    #[error("the agent's answer does not belong to the request `{request}`")]
    Protocol {
        /// The request.
        request: &'static str,
    },
}

/// Makes sure, as root, that no other user can put another directory in the place of one that runs are kept in.
///
/// # Errors
/// The refusal, with who can.
pub(crate) fn refuse_exposed(directory: &Path) -> Result<(), LabError> {
    Ok(iostone_stack::refuse_exposed_runs(directory).map_err(Failure::from)?)
}

impl LabError {
    pub(crate) fn file(action: &'static str, path: &Path, source: impl Into<std::io::Error>) -> Self {
        Self::File { action, path: path.to_owned(), source: source.into() }
    }

    /// Whether the host has to be rebooted before the run can go on.
    pub fn is_reboot(&self) -> bool {
        matches!(self, Self::Machine(failure) if failure.kind == FailureKind::Reboot)
    }

    /// Whether the governor of an emulated CPU allowance died: the next time it may live.
    pub fn is_governor(&self) -> bool {
        matches!(self, Self::Machine(failure) if failure.kind == FailureKind::Governor)
    }

    /// Whether the user asked for the end.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Self::Machine(failure) if failure.kind == FailureKind::Interrupted)
    }
}
