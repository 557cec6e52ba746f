//! Prepares a job's target, and runs the job on it.

use std::fs::File;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

use iostone_model::units::{Bytes, Span};

use crate::clock::Clock;
use crate::driver::Lane;
use crate::engine::{self, Selection, uring};
use crate::error::EngineError;
use crate::job::Job;
use crate::layout::{self, CreatedFile};
use crate::outcome::{Layout, Outcome};
use crate::summary::summarise;
use crate::target::{self, TargetKind};
use crate::worker::{self, Crew, Gate, ProcessMeter, Report};

/// How often progress is told.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// What a job is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Filling what is missing of the target; `bytes` counts what was written.
    Layout,
    /// I/O goes on and is not counted.
    Ramp,
    /// The measured window.
    Measure,
}

/// How far a job has got; told about ten times a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What it is busy with.
    pub phase: Phase,
    /// Time in this phase.
    pub elapsed: Span,
    /// I/Os of this phase so far.
    pub ios: u64,
    /// Bytes of this phase so far.
    pub bytes: Bytes,
}

/// A job whose target is ready: laid out, opened, checked. Nothing is measured before [`run`](Self::run).
#[derive(Debug)]
pub struct Prepared {
    job: Job,
    selection: Selection,
    clock: Clock,
    block_bytes: u32,
    blocks: u64,
    layout: Layout,
    files: Vec<File>,
    open_flags: Vec<String>,
    /// Keeps a block device from being mounted or claimed meanwhile.
    _claim: Option<File>,
}

/// Prepares a job, without hearing how far it is; see [`prepare_watched`].
///
/// # Errors
/// See [`prepare_watched`].
pub fn prepare(job: &Job) -> Result<Prepared, EngineError> {
    prepare_watched(job, &AtomicBool::new(false), &mut |_| ())
}

/// Buffers are written to before they are used, so what is asked for is taken; a job that takes most of the memory
/// would push out the page cache, or other programs.
fn check_memory(job: &Job) -> Result<(), EngineError> {
    let needed = job.bs.0.saturating_mul(u64::from(job.iodepth)).saturating_mul(u64::from(job.numjobs));
    let Some(available) = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(read_available)
    else {
        return Ok(());
    };
    if needed <= available / 2 {
        return Ok(());
    }
    Err(EngineError::TooMuchMemory { needed: Bytes(needed), available: Bytes(available) })
}

/// `MemAvailable` of `/proc/meminfo` in bytes (`proc_meminfo(5)`).
fn read_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Prepares a job: checks it, chooses the engine, lays a file out, opens the target once per thread, and drops its
/// pages from the page cache.
///
/// A file that is made here is removed again if anything fails. `stop` ends a long layout.
///
/// # Errors
/// Everything that would keep the job from running; no data of the target has been overwritten then.
pub fn prepare_watched(
    job: &Job,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared, EngineError> {
    job.check()?;
    check_memory(job)?;
    let selection = engine::select(job, uring::probe)?;
    let path = &job.target;
    let (kind, metadata) = target::inspect(path)?;
    let existing_bytes = match (kind, &metadata) {
        (TargetKind::BlockDevice, _) => Some(target::read_device_size(path)?),
        (TargetKind::RegularFile, Some(metadata)) => Some(metadata.len()),
        _ => None,
    };
    let size_bytes = resolve_size(job, kind, existing_bytes)?;
    let claim =
        (kind == TargetKind::BlockDevice && job.rw.writes()).then(|| target::claim(path)).transpose()?;
    let (layout, created) = match kind {
        TargetKind::RegularFile => lay_out(job, metadata.is_some(), size_bytes, stop, progress)?,
        TargetKind::BlockDevice | TargetKind::MemoryDevice => (Layout::default(), None),
    };
    let first = target::open(job)?;
    if job.direct {
        target::check_direct_alignment(job, &first, kind)?;
    }
    if job.invalidate && kind != TargetKind::MemoryDevice {
        layout::drop_cached_pages(path, &first)?;
    }
    let open_flags = target::read_flags(&first).map_err(target::fail(path, "read the flags of"))?;
    let mut files = vec![first];
    for _ in 1..job.numjobs {
        files.push(target::open(job)?);
    }
    if let Some(created) = created {
        created.keep();
    }
    Ok(Prepared {
        job: job.clone(),
        selection,
        clock: Clock::choose(),
        // `check` has seen to it that a block is at most 1 GiB.
        block_bytes: u32::try_from(job.bs.0).unwrap_or(u32::MAX),
        blocks: size_bytes / job.bs.0,
        layout,
        files,
        open_flags,
        _claim: claim,
    })
}

/// The bytes of the target that the job uses.
fn resolve_size(job: &Job, kind: TargetKind, existing_bytes: Option<u64>) -> Result<u64, EngineError> {
    let path = &job.target;
    let unknown = |state| EngineError::SizeUnknown { path: path.clone(), state };
    let too_small = |needs, why_not_extended| EngineError::TooSmall {
        path: path.clone(),
        has: Bytes(existing_bytes.unwrap_or(0)),
        needs,
        why_not_extended,
    };
    let fixed = match kind {
        TargetKind::BlockDevice => Some("a block device is never extended"),
        TargetKind::RegularFile if !job.layout && !job.rw.writes() => Some("`layout` is off"),
        TargetKind::RegularFile | TargetKind::MemoryDevice => None,
    };
    let size = match (job.size, existing_bytes) {
        (Some(wanted), existing) => match fixed {
            Some(why) if existing.is_none_or(|existing| existing < wanted.0) => {
                return Err(too_small(wanted, why));
            }
            _ => wanted.0,
        },
        (None, Some(0)) => return Err(unknown("is empty")),
        (None, Some(existing)) if existing < job.bs.0 => {
            return Err(too_small(job.bs, fixed.unwrap_or("no `size` was given")));
        }
        (None, Some(existing)) => existing,
        (None, None) if kind == TargetKind::MemoryDevice => return Err(unknown("has no size of its own")),
        (None, None) => return Err(unknown("does not exist")),
    };
    let blocks = size / job.bs.0;
    if !job.rw.is_random() && blocks < u64::from(job.numjobs) {
        return Err(EngineError::Invalid {
            field: "numjobs",
            value: job.numjobs.to_string(),
            reason: format!(
                "sequential threads get a part of the span each, and it has {blocks} blocks of {}",
                job.bs
            ),
        });
    }
    Ok(size)
}

/// Makes sure that the file is there and, with `layout`, that every block of it is.
fn lay_out(
    job: &Job,
    exists: bool,
    size_bytes: u64,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Layout, Option<CreatedFile>), EngineError> {
    let path = &job.target;
    if exists {
        // A file that needs nothing is not opened for writing: it may be somebody else's, or read-only.
        let file = File::open(path).map_err(target::fail(path, "open"))?;
        let length = file.metadata().map_err(target::fail(path, "look at"))?.len();
        let sparse = layout::has_holes(&file, size_bytes.min(length));
        if !job.layout || (length >= size_bytes && !sparse) {
            return Ok((Layout { sparse, ..Layout::default() }, None));
        }
    }
    let (file, created) = layout::open_or_create(path)?;
    if !job.layout {
        return Ok((Layout { created: true, sparse: true, ..Layout::default() }, Some(created)));
    }
    if job.direct {
        // Better refused now than after writing the file.
        target::check_direct_alignment(job, &file, TargetKind::RegularFile)?;
    }
    let begun = Instant::now();
    let mut told = begun;
    let filled = layout::fill_gaps(path, &file, size_bytes, job.seed, |written_bytes| {
        if told.elapsed() >= PROGRESS_INTERVAL {
            told = Instant::now();
            let (elapsed, bytes) = (Span(begun.elapsed()), Bytes(written_bytes));
            progress(Progress { phase: Phase::Layout, elapsed, ios: 0, bytes });
        }
        !stop.load(Ordering::Relaxed)
    })?;
    Ok((Layout { created: !exists, ..filled }, Some(created)))
}

impl Prepared {
    /// What was done to the target.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The bytes of the target that will be used.
    pub fn span(&self) -> Bytes {
        Bytes(self.blocks * u64::from(self.block_bytes))
    }

    /// Runs the job to its end, or until `stop` is raised, which is seen whenever an I/O completes.
    ///
    /// The calling thread only tells `progress`; I/O is done by threads of its own, which have ended, with the
    /// target closed and the memory freed, when this returns.
    ///
    /// # Errors
    /// Only what keeps the job from starting: no memory, no ring, no thread. An I/O that fails is in
    /// [`Outcome::error`], beside the figures up to it.
    pub fn run(self, stop: &AtomicBool, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, EngineError> {
        let crew = Crew {
            job: &self.job,
            engine: self.selection.kind,
            clock: self.clock,
            block_bytes: self.block_bytes,
            blocks: self.blocks,
            stop,
            halt: AtomicBool::new(false),
            begun_ns: OnceLock::new(),
            process: ProcessMeter::default(),
        };
        let lanes: Vec<Lane> = self.files.iter().map(|_| Lane::default()).collect();
        let reports = run_crew(&crew, &self.files, &lanes, progress)?;
        Ok(summarise(&crew, reports, self.selection.reason, self.open_flags, self.layout))
    }
}

/// Starts a thread per file, lets them begin together, and tells progress until all have ended.
fn run_crew(
    crew: &Crew<'_>,
    files: &[File],
    lanes: &[Lane],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Report>, EngineError> {
    scope(|scope| {
        let (ready, readiness) = mpsc::channel();
        // Nothing is ever sent here: it closes when the last thread has ended.
        let (alive, ended) = mpsc::channel::<()>();
        let mut threads = Vec::new();
        let mut gates = Vec::new();
        for ((number, file), lane) in (0u32..).zip(files).zip(lanes) {
            let (open, begin) = mpsc::channel();
            let gate = Gate { ready: ready.clone(), begin };
            let alive = alive.clone();
            let thread = Builder::new().name(format!("io-{number}")).spawn_scoped(scope, move || {
                let report = worker::work(crew, number, file, lane, &gate);
                drop(alive);
                report
            });
            // Returning closes the gates of those that wait already, and they end.
            threads.push(thread.map_err(|source| EngineError::Threads { source })?);
            gates.push(open);
        }
        drop((ready, alive));
        for _ in &threads {
            // A thread that can say nothing has panicked, and is dealt with below.
            readiness.recv().unwrap_or(Ok(()))?;
        }
        for gate in gates {
            let _ = gate.send(());
        }
        while ended.recv_timeout(PROGRESS_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if let Some(now) = observe(crew, lanes) {
                progress(now);
            }
        }
        let reports =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok(reports.flatten().collect())
    })
}

/// How far the threads are.
fn observe(crew: &Crew<'_>, lanes: &[Lane]) -> Option<Progress> {
    let running = Duration::from_nanos(crew.clock.now_ns().saturating_sub(*crew.begun_ns.get()?));
    let ramp = crew.job.ramp_time.0;
    let (phase, elapsed) = match running.checked_sub(ramp) {
        Some(measured) => (Phase::Measure, measured),
        None => (Phase::Ramp, running),
    };
    let count =
        |lane: &Lane| if phase == Phase::Ramp { &lane.ramp } else { &lane.counted }.load(Ordering::Relaxed);
    let ios = lanes.iter().map(count).sum();
    Some(Progress { phase, elapsed: Span(elapsed), ios, bytes: Bytes(ios * u64::from(crew.block_bytes)) })
}

/// Prepares a job and runs it.
///
/// # Errors
/// Those of [`prepare_watched`] and [`Prepared::run`].
pub fn run(job: &Job, stop: &AtomicBool, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, EngineError> {
    prepare_watched(job, stop, progress)?.run(stop, progress)
}
