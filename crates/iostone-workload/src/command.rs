//! The `command` workload: any program, started without a shell and timed by wait4(2).

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

use iostone_model::experiment::CommandWorkload;
use iostone_model::trial::WorkloadReport;

use crate::capture::Capture;
use crate::{Measurement, Place, Prepared, RawOutput, TrialContext, WorkloadError};

/// How soon a stop or a timeout is noticed. The figures come from the waiting thread and do not depend on it.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a program may take to end itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// What is repeated of the standard error in the record.
const TAIL_BYTES: usize = 2000;

struct PreparedCommand {
    spec: CommandWorkload,
    directory: PathBuf,
    environment: BTreeMap<String, String>,
}

pub(crate) fn prepare(
    spec: &CommandWorkload,
    place: &Place,
    context: &TrialContext,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let directory = place.directory.clone().ok_or(WorkloadError::NoDirectory { kind: "command" })?;
    let mut environment = spec.env.clone();
    environment.insert("IOSTONE_TRIAL".to_owned(), context.number.to_string());
    environment.insert("IOSTONE_CONFIGURATION".to_owned(), context.configuration.clone());
    environment.insert("IOSTONE_MOUNT".to_owned(), directory.display().to_string());
    environment.insert(context.marker.0.clone(), context.marker.1.clone());
    Ok(Box::new(PreparedCommand { spec: spec.clone(), directory, environment }))
}

/// How a child ended and what it used, descendants that it waited for included.
struct Ended {
    status: ExitStatus,
    wall: Duration,
    user: Duration,
    system: Duration,
}

enum Cut {
    No,
    Interrupted,
    TimedOut,
}

impl Prepared for PreparedCommand {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let program = self.spec.argv.first().cloned().unwrap_or_default();
        let mut command = Command::new(&program);
        command
            .args(self.spec.argv.iter().skip(1))
            .current_dir(&self.directory)
            .envs(&self.environment)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
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
        let mut child =
            command.spawn().map_err(|source| WorkloadError::Spawn { program: program.clone(), source })?;
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
        Ok(self.measurement(&ended, &cut, stdout.as_ref(), stderr.as_ref()))
    }
}

impl PreparedCommand {
    fn watch(
        &self,
        pid: i32,
        started: Instant,
        stop: &AtomicBool,
        receiver: &mpsc::Receiver<io::Result<Ended>>,
    ) -> io::Result<(Ended, Cut)> {
        let timeout = self.spec.timeout.map(|timeout| timeout.0);
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

    fn measurement(
        &self,
        ended: &Ended,
        cut: &Cut,
        stdout: Option<&Capture>,
        stderr: Option<&Capture>,
    ) -> Measurement {
        let stdout = stdout.map(Capture::text).unwrap_or_default();
        let stderr = stderr.map(Capture::text).unwrap_or_default();
        let program = self.spec.argv.first().map_or("", String::as_str);
        let error = match cut {
            Cut::TimedOut => Some(format!(
                "`{program}` was ended after its timeout of {}",
                self.spec.timeout.unwrap_or_default()
            )),
            Cut::Interrupted => Some(format!("`{program}` was interrupted")),
            Cut::No => match (ended.status.code(), ended.status.signal()) {
                (Some(0), _) => None,
                (Some(code), _) => Some(format!("`{program}` ended with status {code}")),
                (None, signal) => Some(format!("`{program}` was ended by signal {}", signal.unwrap_or(0))),
            },
        };
        let metrics = if error.is_none() {
            BTreeMap::from([
                ("wall_time".to_owned(), ended.wall.as_secs_f64()),
                ("user_time".to_owned(), ended.user.as_secs_f64()),
                ("system_time".to_owned(), ended.system.as_secs_f64()),
            ])
        } else {
            BTreeMap::new()
        };
        let report = WorkloadReport {
            kind: "command".to_owned(),
            measured_seconds: ended.wall.as_secs_f64(),
            error,
            facts: BTreeMap::from([
                ("argv".to_owned(), self.spec.argv.join(" ")),
                ("status".to_owned(), ended.status.to_string()),
            ]),
            stderr_tail: (!stderr.is_empty()).then(|| tail(&stderr)),
            ..WorkloadReport::default()
        };
        let raw = [("stdout", stdout), ("stderr", stderr)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| RawOutput { name: format!("{name}.txt"), text })
            .collect();
        Measurement { metrics, report, raw, interrupted: matches!(cut, Cut::Interrupted) }
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
    let time = |value: libc::timeval| {
        Duration::from_secs(value.tv_sec.unsigned_abs()) + Duration::from_micros(value.tv_usec.unsigned_abs())
    };
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        wall,
        user: time(usage.ru_utime),
        system: time(usage.ru_stime),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::Span;

    fn run(argv: &[&str], timeout: Option<Span>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let directory = tempfile::tempdir().unwrap();
        let spec = CommandWorkload {
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
            env: BTreeMap::new(),
            timeout,
        };
        let place = Place { directory: Some(directory.path().to_owned()), device: None };
        let context = TrialContext {
            number: 7,
            configuration: "off".to_owned(),
            seed: 1,
            marker: ("IOSTONE_RUN".to_owned(), "test".to_owned()),
        };
        prepare(&spec, &place, &context)?.run(stop)
    }

    #[test]
    fn a_program_sees_its_trial_and_its_output_is_kept() {
        let script = "pwd; echo $IOSTONE_TRIAL $IOSTONE_CONFIGURATION $IOSTONE_MOUNT; echo oops >&2";
        let measurement = run(&["sh", "-c", script], None, &AtomicBool::new(false)).unwrap();
        let stdout = &measurement.raw[0].text;
        let (directory, rest) = stdout.split_once('\n').unwrap();
        assert_eq!(rest, format!("7 off {directory}\n"));
        assert_eq!(measurement.report.stderr_tail.as_deref(), Some("oops\n"));
        assert!(measurement.report.error.is_none());
        assert!(measurement.metrics["wall_time"] > 0.0);
    }

    #[test]
    fn cpu_time_of_descendants_is_counted() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let nested = format!("sh -c '{busy}'");
        let measurement = run(&["sh", "-c", &nested], None, &AtomicBool::new(false)).unwrap();
        assert!(measurement.metrics["user_time"] > 0.0);
    }

    #[test]
    fn a_failing_program_yields_no_figures_but_a_reason() {
        let measurement = run(&["sh", "-c", "exit 3"], None, &AtomicBool::new(false)).unwrap();
        assert_eq!(measurement.report.error.as_deref(), Some("`sh` ended with status 3"));
        assert!(measurement.metrics.is_empty());
        let measurement = run(&["sh", "-c", "kill -9 $$"], None, &AtomicBool::new(false)).unwrap();
        assert_eq!(measurement.report.error.as_deref(), Some("`sh` was ended by signal 9"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&["no-such-program-here"], None, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("`no-such-program-here` could not be started"));
    }

    #[test]
    fn a_timeout_ends_the_whole_session() {
        let limit = Span(Duration::from_millis(100));
        let measurement =
            run(&["sh", "-c", "sleep 60 & sleep 60"], Some(limit), &AtomicBool::new(false)).unwrap();
        assert!(measurement.report.error.unwrap().contains("timeout of 100ms"));
    }

    #[test]
    fn an_interrupt_ends_it() {
        let measurement = run(&["sleep", "60"], None, &AtomicBool::new(true)).unwrap();
        assert!(measurement.interrupted);
    }

    #[test]
    fn a_background_process_does_not_hold_the_trial_up() {
        let measurement = run(&["sh", "-c", "sleep 60 & echo done"], None, &AtomicBool::new(false)).unwrap();
        assert!(measurement.report.measured_seconds < 30.0);
        assert_eq!(measurement.raw[0].text, "done\n");
    }
}
