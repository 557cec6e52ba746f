//! A guest that runs: the conversation with the agent inside, and what is said of one that died.

use std::os::unix::fs::FileTypeExt;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use iostone_guest::{Boot, BootDrive, DriveSource, GuestError, Qemu, Running};
use iostone_workload::RawOutput;

use crate::StopFlag;
use crate::conversation::{Conversation, Patience, SILENT};
use crate::failure::{Failure, FailureKind};
use crate::protocol::{Event, Reply, Request};

/// The agent says every two seconds that it lives; one that is silent for so long hangs, also under translation.
const SILENCE: Duration = Duration::from_secs(30);
/// What an interrupted request may take until its reply: QEMU is ours, and what is inside goes with it.
const INTERRUPTED: Duration = Duration::from_secs(1);
/// The same where the guest stands on a device of the user's, which is to be left in order.
const INTERRUPTED_ON_DEVICE: Duration = Duration::from_secs(20);
/// What undoing inside may take: it only matters for what is on a real device.
const UNDOING: Duration = Duration::from_secs(30);
/// What switching off may take.
const SWITCHING_OFF: Duration = Duration::from_secs(10);
/// A port that nobody reads must not stop us for ever.
const SENDING: Duration = Duration::from_secs(10);
/// QEMU closes its sockets a moment before it is gone.
const ENDING: Duration = Duration::from_secs(2);

/// How long a request inside may take: as long as the agent gives signs of life.
pub(super) const PATIENCE: Patience =
    Patience { reply: None, silence: Some(SILENCE), interrupted: Some(INTERRUPTED) };

/// A guest whose agent has answered.
pub(super) struct Booted {
    running: Running,
    stop: StopFlag,
    /// Whether one of its drives is a device of the user's, so that undoing inside matters.
    on_device: bool,
    conversation: Conversation,
    /// Seconds from the start of QEMU to the agent's first answer.
    pub(super) boot_seconds: f64,
    /// Why it is dead, once it is.
    dead: Option<String>,
}

impl Booted {
    /// Starts QEMU and waits for the agent's greeting.
    ///
    /// # Errors
    /// [`FailureKind::Guest`] when it does not come, with the last lines of the console.
    pub(super) fn boot(
        boot: &Boot,
        qemu: &Qemu,
        spawn: &mut dyn FnMut(Command) -> Result<Child, GuestError>,
        stop: &StopFlag,
    ) -> Result<Self, Failure> {
        let (command, port) = boot.command(qemu)?;
        let started = Instant::now();
        let running = Running::new(spawn(command)?, boot);
        let io =
            |error: std::io::Error| Failure::new(FailureKind::Guest, format!("the guest's port: {error}"));
        port.set_write_timeout(Some(SENDING)).map_err(io)?;
        let answers = port.try_clone().map_err(io)?;
        let conversation = Conversation::new("the agent in the guest", port, answers, StopFlag::clone(stop));
        let on_device = boot.drives.iter().any(is_device);
        let stop = StopFlag::clone(stop);
        let mut booted = Self { running, stop, on_device, conversation, boot_seconds: 0.0, dead: None };
        let patience = Patience {
            reply: Some(boot.patience()),
            interrupted: Some(Duration::ZERO),
            ..Patience::default()
        };
        match booted.conversation.greet(patience) {
            Ok(()) => {}
            Err(failure) => return Err(booted.died(End::NotBooted, failure)),
        }
        booted.boot_seconds = started.elapsed().as_secs_f64();
        Ok(booted)
    }

    /// Asks the agent inside.
    ///
    /// # Errors
    /// The agent's own failure; [`FailureKind::Guest`] with the last lines of the console when the guest died or hangs.
    /// QEMU is gone then, and whatever is asked afterwards fails at once.
    pub(super) fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        let interrupted = if self.on_device { INTERRUPTED_ON_DEVICE } else { INTERRUPTED };
        self.call_within(request, Patience { interrupted: Some(interrupted), ..PATIENCE }, events)
    }

    /// As [`Booted::call`], with a limit for the reply.
    pub(super) fn call_within(
        &mut self,
        request: Request,
        patience: Patience,
        events: &mut dyn FnMut(Event),
    ) -> Result<Reply, Failure> {
        if let Some(dead) = &self.dead {
            return Err(Failure::new(FailureKind::Guest, dead.clone()));
        }
        match self.conversation.call(request, patience, events) {
            Err(failure) if failure.kind == FailureKind::Lost => Err(self.died(End::Later, failure)),
            other => other,
        }
    }

    /// Has the stack taken down inside and the machine switched off; kills it where that takes too long.
    ///
    /// # Errors
    /// What could not be undone inside, or that the guest died over it. It is gone in any case. One that was dead
    /// before is no failure any more: that was said.
    pub(super) fn undo_and_power_off(&mut self) -> Result<(), Failure> {
        if self.dead.is_some() {
            return Ok(());
        }
        let stopped = self.stop.load(Ordering::Relaxed);
        if stopped && !self.on_device {
            // Nobody waits for an orderly end of what is thrown away.
            self.running.kill();
            return Ok(());
        }
        let patience = Patience { reply: Some(UNDOING), silence: Some(SILENCE), interrupted: None };
        let undone = self.call_within(Request::Undo, patience, &mut |_| {});
        if stopped {
            self.running.kill();
        } else {
            self.power_off();
        }
        match undone {
            Ok(_) => Ok(()),
            // It had not come to a session: there is nothing to undo.
            Err(failure) if failure.kind == FailureKind::Usage => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// Ends the agent's input, upon which it ends and the guest with it; kills QEMU where that takes too long.
    pub(super) fn power_off(&mut self) {
        self.conversation.close();
        if !self.running.wait(SWITCHING_OFF) {
            self.running.kill();
        }
    }

    /// QEMU's process.
    pub(super) fn process(&self) -> u32 {
        self.running.process()
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        self.running.kill();
    }

    /// What is kept of it.
    pub(super) fn evidence(&self) -> Vec<RawOutput> {
        let texts =
            [("console.log", self.running.console_text()), ("qemu.log", self.running.complaints_text())];
        texts
            .into_iter()
            .filter(|(_, text)| !text.trim().is_empty())
            .map(|(name, text)| RawOutput { name: name.to_owned(), text })
            .collect()
    }

    /// Everything that it printed so far.
    pub(super) fn console_text(&self) -> String {
        self.running.console_text()
    }

    /// Kills it and says what is known of its end.
    fn died(&mut self, end: End, failure: Failure) -> Failure {
        if failure.kind == FailureKind::Interrupted {
            self.running.kill();
            self.dead = Some(failure.message.clone());
            return failure;
        }
        // A panic ends QEMU only after the lines about it are out.
        self.running.wait(ENDING);
        let fate = self.running.fate();
        self.running.kill();
        let silent = failure.message.contains(SILENT);
        let what = match (end, fate) {
            (End::NotBooted, fate) => format!("did not boot: {}", fate.unwrap_or(failure.message)),
            (End::Later, Some(fate)) => format!("died: {fate}"),
            (End::Later, None) if silent => format!("hung: no heartbeat for {} s", SILENCE.as_secs()),
            // Of a QEMU that still runs only the conversation knows what is wrong.
            (End::Later, None) => format!("was abandoned: {}", failure.message),
        };
        let message = format!("the guest {what}{}", in_lines(&self.running));
        self.dead = Some(message.clone());
        Failure::new(FailureKind::Guest, message)
    }
}

/// When a guest ended.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Before the agent answered.
    NotBooted,
    /// After that.
    Later,
}

/// The lines of QEMU and of the console, each said to be whose they are.
fn in_lines(running: &Running) -> String {
    let complaints = running.last_complaints();
    let qemu = if complaints.is_empty() { String::new() } else { format!("; QEMU complains:\n{complaints}") };
    let words = running.last_words();
    let between = if qemu.is_empty() { "; " } else { "\n" };
    if words.is_empty() {
        format!("{qemu}{between}the guest's console is empty")
    } else {
        format!("{qemu}{between}the last lines of its console:\n{words}")
    }
}

/// Whether a drive is a device of this host's.
fn is_device(drive: &BootDrive) -> bool {
    match &drive.source {
        DriveSource::File { path, .. } => {
            !drive.read_only && std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
        }
        DriveSource::Nbd { .. } => false,
    }
}
