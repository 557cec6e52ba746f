//! The loop of one thread: choose blocks, hand them over, reap, record.
//!
//! It mirrors the life of a job in fio. Until the *ramp* is over, I/O goes on and nothing is counted. Then the
//! *window* opens, and closes when its time is up, when enough I/Os were counted, when the caller stops it, or
//! when an I/O fails. A sync that falls due is a *barrier*: nothing more is submitted until all writes before it
//! have completed, and then until the sync has.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::clock::Clock;
use crate::engine::uring::BATCH;
use crate::engine::{Completion, Engine, SYNC_TAG, SyncKind, Transfer};
use crate::fault::Operation;
use crate::histogram::LatencyHistogram;
use crate::job::Stamp;
use crate::offsets::Offsets;
use crate::outcome::SERIES_INTERVAL;
use crate::payload;
use crate::slots::Slots;

/// Length of a bucket of the series, in nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "a tenth of a second")]
const INTERVAL_NS: u64 = SERIES_INTERVAL.as_nanos() as u64;

/// The figures that a thread lets others see while it runs; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Lane {
    /// I/Os counted in the window so far.
    pub(crate) counted: AtomicU64,
    /// I/Os of the ramp so far.
    pub(crate) ramp: AtomicU64,
}

/// What one thread is to do.
#[derive(Debug)]
pub(crate) struct Shift<'a> {
    pub(crate) clock: Clock,
    pub(crate) stamp: Stamp,
    pub(crate) writes: bool,
    pub(crate) block_bytes: u32,
    pub(crate) iodepth: u32,
    /// Syncs after every this many writes; 0 is never.
    pub(crate) fsync: u32,
    pub(crate) fdatasync: u32,
    /// When the window opens, on the job's clock.
    pub(crate) opens_ns: u64,
    /// When it closes; `u64::MAX` if time does not bound it.
    pub(crate) closes_ns: u64,
    /// I/Os to count; `u64::MAX` if their number does not bound it.
    pub(crate) limit: u64,
    /// Raised by the caller.
    pub(crate) stop: &'a AtomicBool,
    /// Raised by any thread that fails, so that all end.
    pub(crate) halt: &'a AtomicBool,
    pub(crate) lane: &'a Lane,
}

/// An I/O that failed, before it is put into words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFault {
    pub(crate) at_ns: u64,
    pub(crate) operation: Operation,
    /// 0 for a short transfer.
    pub(crate) errno: i32,
    pub(crate) offset_bytes: u64,
    pub(crate) transferred_bytes: u32,
}

/// What one thread has counted.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) latency: LatencyHistogram,
    pub(crate) sync_latency: LatencyHistogram,
    pub(crate) durable_latency: LatencyHistogram,
    /// I/Os of each interval of the window.
    pub(crate) series: Vec<u64>,
    pub(crate) ramp_ios: u64,
    pub(crate) ended_ns: u64,
    pub(crate) interrupted: bool,
    pub(crate) fault: Option<RawFault>,
}

/// Where a due sync stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Barrier {
    /// None is due.
    Clear,
    /// Waits for the writes before it.
    Draining(SyncKind),
    /// Handed over at this time.
    Syncing { since_ns: u64 },
}

/// Told when the window opens, and when it closes.
pub(crate) trait Watch {
    fn opened(&mut self);
    fn closed(&mut self);
}

/// The state of the loop.
pub(crate) struct Driver<'a> {
    shift: Shift<'a>,
    offsets: Offsets,
    data: Xoshiro256PlusPlus,
    slots: Slots,
    barrier: Barrier,
    /// Writes submitted so far, for the cadence of syncs.
    writes_submitted: u64,
    /// When the last write was submitted.
    last_submitted_ns: u64,
    open: bool,
    counted: u64,
    /// End of the interval that is being counted.
    interval_ends_ns: u64,
    /// Completions to be looked at outside the fast path: slot and result.
    odd: Vec<(u32, i32)>,
    tally: Tally,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(shift: Shift<'a>, offsets: Offsets, data: Xoshiro256PlusPlus) -> Self {
        let timed = shift.closes_ns.saturating_sub(shift.opens_ns) / INTERVAL_NS;
        // Room for all intervals of a timed window of up to a day, else for ten minutes before it must grow.
        let intervals = usize::try_from(timed.min(864_000)).unwrap_or(0).max(6_000);
        let tally = Tally {
            latency: LatencyHistogram::new(),
            sync_latency: LatencyHistogram::new(),
            durable_latency: LatencyHistogram::new(),
            series: Vec::with_capacity(intervals),
            ramp_ios: 0,
            ended_ns: 0,
            interrupted: false,
            fault: None,
        };
        Self {
            slots: Slots::new(shift.iodepth),
            odd: Vec::with_capacity(shift.iodepth as usize),
            interval_ends_ns: 0,
            shift,
            offsets,
            data,
            barrier: Barrier::Clear,
            writes_submitted: 0,
            last_submitted_ns: 0,
            open: false,
            counted: 0,
            tally,
        }
    }

    /// Runs until the window has closed. Requests may be in flight still: the engine waits for them when dropped.
    pub(crate) fn run<E: Engine>(mut self, engine: &mut E, watch: &mut impl Watch) -> Tally {
        let mut now = self.shift.clock.now_ns();
        self.open_when_due(now, watch);
        while !self.is_finished(now) {
            let want = self.submit(engine, now);
            if let Err(error) = engine.enter(want) {
                self.fail(Operation::Submit, error.raw_os_error().unwrap_or(libc::EIO), 0, 0);
                now = self.shift.clock.now_ns();
                continue;
            }
            let arrived = engine.arrived();
            now = self.shift.clock.now_ns();
            self.open_when_due(now, watch);
            if arrived > 0 {
                let before = self.counted;
                engine.reap(|completion| self.complete(completion, now));
                if !self.odd.is_empty() {
                    self.settle_odd(engine);
                }
                self.add_to_series(now, self.counted - before);
                self.shift.lane.counted.store(self.counted, Ordering::Relaxed);
            }
        }
        // A window that never opened has no length, and one that time closed has exactly the length asked for.
        self.tally.ended_ns = now.clamp(self.shift.opens_ns, self.shift.closes_ns);
        if self.open {
            watch.closed();
        }
        self.tally
    }

    #[inline]
    fn open_when_due(&mut self, now: u64, watch: &mut impl Watch) {
        if !self.open && now >= self.shift.opens_ns {
            self.open = true;
            self.interval_ends_ns = self.shift.opens_ns + INTERVAL_NS;
            self.tally.series.push(0);
            watch.opened();
        }
    }

    #[inline]
    fn is_finished(&mut self, now: u64) -> bool {
        if self.tally.fault.is_some() || now >= self.shift.closes_ns {
            return true;
        }
        if self.counted >= self.shift.limit && self.barrier == Barrier::Clear {
            return true;
        }
        let stopped = self.shift.stop.load(Ordering::Relaxed);
        self.tally.interrupted = stopped;
        stopped || self.shift.halt.load(Ordering::Relaxed)
    }

    /// Queues what may be submitted now; says how many completions to wait for.
    #[inline]
    fn submit<E: Engine>(&mut self, engine: &mut E, now: u64) -> usize {
        if self.barrier != Barrier::Clear {
            self.submit_sync(engine, now);
            return 1;
        }
        let ready = self.may_submit();
        let batch = ready.min(u64::from(BATCH)).min(engine.room() as u64);
        if batch > 0 {
            self.submit_blocks(engine, batch, now);
        }
        // While there is more to submit, reap what is there and come back for it at once.
        usize::from(batch == ready || batch == 0)
    }

    /// How many blocks may be submitted before something must complete.
    #[inline]
    fn may_submit(&self) -> u64 {
        let free = self.slots.free();
        if self.open {
            free.min((self.shift.limit - self.counted).saturating_sub(self.slots.in_flight()))
        } else {
            free
        }
    }

    #[inline]
    fn submit_blocks<E: Engine>(&mut self, engine: &mut E, batch: u64, now: u64) {
        let writes = self.shift.writes;
        let since = match self.shift.stamp {
            Stamp::PerIo if !writes => self.shift.clock.now_ns(),
            _ => now,
        };
        let mut begun = 0;
        for _ in 0..batch {
            let offset_bytes = self.offsets.next_block() * u64::from(self.shift.block_bytes);
            let place_of = |slot, turn| engine.place(slot, turn);
            let Some((slot, place)) = self.slots.begin(offset_bytes, since, place_of) else { break };
            begun += 1;
            if writes {
                payload::stamp(&mut self.data, engine.block_mut(place));
            }
            engine.queue(Transfer { slot, place, offset_bytes });
            if writes && self.note_write() {
                break;
            }
        }
        if writes {
            // Making the data took time that is not the device's.
            self.last_submitted_ns = self.shift.clock.now_ns();
            self.slots.restamp_latest(begun, self.last_submitted_ns);
        }
    }

    /// Counts a write for the cadence of syncs; true when one is due now.
    #[inline]
    fn note_write(&mut self) -> bool {
        self.writes_submitted += 1;
        let due = |cadence: u32| cadence > 0 && self.writes_submitted.is_multiple_of(u64::from(cadence));
        if due(self.shift.fsync) {
            self.barrier = Barrier::Draining(SyncKind::All);
        } else if due(self.shift.fdatasync) {
            self.barrier = Barrier::Draining(SyncKind::Data);
        }
        self.barrier != Barrier::Clear
    }

    fn submit_sync<E: Engine>(&mut self, engine: &mut E, now: u64) {
        if let Barrier::Draining(kind) = self.barrier
            && self.slots.in_flight() == 0
            && engine.room() > 0
        {
            engine.queue_sync(kind);
            self.barrier = Barrier::Syncing { since_ns: now };
        }
    }

    #[inline]
    fn complete(&mut self, completion: Completion, batch_ns: u64) {
        let Completion { tag, result } = completion;
        let at = if self.shift.stamp == Stamp::PerIo { self.shift.clock.now_ns() } else { batch_ns };
        if tag == SYNC_TAG {
            self.complete_sync(result, at);
        } else if result.cast_unsigned() == self.shift.block_bytes {
            self.count(tag, at);
        } else {
            self.odd.push((tag, result));
        }
    }

    /// Frees the slot of a block that was transferred whole, and records it if the window is open.
    #[inline]
    fn count(&mut self, slot: u32, at: u64) {
        let since = self.slots.finish(slot);
        if self.open && at <= self.shift.closes_ns && self.counted < self.shift.limit {
            self.counted += 1;
            self.tally.latency.record(at.saturating_sub(since));
        } else if !self.open {
            self.tally.ramp_ios += 1;
            self.shift.lane.ramp.store(self.tally.ramp_ios, Ordering::Relaxed);
        }
    }

    fn complete_sync(&mut self, result: i32, at: u64) {
        let Barrier::Syncing { since_ns } = self.barrier else { return };
        self.barrier = Barrier::Clear;
        if result < 0 {
            self.fail(Operation::Sync, -result, 0, 0);
        } else if self.open && at <= self.shift.closes_ns {
            self.tally.sync_latency.record(at.saturating_sub(since_ns));
            if self.shift.fsync == 1 || self.shift.fdatasync == 1 {
                self.tally.durable_latency.record(at.saturating_sub(self.last_submitted_ns));
            }
        }
    }

    /// Deals with what did not simply succeed: tries again, completes a short write, or fails.
    #[cold]
    fn settle_odd<E: Engine>(&mut self, engine: &mut E) {
        while let Some((slot, result)) = self.odd.pop() {
            let Some((offset_bytes, place)) = self.slots.describe(slot) else { continue };
            let operation = if self.shift.writes { Operation::Write } else { Operation::Read };
            let errno = -result;
            if matches!(errno, libc::EAGAIN | libc::EINTR) && engine.room() > 0 {
                engine.queue(Transfer { slot, place, offset_bytes });
            } else if errno > 0 {
                self.slots.finish(slot);
                self.fail(operation, errno, offset_bytes, 0);
            } else {
                self.settle_short(engine, Transfer { slot, place, offset_bytes }, result.unsigned_abs());
            }
        }
    }

    /// A transfer that stopped early. The rest of a write is written, as fio does, or else the attempt says what
    /// is in the way: a full disk shows first as a short write. A read is short at the end of its target.
    #[cold]
    fn settle_short<E: Engine>(&mut self, engine: &mut E, transfer: Transfer, done_bytes: u32) {
        let Transfer { slot, offset_bytes, .. } = transfer;
        if !self.shift.writes {
            self.slots.finish(slot);
            return self.fail(Operation::Read, 0, offset_bytes, done_bytes);
        }
        match engine.write_rest(transfer, done_bytes as usize) {
            Ok(()) => self.count(slot, self.shift.clock.now_ns()),
            Err(error) => {
                self.slots.finish(slot);
                // With O_DIRECT the rest may be refused for its alignment, which is not what cut the write short.
                let errno = error.raw_os_error().filter(|errno| *errno != libc::EINVAL).unwrap_or(0);
                self.fail(Operation::Write, errno, offset_bytes, done_bytes);
            }
        }
    }

    /// Ends the job; of several failures the first is kept.
    fn fail(&mut self, operation: Operation, errno: i32, offset_bytes: u64, transferred_bytes: u32) {
        self.shift.halt.store(true, Ordering::Relaxed);
        let at_ns = self.shift.clock.now_ns();
        let fault = RawFault { at_ns, operation, errno, offset_bytes, transferred_bytes };
        self.tally.fault.get_or_insert(fault);
    }

    /// Adds to the interval that `now` lies in; intervals in which nothing completed stay 0, which shows stalls.
    #[inline]
    fn add_to_series(&mut self, now: u64, ios: u64) {
        if !self.open || ios == 0 {
            return;
        }
        while now >= self.interval_ends_ns {
            self.interval_ends_ns += INTERVAL_NS;
            self.tally.series.push(0);
        }
        if let Some(interval) = self.tally.series.last_mut() {
            *interval += ios;
        }
    }
}

#[cfg(test)]
mod tests;
