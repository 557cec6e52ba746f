//! The loop against a kernel that is played by the test, on a clock that only it moves.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::arena::Arena;
use crate::clock::advance_manual;
use crate::engine::SyncKind;
use crate::histogram::LatencyHistogram;
use crate::job::{Data, Pace, Rate, Think};
use crate::payload::streams_of_thread;
use crate::source::Part;
use crate::source::plain::Plain;
use iostone_model::units::Span;

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

    fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }

    fn queue(&mut self, transfer: Transfer) {
        self.queued.push_back(transfer.slot);
        self.events.push(Event::Block(transfer.request.offset_bytes / u64::from(BLOCK)));
    }

    fn queue_sync(&mut self, _target: u32, kind: SyncKind) {
        self.queued.push_back(SYNC_TAG);
        self.events.push(Event::Sync(kind));
    }

    fn enter(&mut self, want: usize, at_most: Option<Duration>) -> io::Result<()> {
        if let Some(duration) = at_most.filter(|_| self.queued.is_empty()) {
            advance_manual(u64::try_from(duration.as_nanos()).unwrap());
            return Ok(());
        }
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

/// A config that begins now and has neither ramp nor end.
fn config(iodepth: u32) -> WorkerConfig<'static> {
    WorkerConfig {
        clock: Clock::Manual,
        stamp: Stamp::PerBatch,
        iodepth,
        batch: 32,
        iodepth_low: 0,
        cadence: Cadence::default(),
        opens_ns: Clock::Manual.now_ns(),
        closes_ns: u64::MAX,
        limit_ios: u64::MAX,
        limit_bytes: u64::MAX,
        max_latency_ns: u64::MAX,
        continue_on_error: false,
        nowait: false,
        files: &[],
        stop: flag(),
        halt: flag(),
        exit_all: flag(),
        lane: Box::leak(Box::default()),
    }
}

fn drive(config: WorkerConfig<'_>, direction: Direction, script: &mut Script) -> (Tally, Edges) {
    drive_at(config, direction, None, script)
}

fn drive_at(
    config: WorkerConfig<'_>,
    direction: Direction,
    pace: Option<Pace>,
    script: &mut Script,
) -> (Tally, Edges) {
    let (arrivals, data) = streams_of_thread(1, 0);
    let part = Part { offset_bytes: 0, length_bytes: 1000 * u64::from(BLOCK) };
    let begun_ns = config.opens_ns;
    let state = WorkerState {
        source: Plain::sequential(direction, BLOCK, part, 0),
        payload: Payload::new(&Data::default(), BLOCK as usize, data),
        pacer: pace.and_then(|pace| Pacer::begin(&pace, [direction].into_iter(), begun_ns, arrivals)),
        verifier: None,
    };
    let mut edges = Edges::default();
    let (tally, _) = Driver::new(config, state).run(script, &mut edges);
    (tally, edges)
}

fn latency(tally: &Tally) -> LatencyHistogram {
    let mut all = LatencyHistogram::new();
    tally.of.iter().for_each(|count| all.merge(&count.service));
    all
}

fn series(tally: &Tally) -> Vec<u64> {
    tally.recorder.intervals().map(|(interval, _)| interval.ios.iter().sum()).collect()
}

#[test]
fn what_completes_during_the_ramp_is_counted_nowhere_else() {
    let mut script = Script::new(1, 1);
    let mut config = config(1);
    config.opens_ns += 10 * STEP_NS;
    config.limit_ios = 5;
    let opens_ns = config.opens_ns;
    let (tally, edges) = drive(config, Direction::Read, &mut script);
    // The tenth completes as the window opens, and so within it.
    assert_eq!((tally.ramp_ios, latency(&tally).count()), (9, 5));
    assert_eq!((series(&tally), tally.ended_ns - opens_ns), (vec![5], 4 * STEP_NS));
    assert_eq!((edges.opened, edges.closed), (1, 1));
}

#[test]
fn what_completes_after_the_window_is_not_counted() {
    let mut script = Script::new(4, 1);
    let mut config = config(4);
    config.closes_ns = config.opens_ns + 10 * STEP_NS - 1;
    let closes_ns = config.closes_ns;
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!((latency(&tally).count(), tally.ended_ns), (9, closes_ns));
    assert!(!tally.interrupted && tally.fault.is_none());
}

#[test]
fn the_queue_is_kept_full_and_latency_runs_from_submission_to_reaping() {
    let mut script = Script::new(8, 1);
    let mut config = config(8);
    config.limit_ios = 100;
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!(script.most_in_flight(), 8);
    assert_eq!((latency(&tally).count(), latency(&tally).max_ns()), (100, Some(8 * STEP_NS)));
    let blocks = script.events.iter().filter(|event| matches!(event, Event::Block(_))).count();
    assert_eq!(blocks, 100, "no more is submitted than is to be counted");
}

#[test]
fn submissions_are_batched_while_the_queue_fills() {
    let mut script = Script::new(128, usize::MAX);
    let mut config = config(128);
    config.limit_ios = 320;
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!((latency(&tally).count(), script.entered), (320, 10));
}

#[test]
fn a_sync_waits_for_the_writes_before_it_and_holds_back_those_after_it() {
    let mut script = Script::new(4, 1);
    let mut config = config(4);
    (config.cadence.fdatasync, config.cadence.fsync, config.limit_ios) = (3, 6, 7);
    let (tally, _) = drive(config, Direction::Write, &mut script);
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
    assert_eq!((latency(&tally).count(), tally.sync_latency.count()), (7, 2));
    assert_eq!(tally.sync_latency.max_ns(), Some(STEP_NS));
    assert!(tally.durable_latency.is_empty());
}

#[test]
fn a_durable_write_lasts_from_its_submission_to_the_end_of_its_sync() {
    let mut script = Script::new(1, 1);
    let mut config = config(1);
    (config.cadence.fdatasync, config.limit_ios) = (1, 5);
    let (tally, _) = drive(config, Direction::Write, &mut script);
    assert_eq!((tally.durable_latency.count(), tally.sync_latency.count()), (5, 5));
    assert_eq!((tally.durable_latency.min_ns(), tally.durable_latency.max_ns()), (Some(2000), Some(2000)));
    assert_eq!(latency(&tally).max_ns(), Some(STEP_NS));
}

#[test]
fn an_io_to_be_tried_again_is_counted_once() {
    for errno in [libc::EAGAIN, libc::EINTR] {
        let mut script = Script::new(2, 1);
        script.results.insert(3, -errno);
        let mut config = config(2);
        config.limit_ios = 10;
        let (tally, _) = drive(config, Direction::Read, &mut script);
        assert_eq!((latency(&tally).count(), tally.fault.is_none()), (10, true));
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
        let mut config = config(1);
        config.limit_ios = 10;
        let (tally, _) = drive(config, Direction::Write, &mut script);
        assert_eq!((tally.fault.map(|fault| fault.errno), latency(&tally).count()), (errno, counted));
        if let Some(fault) = tally.fault {
            assert_eq!((fault.request.offset_bytes, fault.transferred_bytes), (3 * u64::from(BLOCK), 100));
        }
    }
}

#[test]
fn a_failure_ends_the_job_for_all_threads_and_keeps_the_figures() {
    let mut script = Script::new(4, 1);
    script.results.insert(7, -libc::EIO);
    let config = config(4);
    let halt = config.halt;
    let (tally, edges) = drive(config, Direction::Read, &mut script);
    let fault = tally.fault.unwrap();
    assert_eq!(
        (fault.operation, fault.errno, fault.request.offset_bytes),
        (Operation::Read, libc::EIO, 7 * 512)
    );
    assert_eq!((latency(&tally).count(), tally.interrupted, edges.closed), (7, false, 1));
    assert!(halt.load(Ordering::Relaxed));
}

#[test]
fn a_sync_that_fails_ends_the_job() {
    let mut script = Script::new(1, 1);
    script.results.insert(1, -libc::EIO);
    let mut config = config(1);
    config.cadence.fsync = 1;
    let (tally, _) = drive(config, Direction::Write, &mut script);
    assert_eq!(tally.fault.map(|fault| fault.operation), Some(Operation::Sync));
    assert_eq!((latency(&tally).count(), tally.sync_latency.count()), (1, 0));
}

#[test]
fn a_stop_ends_the_window_where_it_stands_or_before_it_opened() {
    for (ramp_steps, counted, opened) in [(0, 6, 1), (1_000_000, 0, 0)] {
        let mut script = Script::new(1, 1);
        let mut config = config(1);
        config.opens_ns += ramp_steps * STEP_NS;
        script.stop_after = Some((6, flag()));
        if let Some((_, stop)) = script.stop_after {
            config.stop = stop;
        }
        let opens_ns = config.opens_ns;
        let (tally, edges) = drive(config, Direction::Read, &mut script);
        assert_eq!((latency(&tally).count(), tally.interrupted, edges.opened), (counted, true, opened));
        assert_eq!((edges.closed, tally.ended_ns - opens_ns), (opened, counted * STEP_NS));
    }
}

#[test]
fn completions_fall_into_the_interval_they_completed_in() {
    let mut script = Script::new(1, 1);
    let mut config = config(1);
    // A hundred thousand steps are an interval.
    config.closes_ns = config.opens_ns + 250_000 * STEP_NS;
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!(series(&tally).len(), 3);
    assert_eq!((series(&tally)[0], series(&tally)[1]), (99_999, 100_000));
    assert_eq!(series(&tally).iter().sum::<u64>(), latency(&tally).count());
}

#[test]
fn a_stamp_per_io_is_taken_at_each_completion() {
    let mut script = Script::new(4, 2);
    let mut config = config(4);
    (config.stamp, config.limit_ios) = (Stamp::PerIo, 20);
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!((latency(&tally).count(), latency(&tally).max_ns()), (20, Some(2 * STEP_NS)));
}

fn pace(iops: f64) -> Pace {
    let mut pace = Pace::default();
    pace.rate.read = Some(Rate::Iops(iops));
    pace
}

#[test]
fn in_an_open_loop_a_wait_for_room_belongs_to_the_response() {
    // One in flight for 1 us at a time, arrivals twice as fast: the nth waits n half microseconds.
    let mut script = Script::new(1, 1);
    let mut config = config(1);
    config.limit_ios = 100;
    let (tally, _) = drive_at(config, Direction::Read, Some(pace(2e6)), &mut script);
    let count = &tally.of[0];
    assert_eq!((count.service.count(), count.service.max_ns()), (100, Some(STEP_NS)));
    assert_eq!((count.response.count(), count.response.max_ns()), (100, Some(100 * STEP_NS - 99 * 500)));
}

#[test]
fn arrivals_that_never_were_submitted_count_with_the_time_they_waited() {
    let mut script = Script::new(1, 1);
    let mut config = config(1);
    config.closes_ns = config.opens_ns + 100 * STEP_NS;
    let (tally, _) = drive_at(config, Direction::Read, Some(pace(2e6)), &mut script);
    // 200 arrive, 100 are served; the last arrives half a step before the end.
    assert_eq!((tally.of[0].ios, tally.unserved), (100, 100));
    assert_eq!(tally.of[0].response.count(), 200);
    assert_eq!(tally.of[0].response.min_ns(), Some(500));
}

#[test]
fn an_open_loop_sleeps_until_the_next_arrival() {
    let mut script = Script::new(8, 8);
    let mut config = config(8);
    config.limit_ios = 50;
    let opens_ns = config.opens_ns;
    let (tally, _) = drive_at(config, Direction::Read, Some(pace(1e4)), &mut script);
    assert_eq!((tally.of[0].ios, script.most_in_flight()), (50, 1));
    assert_eq!(tally.of[0].response.max_ns(), Some(STEP_NS));
    // Forty-nine gaps of 100 us and the last completion.
    assert_eq!(tally.ended_ns - opens_ns, 49 * 100_000 + STEP_NS);
}

#[test]
fn a_pause_waits_for_what_is_in_flight_and_then_lasts() {
    let mut script = Script::new(4, 1);
    let mut config = config(4);
    config.limit_ios = 8;
    let time = Span(Duration::from_micros(50));
    config.cadence.think = Some(Think { time, spin: Span::default(), every: 4, io_time: None });
    let opens_ns = config.opens_ns;
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!((tally.of[0].ios, tally.ended_ns - opens_ns), (8, 8 * STEP_NS + 50_000));
}

#[test]
fn a_full_queue_drains_to_its_low_mark() {
    let mut script = Script::new(8, 1);
    let mut config = config(8);
    (config.limit_ios, config.iodepth_low) = (24, 2);
    drive(config, Direction::Read, &mut script);
    let mut in_flight = 0i32;
    let depths: Vec<i32> = script
        .events
        .iter()
        .map(|event| {
            in_flight += if *event == Event::Completed { -1 } else { 1 };
            in_flight
        })
        .collect();
    assert_eq!(depths.iter().copied().max(), Some(8));
    // From full it goes down to two before anything more is submitted.
    assert_eq!(depths[7..14], [8, 7, 6, 5, 4, 3, 2]);
}

#[test]
fn failures_are_counted_when_the_job_is_to_go_on() {
    let mut script = Script::new(2, 1);
    script.results.insert(3, -libc::EIO);
    script.results.insert(5, -libc::ENXIO);
    let mut config = config(2);
    (config.limit_ios, config.continue_on_error) = (10, true);
    let (tally, _) = drive(config, Direction::Read, &mut script);
    // What failed counts as done: a job does not make up for it.
    assert_eq!((tally.of[0].ios, tally.errors), (8, 2));
    assert_eq!(tally.fault.map(|fault| fault.errno), Some(libc::EIO));
}

#[test]
fn an_io_that_takes_too_long_ends_the_job() {
    let mut script = Script::new(4, 1);
    let mut config = config(4);
    config.max_latency_ns = 3 * STEP_NS;
    let (tally, _) = drive(config, Direction::Read, &mut script);
    assert_eq!(tally.fault.map(|fault| fault.operation), Some(Operation::TooSlow));
}

#[test]
fn bytes_bound_a_window_as_ios_do() {
    let mut script = Script::new(4, 1);
    let mut config = config(4);
    config.limit_bytes = 10 * u64::from(BLOCK);
    let (tally, _) = drive(config, Direction::Write, &mut script);
    assert_eq!((tally.of[1].ios, tally.of[1].bytes), (10, 10 * u64::from(BLOCK)));
    assert_eq!(tally.depth_levels.iter().sum::<u64>(), 10);
}
