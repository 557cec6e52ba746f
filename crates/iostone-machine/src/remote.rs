//! The near end: an agent behind a command's standard input and output.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::conversation::{Conversation, Patience};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Event, Reply, Request};
use crate::{Machine, StopFlag};

/// How long an agent may take to undo everything once its input has ended.
const FAREWELL: Duration = Duration::from_secs(30);

/// An agent that was started by a command: `ssh host iostone agent`.
pub struct Remote {
    child: Child,
    conversation: Conversation,
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
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::lost(format!("`{command}` has no standard streams")));
        };
        let name = format!("the agent behind `{command}`");
        let mut remote = Self { child, conversation: Conversation::new(name, requests, answers, stop) };
        remote.conversation.greet(Patience::default())?;
        Ok(remote)
    }
}

impl Machine for Remote {
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        self.conversation.call(request, Patience::default(), events)
    }
}

impl Drop for Remote {
    /// Ends the agent's input, upon which it undoes everything and ends by itself.
    fn drop(&mut self) {
        self.conversation.close();
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
