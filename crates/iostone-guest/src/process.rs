//! Running apt, dpkg and qemu-img: by argv, without standard input, ended together with all they started when the user asks.
#![expect(unsafe_code, reason = "the death signal of a child has to be set between fork and exec")]

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};

use crate::error::GuestError;

/// How often a program that runs is looked after.
const TICK: Duration = Duration::from_millis(20);

/// What a program gave.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) success: bool,
    /// The exit status; none where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end; a status other than success is not an error here.
///
/// # Errors
/// [`GuestError::Io`] if it cannot be started, [`GuestError::Interrupted`] if `stop` was raised, in which case it and
/// all it started were killed.
pub(crate) fn run(command: Command, stop: &AtomicBool) -> Result<Output, GuestError> {
    run_watched(command, stop, &mut |_| {})
}

/// The same, each piece of standard output told as it comes.
///
/// # Errors
/// Those of [`run`].
pub(crate) fn run_watched(
    mut command: Command,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&str),
) -> Result<Output, GuestError> {
    let program = command.get_program().to_owned();
    let failed = |error| GuestError::io("run", Path::new(&program), error);
    command
        .env("LC_ALL", "C")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    // SAFETY: prctl(2) is async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    let mut child = command.spawn().map_err(failed)?;
    let (sender, pieces) = mpsc::channel();
    let readers = (reader(child.stdout.take(), Some(sender)), reader(child.stderr.take(), None));
    let status = wait(&mut child, stop, &mut || {
        for piece in pieces.try_iter() {
            told(&String::from_utf8_lossy(&piece));
        }
    });
    if !matches!(status, Ok(Some(_))) {
        kill(&mut child);
    }
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let (stdout, stderr) = (text(readers.0), text(readers.1));
    match status.map_err(failed)? {
        Some(status) => Ok(Output { success: status.success(), code: status.code(), stdout, stderr }),
        None => Err(GuestError::Interrupted),
    }
}

fn wait(child: &mut Child, stop: &AtomicBool, tick: &mut dyn FnMut()) -> std::io::Result<Option<ExitStatus>> {
    loop {
        tick();
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        std::thread::sleep(TICK);
    }
}

fn kill(child: &mut Child) {
    // The group is the child's own, and the child has not been waited for, so that its number is still its.
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn reader(
    stream: Option<impl Read + Send + 'static>,
    pieces: Option<Sender<Vec<u8>>>,
) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
        let Some(mut stream) = stream else { return bytes };
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                // What was read before a failure is as much as there is.
                Err(_) => 0,
            };
            let piece = buffer.get(..count).unwrap_or_default();
            if piece.is_empty() {
                return bytes;
            }
            bytes.extend_from_slice(piece);
            if let Some(pieces) = &pieces {
                // Whoever listened may be gone.
                let _ = pieces.send(piece.to_vec());
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_and_the_status_are_kept() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = run(command, &AtomicBool::new(false)).unwrap();
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str(), output.success),
            ("out\n", "err\n", false)
        );
    }

    #[test]
    fn an_interrupt_ends_all_that_was_started() {
        let mut command = Command::new("/bin/sh");
        // The second holds the pipe open: were only the first killed, reading would go on for a minute.
        command.args(["-c", "sleep 60 & sleep 60"]);
        assert!(matches!(run(command, &AtomicBool::new(true)), Err(GuestError::Interrupted)));
    }
}
