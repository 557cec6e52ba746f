//! This host, in this process.

use crate::failure::Failure;
use crate::protocol::{Event, Reply, Request};
use crate::{Agent, Machine, StopFlag};

/// An agent that is called as a function.
pub struct InProcess {
    agent: Agent,
}

impl InProcess {
    /// An agent in this process; `stop` ends what it is doing.
    pub fn new(stop: StopFlag) -> Self {
        Self { agent: Agent::new(stop) }
    }
}

impl Machine for InProcess {
    fn call(&mut self, request: Request, events: &mut dyn FnMut(Event)) -> Result<Reply, Failure> {
        match self.agent.handle(request, events) {
            Reply::Failed(failure) => Err(failure),
            reply => Ok(reply),
        }
    }
}
