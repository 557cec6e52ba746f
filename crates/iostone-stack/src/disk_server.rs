//! Our own program as the server of a trial's emulated volumes: started, waited for until it listens, and marked so that
//! it is found again after a crash.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iostone_disk::{Control, DiskPlan, Setting};
use iostone_model::units::Fraction;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::error::StackError;
use crate::provide::SERVER_VARIABLE;
use crate::session::PROCESS_VARIABLE;
use crate::site::Site;
use crate::step::{Scope, Step};
use crate::tool;

/// A server that does not listen by then does not on this machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// A server that does not answer by then is of no use for ending what waits for it.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(2);
/// How long after the user asked to stop what waits for the server is left to end by itself.
const GRACE: Duration = Duration::from_secs(2);
const WATCH_ROUND: Duration = Duration::from_millis(100);
/// Everything that makes a request wait, but for a stall.
const NO_LIMITS: [Setting; 6] = [
    Setting::Link(None),
    Setting::Throughput(None),
    Setting::Iops(None),
    Setting::Latency(None),
    Setting::WriteLatency(None),
    Setting::FlushLatency(None),
];
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
    let program = site.own_program()?;
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

/// Makes sure that the disk below has done all that the server asked of it since the server began.
///
/// # Errors
/// [`StackError::Unexpected`] when it has not, or when the server does not answer.
pub(crate) fn check_below(control: &Path) -> Result<(), StackError> {
    let counted = Control::connect(control, PATIENCE).and_then(|mut server| server.counters());
    let report = counted.map_err(|error| StackError::unexpected("disk server", error.to_string()))?;
    report.trouble_below().map_or(Ok(()), |trouble| Err(StackError::unexpected("disk server", trouble)))
}

/// Lifts all that a server limits: what is still to be written is then as fast as the disk below. What had been promised for
/// later keeps its time. Best effort: a server that is gone limits nothing.
pub(crate) fn lift_limits(control: &Path) {
    if let Ok(mut server) = Control::connect(control, PATIENCE_AT_THE_END) {
        let _ = server.set(None, &NO_LIMITS);
    }
}

/// Answers all that waits for a server with an I/O error, and whatever comes later at once.
fn fail_what_waits(control: &Path) {
    if let Ok(mut server) = Control::connect(control, PATIENCE_AT_THE_END) {
        let _ = server.set(None, &NO_LIMITS);
        // A power cut fails what was promised for later; what had been acknowledged is kept.
        let _ = server.cut(None, Fraction(1.0));
        let _ = server.restore(None);
    }
}

/// While it lives, nothing waits for the server for good once the user has asked to stop: a program that waits for a device,
/// and a mount(2) of our own, hear no signal, not even SIGKILL.
#[derive(Debug)]
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches over a server until it is dropped.
    ///
    /// # Errors
    /// [`StackError::Io`] when no thread can be started.
    pub(crate) fn start(interrupt: Arc<AtomicBool>, control: PathBuf) -> Result<Self, StackError> {
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watch(&interrupt, &is_over, &control))
            .map_err(|source| StackError::io("start a thread for", "the disk server", source))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It ends as soon as it has seen that.
            let _ = thread.join();
        }
    }
}

fn watch(interrupt: &AtomicBool, over: &AtomicBool, control: &Path) {
    let mut asked: Option<Instant> = None;
    while !over.load(Ordering::Relaxed) {
        if interrupt.load(Ordering::Relaxed) {
            let since = *asked.get_or_insert_with(Instant::now);
            // Most ends by itself until then, without an I/O error in the kernel's log.
            if since.elapsed() >= GRACE {
                return fail_what_waits(control);
            }
        }
        std::thread::park_timeout(WATCH_ROUND);
    }
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
