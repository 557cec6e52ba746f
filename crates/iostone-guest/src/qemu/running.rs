//! A QEMU that was started: whether it lives, what it printed, its end.

use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::console;

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A started guest. Dropping it kills QEMU.
#[derive(Debug)]
pub struct Running {
    child: Child,
    console: PathBuf,
    complaints: PathBuf,
}

impl Running {
    /// Takes over a process that was started by [`Boot::command`](super::Boot::command)'s command.
    pub fn new(child: Child, boot: &super::Boot) -> Self {
        Self { child, console: boot.console.clone(), complaints: boot.complaints.clone() }
    }

    /// The number of QEMU's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Whether QEMU has ended, and how in words.
    pub fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(format!("QEMU ended ({status})")),
            Err(error) => Some(format!("QEMU has ended: {error}")),
        }
    }

    /// Waits for its end for that long; whether it came.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            if self.ended().is_some() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Everything that the guest has printed so far, control characters taken out.
    pub fn console_text(&self) -> String {
        console::read(&self.console)
    }

    /// What QEMU itself complained of.
    pub fn complaints_text(&self) -> String {
        console::read(&self.complaints)
    }

    /// The lines of its console that say what happened: the first of its trouble, if it had one, and the last.
    pub fn last_words(&self) -> String {
        console::last_lines(&self.console_text()).join("\n")
    }

    /// The last lines of what QEMU itself complained of.
    pub fn last_complaints(&self) -> String {
        console::last_lines(&self.complaints_text()).join("\n")
    }

    /// What is known of its end, in words: a panic, else that QEMU has ended; none of one that runs.
    pub fn fate(&mut self) -> Option<String> {
        let panic = console::panic_line(&self.console_text());
        panic.map(|panic| format!("its kernel panicked (`{panic}`)")).or_else(|| self.ended())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
