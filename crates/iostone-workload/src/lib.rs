//! What is measured: one file per workload, each prepared on a place of the stack and then run once.
//!
//! Preparing (laying out files) and running (what is timed) are apart, because the machine settles and the probe
//! starts between the two.

mod bonnie;
mod capture;
mod command;
mod copy_up;
mod cpu;
mod dbench;
mod dd;
mod fio;
pub mod foreground;
mod groups;
pub mod io;
mod ioping;
mod orion;
mod picked;
mod program;
mod sysbench;
mod tool;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use iostone_model::experiment::Workload;
use iostone_model::trial::WorkloadReport;
use iostone_model::units::Bytes;
use iostone_probe::programs::{find_program, install_command};
use serde::{Deserialize, Serialize};

pub use cpu::CpuUse;

/// Where a workload works: what the stack offers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The directory to work in: the mounted filesystem, or a directory of iostone's own.
    pub directory: Option<PathBuf>,
    /// The bare device, where no filesystem was asked for.
    pub device: Option<PathBuf>,
}

/// Which trial this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialContext {
    /// The trial's number, from 1; 0 for a warm-up.
    pub number: u32,
    /// The configuration's name.
    pub configuration: String,
    /// The seed of offsets and data.
    pub seed: u64,
    /// An environment variable for every process, by which an undo finds what a crash left running.
    pub marker: (String, String),
    /// The `cgroup.procs` of each control group that programs of the workload enter before they begin; what is only done to
    /// prepare them stays outside.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
}

/// What a trial's workload yielded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// The figures, by metric name, in SI units.
    pub metrics: BTreeMap<String, f64>,
    /// Everything else that it reported.
    pub report: WorkloadReport,
    /// Raw output to be kept as it came.
    pub raw: Vec<RawOutput>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// CPU time that it used: a program's with its descendants, an engine's of this process; none where nobody told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuUse>,
}

/// A piece of raw output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawOutput {
    /// The file's name below `raw/`.
    pub name: String,
    /// Its content, as text where it is UTF-8 and with replacement characters where it is not.
    pub text: String,
}

/// Why a workload could not be prepared or run. A program that fails is not an error here but a report of one.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The load engine refused the job, or could not prepare it.
    #[error("the load engine: {0}")]
    Engine(#[source] iostone_engine::EngineError),
    /// The program could not be started.
    #[error("`{program}` could not be started: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program that prepares a command could not be started.
    #[error("`{program}`, which `workload.prepare` names, could not be started: {source}")]
    SpawnPrepare {
        /// The program.
        program: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program that prepares a command failed.
    #[error("before the measurement: `workload.prepare`: {0}")]
    Prepare(String),
    /// The program could not be started because a control group did not take it.
    #[error("`{program}` could not enter the control group `{}`: {source}", group.display())]
    Enter {
        /// The program.
        program: String,
        /// The group's directory.
        group: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The stack offers no directory, but the workload works in one.
    #[error(
        "a `{kind}` workload works in a directory, but the stack ends in a bare device; add a filesystem"
    )]
    NoDirectory {
        /// The workload's kind.
        kind: &'static str,
    },
    /// The workload would touch what is not the trial's.
    #[error("{0}")]
    Refused(String),
    /// A foreign tool did not do what is needed before the measurement.
    #[error("before the measurement: {0}")]
    Preparation(String),
    /// It was interrupted while it was being prepared.
    #[error("interrupted")]
    Interrupted,
    /// The program is not installed.
    #[error("`{program}` is not on this machine; install it with `{}`", install_command(program))]
    NotInstalled {
        /// The program.
        program: &'static str,
    },
    /// The program that is installed, or this machine, cannot do what is asked for.
    #[error("{program}: {reason}")]
    Unsuitable {
        /// The program.
        program: &'static str,
        /// What is asked, what stands in the way, and what to do.
        reason: String,
    },
    /// What the program needs could not be made.
    #[error("making `{}` for the workload: {source}", path.display())]
    Make {
        /// What was to be made.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file that the workload was given cannot be had.
    #[error("`{}`, which `workload.files` names, cannot be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The directory that a command is to start in cannot be read.
    #[error("`{}`, which `workload.directory` names, cannot be read: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A program of a command that is not on this machine.
    #[error(
        "`{program}` cannot be found: {}",
        if program.starts_with('/') { "no such file" }
        else if program.contains('/') { "no such file beside the experiment" }
        else { "no such program in PATH" }
    )]
    NoProgram {
        /// The program as it was named.
        program: String,
    },
    /// A directory in the place of a program.
    #[error("`{program}` is a directory, not a program")]
    ProgramIsDirectory {
        /// The directory as it was named.
        program: String,
    },
    /// A program of a command that is a file without the right to be executed.
    #[error(
        "`{program}` is not executable: `chmod +x` it, or name its interpreter, as in `argv = [\"sh\", \"{}\"]`",
        program.rsplit('/').next().unwrap_or(program)
    )]
    NotExecutable {
        /// The program as it was named.
        program: String,
    },
    /// A thread or a wait failed.
    #[error("waiting for `{program}` failed: {source}")]
    Wait {
        /// The program.
        program: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl From<iostone_engine::EngineError> for WorkloadError {
    fn from(error: iostone_engine::EngineError) -> Self {
        match error {
            iostone_engine::EngineError::Interrupted => Self::Interrupted,
            error => Self::Engine(error),
        }
    }
}

/// A workload that is ready to run.
pub trait Prepared {
    /// Runs it once, until its own end or until `stop` is set.
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError>;
}

/// Finds out, touching nothing, whether a workload can be done on this machine, and on a volume of that size where it is
/// known; and the room that its files take where that can be told: the default of bonnie++ hangs on the memory of the
/// machine, which is this one's unless another is given.
///
/// # Errors
/// A program that is not installed, or one that cannot do what is asked for.
pub fn preflight(
    workload: &Workload,
    volume: Option<Bytes>,
    memory: Option<Bytes>,
) -> Result<Option<Bytes>, WorkloadError> {
    let installed = match workload {
        Workload::Fio(fio) => fio.program.installed(),
        _ => workload.of_kind().program,
    };
    if let Some(program) = installed
        && find_program(program).is_none()
    {
        return Err(WorkloadError::NotInstalled { program });
    }
    match workload {
        Workload::Dbench(dbench) => dbench::preflight(dbench)?,
        Workload::Bonnie(bonnie) => return bonnie::preflight(bonnie, volume, memory).map(Some),
        Workload::Fio(fio) => fio::preflight(fio, volume)?,
        Workload::Dd(dd) => dd::preflight(dd)?,
        Workload::Sysbench(sysbench) => sysbench::preflight(sysbench)?,
        Workload::Command(command) => command::preflight(command)?,
        Workload::Io(_) | Workload::Ioping(_) | Workload::Orion(_) | Workload::CopyUp(_) => {}
    }
    Ok(workload.room())
}

/// Finds out whether the programs of a command are on this machine, which is then the one that starts them: a guest may bring
/// its own.
///
/// # Errors
/// [`WorkloadError::NoProgram`] with the first that is missing, [`WorkloadError::NotExecutable`] with one that is no program.
pub fn find_programs(workload: &Workload) -> Result<(), WorkloadError> {
    let Workload::Command(command) = workload else { return Ok(()) };
    if let Some(program) = command::missing_program(command) {
        return Err(WorkloadError::NoProgram { program: program.to_owned() });
    }
    if let Some(program) = command::directory_as_program(command) {
        return Err(WorkloadError::ProgramIsDirectory { program: program.to_owned() });
    }
    if let Some(program) = command::not_executable(command) {
        return Err(WorkloadError::NotExecutable { program: program.to_owned() });
    }
    let is_script = |program: &&String| command.prepare.is_empty() && program.starts_with('/');
    let script = command.argv.first().filter(is_script);
    match script.and_then(|script| Some((script, groups::lacks_interpreter(Path::new(script))?))) {
        Some((script, reason)) => {
            Err(WorkloadError::Spawn { program: script.clone(), source: std::io::Error::other(reason) })
        }
        None => Ok(()),
    }
}

/// Prepares a workload on a place, until it is ready or `stop` is set.
///
/// # Errors
/// What keeps it from being run.
pub fn prepare(
    workload: &Workload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    match workload {
        Workload::Io(io) => io::prepare(io, place, context, stop),
        Workload::Command(command) => command::prepare(command, place, context, stop),
        Workload::Dbench(dbench) => dbench::prepare(dbench, place, context),
        Workload::Bonnie(bonnie) => bonnie::prepare(bonnie, place, context),
        Workload::Fio(fio) => fio::prepare(fio, place, context, stop),
        Workload::Dd(dd) => dd::prepare(dd, place, context, stop),
        Workload::Sysbench(sysbench) => sysbench::prepare(sysbench, place, context, stop),
        Workload::Ioping(ioping) => ioping::prepare(ioping, place, context),
        Workload::Orion(orion) => orion::prepare(orion, place, context, stop),
        Workload::CopyUp(touches) => copy_up::prepare(touches, place, context, stop),
    }
}
