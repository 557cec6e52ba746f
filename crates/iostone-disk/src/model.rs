//! Everything that delays, refuses or counts a request of one volume. Time is handed in; nothing here sleeps.
//!
//! Requests of a volume begin in the order in which they arrive: the turn of each comes when the one before it has
//! paid, and it pays when it can. So a large request that waits for its bytes does not let the small
//! ones behind it save up I/Os for a burst that the volume would not grant.

mod limits;
mod link;
mod timetable;

use iostone_model::experiment::{EmulatedVolume, LatencySpread};
use iostone_model::units::{ByteRate, Span};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::accounting::Accounting;
use crate::counters::Counters;
use crate::fault::Faults;
use crate::latency::{Latencies, nanoseconds};
use limits::Limits;
pub use link::{LinkCounters, LinkState};

/// `EIO` of `errno.h`.
pub const EIO: i32 = 5;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// A read.
    Read,
    /// A write, also of zeroes.
    Write,
    /// A flush of the write cache.
    Flush,
    /// A discard.
    Discard,
}

/// When a request begins, when it may be answered, and whether it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// When buckets, link and stalls let it begin.
    pub start_ns: u64,
    /// The earliest moment of the answer: the start and the latency, and outside stalls. A transfer takes its time at
    /// the cap before the start, where the bytes are paid for.
    pub not_before_ns: u64,
    /// The error that it is answered with, instead of being carried out.
    pub error: Option<i32>,
}

/// The state of one volume.
#[derive(Debug, Clone)]
pub struct VolumeState {
    accounting: Accounting,
    limits: Limits,
    latencies: Latencies,
    faults: Faults,
    counters: Counters,
    random: Xoshiro256PlusPlus,
    /// When the last request was paid for; the next is not before.
    turn_ns: u64,
    /// The time last heard of.
    now_ns: u64,
    powered: bool,
    /// How often the power was cut.
    cuts: u64,
}

impl VolumeState {
    /// A volume with these properties; equal seeds draw equal latencies and errors.
    pub fn new(volume: &EmulatedVolume, seed: u64) -> Self {
        Self {
            accounting: Accounting::new(volume),
            limits: Limits::new(volume),
            latencies: Latencies::new(volume),
            faults: Faults::new(&volume.faults),
            counters: Counters::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            turn_ns: 0,
            now_ns: 0,
            powered: true,
            cuts: 0,
        }
    }

    /// Takes in a request that arrives at `now_ns` (of a clock that does not go back) and says when it may be
    /// answered. A request that fails is paid for and takes its time like any other; without power it fails at once.
    pub fn admit(
        &mut self,
        link: &mut LinkState,
        op: Operation,
        offset: u64,
        length: u32,
        now_ns: u64,
    ) -> Admission {
        self.now_ns = self.now_ns.max(now_ns);
        if !self.powered {
            return Admission { start_ns: now_ns, not_before_ns: now_ns, error: Some(EIO) };
        }
        self.faults.note_request(now_ns);
        let start_ns = match op {
            Operation::Flush => {
                self.counters.flushes.note_admission(0, false, 0);
                self.faults.clear_of_stalls(now_ns)
            }
            Operation::Read | Operation::Write | Operation::Discard => {
                self.begin(link, op, offset, length, now_ns)
            }
        };
        let latency_ns = self.latencies.draw(op, &mut self.random);
        let not_before_ns = self.faults.clear_of_stalls(start_ns.saturating_add(latency_ns));
        let fails = self.faults.strikes(op, offset, length, &mut self.random);
        Admission { start_ns, not_before_ns, error: fails.then_some(EIO) }
    }

    /// Notes that a request was answered; `length` is its own, `error` whether it was answered with one.
    pub fn completed(&mut self, op: Operation, length: u32, arrived_ns: u64, answered_ns: u64, error: bool) {
        self.now_ns = self.now_ns.max(answered_ns);
        let service_ns = answered_ns.saturating_sub(arrived_ns);
        self.counters.of_mut(op).note_answer(length, service_ns, error);
    }

    /// What it has done, and what is in its burst buckets as of the last request.
    pub fn counters(&self) -> Counters {
        self.counters_at(self.now_ns)
    }

    /// What it has done, and what is in its burst buckets at `now_ns`.
    pub fn counters_at(&self, now_ns: u64) -> Counters {
        let (credits, credit_bytes) = self.limits.balances(now_ns.max(self.turn_ns));
        Counters { credits, credit_bytes, powered: self.powered, ..self.counters.clone() }
    }

    /// Begins to count anew; buckets stay as they are.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }

    /// The earliest time from `at_ns` on at which an answer may be sent. A stall asked for by control also holds what
    /// was admitted before it, so the server asks again when it is about to answer.
    pub fn may_answer_ns(&self, at_ns: u64) -> u64 {
        if self.powered { self.faults.clear_of_stalls(at_ns) } else { at_ns }
    }

    /// Whether the power is on. Without it everything fails, also what was admitted before.
    pub fn is_powered(&self) -> bool {
        self.powered
    }

    /// How often the power was cut. What was admitted before the last cut was in the volume when it went, and fails also
    /// if the power is on again by then.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Switches the power.
    pub fn set_powered(&mut self, on: bool) {
        self.cuts += u64::from(self.powered && !on);
        self.powered = on;
    }

    /// Tells that nobody waits any more for what was admitted and has not begun: the connection is gone, or the power
    /// was cut. Otherwise the next client would queue behind the requests of one that is gone.
    pub fn abandon_backlog(&mut self, now_ns: u64) {
        self.turn_ns = self.turn_ns.min(now_ns);
        self.limits.abandon(now_ns);
    }

    /// Nothing begins and nothing is answered for so long from `now_ns` on.
    pub fn stall(&mut self, lasts: Span, now_ns: u64) {
        self.faults.stall(now_ns, nanoseconds(lasts));
    }

    /// From `now_ns` on it grants so many I/Os a second in the long run; none is no limit, and no burst bucket. What is
    /// admitted already keeps its time.
    pub fn set_iops(&mut self, iops: Option<u32>, now_ns: u64) {
        self.limits.ios.set_base(iops.map(u64::from), now_ns.max(self.turn_ns));
    }

    /// From `now_ns` on it grants so many bytes a second in the long run; none is no limit, and no burst bucket. What
    /// is admitted already keeps its time.
    pub fn set_throughput(&mut self, throughput: Option<ByteRate>, now_ns: u64) {
        self.limits.bytes.set_base(throughput.map(|rate| rate.0), now_ns.max(self.turn_ns));
    }

    /// From the next request on, reads and, where they have none of their own, writes take at least so long.
    pub fn set_latency(&mut self, latency: Option<Span>) {
        self.latencies.read_ns = latency.map_or(0, nanoseconds);
    }

    /// From the next request on, writes take at least so long; none is as long as reads.
    pub fn set_write_latency(&mut self, latency: Option<Span>) {
        self.latencies.write_ns = latency.map(nanoseconds);
    }

    /// From the next request on, flushes take at least so long.
    pub fn set_flush_latency(&mut self, latency: Option<Span>) {
        self.latencies.flush_ns = latency.map_or(0, nanoseconds);
    }

    /// From the next request on, latencies scatter so.
    pub fn set_latency_spread(&mut self, spread: Option<LatencySpread>) {
        self.latencies.spread = spread;
    }

    /// Fills the bucket of I/Os to so many, at most its capacity. False if there is none.
    pub fn set_credits(&mut self, ios: u64, now_ns: u64) -> bool {
        self.limits.ios.set_balance(ios, now_ns.max(self.turn_ns))
    }

    /// Fills the bucket of bytes to so many, at most its capacity. False if there is none.
    pub fn set_credit_bytes(&mut self, bytes: u64, now_ns: u64) -> bool {
        self.limits.bytes.set_balance(bytes, now_ns.max(self.turn_ns))
    }

    /// The workload begins: burst buckets hold what they are to hold then, whatever was done before, and nothing is merged
    /// with what came before.
    pub fn begin_workload(&mut self, now_ns: u64) {
        self.accounting.forget();
        self.limits.refill(now_ns.max(self.turn_ns));
    }

    /// Pays for a request and says when it begins.
    fn begin(&mut self, link: &mut LinkState, op: Operation, offset: u64, length: u32, now_ns: u64) -> u64 {
        let charge = self.accounting.charge(op, offset, length);
        let turn_ns = self.faults.clear_of_stalls(now_ns.max(self.turn_ns));
        let ready_ns = self.faults.clear_of_stalls(self.limits.ready_ns(charge, turn_ns));
        self.limits.pay(charge, ready_ns);
        // The link is a stage of its own: while it carries this request, the volume prepares the next.
        self.turn_ns = ready_ns;
        let carried_ns = match op {
            Operation::Read | Operation::Write => link.take(u64::from(length), charge.ios, ready_ns, now_ns),
            Operation::Flush | Operation::Discard => ready_ns,
        };
        let start_ns = self.faults.clear_of_stalls(carried_ns);
        self.counters.of_mut(op).note_admission(charge.ios, true, start_ns.saturating_sub(now_ns));
        start_ns
    }
}

#[cfg(test)]
mod tests;
