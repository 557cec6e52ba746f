//! What a client is to be sent, in pieces that one writev(2) takes together.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

use super::buffers::Buffers;
use crate::protocol::REPLY_BYTES;

/// Linux takes 1024 (`UIO_MAXIOV`); fewer suffice to make a call worth its while.
const MOST_PIECES: usize = 64;
/// Answers without data are gathered in a piece of so many bytes.
const GATHERED_BYTES: usize = 16 << 10;

/// A queue of bytes for one client.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that were sent already.
    sent: usize,
    queued_bytes: usize,
}

#[derive(Debug)]
enum Piece {
    /// One answer with its data.
    Whole(Vec<u8>),
    /// Several small ones.
    Gathered(Vec<u8>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(bytes) | Self::Gathered(bytes) => bytes,
        }
    }
}

impl Output {
    /// Bytes that wait to be sent.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Adds a piece of its own, without a copy.
    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.queued_bytes += bytes.len();
            self.pieces.push_back(Piece::Whole(bytes));
        }
    }

    /// Adds an answer without data.
    pub(crate) fn push_head(&mut self, head: &[u8; REPLY_BYTES], buffers: &mut Buffers) {
        self.queued_bytes += head.len();
        if let Some(Piece::Gathered(gathered)) = self.pieces.back_mut()
            && gathered.len() + head.len() <= GATHERED_BYTES
        {
            gathered.extend_from_slice(head);
            return;
        }
        let mut gathered = buffers.take(GATHERED_BYTES);
        gathered.clear();
        gathered.extend_from_slice(head);
        self.pieces.push_back(Piece::Gathered(gathered));
    }

    /// Sends as much as goes without waiting.
    ///
    /// # Errors
    /// When the client is gone.
    pub(crate) fn send(&mut self, mut stream: impl Write, buffers: &mut Buffers) -> io::Result<()> {
        while !self.pieces.is_empty() {
            let mut slices = [IoSlice::new(&[]); MOST_PIECES];
            let mut count = 0;
            for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                let skip = if count == 0 { self.sent } else { 0 };
                *slice = IoSlice::new(piece.bytes().get(skip..).unwrap_or_default());
                count += 1;
            }
            match stream.write_vectored(slices.get(..count).unwrap_or_default()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written, buffers),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn advance(&mut self, written: usize, buffers: &mut Buffers) {
        self.queued_bytes = self.queued_bytes.saturating_sub(written);
        self.sent += written;
        while let Some(first) = self.pieces.front().map(|piece| piece.bytes().len())
            && self.sent >= first
        {
            self.sent -= first;
            if let Some(Piece::Whole(bytes) | Piece::Gathered(bytes)) = self.pieces.pop_front() {
                buffers.give(bytes);
            }
        }
    }
}
