//! What a client sent: many requests with each read(2), and large payloads straight to where they belong.

use std::io::{self, IoSliceMut, Read};

use super::buffers::Buffers;
use crate::protocol::{REQUEST_BYTES, Refusal, Request};

/// As much is read at once, beside the payload that is being waited for.
const BUFFER_BYTES: usize = 256 << 10;

/// The bytes of one client that were read and not yet understood.
#[derive(Debug)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    payload: Option<Payload>,
    /// Bytes of a refused write that are still to come, and are of no use.
    useless_bytes: usize,
}

#[derive(Debug)]
struct Payload {
    request: Request,
    bytes: Vec<u8>,
    filled: usize,
}

/// What comes next from a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing before more is read.
    Nothing,
    /// A request, with its payload if it writes.
    Request(Request, Vec<u8>),
    /// A request that cannot be carried out, and the error to answer it with.
    Refused(Request, u32),
    /// Bytes that are no request.
    Lost,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, payload: None, useless_bytes: 0 }
    }

    /// The bytes that are there, for the handshake.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Drops bytes that were used.
    pub(crate) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
    }

    /// Whether a whole request is there, or at least its head.
    pub(crate) fn has_more(&self) -> bool {
        match &self.payload {
            Some(payload) => payload.filled == payload.bytes.len(),
            None => self.bytes().len() >= REQUEST_BYTES,
        }
    }

    /// Whether there is no room to read into: what is there has to be taken first.
    pub(crate) fn is_full(&self) -> bool {
        self.payload.is_none() && self.end == self.buffer.len() && self.start == 0
    }

    /// Reads once. No bytes are the end of the stream.
    pub(crate) fn read(&mut self, mut stream: impl Read) -> io::Result<usize> {
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let Some(payload) = &mut self.payload else {
            let read = stream.read(room)?;
            self.end += read;
            return Ok(read);
        };
        let wanted = payload.bytes.get_mut(payload.filled..).unwrap_or_default();
        let missing = wanted.len();
        let read = stream.read_vectored(&mut [IoSliceMut::new(wanted), IoSliceMut::new(room)])?;
        payload.filled += read.min(missing);
        self.end += read.saturating_sub(missing);
        Ok(read)
    }

    /// The next request, of a client of a volume of that size.
    pub(crate) fn next(&mut self, size_bytes: u64, buffers: &mut Buffers) -> Arrival {
        if self.useless_bytes > 0 {
            let dropped = self.useless_bytes.min(self.end - self.start);
            self.useless_bytes -= dropped;
            self.consume(dropped);
        }
        if let Some(payload) = self.payload.take() {
            if payload.filled == payload.bytes.len() {
                return Arrival::Request(payload.request, payload.bytes);
            }
            self.payload = Some(payload);
            return Arrival::Nothing;
        }
        let Some(head) = self.bytes().first_chunk::<REQUEST_BYTES>() else { return Arrival::Nothing };
        let Some(request) = Request::parse(head) else { return Arrival::Lost };
        let checked = request.check(size_bytes);
        if checked == Err(Refusal::Disconnect) {
            return Arrival::Lost;
        }
        self.consume(REQUEST_BYTES);
        let Ok(length) = usize::try_from(request.payload_bytes()) else { return Arrival::Lost };
        if let Err(Refusal::Answer(error)) = checked {
            self.useless_bytes = length;
            return Arrival::Refused(request, error);
        }
        if length == 0 {
            return Arrival::Request(request, Vec::new());
        }
        let mut bytes = buffers.take(length);
        let there = length.min(self.end - self.start);
        if let (Some(place), Some(found)) = (bytes.get_mut(..there), self.bytes().get(..there)) {
            place.copy_from_slice(found);
        }
        self.consume(there);
        if there == length {
            return Arrival::Request(request, bytes);
        }
        self.payload = Some(Payload { request, bytes, filled: there });
        Arrival::Nothing
    }
}
