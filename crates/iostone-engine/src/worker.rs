//! One thread of a job: gets memory and a ring, waits for the start, drives, and measures what it cost.

mod config;
mod meter;

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::sleep;
use std::time::Duration;

use iostone_model::load::RequestFlag;
use iostone_model::units::Bytes;
use meter::EdgeMeter;
pub(crate) use meter::ProcessMeter;

use crate::arena::{Arena, ArenaPlan, Sharing};
use crate::clock::Clock;
use crate::driver::{Driver, Lane, Tally, WorkerState};
use crate::engine::Engine;
use crate::engine::mmap::MmapEngine;
use crate::engine::null::NullEngine;
use crate::engine::sync::SyncEngine;
use crate::engine::uring::{Ring, RingPlan};
use crate::engine::volume::VolumeEngine;
use crate::error::EngineError;
use crate::job::Job;
use crate::outcome::{CpuTime, EngineKind, Scheduling};
use crate::payload::{self, Payload};
use crate::processor;
use crate::source::plain::Plain;
use crate::source::shaped::Shaped;
use crate::source::{Part, Source};
use crate::usage;
use crate::verify::{Ledger, Verifier};
use crate::volume::VolumeMap;

/// A thread that waits for its turn looks at the stop flag this often.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Pieces of requests to a volume are handed over so many at once, at most.
const MOST_PIECES_AT_ONCE: u32 = 256;

/// What all threads of a job share. Nothing of it is written while I/O is measured, but for the stop flags.
pub(crate) struct SharedJob<'a> {
    pub(crate) job: &'a Job,
    pub(crate) engine: EngineKind,
    pub(crate) clock: Clock,
    /// The span of each target.
    pub(crate) parts: &'a [Part],
    /// How the targets make one volume; then `parts` is that of the volume.
    pub(crate) volume: Option<&'a VolumeMap>,
    pub(crate) ledger: Option<Arc<Ledger>>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) halt: AtomicBool,
    pub(crate) exit_all: &'a AtomicBool,
    /// When the first thread of all jobs began, on their clock: the same for all, so that their series line up.
    pub(crate) begun_ns: &'a OnceLock<u64>,
    pub(crate) process: ProcessMeter,
}

/// What one thread reports.
pub(crate) struct Report {
    pub(crate) tally: Tally,
    pub(crate) features: Vec<String>,
    pub(crate) declined: Vec<String>,
    pub(crate) cpu: CpuTime,
    pub(crate) scheduling: Scheduling,
    pub(crate) io_workers: u32,
}

/// A thread's way to say that it is ready, and to hear whether to begin.
pub(crate) struct Gate {
    pub(crate) ready: mpsc::Sender<Result<(), EngineError>>,
    /// Closed instead of written to when another thread could not get ready.
    pub(crate) begin: mpsc::Receiver<()>,
}

/// Does thread `number`'s part. None when it, or another thread, could not get ready.
pub(crate) fn work(
    shared: &SharedJob<'_>,
    number: u32,
    files: &[File],
    lane: &Lane,
    gate: &Gate,
) -> Option<Report> {
    // The ring comes after the arena here and so is dropped before it: requests never outlive their memory.
    let (mut arena, payload) =
        match processor::settle(shared.job, number).and_then(|()| get_memory(shared, number)) {
            Ok(memory) => memory,
            Err(error) => return refuse(gate, error),
        };
    let mut ring = match open_ring(shared, files, &arena) {
        Ok(ring) => ring,
        Err(error) => return refuse(gate, error),
    };
    gate.ready.send(Ok(())).ok()?;
    gate.begin.recv().ok()?;
    let begun_ns = config::begin(shared);
    wait_until(shared, begun_ns);

    let report = if shared.job.is_plain() {
        let source = plan_plain(shared, number);
        drive(shared, number, files, lane, Task { source, payload, arena: &mut arena, ring: &mut ring })
    } else {
        let (offsets, _) = payload::streams_of_thread(shared.job.seed, number);
        let source = Shaped::new(shared.job, config::parts_of(shared, number), offsets);
        drive(shared, number, files, lane, Task { source, payload, arena: &mut arena, ring: &mut ring })
    };
    if shared.job.exit_all {
        shared.exit_all.store(true, Ordering::Relaxed);
    }
    Some(report)
}

/// What a thread drives with.
struct Task<'a, S> {
    source: S,
    payload: Payload,
    arena: &'a mut Arena,
    ring: &'a mut Option<Ring>,
}

/// Drives the thread's source through its engine, and reads back what is to be verified.
fn drive<S: Source>(
    shared: &SharedJob<'_>,
    number: u32,
    files: &[File],
    lane: &Lane,
    task: Task<'_, S>,
) -> Report {
    let Task { source, payload, arena, ring } = task;
    let verifier = shared
        .ledger
        .as_ref()
        .map(|ledger| Verifier::new(shared.job, Arc::clone(ledger), config::parts_of(shared, number)));
    let config = config::plan(shared, number, files, lane);
    let state = WorkerState { source, payload, pacer: config::plan_arrivals(shared, number), verifier };
    let driver = Driver::new(config, state);
    let mut meter = EdgeMeter::new(&shared.process);
    let writes = shared.job.rw.changes_target();
    let flags = config::request_flags(shared.job);
    let ((mut tally, verifier), io_workers) = if shared.job.verify.as_ref().is_some_and(|verify| verify.only)
    {
        (driver.run_nothing(), 0)
    } else if let Some(ring) = ring {
        let mut engine = ring.engine(files, arena);
        let ended = run(shared, driver, &mut engine, &mut meter);
        // Before the engine waits for what is in flight: the workers end with this thread.
        (ended, usage::count_io_workers(rustix::thread::gettid().as_raw_nonzero().get()))
    } else {
        let ended = match shared.engine {
            EngineKind::Mmap => {
                let mapped = MmapEngine::new(files, writes, shared.parts, arena)
                    .and_then(|mut engine| engine.advise(shared.job.rw.is_random()).map(|()| engine));
                match mapped {
                    Ok(mut engine) => driver.run(&mut engine, &mut meter),
                    Err(error) => driver.refuse(&error),
                }
            }
            EngineKind::Null => run(shared, driver, &mut NullEngine::new(arena), &mut meter),
            _ => run(shared, driver, &mut SyncEngine::new(files, arena, flags), &mut meter),
        };
        (ended, 0)
    };
    if let Some(mut verifier) = verifier {
        config::read_back(shared, files, &mut verifier, &mut tally);
        tally.verify = Some(verifier.report());
    }
    let (features, declined) =
        ring.take().map_or_else(Default::default, |ring| (ring.features, ring.declined));
    Report { tally, features, declined, cpu: meter.used, scheduling: meter.scheduled, io_workers }
}

/// Runs the loop on an engine, with the volume between them if there is one.
fn run<S: Source, E: Engine>(
    shared: &SharedJob<'_>,
    driver: Driver<'_, S>,
    engine: &mut E,
    meter: &mut EdgeMeter<'_>,
) -> (Tally, Option<Verifier>) {
    let Some(map) = shared.volume else { return driver.run(engine, meter) };
    let job = shared.job;
    let nowait = job.flags.contains(&RequestFlag::Nowait);
    driver.run(&mut VolumeEngine::new(engine, map, job.iodepth, pieces_per_request(shared), nowait), meter)
}

/// Requests to targets that a request of the job can take; 1 without a volume.
fn pieces_per_request(shared: &SharedJob<'_>) -> u32 {
    let pieces = shared.volume.map_or(1, |map| map.most_pieces(shared.job.largest_block().0));
    u32::try_from(pieces).unwrap_or(u32::MAX)
}

fn refuse(gate: &Gate, error: EngineError) -> Option<Report> {
    // Whoever listens has stopped listening only if it has failed before.
    let _ = gate.ready.send(Err(error));
    None
}

fn open_ring(shared: &SharedJob<'_>, files: &[File], arena: &Arena) -> Result<Option<Ring>, EngineError> {
    if !matches!(shared.engine, EngineKind::IoUring | EngineKind::IoUringNop) {
        return Ok(None);
    }
    let pieces = pieces_per_request(shared);
    // A sync of a volume is one of every member.
    let syncs = shared.volume.map_or(1, VolumeMap::members);
    let plan = RingPlan {
        depth: shared.job.iodepth.saturating_mul(pieces).max(syncs),
        batch: shared.job.batch.saturating_mul(pieces).min(shared.job.batch.max(MOST_PIECES_AT_ONCE)),
        request_flags: config::request_flags(shared.job),
        nop: shared.engine == EngineKind::IoUringNop,
    };
    Ring::open(plan, files, arena).map(Some).map_err(|reason| EngineError::NoRing { reason })
}

/// The thread's buffers, touched and, for writes, full of data; and what renews them.
fn get_memory(shared: &SharedJob<'_>, number: u32) -> Result<(Arena, Payload), EngineError> {
    let (_, data) = payload::streams_of_thread(shared.job.seed, number);
    let plan = ArenaPlan::of(shared.job);
    let mut payload = Payload::new(&shared.job.data, plan.block_bytes as usize, data);
    if plan.sharing == Sharing::Shared {
        payload = payload.shared_with_reads();
    }
    let mut arena = Arena::map_planned(&plan).map_err(|source| {
        let bytes = Bytes(plan.used_bytes().map_or(u64::MAX, |bytes| bytes as u64));
        EngineError::Buffers { bytes, source }
    })?;
    let writes = shared.job.rw.writes();
    for place in arena.places() {
        if writes && !arena.is_for_reads(place) {
            payload.fill(arena.block_mut(place));
        } else {
            // Page faults now rather than within the first I/Os.
            arena.block_mut(place).fill(0);
        }
    }
    Ok((arena, payload))
}

/// The walk of the hot path: random ones cover the whole span each, sequential ones a part each.
fn plan_plain(shared: &SharedJob<'_>, number: u32) -> Plain {
    let job = shared.job;
    let block_bytes = u32::try_from(job.largest_block().0).unwrap_or(u32::MAX);
    let part = config::parts_of(shared, number)
        .first()
        .copied()
        .unwrap_or(Part { offset_bytes: 0, length_bytes: u64::from(block_bytes) });
    let direction = job.directions().next().unwrap_or(iostone_model::load::Direction::Read);
    if job.rw.is_random() {
        let (offsets, _) = payload::streams_of_thread(job.seed, number);
        if job.walk.revisits {
            Plain::anywhere(direction, block_bytes, part, offsets)
        } else {
            Plain::random(direction, block_bytes, part, offsets)
        }
    } else {
        Plain::sequential(direction, block_bytes, part, job.walk.start.0)
    }
}

/// Sleeps until the job's own beginning, or until it is not to begin at all.
fn wait_until(shared: &SharedJob<'_>, begun_ns: u64) {
    loop {
        let left = Duration::from_nanos(begun_ns.saturating_sub(shared.clock.now_ns()));
        let stopped =
            [shared.stop, &shared.halt, shared.exit_all].iter().any(|flag| flag.load(Ordering::Relaxed));
        if left.is_zero() || stopped {
            return;
        }
        sleep(left.min(LONGEST_SLEEP));
    }
}
