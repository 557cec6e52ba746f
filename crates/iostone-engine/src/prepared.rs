//! Prepares jobs' targets, and runs the jobs on them.

mod members;
mod span;
mod together;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use iostone_model::units::{Bytes, Span};

use crate::clock::Clock;
use crate::engine::{self, Selection, uring};
use crate::error::EngineError;
use crate::job::{Job, Preparation};
use crate::layout::{self, CreatedFile};
use crate::outcome::{Layout, Outcome};
use crate::pins::Pins;
use crate::source::Part;
use crate::target::{self, TargetKind};
use crate::verify::Ledger;
use crate::volume::VolumeMap;
use members::Members;
use span::{check_memory, resolve_part};
use together::PROGRESS_INTERVAL;
pub use together::run_together;

/// What a job is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Filling what is missing of the targets; `bytes` counts what was written.
    Layout,
    /// I/O goes on and is not counted.
    Ramp,
    /// The measured window.
    Measure,
    /// Reading back what was written, to check it.
    Verify,
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

/// A job whose targets are ready: laid out, opened, checked. Nothing is measured before [`run`](Self::run).
#[derive(Debug)]
pub struct Prepared {
    job: Job,
    selection: Selection,
    clock: Clock,
    /// The span of each target, or that of the volume.
    parts: Vec<Part>,
    volume: Option<VolumeMap>,
    ledger: Option<Arc<Ledger>>,
    layout: Layout,
    /// The targets, once per thread.
    files: Vec<Vec<File>>,
    open_flags: Vec<String>,
    /// Keep block devices from being mounted or claimed meanwhile.
    _claims: Vec<Arc<File>>,
}

/// Prepares a job, without hearing how far it is; see [`prepare_watched`].
///
/// # Errors
/// See [`prepare_watched`].
pub fn prepare(job: &Job) -> Result<Prepared, EngineError> {
    prepare_watched(job, &AtomicBool::new(false), &mut |_| ())
}

/// Prepares a job: checks it, chooses the engine, lays files out, opens the targets once per thread, and drops their
/// pages from the page cache.
///
/// Files that are made here are removed again if anything fails. `stop` ends a long layout.
///
/// # Errors
/// Everything that would keep the job from running; no data of a target has been overwritten then.
pub fn prepare_watched(
    job: &Job,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared, EngineError> {
    prepare_pinned(job, &Pins::default(), stop, progress)
}

/// As [`prepare_watched`], on targets that the caller holds open: what the caller looked at is what is laid out, read and
/// written, also if its name stands for something else by now. Pins need not be held any longer when this returns.
///
/// A pinned device that is written is claimed by its pin, or with the claim that the caller has
/// ([`claim_device`](crate::claim_device)).
///
/// # Errors
/// See [`prepare_watched`].
pub fn prepare_pinned(
    job: &Job,
    pins: &Pins,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared, EngineError> {
    job.check()?;
    check_memory(job)?;
    let selection = engine::select(job, uring::probe)?;
    let members = members::survey(job, pins)?;
    let mut ready = Ready::default();
    for index in 0..job.targets.len() {
        let of_member = members.as_ref().and_then(|members| members.parts.get(index)).copied();
        ready.prepare_target((job, pins), index, of_member, stop, progress)?;
    }
    let Ready { parts, layout, created, claims, open_flags, first } = ready;
    let (parts, volume) = match members {
        Some(Members { map, part, .. }) => (vec![part], Some(map)),
        None => (parts, None),
    };
    check_shares(job, &parts)?;
    check_start(job, &parts)?;
    let ledger = job.verify.is_some().then(|| Ledger::open(job, &parts, pins)).transpose()?;
    let mut files = vec![first];
    for _ in 1..job.numjobs {
        let opened: Result<Vec<File>, EngineError> =
            job.targets.iter().map(|path| target::open(job, path, pins)).collect();
        files.push(opened?);
    }
    created.into_iter().for_each(CreatedFile::keep);
    Ok(Prepared {
        job: job.clone(),
        selection,
        clock: Clock::choose(),
        parts,
        volume,
        ledger,
        layout,
        files,
        open_flags,
        _claims: claims,
    })
}

/// What is ready of a job's targets so far.
#[derive(Default)]
struct Ready {
    parts: Vec<Part>,
    layout: Layout,
    created: Vec<CreatedFile>,
    claims: Vec<Arc<File>>,
    open_flags: Vec<String>,
    first: Vec<File>,
}

impl Ready {
    fn prepare_target(
        &mut self,
        (job, pins): (&Job, &Pins),
        index: usize,
        of_member: Option<Part>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EngineError> {
        let Some(path) = job.targets.get(index) else { return Ok(()) };
        let (kind, metadata) = target::inspect(path, pins)?;
        let existing_bytes = match (kind, &metadata) {
            (TargetKind::BlockDevice, _) => Some(target::read_device_size(path, pins)?),
            (TargetKind::RegularFile, Some(metadata)) => Some(metadata.len()),
            _ => None,
        };
        let part = match of_member {
            Some(part) => part,
            None => resolve_part(job, path, kind, existing_bytes)?,
        };
        if kind == TargetKind::BlockDevice && job.changes_targets() {
            self.claims.push(target::claim(path, pins)?);
        }
        // A member of a volume that is used up to another one stays as it is.
        if kind == TargetKind::RegularFile && part.length_bytes > 0 {
            let target = FileTarget { job, pins, index, exists: metadata.is_some(), part };
            let created = target.lay_out(&mut self.layout, stop, progress)?;
            self.created.extend(created);
        }
        let file = target::open(job, path, pins)?;
        if job.direct {
            target::check_direct_alignment(job, path, &file, kind, pins)?;
        }
        if job.invalidate && kind != TargetKind::MemoryDevice {
            layout::drop_cached_pages(path, &file)?;
        }
        if job.pre_read && kind != TargetKind::MemoryDevice {
            layout::read_ahead(path, part, pins)?;
        }
        for flag in target::read_flags(&file).map_err(target::fail(path, "read the flags of"))? {
            if !self.open_flags.contains(&flag) {
                self.open_flags.push(flag);
            }
        }
        self.parts.push(part);
        self.first.push(file);
        Ok(())
    }
}

/// Threads that share the span out need a block each.
fn check_shares(job: &Job, parts: &[Part]) -> Result<(), EngineError> {
    if job.rw.is_random() && job.verify.is_none() {
        return Ok(());
    }
    let bs = job.largest_block();
    let blocks: u64 = parts.iter().map(|part| part.length_bytes / bs.0.max(1)).min().unwrap_or(0);
    if blocks >= u64::from(job.numjobs) {
        return Ok(());
    }
    Err(EngineError::Invalid {
        field: "numjobs",
        value: job.numjobs.to_string(),
        reason: format!(
            "sequential and verifying threads get a part of the span each, and it has {blocks} blocks of {bs}"
        ),
    })
}

/// A walk begins within its span.
fn check_start(job: &Job, parts: &[Part]) -> Result<(), EngineError> {
    let span = parts.iter().map(|part| part.length_bytes).min().unwrap_or(0);
    if job.walk.start.0 < span {
        return Ok(());
    }
    Err(EngineError::Invalid {
        field: "walk.start",
        value: job.walk.start.to_string(),
        reason: format!("it must lie within the span of {}", Bytes(span)),
    })
}

/// A regular file to be laid out.
struct FileTarget<'a> {
    job: &'a Job,
    pins: &'a Pins,
    index: usize,
    exists: bool,
    part: Part,
}

impl FileTarget<'_> {
    /// Makes sure that the file is there and, where it is to be filled, that every block of it is.
    fn lay_out(
        &self,
        sum: &mut Layout,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<CreatedFile>, EngineError> {
        let Self { job, pins, index, exists, part } = *self;
        let Some(path) = job.targets.get(index) else { return Ok(None) };
        let end_bytes = part.offset_bytes + part.length_bytes;
        if job.verify.as_ref().is_some_and(|verify| verify.only) {
            // What is only checked is left as it is.
            return Ok(None);
        }
        if exists {
            // A file that needs nothing is not opened for writing: it may be somebody else's, or read-only.
            let file = File::open(pins.way_to(path)).map_err(target::fail(path, "open"))?;
            let length = file.metadata().map_err(target::fail(path, "look at"))?.len();
            let sparse = layout::has_holes(&file, end_bytes.min(length));
            let complete = match job.preparation {
                Preparation::Fill => length >= end_bytes && !sparse,
                Preparation::Allocate | Preparation::Extend => length >= end_bytes,
                Preparation::Reserve => false,
                Preparation::Leave => true,
            };
            if complete {
                sum.sparse |= sparse;
                return Ok(None);
            }
        }
        let (file, created) = layout::open_or_create(path, pins)?;
        sum.created |= !exists;
        if job.direct {
            // Better refused now than after writing the file.
            target::check_direct_alignment(job, path, &file, TargetKind::RegularFile, pins)?;
        }
        if job.preparation != Preparation::Fill {
            layout::reserve(path, &file, end_bytes, job.preparation)?;
            sum.sparse |= layout::has_holes(&file, end_bytes);
            return Ok(Some(created));
        }
        let begun = Instant::now();
        let mut told = begun;
        let before = sum.written.0;
        // Files laid out from the same seed would be copies of each other.
        let seed = job.seed.wrapping_add(index as u64);
        let filled =
            layout::fill_gaps(path, &file, end_bytes, (&layout::data_of(job), seed), |written_bytes| {
                if told.elapsed() >= PROGRESS_INTERVAL {
                    told = Instant::now();
                    let (elapsed, bytes) = (Span(begun.elapsed()), Bytes(before + written_bytes));
                    progress(Progress { phase: Phase::Layout, elapsed, ios: 0, bytes });
                }
                !stop.load(std::sync::atomic::Ordering::Relaxed)
            })?;
        sum.written.0 += filled.written.0;
        sum.took.0 += filled.took.0;
        Ok(Some(created))
    }
}

impl Prepared {
    /// What was done to the targets.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The bytes of the targets that will be used.
    pub fn span(&self) -> Bytes {
        Bytes(self.parts.iter().map(|part| part.length_bytes).sum())
    }

    /// Runs the job to its end, or until `stop` is raised, which is seen whenever an I/O completes.
    ///
    /// The calling thread only tells `progress`; I/O is done by threads of its own, which have ended, with the
    /// targets closed and the memory freed, when this returns.
    ///
    /// # Errors
    /// Only what keeps the job from starting: no memory, no ring, no thread. An I/O that fails is in
    /// [`Outcome::error`], beside the figures up to it.
    pub fn run(self, stop: &AtomicBool, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, EngineError> {
        let outcomes = run_together(vec![self], stop, progress)?;
        outcomes.into_iter().next().ok_or(EngineError::Interrupted)
    }
}

/// Prepares a job and runs it.
///
/// # Errors
/// Those of [`prepare_watched`] and [`Prepared::run`].
pub fn run(job: &Job, stop: &AtomicBool, progress: &mut dyn FnMut(Progress)) -> Result<Outcome, EngineError> {
    prepare_watched(job, stop, progress)?.run(stop, progress)
}
