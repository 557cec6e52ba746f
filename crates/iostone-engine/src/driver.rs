//! The loop of one thread: take requests from the source, hand them over, reap, record.
//!
//! It mirrors the life of a job in fio. Until the *ramp* is over, I/O goes on and nothing is counted. Then the
//! *window* opens, and closes when its time is up, when enough was counted, when the caller stops it, or when an I/O
//! fails. A sync that falls due is a *barrier*: nothing more is submitted until all writes before it have completed,
//! and then until the sync has. A *pause* likewise waits for what is in flight.

mod batch;
mod cadence;
mod pacer;
pub(crate) mod recorder;
mod settle;
pub(crate) mod tally;

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use cadence::Cadence;
use cadence::{Barrier, Pause};
pub(crate) use pacer::Pacer;
pub(crate) use tally::{RawFault, Tally};

use iostone_model::load::Direction;

use crate::clock::Clock;
use crate::engine::{Completion, Engine, SYNC_TAG, Transfer};
use crate::fault::Operation;
use crate::job::Stamp;
use crate::payload::Payload;
use crate::slots::{Flight, Slots};
use crate::source::{Request, Source};
use crate::verify::Verifier;

/// A thread that waits for the clock looks at the stop flag this often.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// The figures that a thread lets others see while it runs; on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Lane {
    /// I/Os counted in the window so far.
    pub(crate) counted: AtomicU64,
    /// Their bytes.
    pub(crate) bytes: AtomicU64,
    /// I/Os of the ramp so far.
    pub(crate) ramp: AtomicU64,
}

/// What one thread is to do.
#[derive(Debug)]
pub(crate) struct WorkerConfig<'a> {
    pub(crate) clock: Clock,
    pub(crate) stamp: Stamp,
    pub(crate) iodepth: u32,
    /// I/Os handed over at once, at most.
    pub(crate) batch: u32,
    /// A full queue drains to this depth before it is filled again.
    pub(crate) iodepth_low: u32,
    pub(crate) cadence: Cadence,
    /// When the window opens, on the job's clock.
    pub(crate) opens_ns: u64,
    /// When it closes; `u64::MAX` if time does not bound it.
    pub(crate) closes_ns: u64,
    /// I/Os to count; `u64::MAX` if their number does not bound it.
    pub(crate) limit_ios: u64,
    /// Bytes to count, likewise.
    pub(crate) limit_bytes: u64,
    /// An I/O that takes longer ends the job; `u64::MAX` for never.
    pub(crate) max_latency_ns: u64,
    pub(crate) continue_on_error: bool,
    /// An I/O that would have to wait is to fail instead.
    pub(crate) nowait: bool,
    /// The targets, for reading back what is verified.
    pub(crate) files: &'a [File],
    /// Raised by the caller.
    pub(crate) stop: &'a AtomicBool,
    /// Raised by any thread that fails, and by whoever finds that the job has done enough.
    pub(crate) halt: &'a AtomicBool,
    /// Raised when a job ends that ends all those beside it.
    pub(crate) exit_all: &'a AtomicBool,
    pub(crate) lane: &'a Lane,
}

/// Told when the window opens, and when it closes.
pub(crate) trait Watch {
    fn opened(&mut self);
    fn closed(&mut self);
}

/// The state of the loop.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each looked at by itself")]
pub(crate) struct Driver<'a, S> {
    config: WorkerConfig<'a>,
    source: S,
    payload: Payload,
    pacer: Option<Pacer>,
    verifier: Option<Verifier>,
    slots: Slots,
    /// A request that was drawn and cannot be submitted yet.
    held: Option<Request>,
    barrier: Barrier,
    pause: Pause,
    /// The source has no more.
    exhausted: bool,
    /// Something failed that ends the job.
    failed: bool,
    /// Writes submitted when the backlog was last read back.
    read_back_at: u64,
    /// Whether a full queue is draining to `iodepth_low`.
    draining: bool,
    open: bool,
    /// The window has closed; what is in flight still is only waited for.
    closing: bool,
    counted: u64,
    counted_bytes: u64,
    in_flight_bytes: u64,
    /// Completions to be looked at outside the fast path: slot and result.
    odd: Vec<(u32, i32)>,
    tally: Tally,
}

/// What a thread needs besides its configuration.
pub(crate) struct WorkerState<S> {
    pub(crate) source: S,
    pub(crate) payload: Payload,
    pub(crate) pacer: Option<Pacer>,
    pub(crate) verifier: Option<Verifier>,
}

impl<'a, S: Source> Driver<'a, S> {
    pub(crate) fn new(config: WorkerConfig<'a>, state: WorkerState<S>) -> Self {
        let WorkerState { source, payload, pacer, verifier } = state;
        Self {
            slots: Slots::new(config.iodepth),
            odd: Vec::with_capacity(config.iodepth as usize),
            tally: Tally::new(config.closes_ns.saturating_sub(config.opens_ns)),
            pause: Pause::new(config.cadence.think, config.opens_ns),
            config,
            source,
            payload,
            pacer,
            verifier,
            held: None,
            barrier: Barrier::new(),
            exhausted: false,
            failed: false,
            read_back_at: 0,
            draining: false,
            open: false,
            closing: false,
            counted: 0,
            counted_bytes: 0,
            in_flight_bytes: 0,
        }
    }

    /// Runs until the window has closed. Requests may be in flight still: the engine waits for them when dropped.
    /// Also gives back the verifier, for reading back what was written.
    pub(crate) fn run<E: Engine>(
        mut self,
        engine: &mut E,
        watch: &mut impl Watch,
    ) -> (Tally, Option<Verifier>) {
        let mut now = self.config.clock.now_ns();
        self.open_when_due(now, watch);
        while !self.is_finished(now) {
            let (want, at_most) = self.submit(engine, now);
            now = self.turn(engine, want, at_most, watch);
        }
        // A window that never opened has no length, and one that time closed has exactly the length asked for.
        self.tally.ended_ns = now.clamp(self.config.opens_ns, self.config.closes_ns);
        if self.open {
            self.tally.recorder.close(&self.tally.of, self.pacer.is_some());
            watch.closed();
        }
        self.finish(engine, watch);
        (self.tally, self.verifier)
    }

    /// Hands over what is queued, and takes what has completed.
    #[inline]
    fn turn<E: Engine>(
        &mut self,
        engine: &mut E,
        want: usize,
        at_most: Option<Duration>,
        watch: &mut impl Watch,
    ) -> u64 {
        if let Err(error) = engine.enter(want, at_most) {
            self.fail(Operation::Submit, error.raw_os_error().unwrap_or(libc::EIO), None, 0);
            return self.config.clock.now_ns();
        }
        let arrived = engine.arrived();
        let now = self.config.clock.now_ns();
        self.open_when_due(now, watch);
        if self.tally.recorder.is_due(now) && !self.closing {
            self.tally.recorder.close_until(now, &self.tally.of, self.pacer.is_some());
        }
        if arrived > 0 {
            if self.is_uniform(arrived, now) {
                self.reap_runs(engine, now);
            } else {
                engine.reap(|completion| self.complete(completion, now));
            }
            if !self.odd.is_empty() {
                self.settle_odd(engine, now);
            }
            self.config.lane.counted.store(self.counted, Ordering::Relaxed);
            self.config.lane.bytes.store(self.counted_bytes, Ordering::Relaxed);
        }
        now
    }

    #[inline]
    fn open_when_due(&mut self, now: u64, watch: &mut impl Watch) {
        if !self.open && now >= self.config.opens_ns && !self.closing {
            self.open = true;
            self.tally.recorder.open(self.config.opens_ns);
            watch.opened();
        }
    }

    #[inline]
    fn is_finished(&mut self, now: u64) -> bool {
        if now >= self.config.closes_ns || self.failed {
            return true;
        }
        let enough = self.counted >= self.config.limit_ios || self.counted_bytes >= self.config.limit_bytes;
        let exhausted = self.exhausted && self.slots.in_flight() == 0;
        if (enough || exhausted) && self.barrier.is_clear() {
            return true;
        }
        let stopped = self.config.stop.load(Ordering::Relaxed);
        self.tally.interrupted = stopped;
        stopped || self.config.halt.load(Ordering::Relaxed) || self.config.exit_all.load(Ordering::Relaxed)
    }

    /// Queues what may be submitted now; says how many completions to wait for, and how long at most.
    #[inline]
    fn submit<E: Engine>(&mut self, engine: &mut E, now: u64) -> (usize, Option<Duration>) {
        if !self.barrier.is_clear() {
            self.submit_sync(engine, now);
            return (1, None);
        }
        if self.pause.is_on() {
            return self.wait_out_pause(now);
        }
        if self.backlog_is_due() {
            if self.slots.in_flight() > 0 {
                return (1, None);
            }
            self.read_back_backlog();
        }
        let ready = self.may_submit();
        let batch = ready.min(u64::from(self.config.batch)).min(engine.room() as u64);
        if batch == 0 {
            return (1, None);
        }
        let (begun, later) = self.submit_blocks(engine, batch, now);
        if let Some(due_ns) = later {
            // The next one is not due yet: come back when it is, or when something completes.
            let wait = Duration::from_nanos(due_ns.saturating_sub(now)).min(LONGEST_SLEEP);
            return (usize::from(self.slots.in_flight() > 0), Some(wait));
        }
        // While there is more to submit, reap what is there and come back for it at once.
        (usize::from(batch == ready || begun == 0), None)
    }

    /// How many blocks may be submitted before something must complete.
    #[inline]
    fn may_submit(&mut self) -> u64 {
        let free = self.slots.free();
        if self.draining {
            self.draining = self.slots.in_flight() > self.config.iodepth_low.into();
            if self.draining {
                return 0;
            }
        }
        if self.open {
            free.min((self.config.limit_ios - self.counted).saturating_sub(self.slots.in_flight()))
        } else {
            free
        }
    }

    /// Whether the bytes counted and in flight are all that the window may have.
    #[inline]
    fn has_enough_bytes(&self) -> bool {
        self.open && self.counted_bytes + self.in_flight_bytes >= self.config.limit_bytes
    }

    /// Queues up to `batch` blocks; says how many, and when the next one is to begin if that is later.
    #[inline]
    fn submit_blocks<E: Engine>(&mut self, engine: &mut E, batch: u64, now: u64) -> (usize, Option<u64>) {
        let mut since = match self.config.stamp {
            Stamp::PerIo => self.config.clock.now_ns(),
            _ => now,
        };
        let (mut begun, mut writes, mut later) = (0usize, 0usize, None);
        while (begun as u64) < batch && !self.has_enough_bytes() {
            let Some(request) = self.draw(now) else {
                self.exhausted = true;
                break;
            };
            let mut intended = since;
            if let Some(pacer) = &mut self.pacer
                && let Some(due) = pacer.due_ns(request.direction)
            {
                if due > now {
                    self.held = Some(request);
                    later = Some(due);
                    break;
                }
                intended = due;
                pacer.advance(request.direction, request.length_bytes);
            }
            if let Some(verifier) = &self.verifier
                && verifier.is_busy(&request)
            {
                self.held = Some(request);
                break;
            }
            let place_of = |slot, turn| engine.arena().place_of(request.direction, slot, turn);
            let Some((slot, place)) = self.slots.begin(request, intended, since, place_of) else { break };
            begun += 1;
            self.in_flight_bytes += u64::from(request.length_bytes);
            let is_write = request.direction == Direction::Write;
            if is_write {
                writes += 1;
                self.fill(engine.arena().block_mut(place), &request);
            } else if let Some(verifier) = &mut self.verifier {
                verifier.begin_read(&request);
            }
            engine.queue(Transfer { slot, place, request });
            if is_write && self.barrier.note_write(&self.config.cadence, &request) {
                break;
            }
            if self.pause.note(self.config.clock, now) {
                break;
            }
        }
        if writes > 0 {
            // Making the data took time that is not the device's.
            since = self.config.clock.now_ns();
            self.barrier.last_submitted_ns = since;
            self.slots.restamp_latest(begun, since);
        }
        self.draining = self.config.iodepth_low > 0 && self.slots.free() == 0;
        self.count_depth(begun);
        (begun, later)
    }

    /// The next request: the one held back, or a new one.
    #[inline]
    fn draw(&mut self, now: u64) -> Option<Request> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        let wanted = self.pacer.as_ref().and_then(|pacer| pacer.wanted(now));
        self.source.next(wanted)
    }

    /// Makes what a write carries.
    #[inline]
    fn fill(&mut self, block: &mut [u8], request: &Request) {
        let Some(block) = block.get_mut(..request.length_bytes as usize) else { return };
        match &mut self.verifier {
            Some(verifier) => verifier.seal(request, block, &mut self.payload),
            None => self.payload.renew(block),
        }
    }

    #[inline]
    fn count_depth(&mut self, begun: usize) {
        let level = self.slots.in_flight().max(1).ilog2().min(6) as usize;
        if let Some(count) = self.tally.depth_levels.get_mut(level) {
            *count += begun as u64;
        }
    }

    fn submit_sync<E: Engine>(&mut self, engine: &mut E, now: u64) {
        if self.slots.in_flight() == 0
            && engine.room() > 0
            && let Some((target, kind)) = self.barrier.begin_sync(now)
        {
            engine.queue_sync(target, kind);
        }
    }

    /// Sleeps, or spins, until the pause is over; first everything in flight must have completed.
    fn wait_out_pause(&mut self, now: u64) -> (usize, Option<Duration>) {
        if self.slots.in_flight() > 0 {
            return (1, None);
        }
        let sleep = self.pause.wait(self.config.clock, now, self.config.stop);
        (0, sleep.map(|sleep| sleep.min(LONGEST_SLEEP)))
    }

    #[inline]
    fn complete(&mut self, completion: Completion, batch_ns: u64) {
        let Completion { tag, result } = completion;
        let at = if self.config.stamp == Stamp::PerIo { self.config.clock.now_ns() } else { batch_ns };
        if tag == SYNC_TAG {
            self.complete_sync(result, at);
        } else if result.cast_unsigned() == self.slots.length_bytes(tag) && self.verifier.is_none() {
            self.count(tag, at);
        } else {
            self.odd.push((tag, result));
        }
    }

    /// Frees the slot of a block that was transferred whole, and records it if the window is open.
    #[inline]
    fn count(&mut self, slot: u32, at: u64) {
        let Some(flight) = self.slots.finish(slot) else { return };
        let Flight { request, submitted_ns, intended_ns, .. } = flight;
        self.in_flight_bytes -= u64::from(request.length_bytes);
        let Some(count) = self.tally.of.get_mut(request.direction as usize) else { return };
        if !self.open {
            self.tally.ramp_ios += 1;
            self.config.lane.ramp.store(self.tally.ramp_ios, Ordering::Relaxed);
        } else if at <= self.config.closes_ns && self.counted < self.config.limit_ios && !self.closing {
            self.counted += 1;
            self.counted_bytes += u64::from(request.length_bytes);
            count.ios += 1;
            count.bytes += u64::from(request.length_bytes);
            if self.config.stamp != Stamp::None {
                let service = at.saturating_sub(submitted_ns);
                count.service.record(service);
                if self.pacer.is_some() {
                    count.response.record(at.saturating_sub(intended_ns));
                }
                if service > self.config.max_latency_ns {
                    self.fail(Operation::TooSlow, libc::ETIMEDOUT, Some(request), request.length_bytes);
                }
            }
        } else if self.pacer.is_some() && intended_ns < self.config.closes_ns {
            // It began in time and took longer than the window: its wait belongs to the answer.
            count.response.record(at.saturating_sub(intended_ns));
        }
    }

    /// Ends the job, unless failures are only counted; of several the first is kept.
    fn fail(&mut self, operation: Operation, errno: i32, request: Option<Request>, transferred_bytes: u32) {
        self.tally.errors += 1;
        if !self.config.continue_on_error || operation == Operation::Submit {
            self.failed = true;
            self.config.halt.store(true, Ordering::Relaxed);
        }
        let at_ns = self.config.clock.now_ns();
        let request = request.unwrap_or(Request {
            direction: Direction::Read,
            target: 0,
            offset_bytes: 0,
            length_bytes: 0,
        });
        let fault = RawFault { at_ns, operation, errno, request, transferred_bytes };
        self.tally.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests;
