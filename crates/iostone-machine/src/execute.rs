//! Running one program to its end, for whoever wants to try something in a guest.

use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::StopFlag;
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Execute, Executed};

/// So much of each stream is kept; a program that prints more is not one to try something with.
const MOST_BYTES: u64 = 16 << 20;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs it, until it ends or `stop` is raised; then it is killed, with its process group.
///
/// # Errors
/// It cannot be started, or was stopped.
pub(crate) fn execute(
    what: &Execute,
    marker: Option<(String, String)>,
    stop: &StopFlag,
) -> Result<Executed, Failure> {
    let (program, arguments) = what
        .argv
        .split_first()
        .ok_or_else(|| Failure::new(FailureKind::Usage, "there is no program to run"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .envs(&what.environment)
        .envs(marker)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| {
            Failure::new(FailureKind::Missing, format!("`{program}` could not be started: {error}"))
        })?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let stdout = scope.spawn(|| read_text(stdout));
        let stderr = scope.spawn(|| read_text(stderr));
        let status = wait(&mut child, program, stop);
        let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
        let status = status?;
        Ok(Executed { code: status.code(), signal: status.signal(), stdout, stderr })
    })
}

fn wait(child: &mut Child, program: &str, stop: &StopFlag) -> Result<std::process::ExitStatus, Failure> {
    loop {
        let ended = child.try_wait().map_err(|error| {
            Failure::new(FailureKind::Failed, format!("waiting for `{program}`: {error}"))
        })?;
        if let Some(status) = ended {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) {
            if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                // It may have ended by itself.
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.wait();
            return Err(Failure::new(FailureKind::Interrupted, "interrupted"));
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// What is printed beyond the limit is read and thrown away, so that the program does not wait for a reader.
fn read_text(stream: Option<impl Read>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut bytes = Vec::new();
    // What was read before an error is kept.
    let _ = stream.by_ref().take(MOST_BYTES).read_to_end(&mut bytes);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(argv: &[&str], stop: &StopFlag) -> Result<Executed, Failure> {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let environment = [("WORD".to_owned(), "x".to_owned())].into();
        execute(&Execute { argv, environment }, None, stop)
    }

    #[test]
    fn both_streams_and_the_status_come_back() {
        let done = run(&["sh", "-c", "echo $WORD; echo y >&2; exit 3"], &StopFlag::default()).unwrap();
        assert_eq!((done.stdout.as_str(), done.stderr.as_str(), done.code), ("x\n", "y\n", Some(3)));
        let failure = run(&["/nowhere/at-all"], &StopFlag::default()).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Missing);
        assert_eq!(run(&[], &StopFlag::default()).unwrap_err().kind, FailureKind::Usage);
    }

    #[test]
    fn a_program_that_is_stopped_ends_with_its_children() {
        let stop = StopFlag::default();
        stop.store(true, Ordering::Relaxed);
        let failure = run(&["sh", "-c", "sleep 1000 & sleep 1000"], &stop).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Interrupted);
    }
}
