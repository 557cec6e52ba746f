//! The client program, always for our own daemon: whatever the user's surroundings say of hosts, contexts and settings.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use super::ENGINE;
use crate::error::StackError;
use crate::tool;

/// What the client reads of its surroundings (docs.docker.com, "Use the Docker CLI: environment variables").
const VARIABLES: [&str; 11] = [
    "DOCKER_API_VERSION",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_CONTENT_TRUST",
    "DOCKER_CONTEXT",
    "DOCKER_CUSTOM_HEADERS",
    "DOCKER_DEFAULT_PLATFORM",
    "DOCKER_HIDE_LEGACY_COMMANDS",
    "DOCKER_HOST",
    "DOCKER_TLS",
    "DOCKER_TLS_VERIFY",
];
const PAUSE: Duration = Duration::from_millis(5);
/// What it said is waited for so long once it has ended: a process that it left behind may hold the pipes open.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// As much of what it says is kept.
const KEPT_BYTES: u64 = 4 << 20;

/// How our daemon is asked.
#[derive(Debug, Clone)]
pub(super) struct Client {
    program: PathBuf,
    /// The same for every command: settings of ours, and the socket.
    arguments: Vec<OsString>,
}

/// EPIPE in the words of the standard library.
const BROKEN_PIPE: &str = "Broken pipe";

/// What writes a standard input.
pub(in crate::container) type Feed<'a> = dyn Fn(&mut dyn Write) -> Result<(), StackError> + Sync + 'a;

/// What the client answered.
#[derive(Debug)]
pub(in crate::container) struct Answer {
    pub(in crate::container) succeeded: bool,
    pub(in crate::container) stdout: String,
    /// Its last lines, on one.
    pub(in crate::container) words: String,
}

impl Client {
    /// # Errors
    /// [`StackError::MissingTool`] without one.
    pub(super) fn find(config: &Path, socket: &Path) -> Result<Self, StackError> {
        let mut host = OsString::from("unix://");
        host.push(socket);
        let arguments = vec!["--config".into(), config.into(), "--host".into(), host];
        Ok(Self { program: tool::find("docker")?, arguments })
    }

    /// The words of a command, for somebody else to start: variables of the surroundings that would lead it elsewhere are
    /// taken away.
    ///
    /// # Errors
    /// [`StackError::MissingTool`] without env(1), where that is needed.
    pub(super) fn words(&self, arguments: &[&str]) -> Result<Vec<String>, StackError> {
        let is_set = |variable: &&&str| std::env::var_os(variable).is_some();
        let mut words = Vec::new();
        for variable in VARIABLES.iter().filter(is_set) {
            if words.is_empty() {
                words.push(tool::find("env")?.display().to_string());
            }
            words.extend(["-u".to_owned(), (*variable).to_owned()]);
        }
        words.push(self.program.display().to_string());
        words.extend(self.arguments.iter().map(|argument| argument.to_string_lossy().into_owned()));
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        Ok(words)
    }

    /// Runs a command to its end. It is given up when `patience` is over, or when the user asks to stop.
    ///
    /// # Errors
    /// [`StackError::Io`] if it cannot be started, [`StackError::Interrupted`], [`StackError::Container`] when it does not
    /// end.
    pub(super) fn run<Argument: AsRef<OsStr>>(
        &self,
        arguments: &[Argument],
        patience: Duration,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Answer, StackError> {
        self.feed(arguments, patience, interrupt, None)
    }

    /// As [`run`](Self::run), with a standard input that is written by `feed`. Where the client ended badly that is told,
    /// and not the broken pipe.
    ///
    /// # Errors
    /// As there, and those of `feed`.
    pub(super) fn feed<Argument: AsRef<OsStr>>(
        &self,
        arguments: &[Argument],
        patience: Duration,
        interrupt: Option<&AtomicBool>,
        feed: Option<&Feed<'_>>,
    ) -> Result<Answer, StackError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(arguments).env("LC_ALL", "C").current_dir("/");
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        converse(ENGINE, command, patience, interrupt, feed)
    }

    /// Asks for something that is told in JSON.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`StackError::Container`] with the engine's words, or for what makes no sense.
    pub(super) fn ask<Told: DeserializeOwned>(
        &self,
        arguments: &[&str],
        patience: Duration,
        interrupt: Option<&AtomicBool>,
    ) -> Result<Told, StackError> {
        let answer = self.run(arguments, patience, interrupt)?;
        let command = arguments.first().copied().unwrap_or_default();
        if !answer.succeeded {
            return Err(failed(format!("`docker {command}` failed: {}", answer.words)));
        }
        serde_json::from_str(answer.stdout.trim())
            .map_err(|error| failed(format!("cannot parse the answer to `docker {command}`: {error}")))
    }
}

/// Runs a client of an engine to its end, with a standard input that is written by `feed`, or none. It is given up when
/// `patience` is over, or when the user asks to stop.
///
/// # Errors
/// As [`Client::feed`].
pub(in crate::container) fn converse(
    engine: &'static str,
    mut command: Command,
    patience: Duration,
    interrupt: Option<&AtomicBool>,
    feed: Option<&Feed<'_>>,
) -> Result<Answer, StackError> {
    command
        .stdin(if feed.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    tool::die_with_this_process(&mut command, true);
    let mut child =
        command.spawn().map_err(|source| StackError::io("execute", command.get_program(), source))?;
    let (stdout, stderr, stdin) = (child.stdout.take(), child.stderr.take(), child.stdin.take());
    let (stdout, stderr) = (read_aside(stdout), read_aside(stderr));
    let (status, told) = std::thread::scope(|scope| {
        // Beside the wait: a client that stops reading is given up as well, which breaks the pipe.
        let writer = feed.zip(stdin).map(|(feed, mut stdin)| scope.spawn(move || feed(&mut stdin)));
        let status = wait(engine, &mut child, patience, interrupt);
        (status, writer.map(std::thread::ScopedJoinHandle::join))
    });
    let succeeded = status?;
    let [stdout, stderr] = [stdout, stderr].map(|words| words.recv_timeout(LAST_WORDS).unwrap_or_default());
    let told = told.unwrap_or(Ok(Ok(())));
    match told.unwrap_or_else(|_| {
        Err(StackError::Container { engine, reason: "its image was not written".to_owned() })
    }) {
        // Then it has ended before, and says why.
        Err(error) if !succeeded && error.to_string().contains(BROKEN_PIPE) => {}
        other => other?,
    }
    let said = if stderr.trim().is_empty() { &stdout } else { &stderr };
    Ok(Answer { succeeded, words: tool::last_lines(said), stdout })
}

/// An error of the engine.
pub(super) fn failed(reason: String) -> StackError {
    StackError::Container { engine: ENGINE, reason }
}

fn wait(
    engine: &'static str,
    child: &mut Child,
    patience: Duration,
    interrupt: Option<&AtomicBool>,
) -> Result<bool, StackError> {
    let deadline = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) => {}
            Err(source) => return Err(StackError::io("wait", engine, source)),
        }
        let interrupted = interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
        if interrupted || Instant::now() > deadline {
            // It may have ended by itself meanwhile; either way it is reaped here.
            let _ = child.kill();
            let _ = child.wait();
            return Err(if interrupted {
                StackError::Interrupted
            } else {
                StackError::Container {
                    engine,
                    reason: format!("it does not answer within {} s", patience.as_secs()),
                }
            });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Takes all that a stream holds, in a thread of its own that ends with the stream.
fn read_aside(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    // Nobody may be waiting any more.
    std::thread::spawn(move || sender.send(read(stream)));
    receiver
}

/// All of it is taken, so that the client never waits; the first of it is kept.
fn read(stream: Option<impl Read>) -> String {
    let Some(mut stream) = stream else { return String::new() };
    let mut kept = Vec::new();
    // What cannot be read any more is the end.
    let _ = stream.by_ref().take(KEPT_BYTES).read_to_end(&mut kept);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
