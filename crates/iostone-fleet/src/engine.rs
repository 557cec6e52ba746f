//! `ansible-playbook` as a child: the collection in a private directory, one line of JSON for each result, bounded.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use serde::Deserialize;
use serde_json::Value;

use crate::collection;
use crate::error::{ANSIBLE, FleetError};

/// What a task came to on a host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Event {
    pub(crate) host: String,
    pub(crate) action: String,
    pub(crate) state: EventState,
    pub(crate) message: String,
    pub(crate) stdout: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EventState {
    Ok,
    Failed,
    Unreachable,
}

/// Ansible, with the collection and a control directory of its own.
pub(crate) struct Engine {
    /// Short, for the sockets of SSH's connections lie in it.
    place: tempfile::TempDir,
    inventory: PathBuf,
    options: EngineOptions,
}

/// How Ansible is to work.
#[derive(Debug, Clone)]
pub(crate) struct EngineOptions {
    pub(crate) forks: u32,
    /// How long a connection stays open unused: longer than the time between two questions.
    pub(crate) persist: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) r#become: bool,
    /// The largest file that may be fetched.
    pub(crate) largest_file: u64,
}

/// The longest line that is read; what is longer is none of ours.
const LONGEST_LINE: u64 = 64 << 10;

impl Engine {
    pub(crate) fn new(inventory: &Path, options: EngineOptions) -> Result<Self, FleetError> {
        let place = tempfile::Builder::new()
            .prefix("iof")
            .tempdir()
            .map_err(|error| FleetError::file("making", &std::env::temp_dir(), error))?;
        collection::unpack(place.path())?;
        Ok(Self { place, inventory: inventory.to_owned(), options })
    }

    /// Runs a playbook of the collection on some hosts, telling each result as it comes.
    pub(crate) fn play(
        &self,
        playbook: &str,
        hosts: &[String],
        variables: &Value,
        stop: &AtomicBool,
        mut tell: impl FnMut(Event),
    ) -> Result<(), FleetError> {
        let limit = self.write("limit", hosts.join("\n").as_bytes())?;
        let variables = self.write("variables.json", variables.to_string().as_bytes())?;
        let mut command = self.command(playbook);
        command.arg("--limit").arg(format!("@{}", limit.display()));
        command.arg("--extra-vars").arg(format!("@{}", variables.display()));
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                FleetError::NoProgram { program: "ansible-playbook", help: ANSIBLE }
            }
            _ => FleetError::Failed(format!("starting `ansible-playbook`: {error}")),
        })?;
        let pid = Pid::from_child(&child);
        let size = Some(self.options.largest_file);
        // Of all that it starts: no host can fill the disk by what is fetched from it.
        let _ = prlimit(Some(pid), Resource::Fsize, Rlimit { current: size, maximum: size });
        let said = complaints(&mut child);
        let mut other = Vec::new();
        let ended = &AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    if stop.load(Ordering::Relaxed) {
                        let _ = kill_process_group(pid, Signal::TERM);
                        return;
                    }
                    thread::sleep(Duration::from_millis(100));
                }
            });
            if let Some(stdout) = child.stdout.take() {
                read_lines(stdout, |line| match serde_json::from_slice::<Event>(line) {
                    Ok(event) => tell(event),
                    Err(_) if other.len() < 20 => other.push(String::from_utf8_lossy(line).into_owned()),
                    Err(_) => {}
                });
            }
            ended.store(true, Ordering::Relaxed);
        });
        let status =
            child.wait().map_err(|error| FleetError::Failed(format!("waiting for Ansible: {error}")))?;
        let complained = said.map(|said| said.join().unwrap_or_default()).unwrap_or_default();
        if stop.load(Ordering::Relaxed) {
            return Err(FleetError::Interrupted);
        }
        // 2: a host failed; 4: a host is unreachable; 8 is added for both. Their events say which.
        if status.code().is_some_and(|code| code % 2 == 0 && code < 16) {
            return Ok(());
        }
        let mut words = complained.lines().chain(other.iter().map(String::as_str));
        let reason = words.rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        Err(FleetError::Failed(format!("Ansible ended with {status}: {reason}")))
    }

    fn command(&self, playbook: &str) -> Command {
        let options = &self.options;
        let mut command = Command::new("ansible-playbook");
        command.arg(format!("iostone.fleet.{playbook}")).arg("--inventory").arg(&self.inventory);
        command.arg("--forks").arg(options.forks.to_string());
        if options.r#become {
            command.arg("--become");
        }
        let collections = match std::env::var("ANSIBLE_COLLECTIONS_PATH") {
            Ok(own) if !own.is_empty() => format!("{}:{own}", self.place.path().display()),
            _ => format!(
                "{}:~/.ansible/collections:/usr/share/ansible/collections",
                self.place.path().display()
            ),
        };
        command
            .env("ANSIBLE_COLLECTIONS_PATH", collections)
            .env("ANSIBLE_STDOUT_CALLBACK", "iostone.fleet.events")
            .env("ANSIBLE_HOST_KEY_CHECKING", "True")
            .env("ANSIBLE_RETRY_FILES_ENABLED", "False")
            .env("ANSIBLE_SSH_CONTROL_PATH_DIR", self.place.path().join("c"))
            .env("ANSIBLE_TIMEOUT", options.connect_timeout.as_secs().to_string())
            .env("ANSIBLE_PIPELINING", "True")
            .env("ANSIBLE_NOCOLOR", "True")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is the caller's to pass on.
            .process_group(0);
        if std::env::var_os("ANSIBLE_SSH_ARGS").is_none() {
            let persist = options.persist.as_secs();
            command.env(
                "ANSIBLE_SSH_ARGS",
                format!("-o ControlMaster=auto -o ControlPersist={persist}s -o BatchMode=yes"),
            );
        }
        command
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, FleetError> {
        let path = self.place.path().join(name);
        std::fs::write(&path, content).map_err(|error| FleetError::file("writing", &path, error))?;
        Ok(path)
    }
}

impl Drop for Engine {
    /// Closes the connections that stay open: they hold sessions on every host.
    fn drop(&mut self) {
        let sockets = std::fs::read_dir(self.place.path().join("c")).into_iter().flatten().flatten();
        for socket in sockets {
            let mut command = Command::new("ssh");
            command
                .arg("-o")
                .arg(format!("ControlPath={}", socket.path().display()))
                .args(["-O", "exit", "x"]);
            let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

/// What Ansible complains of, the last of it, read so that it never waits for us.
fn complaints(child: &mut Child) -> Option<thread::JoinHandle<String>> {
    let stderr = child.stderr.take()?;
    Some(thread::spawn(move || {
        let mut last = String::new();
        read_lines(stderr, |line| {
            let line = String::from_utf8_lossy(line);
            if !line.trim().is_empty() && !line.starts_with("[WARNING]") && !line.starts_with("[DEPRECATION")
            {
                last = line.into_owned();
            }
        });
        last
    }))
}

/// Reads lines, each bounded: the rest of a longer one is thrown away.
fn read_lines(from: impl Read, mut take: impl FnMut(&[u8])) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if line.ends_with(b"\n") => take(&line),
            Ok(_) => {
                take(&line);
                if reader.skip_until(b'\n').is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let mut text = vec![b'x'; 3 << 20];
        text.extend_from_slice(b"\nshort\nlast");
        let mut lengths = Vec::new();
        read_lines(text.as_slice(), |line| lengths.push(line.len()));
        assert_eq!(lengths, [64 << 10, 6, 4]);
    }
}
