//! Several targets as one volume: each request is cut into pieces for another engine, and is done when all of them are.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use iostone_model::load::Direction;

use super::{Completion, Engine, SYNC_TAG, SyncKind, Transfer};
use crate::arena::Arena;
use crate::source::Request;
use crate::volume::{Piece, VolumeMap};

/// What is known about a request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Whole {
    transfer: Option<Transfer>,
    /// Pieces that have not completed.
    left: u32,
    /// Bytes of those that have.
    done_bytes: u32,
    /// What the first piece that failed said; 0 if none has.
    errno: i32,
    /// The tag of the first piece that did not simply succeed, and what it transferred.
    culprit: Option<(u32, u32)>,
}

/// A sync of all members.
#[derive(Debug, Clone, Copy)]
struct Syncing {
    kind: SyncKind,
    /// The member that is to be handed over next.
    next: u32,
    /// Members that have not completed.
    left: u32,
    errno: i32,
}

/// An engine for the requests of one target, the volume, on top of one for those of its members.
///
/// A request's pieces are all queued at once, so that members serve it at the same time where the engine beneath can
/// do more than one thing. The latency of the request is that of its last piece. A sync is one of every member.
pub(crate) struct VolumeEngine<'a, E> {
    inner: &'a mut E,
    map: &'a VolumeMap,
    /// Pieces per request, at most; the pieces of slot `s` have the tags from `s * most_pieces` on.
    most_pieces: u32,
    /// An I/O that would have to wait is to fail instead of being tried again.
    nowait: bool,
    /// One per slot.
    wholes: Box<[Whole]>,
    /// One per tag of the engine beneath.
    pieces: Box<[Piece]>,
    /// Tags of pieces that the engine beneath has no room for yet.
    waiting: VecDeque<u32>,
    /// Tags of pieces to be tried again when the engine is entered next: who drives it may want to stop.
    again: Vec<u32>,
    syncing: Option<Syncing>,
    /// Requests and pieces that have not completed.
    wholes_left: usize,
    pieces_left: usize,
    completed: Vec<Completion>,
    /// Pieces that did not simply succeed: tag and result.
    odd: Vec<(u32, i32)>,
}

impl<'a, E: Engine> VolumeEngine<'a, E> {
    /// An engine for up to `iodepth` requests of at most `most_pieces` each; see [`VolumeMap::most_pieces`]. The one
    /// beneath must be good for their product, and for a sync of each member.
    pub(crate) fn new(
        inner: &'a mut E,
        map: &'a VolumeMap,
        iodepth: u32,
        most_pieces: u32,
        nowait: bool,
    ) -> Self {
        let tags = iodepth as usize * most_pieces as usize;
        Self {
            inner,
            map,
            most_pieces: most_pieces.max(1),
            nowait,
            wholes: vec![Whole::default(); iodepth as usize].into_boxed_slice(),
            pieces: vec![Piece::default(); tags].into_boxed_slice(),
            waiting: VecDeque::with_capacity(tags),
            again: Vec::new(),
            syncing: None,
            wholes_left: 0,
            pieces_left: 0,
            completed: Vec::with_capacity(iodepth as usize),
            odd: Vec::new(),
        }
    }

    /// The transfer of a piece, for the engine beneath.
    fn describe(&self, tag: u32) -> Option<Transfer> {
        let piece = self.pieces.get(tag as usize)?;
        let transfer = self.wholes.get((tag / self.most_pieces) as usize)?.transfer?;
        Some(Transfer {
            slot: tag,
            place: transfer.place.advance(piece.start_bytes),
            request: Request {
                direction: transfer.request.direction,
                target: piece.member,
                offset_bytes: piece.offset_bytes,
                length_bytes: piece.length_bytes,
            },
        })
    }

    /// Queues what waits with the engine beneath. As long as that has no room for all of it, it is entered.
    fn hand_over(&mut self) -> io::Result<()> {
        loop {
            let mut room = self.inner.room();
            let is_full = room == 0;
            while room > 0
                && let Some(tag) = self.waiting.pop_front()
            {
                if let Some(transfer) = self.describe(tag) {
                    self.inner.queue(transfer);
                    room -= 1;
                }
            }
            if let Some(syncing) = &mut self.syncing {
                while room > 0 && syncing.next < self.map.members() {
                    self.inner.queue_sync(syncing.next, syncing.kind);
                    syncing.next += 1;
                    room -= 1;
                }
            }
            let syncs_wait = self.syncing.is_some_and(|syncing| syncing.next < self.map.members());
            if self.waiting.is_empty() && !syncs_wait {
                return Ok(());
            }
            // An engine without any room gets some when something completes.
            self.inner.enter(usize::from(is_full), None)?;
            self.collect();
        }
    }

    /// Takes what has completed beneath, and completes the requests whose last piece it was.
    fn collect(&mut self) {
        if self.inner.arrived() == 0 {
            return;
        }
        let Self { inner, wholes, pieces, odd, syncing, completed, most_pieces, .. } = self;
        let (mut wholes_done, mut pieces_done) = (0, 0);
        inner.reap(|Completion { tag, result }| {
            if tag == SYNC_TAG {
                return finish_sync(syncing, result, completed);
            }
            let length_bytes = pieces.get(tag as usize).map(|piece| piece.length_bytes);
            let slot = tag / *most_pieces;
            let Some(whole) = wholes.get_mut(slot as usize) else { return };
            if length_bytes != Some(result.cast_unsigned()) {
                odd.push((tag, result));
                return;
            }
            pieces_done += 1;
            wholes_done += usize::from(whole.finish_piece(slot, result.cast_unsigned(), completed));
        });
        self.pieces_left -= pieces_done;
        self.wholes_left -= wholes_done;
        if !self.odd.is_empty() {
            for (tag, result) in std::mem::take(&mut self.odd) {
                self.settle(tag, result);
            }
        }
    }

    /// Deals with a piece that did not simply succeed: tries it again, completes a short write, or lets the request
    /// fail. Since all that can be done is done here, a write that is short still is one that cannot be completed.
    #[cold]
    fn settle(&mut self, tag: u32, result: i32) {
        let Some(transfer) = self.describe(tag) else { return };
        let errno = -result;
        if errno == libc::EINTR || (errno == libc::EAGAIN && !self.nowait) {
            return self.again.push(tag);
        }
        let length_bytes = transfer.request.length_bytes;
        let (mut done_bytes, mut errno) = (result.max(0).unsigned_abs(), errno.max(0));
        if errno == 0 && transfer.request.direction == Direction::Write {
            match self.inner.write_rest(transfer, done_bytes as usize) {
                Ok(()) => done_bytes = length_bytes,
                // See the driver: with O_DIRECT the rest may be refused for its alignment.
                Err(error) => {
                    errno = error.raw_os_error().filter(|errno| *errno != libc::EINVAL).unwrap_or(0);
                }
            }
        }
        let slot = tag / self.most_pieces;
        let Some(whole) = self.wholes.get_mut(slot as usize) else { return };
        if errno > 0 && whole.errno == 0 {
            whole.errno = errno;
            whole.culprit = Some((tag, done_bytes));
        } else if done_bytes < length_bytes {
            whole.culprit.get_or_insert((tag, done_bytes));
        }
        self.pieces_left -= 1;
        self.wholes_left -= usize::from(whole.finish_piece(slot, done_bytes, &mut self.completed));
    }

    /// Completions beneath without which not one more request can complete.
    fn fewest_left(&self) -> usize {
        if self.pieces_left == self.wholes_left {
            return 1;
        }
        let left = self.wholes.iter().map(|whole| whole.left).filter(|left| *left > 0);
        left.min().map_or(1, |left| left as usize)
    }

    /// Whether nothing is left to complete.
    fn is_idle(&self) -> bool {
        self.pieces_left == 0 && self.syncing.is_none()
    }
}

impl Whole {
    /// Counts a piece; with the last one the request completes, and it is true.
    #[inline]
    fn finish_piece(&mut self, slot: u32, done_bytes: u32, completed: &mut Vec<Completion>) -> bool {
        self.left = self.left.saturating_sub(1);
        self.done_bytes += done_bytes;
        let is_last = self.left == 0;
        if is_last {
            let result = if self.errno > 0 { -self.errno } else { self.done_bytes.cast_signed() };
            completed.push(Completion { tag: slot, result });
        }
        is_last
    }
}

/// Counts the sync of a member; with the last one the sync of the volume completes.
#[cold]
fn finish_sync(syncing: &mut Option<Syncing>, result: i32, completed: &mut Vec<Completion>) {
    let Some(sync) = syncing else { return };
    if result < 0 && sync.errno == 0 {
        sync.errno = -result;
    }
    sync.left -= 1;
    if sync.left == 0 {
        completed.push(Completion { tag: SYNC_TAG, result: -sync.errno });
        *syncing = None;
    }
}

impl<E: Engine> Engine for VolumeEngine<'_, E> {
    /// There is room for every slot.
    #[inline]
    fn room(&mut self) -> usize {
        usize::MAX
    }

    #[inline]
    fn arena(&mut self) -> &mut Arena {
        self.inner.arena()
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) {
        let Some(whole) = self.wholes.get_mut(transfer.slot as usize) else { return };
        let first = transfer.slot * self.most_pieces;
        let mut left = 0;
        let pieces = self.map.pieces(transfer.request.offset_bytes, transfer.request.length_bytes);
        for (tag, piece) in (first..first + self.most_pieces).zip(pieces) {
            if let Some(known) = self.pieces.get_mut(tag as usize) {
                *known = piece;
                self.waiting.push_back(tag);
                left += 1;
            }
        }
        *whole = Whole { transfer: Some(transfer), left, ..Whole::default() };
        if left == 0 {
            // Nothing of it lies in the volume: it transfers nothing.
            return self.completed.push(Completion { tag: transfer.slot, result: 0 });
        }
        self.pieces_left += left as usize;
        self.wholes_left += 1;
    }

    /// Syncs every member, whichever was written.
    fn queue_sync(&mut self, _target: u32, kind: SyncKind) {
        self.syncing = Some(Syncing { kind, next: 0, left: self.map.members(), errno: 0 });
    }

    fn enter(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        let until = at_most.and_then(|duration| Instant::now().checked_add(duration));
        self.waiting.extend(self.again.drain(..));
        self.hand_over()?;
        let mut left = at_most;
        loop {
            let missing = want.saturating_sub(self.completed.len());
            // Pieces to be tried again are not in flight, and would be waited for in vain.
            let goes_on = missing > 0 && self.again.is_empty();
            let pieces = if goes_on { self.fewest_left().max(missing) } else { 0 };
            self.inner.enter(pieces, left)?;
            self.collect();
            if self.completed.len() >= want || self.is_idle() || !self.again.is_empty() {
                return Ok(());
            }
            left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
        }
    }

    /// What could be written was written before the request completed; see [`settle`](Self::settle).
    fn write_rest(&mut self, _transfer: Transfer, _done_bytes: usize) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EINVAL))
    }

    /// The piece that failed first.
    fn blame(&mut self, transfer: Transfer, done_bytes: u32) -> (Request, u32) {
        let whole = self.wholes.get(transfer.slot as usize);
        whole
            .and_then(|whole| whole.culprit)
            .and_then(|(tag, done_bytes)| Some((self.describe(tag)?.request, done_bytes)))
            .unwrap_or((transfer.request, done_bytes))
    }

    #[inline]
    fn arrived(&mut self) -> usize {
        self.collect();
        self.completed.len()
    }

    #[inline]
    fn reap(&mut self, each: impl FnMut(Completion)) {
        self.completed.drain(..).for_each(each);
    }
}

#[cfg(test)]
mod tests;
