//! The slow path of the loop: what did not simply succeed, what is verified, and the end.

use iostone_model::load::Direction;

use super::{Driver, Tally, Watch};
use crate::engine::{Engine, SyncKind, Transfer};
use crate::fault::Operation;
use crate::source::Source;
use crate::verify::Verifier;

/// Arrivals that were never submitted are recorded one by one, up to this many.
const MOST_UNSERVED: u64 = 50_000_000;

/// The operation that a request is.
pub(super) fn operation_of(direction: Direction) -> Operation {
    match direction {
        Direction::Read => Operation::Read,
        Direction::Write => Operation::Write,
        Direction::Trim => Operation::Trim,
    }
}

impl<S: Source> Driver<'_, S> {
    pub(super) fn complete_sync(&mut self, result: i32, at: u64) {
        let Some((kind, since_ns, last)) = self.barrier.end_sync() else { return };
        if result < 0 {
            self.barrier.clear();
            self.fail(Operation::Sync, -result, None, 0);
            return;
        }
        if last
            && !matches!(kind, SyncKind::Range { .. })
            && let Some(verifier) = &mut self.verifier
        {
            verifier.made_durable();
        }
        if self.open && at <= self.config.closes_ns {
            self.tally.sync_latency.record(at.saturating_sub(since_ns));
            if self.config.cadence.fsync == 1 || self.config.cadence.fdatasync == 1 {
                self.tally.durable_latency.record(at.saturating_sub(self.barrier.last_submitted_ns));
            }
        }
    }

    /// Deals with what did not simply succeed: tries again, completes a short write, or fails. Blocks that are
    /// verified are looked at here as well, since their memory may be used again once their slot is free.
    #[cold]
    pub(super) fn settle_odd<E: Engine>(&mut self, engine: &mut E, at: u64) {
        while let Some((slot, result)) = self.odd.pop() {
            let Some((request, place)) = self.slots.describe(slot) else { continue };
            let errno = -result;
            if result.cast_unsigned() == request.length_bytes {
                if let Some(verifier) = &mut self.verifier {
                    match request.direction {
                        Direction::Write => verifier.acknowledge(&request),
                        Direction::Read => {
                            let block = engine.arena().block_mut(place);
                            let length = request.length_bytes as usize;
                            verifier.check(&request, block.get(..length).unwrap_or_default());
                            if verifier.is_fatal() {
                                self.fail(Operation::Verify, libc::EILSEQ, Some(request), 0);
                            }
                        }
                        Direction::Trim => {}
                    }
                }
                self.count(slot, at);
            } else if (errno == libc::EINTR || self.may_retry(errno)) && engine.room() > 0 {
                engine.queue(Transfer { slot, place, request });
            } else if errno > 0 {
                let (failed, _) = engine.blame(Transfer { slot, place, request }, 0);
                self.give_up(slot);
                self.fail(operation_of(request.direction), errno, Some(failed), 0);
            } else {
                self.settle_short(engine, Transfer { slot, place, request }, result.unsigned_abs());
            }
        }
    }

    /// Whether so much was written since the last reading back that it is time for the next.
    #[inline]
    pub(super) fn backlog_is_due(&self) -> bool {
        let backlog = u64::from(self.config.cadence.backlog);
        backlog > 0 && self.barrier.writes() - self.read_back_at >= backlog
    }

    /// Reads back and checks what was written since the last time. Nothing may be in flight.
    #[cold]
    pub(super) fn read_back_backlog(&mut self) {
        self.read_back_at = self.barrier.writes();
        let Some(verifier) = &mut self.verifier else { return };
        if let Err(fault) = verifier.read_back_recent(self.config.files, self.config.stop) {
            let errno = fault.raw_os_error().unwrap_or(libc::EIO);
            self.fail(Operation::Verify, errno, Some(fault.request), 0);
        } else if verifier.is_fatal() {
            self.fail(Operation::Verify, libc::EILSEQ, None, 0);
        }
    }

    /// `EAGAIN` asks to try again, unless the job asked for it with `RWF_NOWAIT`.
    fn may_retry(&self, errno: i32) -> bool {
        errno == libc::EAGAIN && !self.config.nowait
    }

    /// Frees the slot of an I/O that failed.
    fn give_up(&mut self, slot: u32) {
        let Some(flight) = self.slots.finish(slot) else { return };
        let length_bytes = u64::from(flight.request.length_bytes);
        self.in_flight_bytes -= length_bytes;
        if self.open {
            // A job that outlives its errors does not make up for them, or it would not end where all I/O fails.
            self.config.limit_ios = self.config.limit_ios.saturating_sub(1).max(self.counted);
            self.config.limit_bytes = self.config.limit_bytes.saturating_sub(length_bytes);
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.give_up(&flight.request);
        }
    }

    /// A transfer that stopped early. The rest of a write is written, as fio does, or else the attempt says what
    /// is in the way: a full disk shows first as a short write. A read is short at the end of its target.
    fn settle_short<E: Engine>(&mut self, engine: &mut E, transfer: Transfer, done_bytes: u32) {
        let Transfer { slot, request, .. } = transfer;
        if request.direction != Direction::Write {
            let (failed, done_bytes) = engine.blame(transfer, done_bytes);
            self.give_up(slot);
            return self.fail(operation_of(request.direction), 0, Some(failed), done_bytes);
        }
        match engine.write_rest(transfer, done_bytes as usize) {
            Ok(()) => {
                if let Some(verifier) = &mut self.verifier {
                    verifier.acknowledge(&request);
                }
                self.count(slot, self.config.clock.now_ns());
            }
            Err(error) => {
                let (failed, done_bytes) = engine.blame(transfer, done_bytes);
                self.give_up(slot);
                // With O_DIRECT the rest may be refused for its alignment, which is not what cut the write short.
                let errno = error.raw_os_error().filter(|errno| *errno != libc::EINVAL).unwrap_or(0);
                self.fail(Operation::Write, errno, Some(failed), done_bytes);
            }
        }
    }

    /// Does no I/O at all: for a job that only checks what is there.
    pub(crate) fn run_nothing(mut self) -> (Tally, Option<Verifier>) {
        self.tally.ended_ns = self.config.clock.now_ns();
        (self.tally, self.verifier)
    }

    /// Fails before the first I/O.
    pub(crate) fn refuse(mut self, error: &std::io::Error) -> (Tally, Option<Verifier>) {
        self.fail(Operation::Submit, error.raw_os_error().unwrap_or(libc::EIO), None, 0);
        self.run_nothing()
    }

    /// After the window: waits for what is in flight where it matters, makes it durable if asked to, and records
    /// the wait of arrivals that never were submitted.
    pub(super) fn finish<E: Engine>(&mut self, engine: &mut E, watch: &mut impl Watch) {
        self.closing = true;
        self.barrier.clear();
        let matters = self.pacer.is_some() || self.verifier.is_some() || self.config.cadence.end_fsync;
        while matters && self.slots.in_flight() > 0 && self.waits(engine, watch) {}
        if self.config.cadence.end_fsync && !self.failed {
            self.barrier.demand(SyncKind::All);
            while !self.barrier.is_clear() {
                let now = self.config.clock.now_ns();
                self.submit_sync(engine, now);
                if !self.barrier.is_clear() && !self.waits(engine, watch) {
                    break;
                }
            }
        }
        if self.tally.ended_ns == self.config.closes_ns {
            self.count_unserved();
        }
    }

    /// Waits for something to complete; false when that is not possible any more.
    fn waits<E: Engine>(&mut self, engine: &mut E, watch: &mut impl Watch) -> bool {
        let errors = self.tally.errors;
        self.turn(engine, 1, None, watch);
        // A ring that refuses to be entered would be asked for ever.
        self.tally.errors == errors || self.slots.in_flight() == 0
    }

    /// Arrivals before the end of the window that found no room count with the time they had waited by then: less
    /// than they would have waited, which is what there is to know.
    fn count_unserved(&mut self) {
        let Some(mut pacer) = self.pacer.take() else { return };
        while self.tally.unserved < MOST_UNSERVED {
            let Some(request) = self.held.take().or_else(|| self.source.next(pacer.first_due())) else {
                break;
            };
            let Some(due) = pacer.due_ns(request.direction).filter(|due| *due < self.config.closes_ns) else {
                break;
            };
            pacer.advance(request.direction, request.length_bytes);
            self.tally.unserved += 1;
            if let Some(count) = self.tally.of.get_mut(request.direction as usize) {
                count.response.record(self.config.closes_ns - due);
            }
        }
    }
}
