//! The agent that runs a trial's workload in its container, as a child of this one.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use iostone_stack::{AGENT_VARIABLE, InsideView, StandingContainer};
use iostone_workload::Measurement;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::StopFlag;
use crate::conversation::{Conversation, Patience};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Prepare, Prepared, Reply, Request};

/// What an engine may take to start a process in a container that runs; the slowest seen took 2 s.
const START: Duration = Duration::from_secs(60);
/// How long a workload may take to end once it was told to: programs are killed 2 s after they were asked to end. Then it is
/// ended itself, with its container.
const INTERRUPTED: Duration = Duration::from_secs(5);
/// How long the agent may take to end once its input has: what it started is ended with the container anyway.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long the reason of its end may take to come after it.
const OBITUARY: Duration = Duration::from_secs(2);
/// So many of the last lines that it and its engine wrote are kept.
const LINES: usize = 20;
/// Of a line no more is kept.
const LINE_BYTES: u64 = 4096;

/// The last lines of a stream.
type Said = Arc<Mutex<VecDeque<String>>>;

/// An agent in a container, or beside it where only the place is outside.
pub(crate) struct Companion {
    child: Child,
    conversation: Conversation,
    said: Said,
    /// `docker`, `podman`.
    engine: String,
    mark: String,
    /// Whether the child is the agent itself; else it is the engine's client.
    is_outside: bool,
    /// How long it took to answer.
    pub(crate) started_seconds: f64,
}

impl Companion {
    /// Starts the agent of a container and greets it.
    ///
    /// # Errors
    /// [`FailureKind::Container`] with what the engine said, [`FailureKind::Interrupted`].
    pub(crate) fn start(
        standing: &StandingContainer,
        marker: &(String, String),
        stop: StopFlag,
    ) -> Result<Self, Failure> {
        let begun = Instant::now();
        let engine = standing.facts.kind.clone();
        let (program, arguments) = standing.agent.split_first().ok_or_else(|| {
            Failure::new(
                FailureKind::Container,
                format!("{engine}: nothing starts the agent in its container"),
            )
        })?;
        let is_outside = standing.facts.place == "host";
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(&marker.0, &marker.1)
            .env_remove(AGENT_VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A terminal's interrupt must reach the agent through us, not past us.
            .process_group(0);
        if is_outside {
            // Inside it is the engine that gives it: its client must not be taken for the agent.
            command.env(AGENT_VARIABLE, &standing.mark);
        }
        let mut child = command.spawn().map_err(|error| {
            Failure::new(
                FailureKind::Container,
                format!("{engine}: `{program}` could not be started: {error}"),
            )
        })?;
        let said = Said::default();
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(answers), Some(complaints)) = streams else {
            return Err(Failure::lost(format!("`{program}` has no standard streams")));
        };
        let kept = Arc::clone(&said);
        thread::spawn(move || keep_last_lines(complaints, &kept));
        let name = if is_outside { "the agent beside the container" } else { "the agent in the container" };
        let mut companion = Self {
            child,
            conversation: Conversation::new(name, requests, answers, stop),
            said,
            engine,
            mark: standing.mark.clone(),
            is_outside,
            started_seconds: 0.0,
        };
        let patience = Patience { reply: Some(START), interrupted: Some(START), ..Patience::default() };
        let greeted = companion.conversation.greet(patience);
        greeted.map_err(|failure| companion.explain(failure))?;
        companion.started_seconds = begun.elapsed().as_secs_f64();
        companion.keep_in_sight();
        Ok(companion)
    }

    /// Watches the agent's process from here: where what joins it to the engine's client dies, the client may wait for ever.
    fn keep_in_sight(&mut self) {
        // The end of a child ends its streams.
        if self.is_outside {
            return;
        }
        if let Ok(pid) = self.process()
            && let Some(started) = start_of(pid)
        {
            self.conversation.watch(move || start_of(pid) == Some(started));
        }
    }

    /// Has it take up its place; gives what it sees of it from there. May be asked again.
    ///
    /// # Errors
    /// The directory is not there, or the agent has ended.
    pub(crate) fn enter(
        &mut self,
        directory: &Path,
        marker: &(String, String),
    ) -> Result<InsideView, Failure> {
        let request = Request::Enter { directory: directory.to_owned(), marker: marker.clone() };
        match self.ask(request)? {
            Reply::Entered(view) => Ok(view),
            _ => Err(self.out_of_turn("enter")),
        }
    }

    /// Has the workload laid out there.
    ///
    /// # Errors
    /// The workload's own, or the agent has ended.
    pub(crate) fn prepare(&mut self, prepare: &Prepare) -> Result<Prepared, Failure> {
        match self.ask(Request::Prepare(prepare.clone()))? {
            Reply::Prepared(prepared) => Ok(prepared),
            _ => Err(self.out_of_turn("prepare")),
        }
    }

    /// Runs the workload that was laid out.
    ///
    /// # Errors
    /// The workload's own, or the agent has ended.
    pub(crate) fn work(&mut self) -> Result<Measurement, Failure> {
        match self.ask(Request::Work)? {
            Reply::Worked(measurement) => Ok(*measurement),
            _ => Err(self.out_of_turn("work")),
        }
    }

    fn ask(&mut self, request: Request) -> Result<Reply, Failure> {
        let patience = Patience { interrupted: Some(INTERRUPTED), ..Patience::default() };
        let answered = self.conversation.call(request, patience, &mut |_| {});
        answered.map_err(|failure| {
            if failure.kind == FailureKind::Interrupted {
                self.end_agent();
            }
            self.explain(failure)
        })
    }

    /// Ends an agent that does not come to an end when it is told to.
    fn end_agent(&self) {
        let pid = self.process().ok().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    fn out_of_turn(&self, request: &str) -> Failure {
        let message = format!("{}: its agent did not answer `{request}` as it should", self.engine);
        Failure::new(FailureKind::Container, message)
    }

    /// Of an agent that is gone: how its process ended, and what was said last. What fails inside fails its trial alone: the
    /// next one gets a new container, with new room.
    fn explain(&mut self, failure: Failure) -> Failure {
        match failure.kind {
            FailureKind::Lost => {}
            FailureKind::Failed => {
                let message = format!("{}: {}", self.engine, failure.message);
                return Failure::new(FailureKind::Container, message);
            }
            _ => return failure,
        }
        let said = || self.said.lock().unwrap_or_else(PoisonError::into_inner).back().cloned();
        if self.conversation.is_gone() {
            let words = said().map_or_else(String::new, |line| format!("; it said last: `{line}`"));
            let message =
                format!("{}: the container ended in mid-trial: {}{words}", self.engine, failure.message);
            return Failure::new(FailureKind::Container, message);
        }
        let deadline = Instant::now() + OBITUARY;
        let mut ended = None;
        while ended.is_none() && Instant::now() < deadline {
            ended = self.child.try_wait().ok().flatten();
            thread::sleep(Duration::from_millis(10));
        }
        let how = ended.map_or_else(|| "its process still runs".to_owned(), |status| status.to_string());
        let words = said().map_or_else(String::new, |line| format!("; it said last: `{line}`"));
        let message = format!("{}: {} ({how}){words}", self.engine, failure.message);
        Failure::new(FailureKind::Container, message)
    }

    /// The agent's process, by its number on this host.
    ///
    /// # Errors
    /// [`FailureKind::Container`] when no process or more than one carries the container's mark.
    pub(crate) fn process(&self) -> Result<u32, Failure> {
        if self.is_outside {
            return Ok(self.child.id());
        }
        let marked = processes_with(AGENT_VARIABLE, &self.mark);
        // What the agent has started carries its mark as well.
        let is_first = |pid: &&u32| parent_of(**pid).is_none_or(|parent| !marked.contains(&parent));
        let first: Vec<u32> = marked.iter().filter(is_first).copied().collect();
        match first.as_slice() {
            [pid] => Ok(*pid),
            several => {
                let message = format!(
                    "{}: the limits of the trial cannot be laid on the agent in the container: {} processes of this host \
                     carry its mark",
                    self.engine,
                    several.len()
                );
                Err(Failure::new(FailureKind::Container, message))
            }
        }
    }
}

impl Drop for Companion {
    /// Ends the agent's input, upon which it stops what it does and ends by itself.
    fn drop(&mut self) {
        self.conversation.close();
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        // What runs inside is ended with the container.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a stream to its end, so that nobody waits for room in it.
fn keep_last_lines(stream: impl Read, said: &Said) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if text.is_empty() {
            continue;
        }
        let mut kept = said.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(text);
        if kept.len() > LINES {
            kept.pop_front();
        }
    }
}

/// The processes that this one sees whose environment has that variable (`proc_pid_environ(5)`).
fn processes_with(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
        })
        .collect()
}

/// When a process started, in clock ticks since boot: tells it from a later one of its number. None of one that is gone, and
/// of one that only waits to be reaped (`proc_pid_stat(5)`, fields 3 and 22).
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    fields.nth(18)?.parse().ok()
}

/// `proc_pid_status(5)`, `PPid`.
fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
