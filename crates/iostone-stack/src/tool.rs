//! Running foreign programs: by argv, found by absolute path, without standard input, and never outliving this process.
#![expect(unsafe_code, reason = "the death signal of a child has to be set between fork and exec")]

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_probe::programs::{find_program, install_command, package_of};

use crate::error::StackError;

/// As much of a program's output is kept, counted from its end.
const KEPT_BYTES: usize = 64 * 1024;

/// What a program gave.
#[derive(Debug)]
pub(crate) struct Output {
    /// Exit status; none if a signal ended it.
    pub(crate) status: Option<i32>,
    signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The absolute path of a program.
///
/// # Errors
/// [`StackError::MissingTool`] with the command that installs it.
pub(crate) fn find(tool: &str) -> Result<PathBuf, StackError> {
    find_program(tool).ok_or_else(|| StackError::MissingTool {
        tool: tool.to_owned(),
        package: package_of(tool).to_owned(),
        install: install_command(tool),
    })
}

/// Runs a program to its end; a status other than success is not an error here.
///
/// # Errors
/// [`StackError::Io`] if it cannot be started, [`StackError::Interrupted`] if `interrupt` was raised, in which case
/// the program was killed.
pub(crate) fn run<Argument: AsRef<OsStr>>(
    program: &Path,
    arguments: &[Argument],
    interrupt: Option<&AtomicBool>,
) -> Result<Output, StackError> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        // mkfs then writes its zeros instead of having the device zero a range, which would leave unwritten extents
        // in the file under a loop device: e2fsprogs' unix_io.
        .env("UNIX_IO_NOZEROOUT", "1")
        // Its settings would otherwise come from the user's surroundings.
        .env_remove("MKE2FS_CONFIG")
        .env_remove("MKE2FS_SYNC")
        .env_remove("LIBBLKID_DEBUG")
        .env_remove("BLKID_FILE")
        .env_remove("BLKID_CONF")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    die_with_this_process(&mut command, false);
    let mut child = command.spawn().map_err(|source| StackError::io("execute", program, source))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_end(stdout));
        let stderr = scope.spawn(|| read_end(stderr));
        let status = wait(&mut child, program, interrupt)?;
        Ok(Output {
            status: status.code(),
            signal: status.signal(),
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}

/// Has a program killed by the kernel as soon as the thread that starts it is gone, with this process at the latest
/// (`PR_SET_PDEATHSIG`, prctl(2)). In a session of its own a terminal's Ctrl-C does not reach it.
pub(crate) fn die_with_this_process(command: &mut Command, own_session: bool) {
    let parent = std::process::id();
    // SAFETY: between fork and exec only setsid(2), prctl(2) and getppid(2) are called, which are async-signal-safe and
    // touch no memory of this process.
    unsafe {
        command.pre_exec(move || {
            if own_session {
                rustix::process::setsid()?;
            }
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have died before the signal was set.
            let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
            if now == Some(parent) { Ok(()) } else { Err(std::io::Error::from_raw_os_error(libc::ESRCH)) }
        });
    }
}

/// Runs a program that has to succeed.
///
/// # Errors
/// As [`run`], and [`StackError::Tool`] with the end of its output if its status is not 0.
pub(crate) fn run_successfully(
    program: &Path,
    arguments: &[OsString],
    interrupt: Option<&AtomicBool>,
) -> Result<Output, StackError> {
    let output = run(program, arguments, interrupt)?;
    if output.status == Some(0) {
        return Ok(output);
    }
    let outcome = match (output.status, output.signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    };
    let said = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
    Err(StackError::Tool { command: command_line(program, arguments), outcome, output: last_lines(said) })
}

/// A command as it would be typed.
pub(crate) fn command_line(program: &Path, arguments: &[OsString]) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(quote(name))
        .chain(arguments.iter().map(|argument| quote(argument)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// One word as a shell would take it literally.
pub fn quote(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = !word.is_empty()
        && word.as_bytes().iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=,:^@+%".contains(byte));
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn wait(
    child: &mut Child,
    program: &Path,
    interrupt: Option<&AtomicBool>,
) -> Result<std::process::ExitStatus, StackError> {
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(source) => return Err(StackError::io("wait", program, source)),
        }
        if interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            // It may have ended by itself meanwhile; either way it is reaped here.
            let _ = child.kill();
            let _ = child.wait();
            return Err(StackError::Interrupted);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn read_end(stream: Option<impl Read>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * KEPT_BYTES {
            kept.drain(..kept.len() - KEPT_BYTES);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let start = lines.len().saturating_sub(6);
    lines[start..].join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let error = find("iostone-no-such-tool").unwrap_err();
        assert!(
            matches!(&error, StackError::MissingTool { package, .. } if package == "iostone-no-such-tool"),
            "{error}"
        );
    }

    #[test]
    fn a_failure_carries_the_output() {
        let shell = find("sh").unwrap();
        let arguments = ["-c", "echo one; echo two >&2; exit 3"].map(OsString::from);
        let error = run_successfully(&shell, &arguments, None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("status 3") && text.contains("two"), "{text}");
    }

    #[test]
    fn an_interrupt_kills_the_program() {
        let flag = AtomicBool::new(true);
        let sleep = find("sleep").unwrap();
        assert!(matches!(run(&sleep, &["1000"], Some(&flag)), Err(StackError::Interrupted)));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        assert_eq!(quote(OsStr::new("/dev/sdb")), "/dev/sdb");
        assert_eq!(quote(OsStr::new("a b'c")), "'a b'\\''c'");
    }
}
