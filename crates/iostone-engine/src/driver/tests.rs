//! The loop against a kernel that is played by the test, on a clock that only it moves.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::arena::{Arena, Place};
use crate::clock::advance_manual;
use crate::payload::streams_of_thread;

const BLOCK: u32 = 512;
const STEP_NS: u64 = 1000;

/// What the kernel saw, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Block(u64),
    Sync(SyncKind),
    Completed,
}

/// Completes `per_enter` requests in order of submission at each call, a microsecond after it began.
struct Script {
    arena: Arena,
    per_enter: usize,
    queued: VecDeque<u32>,
    completed: Vec<Completion>,
    events: Vec<Event>,
    entered: u64,
    done: usize,
    /// Results of the nth completion, where they are not success.
    results: HashMap<usize, i32>,
    /// What writing the rest of a short write gives.
    rest: Option<i32>,
    stop_after: Option<(u64, &'static AtomicBool)>,
}

impl Script {
    fn new(iodepth: u32, per_enter: usize) -> Self {
        Self {
            arena: Arena::map(iodepth, BLOCK, true).unwrap(),
            per_enter,
            queued: VecDeque::new(),
            completed: Vec::new(),
            events: Vec::new(),
            entered: 0,
            done: 0,
            results: HashMap::new(),
            rest: None,
            stop_after: None,
        }
    }

    fn most_in_flight(&self) -> usize {
        let mut in_flight = 0usize;
        let counts = self.events.iter().map(|event| {
            in_flight = if *event == Event::Completed { in_flight - 1 } else { in_flight + 1 };
            in_flight
        });
        counts.max().unwrap_or(0)
    }
}

impl Engine for Script {
    fn room(&mut self) -> usize {
        64
    }

    fn place(&self, slot: u32, turn: u32) -> Place {
        self.arena.place(slot, turn)
    }

    fn block_mut(&mut self, place: Place) -> &mut [u8] {
        self.arena.block_mut(place)
    }

    fn queue(&mut self, transfer: Transfer) {
        self.queued.push_back(transfer.slot);
        self.events.push(Event::Block(transfer.offset_bytes / u64::from(BLOCK)));
    }

    fn queue_sync(&mut self, kind: SyncKind) {
        self.queued.push_back(SYNC_TAG);
        self.events.push(Event::Sync(kind));
    }

    fn enter(&mut self, want: usize) -> io::Result<()> {
        assert!(want <= self.queued.len(), "waits for more than is in flight");
        advance_manual(STEP_NS);
        self.entered += 1;
        if let Some((after, stop)) = self.stop_after
            && self.entered == after
        {
            stop.store(true, Ordering::Relaxed);
        }
        for _ in 0..self.per_enter {
            let Some(tag) = self.queued.pop_front() else { break };
            self.events.push(Event::Completed);
            let success = if tag == SYNC_TAG { 0 } else { BLOCK.cast_signed() };
            let result = self.results.get(&self.done).copied().unwrap_or(success);
            self.done += 1;
            self.completed.push(Completion { tag, result });
        }
        Ok(())
    }

    fn write_rest(&mut self, _: Transfer, _: usize) -> io::Result<()> {
        self.rest.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
    }

    fn arrived(&mut self) -> usize {
        self.completed.len()
    }

    fn reap(&mut self, each: impl FnMut(Completion)) {
        self.completed.drain(..).for_each(each);
    }
}

#[derive(Default)]
struct Edges {
    opened: u32,
    closed: u32,
}

impl Watch for Edges {
    fn opened(&mut self) {
        self.opened += 1;
    }

    fn closed(&mut self) {
        self.closed += 1;
    }
}

fn flag() -> &'static AtomicBool {
    Box::leak(Box::new(AtomicBool::new(false)))
}

/// A shift that begins now and has neither ramp nor end.
fn shift(iodepth: u32, writes: bool) -> Shift<'static> {
    Shift {
        clock: Clock::Manual,
        stamp: Stamp::PerBatch,
        writes,
        block_bytes: BLOCK,
        iodepth,
        fsync: 0,
        fdatasync: 0,
        opens_ns: Clock::Manual.now_ns(),
        closes_ns: u64::MAX,
        limit: u64::MAX,
        stop: flag(),
        halt: flag(),
        lane: Box::leak(Box::default()),
    }
}

fn drive(shift: Shift<'_>, script: &mut Script) -> (Tally, Edges) {
    let (_, data) = streams_of_thread(1, 0);
    let mut edges = Edges::default();
    let tally = Driver::new(shift, Offsets::sequential(0, 1000), data).run(script, &mut edges);
    (tally, edges)
}

#[test]
fn what_completes_during_the_ramp_is_counted_nowhere_else() {
    let mut script = Script::new(1, 1);
    let mut shift = shift(1, false);
    shift.opens_ns += 10 * STEP_NS;
    shift.limit = 5;
    let opens_ns = shift.opens_ns;
    let (tally, edges) = drive(shift, &mut script);
    // The tenth completes as the window opens, and so within it.
    assert_eq!((tally.ramp_ios, tally.latency.count()), (9, 5));
    assert_eq!((tally.series, tally.ended_ns - opens_ns), (vec![5], 4 * STEP_NS));
    assert_eq!((edges.opened, edges.closed), (1, 1));
}

#[test]
fn what_completes_after_the_window_is_not_counted() {
    let mut script = Script::new(4, 1);
    let mut shift = shift(4, false);
    shift.closes_ns = shift.opens_ns + 10 * STEP_NS - 1;
    let closes_ns = shift.closes_ns;
    let (tally, _) = drive(shift, &mut script);
    assert_eq!((tally.latency.count(), tally.ended_ns), (9, closes_ns));
    assert!(!tally.interrupted && tally.fault.is_none());
}

#[test]
fn the_queue_is_kept_full_and_latency_runs_from_submission_to_reaping() {
    let mut script = Script::new(8, 1);
    let mut shift = shift(8, false);
    shift.limit = 100;
    let (tally, _) = drive(shift, &mut script);
    assert_eq!(script.most_in_flight(), 8);
    assert_eq!((tally.latency.count(), tally.latency.max_ns()), (100, Some(8 * STEP_NS)));
    let blocks = script.events.iter().filter(|event| matches!(event, Event::Block(_))).count();
    assert_eq!(blocks, 100, "no more is submitted than is to be counted");
}

#[test]
fn submissions_are_batched_while_the_queue_fills() {
    let mut script = Script::new(128, usize::MAX);
    let mut shift = shift(128, false);
    shift.limit = 320;
    let (tally, _) = drive(shift, &mut script);
    assert_eq!((tally.latency.count(), script.entered), (320, 10));
}

#[test]
fn a_sync_waits_for_the_writes_before_it_and_holds_back_those_after_it() {
    let mut script = Script::new(4, 1);
    let mut shift = shift(4, true);
    (shift.fdatasync, shift.fsync, shift.limit) = (3, 6, 7);
    let (tally, _) = drive(shift, &mut script);
    let order: Vec<Event> =
        script.events.iter().copied().filter(|event| !matches!(event, Event::Block(_))).collect();
    let Event::Completed = order[0] else { panic!("{order:?}") };
    let syncs: Vec<(usize, SyncKind)> = order
        .iter()
        .enumerate()
        .filter_map(|(at, event)| if let Event::Sync(kind) = event { Some((at, *kind)) } else { None })
        .collect();
    // Three writes complete, then the sync is handed over and completes, and so on.
    assert_eq!(syncs, [(3, SyncKind::Data), (8, SyncKind::All)]);
    assert_eq!(script.events[..3], [Event::Block(0), Event::Block(1), Event::Block(2)]);
    assert_eq!((tally.latency.count(), tally.sync_latency.count()), (7, 2));
    assert_eq!(tally.sync_latency.max_ns(), Some(STEP_NS));
    assert!(tally.durable_latency.is_empty());
}

#[test]
fn a_durable_write_lasts_from_its_submission_to_the_end_of_its_sync() {
    let mut script = Script::new(1, 1);
    let mut shift = shift(1, true);
    (shift.fdatasync, shift.limit) = (1, 5);
    let (tally, _) = drive(shift, &mut script);
    assert_eq!((tally.durable_latency.count(), tally.sync_latency.count()), (5, 5));
    assert_eq!((tally.durable_latency.min_ns(), tally.durable_latency.max_ns()), (Some(2000), Some(2000)));
    assert_eq!(tally.latency.max_ns(), Some(STEP_NS));
}

#[test]
fn an_io_to_be_tried_again_is_counted_once() {
    for errno in [libc::EAGAIN, libc::EINTR] {
        let mut script = Script::new(2, 1);
        script.results.insert(3, -errno);
        let mut shift = shift(2, false);
        shift.limit = 10;
        let (tally, _) = drive(shift, &mut script);
        assert_eq!((tally.latency.count(), tally.fault.is_none()), (10, true));
        let blocks = script.events.iter().filter(|event| **event == Event::Block(3)).count();
        assert_eq!(blocks, 2);
    }
}

#[test]
fn the_rest_of_a_short_write_is_written_or_says_what_is_in_the_way() {
    for (rest, errno, counted) in
        [(None, None, 10), (Some(libc::ENOSPC), Some(libc::ENOSPC), 3), (Some(libc::EINVAL), Some(0), 3)]
    {
        let mut script = Script::new(1, 1);
        script.results.insert(3, 100);
        script.rest = rest;
        let mut shift = shift(1, true);
        shift.limit = 10;
        let (tally, _) = drive(shift, &mut script);
        assert_eq!((tally.fault.map(|fault| fault.errno), tally.latency.count()), (errno, counted));
        if let Some(fault) = tally.fault {
            assert_eq!((fault.offset_bytes, fault.transferred_bytes), (3 * u64::from(BLOCK), 100));
        }
    }
}

#[test]
fn a_failure_ends_the_job_for_all_threads_and_keeps_the_figures() {
    let mut script = Script::new(4, 1);
    script.results.insert(7, -libc::EIO);
    let shift = shift(4, false);
    let halt = shift.halt;
    let (tally, edges) = drive(shift, &mut script);
    let fault = tally.fault.unwrap();
    assert_eq!((fault.operation, fault.errno, fault.offset_bytes), (Operation::Read, libc::EIO, 7 * 512));
    assert_eq!((tally.latency.count(), tally.interrupted, edges.closed), (7, false, 1));
    assert!(halt.load(Ordering::Relaxed));
}

#[test]
fn a_sync_that_fails_ends_the_job() {
    let mut script = Script::new(1, 1);
    script.results.insert(1, -libc::EIO);
    let mut shift = shift(1, true);
    shift.fsync = 1;
    let (tally, _) = drive(shift, &mut script);
    assert_eq!(tally.fault.map(|fault| fault.operation), Some(Operation::Sync));
    assert_eq!((tally.latency.count(), tally.sync_latency.count()), (1, 0));
}

#[test]
fn a_stop_ends_the_window_where_it_stands_or_before_it_opened() {
    for (ramp_steps, counted, opened) in [(0, 6, 1), (1_000_000, 0, 0)] {
        let mut script = Script::new(1, 1);
        let mut shift = shift(1, false);
        shift.opens_ns += ramp_steps * STEP_NS;
        script.stop_after = Some((6, flag()));
        if let Some((_, stop)) = script.stop_after {
            shift.stop = stop;
        }
        let opens_ns = shift.opens_ns;
        let (tally, edges) = drive(shift, &mut script);
        assert_eq!((tally.latency.count(), tally.interrupted, edges.opened), (counted, true, opened));
        assert_eq!((edges.closed, tally.ended_ns - opens_ns), (opened, counted * STEP_NS));
    }
}

#[test]
fn completions_fall_into_the_interval_they_completed_in() {
    let mut script = Script::new(1, 1);
    let mut shift = shift(1, false);
    // A hundred thousand steps are an interval.
    shift.closes_ns = shift.opens_ns + 250_000 * STEP_NS;
    let (tally, _) = drive(shift, &mut script);
    assert_eq!(tally.series.len(), 3);
    assert_eq!((tally.series[0], tally.series[1]), (99_999, 100_000));
    assert_eq!(tally.series.iter().sum::<u64>(), tally.latency.count());
}

#[test]
fn a_stamp_per_io_is_taken_at_each_completion() {
    let mut script = Script::new(4, 2);
    let mut shift = shift(4, false);
    (shift.stamp, shift.limit) = (Stamp::PerIo, 20);
    let (tally, _) = drive(shift, &mut script);
    assert_eq!((tally.latency.count(), tally.latency.max_ns()), (20, Some(2 * STEP_NS)));
}
