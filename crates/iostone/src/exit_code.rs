//! How iostone ends, as a number for scripts.

use iostone_engine::EngineError;
use iostone_guest::GuestError;
use iostone_guest::image::ImageError;
use iostone_lab::LabError;
use iostone_machine::{Failure, FailureKind};
use iostone_orion::OrionError;
use iostone_stack::StackError;

/// The exit codes; `iostone --help` lists them too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// It ran, whatever the verdict.
    Success,
    /// The workload failed, or the machine did not do what was asked.
    Failure,
    /// The command line, a file, or something missing.
    Usage,
    /// Refused for the safety of what is on a device.
    Refused,
    /// Some of it is done and kept; it can be resumed.
    Partial,
    /// A gate cannot tell.
    Unsettled,
    /// Interrupted, after everything was undone.
    Interrupted,
    /// As the command ended that was run in the foreground.
    Command(u8),
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(match code {
            ExitCode::Success => 0,
            ExitCode::Failure => 1,
            ExitCode::Usage => 2,
            ExitCode::Refused => 3,
            ExitCode::Partial => 4,
            ExitCode::Unsettled => 5,
            ExitCode::Interrupted => 130,
            ExitCode::Command(code) => code,
        })
    }
}

/// An error in a file of the user's that was already shown, with its place, by whoever found it.
#[derive(Debug, thiserror::Error)]
#[error("{count} {} in `{file}`", if *count == 1 { "error" } else { "errors" })]
pub(crate) struct FileErrors {
    pub(crate) file: String,
    pub(crate) count: usize,
}

/// A run that stopped and can go on.
#[derive(Debug, thiserror::Error)]
#[error(
    "{error}; {}resume with `iostone run --resume {run}`",
    match (has_trials, error.is_interrupt()) {
        (true, _) => "the trials so far are kept: ",
        (false, true) => "nothing is measured yet: ",
        (false, false) => "then ",
    }
)]
pub(crate) struct Resumable {
    pub(crate) error: LabError,
    pub(crate) run: String,
    /// Whether anything of it was recorded.
    pub(crate) has_trials: bool,
}

/// A job of the load engine ended early; its figures were printed.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct IoFailed {
    pub(crate) reason: String,
    pub(crate) interrupted: bool,
}

/// A test of `iostone orion` that ended early; what it had measured is kept.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct OrionEnded {
    pub(crate) reason: String,
    pub(crate) code: ExitCode,
}

/// The code that an error ends with.
pub(crate) fn of_error(error: &anyhow::Error) -> ExitCode {
    for cause in error.chain() {
        if let Some(resumable) = cause.downcast_ref::<Resumable>() {
            return match of_lab(&resumable.error) {
                code @ (ExitCode::Interrupted | ExitCode::Refused) => code,
                ExitCode::Failure if matches!(resumable.error, LabError::Workload { .. }) => {
                    ExitCode::Failure
                }
                _ => ExitCode::Partial,
            };
        }
        if let Some(lab) = cause.downcast_ref::<LabError>() {
            return of_lab(lab);
        }
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return of_failure(failure);
        }
        if let Some(StackError::Refused(_)) = cause.downcast_ref::<StackError>() {
            return ExitCode::Refused;
        }
        if let Some(EngineError::Interrupted) = cause.downcast_ref::<EngineError>() {
            return ExitCode::Interrupted;
        }
        match cause.downcast_ref::<GuestError>() {
            Some(GuestError::Interrupted) => return ExitCode::Interrupted,
            Some(GuestError::Died(_) | GuestError::Io { .. }) => return ExitCode::Failure,
            _ => {}
        }
        if let Some(image) = cause.downcast_ref::<ImageError>() {
            return match image {
                ImageError::Refused(_) => ExitCode::Refused,
                ImageError::Failed(_) => ExitCode::Failure,
                ImageError::Interrupted => ExitCode::Interrupted,
                _ => ExitCode::Usage,
            };
        }
        if let Some(ended) = cause.downcast_ref::<OrionEnded>() {
            return ended.code;
        }
        match cause.downcast_ref::<OrionError>() {
            Some(OrionError::Interrupted) => return ExitCode::Interrupted,
            Some(OrionError::Fault { .. }) => return ExitCode::Failure,
            _ => {}
        }
        if let Some(engine) = cause.downcast_ref::<IoFailed>() {
            return if engine.interrupted { ExitCode::Interrupted } else { ExitCode::Failure };
        }
    }
    ExitCode::Usage
}

fn of_lab(error: &LabError) -> ExitCode {
    match error {
        LabError::Machine(failure) => of_failure(failure),
        LabError::Workload { .. } | LabError::Protocol { .. } => ExitCode::Failure,
        _ => ExitCode::Usage,
    }
}

fn of_failure(failure: &Failure) -> ExitCode {
    match failure.kind {
        FailureKind::Refused => ExitCode::Refused,
        FailureKind::Usage | FailureKind::Missing => ExitCode::Usage,
        FailureKind::Failed
        | FailureKind::Lost
        | FailureKind::Guest
        | FailureKind::Governor
        | FailureKind::Container
        | FailureKind::Preparation => ExitCode::Failure,
        FailureKind::Reboot => ExitCode::Partial,
        FailureKind::Interrupted => ExitCode::Interrupted,
    }
}
