//! Runs a program in the foreground, as a shell would: with our own standard streams and terminal, in our process group.

#![expect(
    unsafe_code,
    reason = "wait4(2) and what the child does before execve(2) have no safe wrapper that fits here"
)]

mod signals;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::groups::Entrance;
use crate::{CpuUse, WorkloadError};
pub use signals::Dispositions;
use signals::Forwarding;

/// A program that takes over the terminal until it ends.
#[derive(Debug, Clone)]
pub struct Foreground {
    /// The program, as a path or a name in `PATH`, and its arguments.
    pub argv: Vec<OsString>,
    /// An environment variable by which it and what it starts are found again; none where nobody will look for them.
    pub marker: Option<(String, String)>,
    /// Further variables of its environment.
    pub environment: Vec<(String, OsString)>,
    /// Where it works; where we do if none.
    pub directory: Option<PathBuf>,
    /// The `cgroup.procs` of each control group that it enters before it begins.
    pub groups: Vec<PathBuf>,
    /// What it writes to its standard output goes to our standard error.
    pub stdout_to_stderr: bool,
    /// The signals that it is to ignore, as whoever started us wished.
    pub dispositions: Dispositions,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with that status.
    Status(u8),
    /// By that signal.
    Signal(u8),
}

impl Ending {
    /// The status that a shell would give: 128 and the number of a signal.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Status(status) => status,
            Self::Signal(signal) => 128u8.saturating_add(signal),
        }
    }
}

/// A program that has ended, and what it used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// From its start to its end, times at which it was stopped included.
    pub wall: Duration,
    /// CPU time of it and of those of its descendants that were waited for: wait4(2).
    pub cpu: CpuUse,
    /// The most memory that one process of these held at once, bytes (`ru_maxrss`, getrusage(2)).
    pub largest_process_bytes: u64,
}

impl Foreground {
    /// Runs it to its end. Signals that are sent to us meanwhile go on to it; those of the terminal reach it without us.
    /// When it is stopped by the terminal, so are we, and our shell sees it. It is killed when we are.
    ///
    /// `stop`, raised by a signal that came before there was anybody to pass it on to, ends it too.
    ///
    /// # Errors
    /// [`WorkloadError::Spawn`] for one that is not there or cannot be executed, [`WorkloadError::Enter`] for a group that
    /// does not take it.
    pub fn run(&self, stop: &AtomicBool) -> Result<Ran, WorkloadError> {
        let program = self.argv.first().cloned().unwrap_or_default();
        let name = program.to_string_lossy().into_owned();
        let mut command = Command::new(&program);
        command
            .args(self.argv.iter().skip(1))
            .envs(self.marker.clone())
            .envs(self.environment.iter().cloned());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if self.stdout_to_stderr {
            let stderr = io::stderr().as_fd().try_clone_to_owned();
            command.stdout(
                stderr
                    .map(Stdio::from)
                    .map_err(|source| WorkloadError::Spawn { program: name.clone(), source })?,
            );
        }
        let entrance = Entrance::into(&self.groups, &mut command)?;
        let dispositions = self.dispositions;
        // SAFETY: both calls are async-signal-safe and touch nothing of the parent's.
        unsafe {
            command.pre_exec(move || {
                // Should iostone be killed, nothing of what it limited goes on.
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1 {
                    return Err(io::Error::last_os_error());
                }
                dispositions.restore();
                Ok(())
            });
        }
        let started = Instant::now();
        let spawned = command.spawn();
        // With it goes the child's end of what the entrance listens to.
        drop(command);
        let mut child = match spawned {
            Ok(child) => child,
            Err(source) => return Err(entrance.explain(name, source)),
        };
        wait(child.id().cast_signed(), started, stop).map_err(|source| {
            // Nobody else would: best effort, as it may have ended.
            let _ = child.kill().and_then(|()| child.wait());
            WorkloadError::Wait { program: name, source }
        })
    }
}

/// Waits for the child, stopping with it when the terminal stops it.
fn wait(pid: i32, started: Instant, stop: &AtomicBool) -> io::Result<Ran> {
    let child = Pid::from_raw(pid).ok_or_else(|| io::Error::other("the child has no number"))?;
    let handle = pidfd_open(child, PidfdFlags::empty())?;
    let _forwarding = Forwarding::to(&handle)?;
    if stop.load(Ordering::Relaxed) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&handle, Signal::TERM);
    }
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right types.
        let waited = unsafe { libc::wait4(pid, &raw mut status, libc::WUNTRACED, &raw mut usage) };
        if waited != pid {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        let Some(stopped_by) = ExitStatus::from_raw(status).stopped_signal() else { break };
        // Ctrl-Z stops us with it, and `fg` lets both go on: by the time that we see it, that may be over.
        if signals::is_of_terminal(stopped_by) && is_stopped(pid) {
            signals::stop_like(stopped_by);
            // Whoever let us go on meant both; a program that goes on already does not mind.
            let _ = pidfd_send_signal(&handle, Signal::CONT);
        }
    }
    let wall = started.elapsed();
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    let status = ExitStatus::from_raw(status);
    Ok(Ran {
        ending: match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Status(byte(code)),
            (None, signal) => Ending::Signal(byte(signal.unwrap_or_default())),
        },
        wall,
        cpu: CpuUse::from(&usage),
        // Linux counts it in KiB.
        largest_process_bytes: usage.ru_maxrss.unsigned_abs().saturating_mul(1024),
    })
}

/// Whether a process is stopped: the state in `/proc/PID/stat`, behind the name in parentheses (`proc_pid_stat(5)`).
fn is_stopped(pid: i32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn run(argv: &[&str]) -> Result<Ran, WorkloadError> {
        Foreground {
            argv: argv.iter().map(OsString::from).collect(),
            marker: Some(("IOSTONE_RUN".to_owned(), "test".to_owned())),
            environment: Vec::new(),
            directory: None,
            groups: Vec::new(),
            stdout_to_stderr: true,
            dispositions: Dispositions::now(),
        }
        .run(&AtomicBool::new(false))
    }

    #[test]
    fn it_ends_as_the_program_does() {
        assert_eq!(run(&["sh", "-c", "exit 7"]).unwrap().ending, Ending::Status(7));
        let killed = run(&["sh", "-c", "kill -9 $$"]).unwrap().ending;
        assert_eq!((killed, killed.exit_code()), (Ending::Signal(9), 137));
    }

    #[test]
    fn what_it_and_its_children_used_is_told() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let ran = run(&["sh", "-c", &format!("sh -c '{busy}'")]).unwrap();
        assert!(ran.cpu.seconds() > 0.0 && ran.cpu.seconds() <= ran.wall.as_secs_f64() * 1.5);
        assert!(ran.largest_process_bytes > 100 << 10);
    }

    #[test]
    fn a_program_that_is_not_there_and_one_that_cannot_be_executed_are_told_apart() {
        let kind = |argv: &[&str]| match run(argv).unwrap_err() {
            WorkloadError::Spawn { source, .. } => source.kind(),
            other => panic!("{other}"),
        };
        assert_eq!(kind(&["no-such-program-here"]), io::ErrorKind::NotFound);
        assert_eq!(kind(&["/etc/passwd"]), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_script_whose_interpreter_is_missing_is_there_all_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        fs::write(&script, "#!/no/such/shell -e\nexit 0\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let error = run(&[&script.to_string_lossy()]).unwrap_err();
        assert!(
            error.to_string().contains("the interpreter `/no/such/shell`, which is not there"),
            "{error}"
        );
        let WorkloadError::Spawn { source, .. } = error else { panic!("{error}") };
        assert_ne!(source.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_stopped_process_is_known_by_its_state() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let pid = child.id().cast_signed();
        assert!(!is_stopped(pid));
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
        while !is_stopped(pid) {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
