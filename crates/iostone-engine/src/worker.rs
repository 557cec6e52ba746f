//! One thread of a job: gets memory and a ring, waits for the start, drives, and measures what it cost.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use iostone_model::units::Bytes;

use crate::arena::Arena;
use crate::clock::Clock;
use crate::driver::{Driver, Lane, Shift, Tally, Watch};
use crate::engine::sync::SyncEngine;
use crate::engine::uring::Ring;
use crate::error::EngineError;
use crate::job::Job;
use crate::offsets::Offsets;
use crate::outcome::{CpuTime, EngineKind};
use crate::payload;
use crate::usage;

/// What all threads of a job share. Nothing of it is written while I/O is measured, but for the stop flags.
pub(crate) struct Crew<'a> {
    pub(crate) job: &'a Job,
    pub(crate) engine: EngineKind,
    pub(crate) clock: Clock,
    pub(crate) block_bytes: u32,
    /// Blocks of the whole span.
    pub(crate) blocks: u64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) halt: AtomicBool,
    /// When the first thread began, on the job's clock: the same for all, so that their series line up.
    pub(crate) begun_ns: OnceLock<u64>,
    pub(crate) process: ProcessMeter,
}

/// Processor time of the whole process from the first opening of a window to the last closing.
#[derive(Debug, Default)]
pub(crate) struct ProcessMeter {
    opened: OnceLock<CpuTime>,
    running: AtomicUsize,
    closed: Mutex<Option<CpuTime>>,
}

impl ProcessMeter {
    fn open(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
        self.opened.get_or_init(usage::read_process);
    }

    fn close(&self) {
        if self.running.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage::read_process());
        }
    }

    /// What was used; nothing if no window ever opened.
    pub(crate) fn used(&self) -> CpuTime {
        let closed = *self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.opened.get(), closed) {
            (Some(opened), Some(closed)) => usage::used_between(*opened, closed),
            _ => CpuTime::default(),
        }
    }
}

/// Reads both meters at the edges of the window.
struct EdgeMeter<'a> {
    process: &'a ProcessMeter,
    opened: CpuTime,
    used: CpuTime,
}

impl Watch for EdgeMeter<'_> {
    fn opened(&mut self) {
        self.process.open();
        self.opened = usage::read_thread();
    }

    fn closed(&mut self) {
        self.used = usage::used_between(self.opened, usage::read_thread());
        self.process.close();
    }
}

/// What one thread reports.
pub(crate) struct Report {
    pub(crate) tally: Tally,
    pub(crate) features: Vec<String>,
    pub(crate) declined: Vec<String>,
    pub(crate) cpu: CpuTime,
    pub(crate) io_workers: u32,
}

/// A thread's way to say that it is ready, and to hear whether to begin.
pub(crate) struct Gate {
    pub(crate) ready: mpsc::Sender<Result<(), EngineError>>,
    /// Closed instead of written to when another thread could not get ready.
    pub(crate) begin: mpsc::Receiver<()>,
}

/// Does thread `number`'s part. None when it, or another thread, could not get ready.
pub(crate) fn work(crew: &Crew<'_>, number: u32, file: &File, lane: &Lane, gate: &Gate) -> Option<Report> {
    // The ring comes after the arena here and so is dropped before it: requests never outlive their memory.
    let (mut arena, data) = match get_memory(crew, number) {
        Ok(memory) => memory,
        Err(error) => return refuse(gate, error),
    };
    let mut ring = match crew.engine {
        EngineKind::Sync => None,
        EngineKind::IoUring => match Ring::open(crew.job.iodepth, file, &arena) {
            Ok(ring) => Some(ring),
            Err(reason) => return refuse(gate, EngineError::NoRing { reason }),
        },
    };
    gate.ready.send(Ok(())).ok()?;
    gate.begin.recv().ok()?;

    let driver = Driver::new(plan_shift(crew, number, lane), plan_offsets(crew, number), data);
    let mut meter =
        EdgeMeter { process: &crew.process, opened: CpuTime::default(), used: CpuTime::default() };
    let writes = crew.job.rw.writes();
    let (tally, io_workers) = match &mut ring {
        Some(ring) => {
            let mut engine = ring.engine(file, &mut arena, crew.block_bytes, writes);
            let tally = driver.run(&mut engine, &mut meter);
            // Before the engine waits for what is in flight: the workers end with this thread.
            (tally, usage::count_io_workers(rustix::thread::gettid().as_raw_nonzero().get()))
        }
        None => (driver.run(&mut SyncEngine::new(file, &mut arena, writes), &mut meter), 0),
    };
    let (features, declined) = ring.map_or_else(Default::default, |ring| (ring.features, ring.declined));
    Some(Report { tally, features, declined, cpu: meter.used, io_workers })
}

fn refuse(gate: &Gate, error: EngineError) -> Option<Report> {
    // Whoever listens has stopped listening only if it has failed before.
    let _ = gate.ready.send(Err(error));
    None
}

/// The thread's buffers, touched and, for writes, full of random bytes; and the stream that renews them.
fn get_memory(
    crew: &Crew<'_>,
    number: u32,
) -> Result<(Arena, rand_xoshiro::Xoshiro256PlusPlus), EngineError> {
    let (_, mut data) = payload::streams_of_thread(crew.job.seed, number);
    let writes = crew.job.rw.writes();
    let mut arena = Arena::map(crew.job.iodepth, crew.block_bytes, writes).map_err(|source| {
        let bytes = Bytes(u64::from(crew.job.iodepth) * u64::from(crew.block_bytes));
        EngineError::Buffers { bytes, source }
    })?;
    for place in arena.places() {
        if writes {
            payload::fill(&mut data, arena.block_mut(place));
        } else {
            // Page faults now rather than within the first I/Os.
            arena.block_mut(place).fill(0);
        }
    }
    Ok((arena, data))
}

/// The thread's walk: random ones cover the whole span each, sequential ones a part each.
fn plan_offsets(crew: &Crew<'_>, number: u32) -> Offsets {
    let (offsets, _) = payload::streams_of_thread(crew.job.seed, number);
    if crew.job.rw.is_random() {
        return Offsets::random(crew.blocks, offsets);
    }
    let (first, blocks) = part_of(crew.blocks, crew.job.numjobs, number);
    Offsets::sequential(first, blocks)
}

/// First block and number of blocks of thread `number` when `blocks` are shared out; remainders go to the first.
pub(crate) fn part_of(blocks: u64, threads: u32, number: u32) -> (u64, u64) {
    let (threads, number) = (u64::from(threads), u64::from(number));
    let (each, left) = (blocks / threads, blocks % threads);
    (number * each + number.min(left), each + u64::from(number < left))
}

fn plan_shift<'a>(crew: &'a Crew<'_>, number: u32, lane: &'a Lane) -> Shift<'a> {
    let job = crew.job;
    let nanoseconds = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let begun_ns = *crew.begun_ns.get_or_init(|| crew.clock.now_ns());
    let opens_ns = begun_ns.saturating_add(nanoseconds(job.ramp_time.0));
    let closes_ns = job.runtime.map_or(u64::MAX, |runtime| opens_ns.saturating_add(nanoseconds(runtime.0)));
    let limit = match (job.io_size, job.runtime) {
        (Some(bytes), _) => bytes.0 / u64::from(crew.block_bytes),
        (None, Some(_)) => u64::MAX,
        (None, None) if job.rw.is_random() => crew.blocks,
        (None, None) => part_of(crew.blocks, job.numjobs, number).1,
    };
    Shift {
        clock: crew.clock,
        stamp: job.stamp,
        writes: job.rw.writes(),
        block_bytes: crew.block_bytes,
        iodepth: job.iodepth,
        fsync: job.fsync,
        fdatasync: job.fdatasync,
        opens_ns,
        closes_ns,
        limit,
        stop: crew.stop,
        halt: &crew.halt,
        lane,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sequential_parts_tile_the_span(blocks in 1u64..10_000, threads in 1u32..64) {
            let mut next = 0;
            for number in 0..threads {
                let (first, count) = part_of(blocks, threads, number);
                prop_assert_eq!(first, next);
                next = first + count;
            }
            prop_assert_eq!(next, blocks);
        }
    }
}
