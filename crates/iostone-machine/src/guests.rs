//! Guests: a virtual machine booted for each trial that asks for one, and this host for the others.

use crate::failure::Failure;
use crate::protocol::{Event, Reply, Request};
use crate::{InProcess, Machine, StopFlag};

/// This host, and the guests that are booted on it. What belongs to the host (its description, the volumes, QEMU
/// itself) is done here and journalled here; what belongs to a trial in a guest goes to the agent inside.
pub struct Guests {
    host: InProcess,
}

impl Guests {
    /// No guest runs yet.
    pub fn new(stop: StopFlag) -> Self {
        Self { host: InProcess::new(stop) }
    }
}

impl Machine for Guests {
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        self.host.call(request, events)
    }
}
