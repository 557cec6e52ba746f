//! Runs a tool to its end and says what it used, the kernel's worker threads included.
#![expect(
    unsafe_code,
    reason = "wait4(2) alone says what one child has used, and no safe binding is at hand"
)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::counter;

/// A tool that has ended well.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) output: String,
    /// User and system time of all its threads and children.
    pub(crate) cpu_seconds: f64,
    /// Instructions of the same, where this machine counts them.
    pub(crate) instructions: Option<u64>,
}

impl Child {
    /// # Errors
    /// When it cannot be started or ends badly; its own words are in the message.
    pub(crate) fn run(command: &mut Command) -> Result<Self> {
        let counted_before = counter::read();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start `{}`", command.get_program().display()))?;
        let complaints = child.stderr.take().map(|mut pipe| {
            thread::spawn(move || {
                let mut text = Vec::new();
                let _ = pipe.read_to_end(&mut text);
                text
            })
        });
        let mut output = Vec::new();
        if let Some(mut pipe) = child.stdout.take() {
            pipe.read_to_end(&mut output)?;
        }
        let (status, cpu_seconds) = wait(child.id())?;
        let complaints = complaints.and_then(|reader| reader.join().ok()).unwrap_or_default();
        if status != 0 {
            bail!("ended with status {status}: {}", String::from_utf8_lossy(&complaints).trim());
        }
        let instructions = counter::read().zip(counted_before).map(|(after, before)| after - before);
        Ok(Self { output: String::from_utf8_lossy(&output).into_owned(), cpu_seconds, instructions })
    }
}

/// Waits for a child of ours; gives its raw status and the seconds of processor time that it used.
fn wait(id: u32) -> Result<(i32, f64)> {
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid `rusage`, which holds integers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the types that wait4(2) fills.
        let waited = unsafe { libc::wait4(id.cast_signed(), &raw mut status, 0, &raw mut usage) };
        if waited >= 0 {
            break;
        }
        let error = std::io::Error::last_os_error();
        // A Ctrl-C reaches the child as well, and is waited out.
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error.into());
        }
    }
    Ok((status, seconds_of(&usage)))
}

/// Seconds of processor time that this process and its children have used so far.
pub(crate) fn used_so_far() -> f64 {
    let read = |who| {
        // SAFETY: all-zero bytes are a valid `rusage`, and the pointer is to a live local.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        }
    };
    seconds_of(&read(libc::RUSAGE_SELF)) + seconds_of(&read(libc::RUSAGE_CHILDREN))
}

fn seconds_of(usage: &libc::rusage) -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
