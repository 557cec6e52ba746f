//! Our own program as the server of a trial's emulated volumes: started, waited for until it listens, and marked so that
//! it is found again after a crash.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use iostone_disk::{Control, DiskPlan};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::StackError;
use crate::provide::SERVER_VARIABLE;
use crate::session::PROCESS_VARIABLE;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

/// A server that does not listen by then does not on this machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the server prints once all its sockets listen.
const READY: &[u8] = b"ready\n";

/// Writes the step down that ends a server, and marks the command by which it is found. Gives the marker's value.
///
/// # Errors
/// [`StackError::Io`] when the journal cannot be written.
pub(crate) fn mark(site: &mut Site, command: &mut Command) -> Result<String, StackError> {
    let value = format!("{}-{}", site.journal.owner.token, site.journal.entries.len());
    let step = Step::Server { variable: SERVER_VARIABLE.to_owned(), value: value.clone() };
    site.journal.begin(Scope::Trial, step)?;
    carry_marker(command, &value);
    Ok(value)
}

/// Gives a command the marker of a server, and takes that of the workload's processes away, which end before the stack
/// does.
pub(crate) fn carry_marker(command: &mut Command, value: &str) {
    command.env(SERVER_VARIABLE, value).env_remove(PROCESS_VARIABLE);
    tool::die_with_this_process(command, true);
}

/// Starts the server of a plan and waits until it listens. Gives the value of its marker. The thread that calls this
/// has to outlive the server, which the kernel ends with it.
///
/// # Errors
/// [`StackError::Io`] when it cannot be started, [`StackError::Tool`] with its words when it ends at once,
/// [`StackError::Interrupted`] when the user has asked to stop.
pub(crate) fn start(site: &mut Site, plan: &DiskPlan) -> Result<String, StackError> {
    let program = match &site.server_program {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(|source| StackError::io("find", "/proc/self/exe", source))?,
    };
    let log = site.trial_directory()?.join("disk.log");
    let said = File::create(&log).map_err(|source| StackError::io("create", &log, source))?;
    let mut text =
        serde_json::to_vec(plan).map_err(|error| StackError::unexpected("disk plan", error.to_string()))?;
    text.push(b'\n');
    let mut command = Command::new(&program);
    command
        .args(["disk", "plan"])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::from(said));
    let marker = mark(site, &mut command)?;
    let mut child = command.spawn().map_err(|source| StackError::io("execute", &program, source))?;
    let stdout = child.stdout.take();
    let told = child.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(&text));
    // The rest of its standard input stays open with the child: at its end the server ends.
    site.servers.push(child);
    if told.is_ok()
        && let Some(mut stdout) = stdout
        && is_ready(site, &mut stdout)?
    {
        return Ok(marker);
    }
    Err(failed(site, &program, &log))
}

/// Tells the server at that control socket that the workload begins.
///
/// # Errors
/// [`StackError::Unexpected`] when it does not answer.
pub(crate) fn begin_workload(control: &Path) -> Result<(), StackError> {
    let told = Control::connect(control, PATIENCE).and_then(|mut server| server.begin());
    told.map_err(|error| {
        StackError::unexpected("disk server", format!("its burst buckets could not be filled: {error}"))
    })
}

/// Whether the server said so; false if it ended, or never does.
fn is_ready(site: &Site, stdout: &mut ChildStdout) -> Result<bool, StackError> {
    let deadline = Instant::now() + PATIENCE;
    let mut said = Vec::new();
    while Instant::now() < deadline {
        site.check_interrupt()?;
        let tenth = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let mut watched = [PollFd::new(&*stdout, PollFlags::IN)];
        if rustix::event::poll(&mut watched, Some(&tenth)).unwrap_or(0) == 0 {
            continue;
        }
        let mut byte = [0; 1];
        match stdout.read(&mut byte) {
            Ok(1..) => said.extend_from_slice(&byte),
            Ok(0) => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => return Err(StackError::io("read the answer of", "the disk server", source)),
        }
        if said.ends_with(READY) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn failed(site: &mut Site, program: &Path, log: &PathBuf) -> StackError {
    let outcome = match site.servers.last_mut().map(Child::try_wait) {
        Some(Ok(Some(status))) => format!("ended with {status}"),
        _ => "does not listen".to_owned(),
    };
    let output = std::fs::read_to_string(log).unwrap_or_default();
    StackError::Tool {
        command: format!("{} disk plan", program.display()),
        outcome,
        output: tool::last_lines(&output),
    }
}
