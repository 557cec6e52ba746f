//! The first process of a guest: makes the machine usable, starts the agent, buries the dead, switches the machine off.
//!
//! It is iostone itself, started by the kernel from the archive with the words `agent --guest`. The agent proper is a
//! child of it, the same program with the same words, so that a failure there is an end that can be told on the console,
//! and not the kernel's panic over a missing first process.

mod carried;
mod modules;
mod mounts;
mod port;
mod root;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{WaitOptions, WaitStatus};
use rustix::system::RebootCommand;

use crate::failure::{Failure, FailureKind};

pub(crate) use root::MARK as ROOT_MARK;

/// Where the agent inside keeps its journals: in memory, as everything of a guest.
const STATE: &str = "/run/iostone/state";
/// Where programs are looked for; in a root filesystem its own come first, then those that were carried in.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/iostone/bin";
/// A line of this urgency is shown on the console even when the kernel was told to be quiet (printk, level 2).
const URGENT: &str = "<2>";
/// So many orphans are buried after the agent's end; there cannot be more processes (`PID_MAX_LIMIT`).
const MOST_ORPHANS: u32 = 4 << 20;

/// Whether this process is the first of a machine and was told to be a guest's. The kernel puts words that it does not
/// know itself before those that it was told to hand on, so the place of the word does not matter.
pub fn is_first_process(arguments: impl IntoIterator<Item = OsString>) -> bool {
    std::process::id() == 1 && arguments.into_iter().any(|argument| argument == "--guest")
}

/// Carries the guest through from the kernel's start to its end, which is the machine's. It only comes back when the
/// machine could not be switched off.
///
/// # Errors
/// The kernel refused to switch the machine off.
pub fn be_first_process() -> Result<(), Failure> {
    let last_words = match live() {
        Ok(()) => None,
        Err(failure) => Some(failure.to_string()),
    };
    if let Some(words) = last_words {
        say(&words);
    }
    rustix::fs::sync();
    rustix::system::reboot(RebootCommand::PowerOff).map_err(|error| {
        Failure::new(FailureKind::Guest, format!("the guest could not be powered off: {error}"))
    })
}

fn live() -> Result<(), Failure> {
    mounts::make_usable()?;
    // A name is a courtesy; nothing depends on it.
    let _ = rustix::system::sethostname(b"iostone-guest");
    modules::load_all(&mut |sentence| say(sentence))?;
    let prefix = root::enter()?;
    let port = port::open()?;
    let (program, arguments) = carried::program(&prefix)?;
    let streams = port.try_clone().map_err(|error| wrong("the agent's port", &error))?;
    let child = Command::new(&program)
        .args(&arguments)
        .args(["agent", "--guest"])
        .env_clear()
        .env("PATH", search_path(&prefix))
        .env("HOME", "/root")
        .env("LANG", "C.UTF-8")
        .env("IOSTONE_STATE_DIR", STATE)
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(port)))
        .stdout(Stdio::from(OwnedFd::from(streams)))
        .spawn()
        .map_err(|error| wrong(&format!("`{}` could not be started", program.display()), &error))?;
    bury_until(child.id())
}

/// Waits for every process that ends, until the agent is among them.
fn bury_until(agent: u32) -> Result<(), Failure> {
    for _ in 0..MOST_ORPHANS {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == agent => {
                return farewell(status);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(wrong("waiting for the agent", &error.into())),
        }
    }
    Ok(())
}

fn farewell(status: WaitStatus) -> Result<(), Failure> {
    let how = match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => return Ok(()),
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    };
    Err(Failure::new(FailureKind::Guest, format!("the agent ended with {how}")))
}

fn search_path(prefix: &Path) -> OsString {
    let mut path = OsString::from(PATH);
    if prefix != Path::new("/") {
        for directory in PATH.split(':') {
            path.push(":");
            path.push(carried::below(prefix, Path::new(directory)));
        }
    }
    path
}

/// Prints a line on the console, through the kernel's log if it can be written.
fn say(sentence: &str) {
    let line = format!("{URGENT}iostone: {}\n", sentence.replace('\n', " "));
    let log = File::options().write(true).open("/dev/kmsg");
    if log.and_then(|mut log| log.write_all(line.as_bytes())).is_err()
        && let Ok(mut console) = File::options().write(true).open("/dev/console")
    {
        let _ = console.write_all(line.trim_start_matches(URGENT).as_bytes());
    }
}

fn wrong(what: &str, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Guest, format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_the_first_is_no_guests_first() {
        assert!(!is_first_process(["iostone", "agent", "--guest"].map(OsString::from)));
    }

    #[test]
    fn programs_of_a_root_filesystem_come_before_those_carried_in() {
        let path = search_path(Path::new("/run/iostone/carried"));
        let path = path.to_str().unwrap();
        assert!(path.starts_with("/usr/local/sbin:"));
        assert!(path.ends_with("/run/iostone/carried/iostone/bin"));
        assert_eq!(search_path(Path::new("/")), PATH);
    }
}
