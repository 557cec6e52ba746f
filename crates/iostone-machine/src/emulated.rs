//! One program in the foreground on a stack of emulated volumes: the machine's part of `iostone emulate`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iostone_model::experiment::Stack;
use iostone_model::trial::GovernorRecord;
use iostone_stack::{Applied, Preflight, Registry, Session, SessionOptions, StackError, refuse_exposed};
use iostone_workload::WorkloadError;
use iostone_workload::foreground::{Dispositions, Foreground, Ran};

use crate::{Failure, FailureKind, StopFlag};

/// The variable that tells a program where the emulated volumes are mounted.
const DIRECTORY_VARIABLE: &str = "IOSTONE_EMULATED_DIR";
/// The variable that tells it the device, where no filesystem is made.
const DEVICE_VARIABLE: &str = "IOSTONE_EMULATED_DEVICE";

/// A program and what is built under it.
#[derive(Debug, Clone)]
pub struct EmulatedProgram {
    /// The program, as a path or a name in `PATH`, and its arguments.
    pub argv: Vec<OsString>,
    /// Volumes, what joins them, filesystem, link and CPU allowance; settled.
    pub stack: Stack,
    /// An absolute directory for the files of the volumes.
    pub work_directory: PathBuf,
    /// What the program writes to its standard output goes to our standard error.
    pub stdout_to_stderr: bool,
    /// The signals that it is to ignore, as whoever started us wished.
    pub dispositions: Dispositions,
}

/// What came of it.
#[derive(Debug)]
pub struct EmulatedRun {
    /// How it ended and what it used, or why it could not be started.
    pub ran: Result<Ran, WorkloadError>,
    /// What the emulated CPU allowance gave; none without one.
    pub governor: Option<Box<GovernorRecord>>,
    /// What went wrong after the program had begun: the governor died, or something is left on the machine.
    pub trouble: Vec<Failure>,
}

/// A moment of the run, for whoever looks at the disk server then.
#[derive(Debug, Clone, Copy)]
pub enum Moment<'a> {
    /// Everything stands and the program begins next.
    Begins(&'a Applied),
    /// The program has ended, and everything still stands.
    Ended,
}

/// What can be known before anything is touched.
///
/// # Errors
/// The first thing that stands in the way.
pub fn examine_emulated(stack: &Stack, work_directory: &Path) -> Result<Preflight, Failure> {
    // Flushes are timed by the server, whatever the files lie on; and nothing is compared here.
    let next = ["`--directory`, and a directory that only root can write to"];
    refuse_exposed(work_directory, "directory for the volumes", &next)?;
    Ok(Session::preflight(stack, false, work_directory)?)
}

/// Builds the stack, runs the program there, and takes everything away again. `look` is called at each [`Moment`] with the
/// control socket of the disk server. `stop` ends what is done before the program begins; from then on signals are the
/// program's.
///
/// # Errors
/// What keeps it from being begun; the machine is as it was then.
pub fn run_emulated(
    what: &EmulatedProgram,
    stop: &StopFlag,
    look: &mut dyn FnMut(Moment<'_>, Option<&Path>),
) -> Result<EmulatedRun, Failure> {
    let options = SessionOptions {
        run_token: "emulate".to_owned(),
        run_directory: what.work_directory.clone(),
        work_directory: what.work_directory.clone(),
        interrupt: Some(StopFlag::clone(stop)),
        ..SessionOptions::default()
    };
    let mut session = Session::begin(&Registry::open()?, options)?;
    let applied = session.apply(&what.stack, 1, 0).map_err(of_building)?;
    let program = Foreground {
        argv: what.argv.clone(),
        marker: Some(session.processes_marker()),
        environment: variables(&applied),
        directory: applied.target.directory.clone(),
        groups: applied.groups.as_ref().map(|groups| groups.enter.clone()).unwrap_or_default(),
        stdout_to_stderr: what.stdout_to_stderr,
        dispositions: what.dispositions,
    };
    let control = session.disk_control();
    session.begin_workload()?;
    look(Moment::Begins(&applied), control.as_deref());
    let ran = program.run(stop);
    look(Moment::Ended, control.as_deref());
    let (governor, mut trouble) = match session.governor_end() {
        Ok(record) => (record.map(Box::new), Vec::new()),
        Err(error) => (None, vec![Failure::from(error)]),
    };
    if let Err(error) = session.finish() {
        trouble.push(error.into());
    }
    Ok(EmulatedRun { ran, governor, trouble })
}

/// Options that the kernel does not take at a mount are for whoever asked for them to change; nothing has run yet.
fn of_building(error: StackError) -> Failure {
    match error {
        StackError::NotApplied { layer: "mount", .. } => Failure::new(FailureKind::Usage, error.to_string()),
        other => other.into(),
    }
}

fn variables(applied: &Applied) -> Vec<(String, OsString)> {
    let directory = applied.target.directory.as_ref().map(|path| (DIRECTORY_VARIABLE, path));
    let device = applied.target.device.as_ref().map(|path| (DEVICE_VARIABLE, path));
    let both = directory.into_iter().chain(device);
    both.map(|(name, path)| (name.to_owned(), path.as_os_str().to_owned())).collect()
}
