//! Runs a program to its end: without a shell, in a session of its own, timed by wait4(2), its output kept.

#![expect(
    unsafe_code,
    reason = "wait4(2), prctl(2) and setsid(2) in the child have no safe wrapper that fits here"
)]

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use iostone_model::dataset::{DISK_FULL, NO_SPACE};
use iostone_model::units::Span;
use iostone_probe::programs::find_program;

use crate::capture::Capture;
use crate::cpu::CpuUse;
use crate::groups::Entrance;
use crate::{Place, RawOutput, TrialContext, WorkloadError};

/// How soon a stop or a timeout is noticed. The figures come from the waiting thread and do not depend on it.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a program may take to end itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// What a tool may take beyond twice the time that it was asked to work: to start, to clean up on a slow disk.
const BEYOND: Duration = Duration::from_secs(120);
/// What is repeated of the standard error in the record.
const TAIL_BYTES: usize = 2000;

/// A program and what it is started with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// Where it starts.
    pub(crate) directory: PathBuf,
    /// Set beside what iostone itself was given.
    pub(crate) environment: BTreeMap<String, String>,
    /// It is ended after this.
    pub(crate) timeout: Option<Duration>,
    /// The `cgroup.procs` of each control group that it enters before it begins.
    pub(crate) groups: Vec<PathBuf>,
}

/// A program that has ended, whatever way.
#[derive(Debug)]
pub(crate) struct Finished {
    /// What is wrong, if it failed or was ended: one sentence.
    pub(crate) error: Option<String>,
    /// Its status as the system words it.
    pub(crate) status: String,
    /// From its start to its end.
    pub(crate) wall: Duration,
    /// CPU time, descendants that it waited for included.
    pub(crate) cpu: CpuUse,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it printed to its standard error.
    pub(crate) stderr: String,
    /// Whether it was ended because of an interrupt.
    pub(crate) interrupted: bool,
}

/// How a child ended and what it used, descendants that it waited for included.
struct Ended {
    status: ExitStatus,
    wall: Duration,
    cpu: CpuUse,
}

enum Cut {
    No,
    Interrupted,
    TimedOut,
}

impl Program {
    /// A program that works in the trial's directory and can be found by its environment.
    ///
    /// # Errors
    /// The stack offers no directory; `kind` names the workload then.
    pub(crate) fn in_trial(
        argv: Vec<String>,
        place: &Place,
        context: &TrialContext,
        kind: &'static str,
    ) -> Result<Self, WorkloadError> {
        let directory = place.directory.clone().ok_or(WorkloadError::NoDirectory { kind })?;
        let environment = BTreeMap::from([
            ("IOSTONE_TRIAL".to_owned(), context.number.to_string()),
            ("IOSTONE_CONFIGURATION".to_owned(), context.configuration.clone()),
            ("IOSTONE_MOUNT".to_owned(), directory.display().to_string()),
            context.marker.clone(),
        ]);
        Ok(Self { argv, directory, environment, timeout: None, groups: context.groups.clone() })
    }

    /// The same outside of the trial's control groups: preparing is no business of the limits.
    #[must_use]
    pub(crate) fn unlimited(self) -> Self {
        Self { groups: Vec::new(), ..self }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Runs it to its end, its timeout, or until `stop` is set.
    ///
    /// # Errors
    /// It could not be started or waited for. That it failed is said in [`Finished::error`].
    pub(crate) fn run(&self, stop: &AtomicBool) -> Result<Finished, WorkloadError> {
        self.run_fed(stop, Stdio::null())
    }

    /// As [`Self::run`], with something on its standard input.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_fed(&self, stop: &AtomicBool, stdin: Stdio) -> Result<Finished, WorkloadError> {
        let program = self.name().to_owned();
        // bonnie++ is where only the search path of root looks.
        let mut command = Command::new(find_program(&program).unwrap_or_else(|| PathBuf::from(&program)));
        command
            .args(self.argv.iter().skip(1))
            .current_dir(&self.directory)
            .envs(&self.environment)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let entrance = Entrance::into(&self.groups, &mut command)?;
        // SAFETY: both calls are async-signal-safe, take no pointers and touch nothing of the parent's.
        unsafe {
            command.pre_exec(|| {
                // A session of its own, so that everything it starts can be stopped with it and a terminal's
                // interrupt reaches iostone first.
                if libc::setsid() == -1 {
                    return Err(io::Error::last_os_error());
                }
                // Should iostone be killed, the program must not keep the filesystem busy.
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let started = Instant::now();
        let spawned = command.spawn();
        // With it goes the child's end of what the entrance listens to.
        drop(command);
        let mut child = match spawned {
            Ok(child) => child,
            Err(source) => return Err(entrance.explain(program, source)),
        };
        let stdout = child.stdout.take().map(Capture::start);
        let stderr = child.stderr.take().map(Capture::start);
        let pid = child.id().cast_signed();

        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let ended = wait(pid, started);
            // The receiver lives until it has this.
            let _ = sender.send(ended);
        });
        let (ended, cut) = self
            .watch(pid, started, stop, &receiver)
            .map_err(|source| WorkloadError::Wait { program: program.clone(), source })?;
        // Whatever it left running in its session would go on into the next trial.
        signal_session(pid, libc::SIGKILL);
        let cut_short = matches!(cut, Cut::Interrupted);
        Ok(Finished {
            error: self.describe_failure(&ended, &cut),
            status: ended.status.to_string(),
            wall: ended.wall,
            cpu: ended.cpu,
            stdout: stdout.as_ref().map(Capture::text).unwrap_or_default(),
            stderr: stderr.as_ref().map(Capture::text).unwrap_or_default(),
            interrupted: cut_short,
        })
    }

    fn watch(
        &self,
        pid: i32,
        started: Instant,
        stop: &AtomicBool,
        receiver: &mpsc::Receiver<io::Result<Ended>>,
    ) -> io::Result<(Ended, Cut)> {
        let timeout = self.timeout;
        let mut cut = Cut::No;
        let mut kill_at: Option<Instant> = None;
        loop {
            match receiver.recv_timeout(LOOK_EVERY) {
                Ok(ended) => return ended.map(|ended| (ended, cut)),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the waiting thread ended"));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            match kill_at {
                None if stop.load(Ordering::Relaxed) => cut = Cut::Interrupted,
                None if timeout.is_some_and(|timeout| started.elapsed() > timeout) => cut = Cut::TimedOut,
                None => continue,
                Some(at) => {
                    if Instant::now() > at {
                        signal_session(pid, libc::SIGKILL);
                    }
                    continue;
                }
            }
            signal_session(pid, libc::SIGTERM);
            kill_at = Some(Instant::now() + GRACE);
        }
    }

    fn describe_failure(&self, ended: &Ended, cut: &Cut) -> Option<String> {
        let program = self.name();
        match cut {
            Cut::TimedOut => Some(format!(
                "`{program}` was ended after its timeout of {}",
                Span(self.timeout.unwrap_or_default())
            )),
            Cut::Interrupted => Some(format!("`{program}` was interrupted")),
            Cut::No => match (ended.status.code(), ended.status.signal()) {
                (Some(0), _) => None,
                (Some(code), _) => Some(format!("`{program}` ended with status {code}")),
                (None, signal) => Some(format!("`{program}` was ended by signal {}", signal.unwrap_or(0))),
            },
        }
    }
}

/// How long a tool that was asked to work so long may take before something must be wrong with it.
pub(crate) fn patience(asked: Duration) -> Duration {
    asked.saturating_mul(2).saturating_add(BEYOND)
}

/// Whether a program's words, or those of iostone's own engine, say that the disk was full.
pub(crate) fn tells_full(text: &str) -> bool {
    text.contains(DISK_FULL) || text.contains("ENOSPC")
}

impl Finished {
    /// Whether it printed that the disk was full.
    pub(crate) fn says_full(&self) -> bool {
        [&self.stdout, &self.stderr].iter().any(|text| tells_full(text))
    }

    /// The number of the error by which it failed, where it printed which.
    pub(crate) fn errno(&self) -> Option<i32> {
        (self.error.is_some() && !self.interrupted && self.says_full()).then_some(NO_SPACE)
    }

    /// What it printed, to be kept; streams on which nothing was printed are left out. Names begin with `prefix`.
    pub(crate) fn raw(&self, prefix: &str) -> Vec<RawOutput> {
        [("stdout", &self.stdout), ("stderr", &self.stderr)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| RawOutput { name: format!("{prefix}{name}.txt"), text: text.clone() })
            .collect()
    }

    /// The end of its standard error; none where it is empty.
    pub(crate) fn stderr_tail(&self) -> Option<String> {
        (!self.stderr.is_empty()).then(|| tail(&self.stderr))
    }
}

fn tail(text: &str) -> String {
    let mut start = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default().to_owned()
}

/// Signals every process of a session that is named like its leader's pid.
fn signal_session(leader: i32, signal: i32) {
    // SAFETY: kill(2) takes two integers. The group has the leader's pid, because the child called setsid(2); the
    // pid was not reused for a group while any of its members lives, and signalling an empty group fails harmlessly.
    unsafe { libc::kill(-leader, signal) };
}

fn wait(pid: i32, started: Instant) -> io::Result<Ended> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right types.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        if waited == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let wall = started.elapsed();
    Ok(Ended { status: ExitStatus::from_raw(status), wall, cpu: CpuUse::from(&usage) })
}
