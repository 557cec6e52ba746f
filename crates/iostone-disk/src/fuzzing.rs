//! The readers of this crate that are fed by clients, for the fuzz targets; nobody else is to use it.

use std::collections::VecDeque;
use std::io::{self, Read};

use crate::protocol::handshake::{Export, Negotiation, Progress};
use crate::protocol::{LARGEST_PAYLOAD_BYTES, Refusal};
use crate::server::buffers::Buffers;
use crate::server::input::{Arrival, Input};

/// Pieces of a stream, as read(2) may cut it.
struct Pieces(VecDeque<Vec<u8>>);

impl Read for Pieces {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let Some(first) = self.0.front_mut() else { return Ok(0) };
        let count = first.len().min(place.len());
        for (to, from) in place.iter_mut().zip(first.drain(..count)) {
            *to = from;
        }
        if first.is_empty() {
            self.0.pop_front();
        }
        Ok(count)
    }
}

/// Takes in everything that a client says after the handshake, cut into pieces of `piece` bytes, and gives what was understood:
/// offset and length of each request with its payload's length, and how many were refused.
pub fn requests(bytes: &[u8], piece: usize, size_bytes: u64) -> (Vec<(u64, u32, usize)>, usize) {
    let mut stream = Pieces(bytes.chunks(piece.max(1)).map(<[u8]>::to_vec).collect());
    let (mut input, mut buffers) = (Input::new(), Buffers::new());
    let (mut understood, mut refused) = (Vec::new(), 0);
    loop {
        match input.next(size_bytes, &mut buffers) {
            Arrival::Request(request, payload) => {
                assert!(request.check(size_bytes) != Err(Refusal::Disconnect));
                assert!(payload.len() == request.payload_bytes() as usize);
                assert!(request.payload_bytes() <= LARGEST_PAYLOAD_BYTES);
                understood.push((request.offset, request.length, payload.len()));
                buffers.give(payload);
            }
            Arrival::Refused(..) => refused += 1,
            Arrival::Lost => return (understood, refused),
            Arrival::Nothing => match input.read(&mut stream) {
                Ok(read) if read > 0 => {}
                _ => return (understood, refused),
            },
        }
    }
}

/// Carries a handshake out on everything that a client says, cut at `cut`; how many bytes were taken, and the answers.
pub fn handshake(bytes: &[u8], cut: usize) -> (usize, Vec<u8>) {
    let export = Export { name: "v0".to_owned(), size_bytes: 1 << 20 };
    let (mut negotiation, mut out) = (Negotiation::default(), Vec::new());
    let first = bytes.get(..cut.min(bytes.len())).unwrap_or_default();
    let (taken, progress) = negotiation.advance(first, &export, &mut out);
    if progress != Progress::Negotiating {
        return (taken, out);
    }
    let (more, _) = negotiation.advance(bytes.get(taken..).unwrap_or_default(), &export, &mut out);
    (taken + more, out)
}
