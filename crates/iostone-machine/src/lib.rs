//! Where a trial runs: one agent that does everything near the hardware, and the ways to reach it.
//!
//! The [`Agent`] builds stacks, runs workloads and samples signals on the host that it stands on. It is driven by
//! [`Request`]s: in this process ([`InProcess`]), or through the frames of [`frame`] over any pair of byte
//! streams ([`Remote`] at the near end, [`serve`] at the far end, which is `iostone agent`). There is one
//! implementation of every layer and workload, whatever the way.

mod agent;
mod contained;
mod conversation;
mod cpu;
mod emulated;
mod execute;
mod failure;
mod first_process;
pub mod frame;
mod guests;
mod in_process;
mod limited;
mod packed;
mod protocol;
mod remote;
mod serve;
mod strange;
pub mod toolbox;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use agent::Agent;
pub use emulated::{EmulatedProgram, EmulatedRun, Moment, examine_emulated, run_emulated};
pub use failure::{Failure, FailureKind};
pub use first_process::{be_first_process, is_first_process};
pub use guests::{Guests, TriedOut, TryOut, WORK_INSIDE, try_out};
pub use in_process::InProcess;
pub use limited::{LimitedProgram, LimitedRun, run_limited};
pub use protocol::{
    Begin, Event, Execute, Executed, Measured, PROTOCOL_VERSION, Prepare, Prepared, Reply, Request, RunTrial,
    Settle, Settled, Toolbox,
};
pub use remote::Remote;
pub use serve::serve;

/// Set when the user asks to stop; everything that takes long looks at it.
pub type StopFlag = Arc<AtomicBool>;

/// A host that can be asked to do things, one at a time.
pub trait Machine {
    /// Sends a request and waits for its reply; what happens meanwhile goes to `events`.
    ///
    /// # Errors
    /// The agent's own [`Failure`], or one of kind [`FailureKind::Lost`] when it can no longer be reached.
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure>;
}
