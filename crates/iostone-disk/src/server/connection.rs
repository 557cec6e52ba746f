//! One client of one volume: where its conversation stands, and how much of it is on its way.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::event::epoll::EventFlags;

use super::buffers::Buffers;
use super::input::{Arrival, Input};
use super::output::Output;
use super::task::ClientId;
use crate::protocol::handshake::{Export, Negotiation, Progress};

/// A client that has as much on its way is read from only when some of it is answered.
const MOST_HELD_BYTES: usize = 64 << 20;
/// So many requests of one client are on their way at most.
const MOST_HELD_REQUESTS: usize = 1024;
/// A client that does not fetch its answers gets no more of them.
const MOST_QUEUED_BYTES: usize = 4 << 20;

/// A client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: ClientId,
    pub(crate) volume: usize,
    pub(crate) stream: UnixStream,
    pub(crate) output: Output,
    input: Input,
    phase: Phase,
    held_bytes: usize,
    held_requests: usize,
    /// What epoll watches it for.
    pub(crate) watched: EventFlags,
    /// Whether it is on the list of those that were answered.
    pub(crate) is_touched: bool,
}

#[derive(Debug)]
enum Phase {
    Handshake(Negotiation),
    Transmission,
    /// Nothing more is read; it is closed once all is answered and sent.
    Leaving,
}

impl Connection {
    pub(crate) fn new(id: ClientId, volume: usize, stream: UnixStream) -> Self {
        let mut output = Output::default();
        output.push(Negotiation::greeting());
        Self {
            id,
            volume,
            stream,
            output,
            input: Input::new(),
            phase: Phase::Handshake(Negotiation::default()),
            held_bytes: 0,
            held_requests: 0,
            watched: EventFlags::IN,
            is_touched: false,
        }
    }

    /// Whether there is room for more of its requests.
    pub(crate) fn has_room(&self) -> bool {
        self.held_bytes < MOST_HELD_BYTES
            && self.held_requests < MOST_HELD_REQUESTS
            && self.output.queued_bytes() < MOST_QUEUED_BYTES
    }

    /// What it should be watched for.
    pub(crate) fn interest(&self) -> EventFlags {
        let mut interest = EventFlags::empty();
        let is_leaving = matches!(self.phase, Phase::Leaving);
        interest.set(EventFlags::IN, !is_leaving && self.has_room() && !self.input.is_full());
        interest.set(EventFlags::OUT, !self.output.is_empty());
        interest
    }

    /// Reads once. False at the end of the stream.
    pub(crate) fn read(&mut self) -> io::Result<bool> {
        if !self.interest().contains(EventFlags::IN) {
            return Ok(true);
        }
        match self.input.read(&self.stream) {
            Ok(0) => Ok(false),
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// The next request, if there is one and room for it. The handshake is answered on the way.
    pub(crate) fn next(&mut self, export: &Export, buffers: &mut Buffers) -> Arrival {
        if let Phase::Handshake(negotiation) = &mut self.phase {
            let mut said = Vec::new();
            let (taken, progress) = negotiation.advance(self.input.bytes(), export, &mut said);
            self.input.consume(taken);
            self.output.push(said);
            match progress {
                // An option that fills the whole buffer cannot be: options are bounded far below.
                Progress::Negotiating => return Arrival::Nothing,
                Progress::Transmission => self.phase = Phase::Transmission,
                Progress::Over => self.phase = Phase::Leaving,
            }
        }
        if matches!(self.phase, Phase::Leaving) || !self.has_room() {
            return Arrival::Nothing;
        }
        self.input.next(export.size_bytes, buffers)
    }

    /// Whether something is there already that could be taken in.
    pub(crate) fn has_more(&self) -> bool {
        matches!(self.phase, Phase::Transmission) && self.input.has_more()
    }

    /// Takes no more requests.
    pub(crate) fn leave(&mut self) {
        self.phase = Phase::Leaving;
    }

    /// Whether nothing is left to be done for it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Leaving) && self.held_requests == 0 && self.output.is_empty()
    }

    /// Charges a request to it.
    pub(crate) fn hold(&mut self, bytes: usize) {
        self.held_bytes += bytes;
        self.held_requests += 1;
    }

    /// Takes the charge back, when the request is answered.
    pub(crate) fn release(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
        self.held_requests = self.held_requests.saturating_sub(1);
    }
}
