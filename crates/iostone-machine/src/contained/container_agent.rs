//! The agent that runs a trial's workload in its container, as a child of this one.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use iostone_stack::{AGENT_VARIABLE, InsideView, StandingContainer};
use iostone_workload::Measurement;
use rustix::process::{Pid, Signal, kill_process_group};

use super::process::AgentProcess;
use crate::StopFlag;
use crate::conversation::{Conversation, Patience, Sight};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Prepare, Prepared, Reply, Request};

/// What an engine may take to start a process in a container that runs; the slowest seen took 2 s.
const START: Duration = Duration::from_secs(60);
/// What the agent may take to look at its place.
const ENTER: Duration = Duration::from_secs(60);
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
pub(crate) struct ContainerAgent {
    child: Child,
    conversation: Conversation,
    said: Said,
    /// Keeps what it says; at an end once all of that was read.
    listener: JoinHandle<()>,
    /// `docker`, `podman`.
    engine: String,
    mark: String,
    /// The agent itself, found before it had started anything; none where it was not to be told from others.
    process: Option<AgentProcess>,
    /// How the child ended, where that was seen.
    ended: Option<ExitStatus>,
    /// Whether the child is the agent itself; else it is the engine's client.
    is_outside: bool,
    /// How long it took to answer.
    pub(crate) started_seconds: f64,
}

impl ContainerAgent {
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
                format!("{engine} does not start the agent in its container"),
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
        let listener = thread::spawn(move || keep_last_lines(complaints, &kept));
        let name = if is_outside { "the agent beside the container" } else { "the agent in the container" };
        let mut container_agent = Self {
            child,
            conversation: Conversation::new(name, requests, answers, stop),
            said,
            listener,
            engine,
            mark: standing.mark.clone(),
            process: None,
            ended: None,
            is_outside,
            started_seconds: 0.0,
        };
        let patience = Patience { reply: Some(START), interrupted: Some(START), ..Patience::default() };
        let greeted = container_agent.conversation.greet(patience);
        greeted.map_err(|failure| container_agent.explain(failure))?;
        container_agent.started_seconds = begun.elapsed().as_secs_f64();
        container_agent.keep_in_sight();
        Ok(container_agent)
    }

    /// Watches the agent's process from here: where what joins it to the engine's client dies, the client may wait for ever,
    /// and so may everybody for an agent that was stopped or frozen.
    fn keep_in_sight(&mut self) {
        self.process = if self.is_outside {
            AgentProcess::of(self.child.id())
        } else {
            AgentProcess::find(&self.mark).ok()
        };
        if let Some(process) = self.process {
            self.conversation.watch(move || process.sight());
        }
    }

    /// Has it take up its place; gives what it sees of it from there. May be asked again.
    ///
    /// # Errors
    /// The directory is not there, the agent has ended or hangs.
    pub(crate) fn enter(
        &mut self,
        directory: &Path,
        marker: &(String, String),
    ) -> Result<InsideView, Failure> {
        let request = Request::Enter { directory: directory.to_owned(), marker: marker.clone() };
        match self.ask(request, Some(ENTER))? {
            Reply::Entered(view) => Ok(view),
            _ => Err(self.out_of_turn("enter")),
        }
    }

    /// Has the workload laid out there.
    ///
    /// # Errors
    /// The workload's own, or the agent has ended.
    pub(crate) fn prepare(&mut self, prepare: &Prepare) -> Result<Prepared, Failure> {
        match self.ask(Request::Prepare(prepare.clone()), None)? {
            Reply::Prepared(prepared) => Ok(prepared),
            _ => Err(self.out_of_turn("prepare")),
        }
    }

    /// Runs the workload that was laid out.
    ///
    /// # Errors
    /// The workload's own, or the agent has ended.
    pub(crate) fn work(&mut self) -> Result<Measurement, Failure> {
        match self.ask(Request::Work, None)? {
            Reply::Worked(measurement) => Ok(*measurement),
            _ => Err(self.out_of_turn("work")),
        }
    }

    /// Work takes as long as it takes; what else is asked has a `limit`.
    fn ask(&mut self, request: Request, limit: Option<Duration>) -> Result<Reply, Failure> {
        let patience = Patience { reply: limit, interrupted: Some(INTERRUPTED), ..Patience::default() };
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
        if let Some(process) = self.process.or_else(|| AgentProcess::find(&self.mark).ok()) {
            process.kill();
        }
    }

    /// Whether the agent was seen to end by SIGKILL: the engine's client ends with the status that a shell would give.
    pub(crate) fn was_killed(&self) -> bool {
        let killed = Signal::KILL.as_raw();
        self.ended.is_some_and(|ended| {
            ended.signal() == Some(killed) || (!self.is_outside && ended.code() == Some(128 + killed))
        })
    }

    fn out_of_turn(&self, request: &str) -> Failure {
        let message = format!("{}: its agent did not answer `{request}` as it should", self.engine);
        Failure::new(FailureKind::Container, message)
    }

    /// Of an agent that is gone: how its process ended, and what was said last. What fails inside fails its trial alone: the
    /// next one gets a new container, with new room. What ends because the user asked to stop is no failure: a signal to a
    /// whole control group reaches the engine as well.
    fn explain(&mut self, failure: Failure) -> Failure {
        let explained = self.explain_end(failure);
        if self.conversation.is_stopping() {
            return Failure::new(FailureKind::Interrupted, "interrupted");
        }
        explained
    }

    fn explain_end(&mut self, failure: Failure) -> Failure {
        match failure.kind {
            FailureKind::Lost => {}
            FailureKind::Failed => {
                let message = format!("{}: {}", self.engine, failure.message);
                return Failure::new(FailureKind::Container, message);
            }
            _ => return failure,
        }
        let (engine, message) = (&self.engine, &failure.message);
        let told = match self.conversation.sight() {
            Some(Sight::Gone) if !self.is_outside => {
                // The client ends soon after, and tells whether the agent was killed; or it still waits.
                self.ended = await_end(&mut self.child);
                format!("{engine}: the agent ended during the trial: {message}")
            }
            Some(Sight::StandsStill) => format!("{engine}: {message}"),
            _ => {
                self.ended = await_end(&mut self.child);
                let how = self
                    .ended
                    .map_or_else(|| "its process is still running".to_owned(), |status| status.to_string());
                format!("{engine}: {message} ({how})")
            }
        };
        if self.ended.is_some() {
            // Its last words may still be on their way; whom it started may keep the stream open.
            await_that(|| self.listener.is_finished().then_some(()));
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).back().cloned();
        let words = said.map_or_else(String::new, |line| format!("; last message: `{line}`"));
        Failure::new(FailureKind::Container, format!("{told}{words}"))
    }

    /// The agent's process, by its number on this host.
    ///
    /// # Errors
    /// [`FailureKind::Container`] when it has ended, or more than one process carries the container's mark.
    pub(crate) fn process(&self) -> Result<u32, Failure> {
        let found = self.process.map_or_else(|| AgentProcess::find(&self.mark), Ok);
        let reason = match found.and_then(|process| process.pid().ok_or(0)) {
            Ok(pid) => return Ok(pid),
            Err(0) => "it has ended".to_owned(),
            Err(several) => format!("{several} processes of this host have its marker"),
        };
        let message = format!(
            "{}: cannot apply the trial's limits to the agent in the container: {reason}",
            self.engine
        );
        Err(Failure::new(FailureKind::Container, message))
    }
}

impl Drop for ContainerAgent {
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

/// How a child ends that is about to; none if it does not.
fn await_end(child: &mut Child) -> Option<ExitStatus> {
    await_that(|| child.try_wait().ok().flatten())
}

/// What comes about with an end, if it does so soon.
fn await_that<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + OBITUARY;
    loop {
        let seen = look();
        if seen.is_some() || Instant::now() >= deadline {
            return seen;
        }
        thread::sleep(Duration::from_millis(10));
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

#[cfg(test)]
mod tests;
