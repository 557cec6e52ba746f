//! Why a request failed, in a form that survives the way over the wire.

use std::ffi::OsStr;

use iostone_guest::GuestError;
use iostone_stack::{Refusal, StackError, quote};
use iostone_workload::WorkloadError;
use serde::{Deserialize, Serialize};

/// A failure: its kind decides what the caller does, its message is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What sort of failure.
    pub kind: FailureKind,
    /// What is wrong, with the object, the reason and the next command.
    pub message: String,
}

/// What the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The guard refused; exit code 3.
    Refused,
    /// The experiment asks for something that cannot be here; exit code 2.
    Usage,
    /// Something that needs root or a tool is missing; exit code 2.
    Missing,
    /// The kernel did not do what was asked, or the workload failed; exit code 1.
    Failed,
    /// The guest of the trial did not boot, panicked, hung or ended: the trial has failed, and the next gets a new one.
    Guest,
    /// The governor of an emulated CPU allowance died: the trial has failed, and the next gets a new one.
    Governor,
    /// The container of the trial could not be made, or ended: the trial has failed, and the next gets a new one.
    Container,
    /// A program that prepares the workload failed: the trial has failed.
    Preparation,
    /// The kernel that runs is not the one that the configuration asks for: the host has to be rebooted; exit code 4.
    Reboot,
    /// The user asked to stop; exit code 130.
    Interrupted,
    /// The agent does not answer any more, or answers what it should not.
    Lost,
}

impl Failure {
    /// A failure of that kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The agent answered something that does not belong to the request.
    pub(crate) fn lost(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Lost, message)
    }
}

impl From<StackError> for Failure {
    fn from(error: StackError) -> Self {
        let kind = match &error {
            StackError::Refused(_) => FailureKind::Refused,
            StackError::Usage { .. } | StackError::NoSpace { .. } => FailureKind::Usage,
            StackError::NeedsRoot { .. } | StackError::MissingTool { .. } | StackError::Lacking { .. } => {
                FailureKind::Missing
            }
            StackError::Interrupted => FailureKind::Interrupted,
            StackError::Ungoverned(_) => FailureKind::Governor,
            StackError::Container { .. } => FailureKind::Container,
            _ => FailureKind::Failed,
        };
        let message = match &error {
            StackError::Refused(refusal) => with_override(refusal),
            _ => error.to_string(),
        };
        Self::new(kind, message)
    }
}

/// A refusal that is only about what lies on the device can be overridden by whoever types its identity in full.
fn with_override(refusal: &Refusal) -> String {
    match &refusal.destroy {
        Some(word) => {
            // What begins with a dash would be taken for an option.
            let between = if word.starts_with('-') { "=" } else { " " };
            let word = quote(OsStr::new(word));
            format!("{refusal}, or, if none of it is needed, allow it with `--destroy{between}{word}`")
        }
        None => refusal.to_string(),
    }
}

impl From<GuestError> for Failure {
    fn from(error: GuestError) -> Self {
        let kind = match &error {
            GuestError::Unsuitable(_) => FailureKind::Usage,
            GuestError::Missing(_) => FailureKind::Missing,
            GuestError::Died(_) => FailureKind::Guest,
            GuestError::Interrupted => FailureKind::Interrupted,
            _ => FailureKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        let kind = match &error {
            WorkloadError::NoDirectory { .. }
            | WorkloadError::Unsuitable { .. }
            | WorkloadError::File { .. }
            | WorkloadError::Directory { .. }
            | WorkloadError::NoProgram { .. }
            | WorkloadError::ProgramIsDirectory { .. }
            | WorkloadError::NotExecutable { .. } => FailureKind::Usage,
            WorkloadError::Spawn { .. }
            | WorkloadError::SpawnPrepare { .. }
            | WorkloadError::NotInstalled { .. } => FailureKind::Missing,
            WorkloadError::Prepare(_) => FailureKind::Preparation,
            WorkloadError::Refused(_) => FailureKind::Refused,
            WorkloadError::Interrupted => FailureKind::Interrupted,
            _ => FailureKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}
