//! The near end: an agent behind a command's standard input and output.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, FailureKind};
use crate::protocol::{Event, PROTOCOL_VERSION, Reply, Request};
use crate::serve::{Answer, Answered, Asked};
use crate::{Machine, StopFlag, frame};

/// How soon an interrupt is passed on.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long an agent may take to undo everything once its input has ended.
const FAREWELL: Duration = Duration::from_secs(30);

/// An agent that was started by a command: `ssh host iostone agent`.
pub struct Remote {
    command: String,
    child: Child,
    requests: Option<ChildStdin>,
    answers: mpsc::Receiver<io::Result<Option<Answered>>>,
    stop: StopFlag,
    next_id: u64,
}

impl Remote {
    /// Starts the command and greets the agent.
    ///
    /// # Errors
    /// The command cannot be started, does not lead to an agent, or leads to one of another version.
    pub fn start(argv: &[String], stop: StopFlag) -> Result<Self, Failure> {
        let command = argv.join(" ");
        let (program, arguments) = argv
            .split_first()
            .ok_or_else(|| Failure::new(FailureKind::Usage, "`machine.argv` names no program"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A terminal's interrupt must reach the agent through us, not past us.
            .process_group(0)
            .spawn()
            .map_err(|error| {
                Failure::new(FailureKind::Missing, format!("`{command}` could not be started: {error}"))
            })?;
        let (Some(requests), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::lost(format!("`{command}` has no standard streams")));
        };
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            loop {
                let answered = frame::read::<Answered>(&mut output);
                let last = !matches!(answered, Ok(Some(_)));
                if sender.send(answered).is_err() || last {
                    return;
                }
            }
        });
        let mut remote = Self { command, child, requests: Some(requests), answers, stop, next_id: 0 };
        remote.greet()?;
        Ok(remote)
    }

    fn greet(&mut self) -> Result<(), Failure> {
        match self.call(Request::Hello { version: PROTOCOL_VERSION }, &mut |_| {})? {
            Reply::Hello { version: PROTOCOL_VERSION, .. } => Ok(()),
            Reply::Hello { version, iostone_version } => Err(Failure::lost(format!(
                "the agent behind `{}` is iostone {iostone_version} and speaks version {version} of the protocol, \
                 this one {PROTOCOL_VERSION}; install the same iostone on both",
                self.command
            ))),
            _ => Err(Failure::lost(format!("`{}` did not answer as an iostone agent", self.command))),
        }
    }

    fn send(&mut self, id: u64, request: Request) -> Result<(), Failure> {
        let lost = |error: &dyn std::fmt::Display, command: &str| {
            Failure::lost(format!("the agent behind `{command}` is gone: {error}"))
        };
        match self.requests.as_mut() {
            Some(stream) => {
                frame::write(stream, &Asked { id, request }).map_err(|error| lost(&error, &self.command))
            }
            None => Err(lost(&"the connection was closed", &self.command)),
        }
    }
}

impl Machine for Remote {
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(id, request)?;
        // A flag that is already up belongs to an interrupt that has been passed on: what follows it is undoing.
        let mut passed_on = self.stop.load(Ordering::Relaxed);
        loop {
            match self.answers.recv_timeout(LOOK_EVERY) {
                Ok(Ok(Some(Answered { id: of, answer }))) if of == id => match answer {
                    Answer::Event(event) => events(event),
                    Answer::Reply(Reply::Failed(failure)) => return Err(failure),
                    Answer::Reply(reply) => return Ok(reply),
                },
                Ok(Ok(None)) | Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Failure::lost(format!("the agent behind `{}` ended", self.command)));
                }
                Ok(Err(error)) => {
                    return Err(Failure::lost(format!("the agent behind `{}`: {error}", self.command)));
                }
                // An answer to an earlier request, or none yet.
                Ok(Ok(Some(_))) | Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if !passed_on && self.stop.load(Ordering::Relaxed) {
                passed_on = true;
                self.send(0, Request::Interrupt)?;
            }
        }
    }
}

impl Drop for Remote {
    /// Ends the agent's input, upon which it undoes everything and ends by itself.
    fn drop(&mut self) {
        self.requests = None;
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // It will not end; what it built stands in its journal, for `iostone cleanup` there.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
