//! Runs prepared jobs beside each other: threads, their common start, progress, and their ends.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, scope};
use std::time::Duration;

use iostone_model::units::{Bytes, Span};

use super::{Phase, Prepared, Progress};
use crate::driver::Lane;
use crate::error::EngineError;
use crate::monitor::{Monitor, Reading, Ruling};
use crate::outcome::Outcome;
use crate::summary::{Ending, summarise};
use crate::worker::{self, Gate, ProcessMeter, Report, SharedJob};

/// How often progress is told, and the rate looked at.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Runs jobs at the same time, each to its own end; see [`Prepared::run`].
///
/// Their threads begin together, but for the `start_delay` of each. Progress is of all jobs together. A job that
/// fails ends alone, unless it has `exit_all`.
///
/// # Errors
/// Those of [`Prepared::run`]; then none of the jobs has begun.
#[expect(clippy::needless_pass_by_value, reason = "the targets are closed when it returns")]
pub fn run_together(
    jobs: Vec<Prepared>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Outcome>, EngineError> {
    let begun_ns = OnceLock::new();
    let exit_all = AtomicBool::new(false);
    let shared_jobs: Vec<SharedJob<'_>> = jobs
        .iter()
        .map(|prepared| SharedJob {
            job: &prepared.job,
            engine: prepared.selection.kind,
            clock: prepared.clock,
            parts: &prepared.parts,
            volume: prepared.volume.as_ref(),
            ledger: prepared.ledger.as_ref().map(Arc::clone),
            stop,
            halt: AtomicBool::new(false),
            exit_all: &exit_all,
            begun_ns: &begun_ns,
            process: ProcessMeter::default(),
        })
        .collect();
    let lanes: Vec<Vec<Lane>> =
        jobs.iter().map(|prepared| prepared.files.iter().map(|_| Lane::default()).collect()).collect();
    let mut watches: Vec<Watch> = jobs.iter().map(Watch::new).collect();
    let reports = run_jobs(&jobs, &shared_jobs, &lanes, &mut watches, progress)?;
    let ended = jobs.iter().zip(&shared_jobs).zip(reports).zip(watches);
    Ok(ended
        .map(|(((prepared, shared), reports), watch)| {
            let ending = Ending {
                reason: prepared.selection.reason.clone(),
                open_flags: prepared.open_flags.clone(),
                layout: prepared.layout,
                steadiness: watch.monitor.steadiness(),
                fell_short: watch.fell_short,
            };
            summarise(shared, reports, ending)
        })
        .collect())
}

/// What the calling thread knows of a running job.
struct Watch {
    monitor: Monitor,
    fell_short: Option<String>,
}

impl Watch {
    fn new(prepared: &Prepared) -> Self {
        Self { monitor: Monitor::new(&prepared.job), fell_short: None }
    }

    /// Looks at the job, and ends it when the monitor says so.
    fn look(&mut self, shared: &SharedJob<'_>, lanes: &[Lane]) {
        let Some((elapsed, Phase::Measure)) = elapsed(shared) else { return };
        let sum = |of: fn(&Lane) -> u64| lanes.iter().map(of).sum();
        let reading = Reading {
            elapsed,
            ios: sum(|lane| lane.counted.load(Ordering::Relaxed)),
            bytes: sum(|lane| lane.bytes.load(Ordering::Relaxed)),
        };
        if shared.halt.load(Ordering::Relaxed) {
            return;
        }
        match self.monitor.look(reading) {
            Ruling::GoOn => return,
            Ruling::Steady => {}
            Ruling::FellShort(sentence) => self.fell_short = Some(sentence),
        }
        shared.halt.store(true, Ordering::Relaxed);
    }
}

/// Starts a thread per job and lane, lets them begin together, and tells progress until all have ended.
fn run_jobs(
    jobs: &[Prepared],
    shared_jobs: &[SharedJob<'_>],
    lanes: &[Vec<Lane>],
    watches: &mut [Watch],
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Vec<Report>>, EngineError> {
    scope(|scope| {
        let (ready, readiness) = mpsc::channel();
        // Nothing is ever sent here: it closes when the last thread has ended.
        let (alive, ended) = mpsc::channel::<()>();
        let mut threads = Vec::new();
        let mut gates = Vec::new();
        for ((prepared, shared), lanes) in jobs.iter().zip(shared_jobs).zip(lanes) {
            let mut of_job = Vec::new();
            for ((number, files), lane) in (0u32..).zip(&prepared.files).zip(lanes) {
                let (open, begin) = mpsc::channel();
                let gate = Gate { ready: ready.clone(), begin };
                let alive = alive.clone();
                let thread = Builder::new().name(format!("io-{number}")).spawn_scoped(scope, move || {
                    let report = worker::work(shared, number, files, lane, &gate);
                    drop(alive);
                    report
                });
                // Returning closes the gates of those that wait already, and they end.
                of_job.push(thread.map_err(|source| EngineError::Threads { source })?);
                gates.push(open);
            }
            threads.push(of_job);
        }
        drop((ready, alive));
        for _ in &gates {
            // A thread that can say nothing has panicked, and is dealt with below.
            readiness.recv().unwrap_or(Ok(()))?;
        }
        for gate in gates {
            let _ = gate.send(());
        }
        while ended.recv_timeout(PROGRESS_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            for ((shared, lanes), watch) in shared_jobs.iter().zip(lanes).zip(&mut *watches) {
                watch.look(shared, lanes);
            }
            if let Some(now) = observe(shared_jobs, lanes) {
                progress(now);
            }
        }
        let report = |thread: std::thread::ScopedJoinHandle<'_, Option<Report>>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        Ok(threads.into_iter().map(|of_job| of_job.into_iter().filter_map(report).collect()).collect())
    })
}

/// Time in the ramp or in the window of a job; None before it has begun.
fn elapsed(shared: &SharedJob<'_>) -> Option<(Duration, Phase)> {
    let running = Duration::from_nanos(shared.clock.now_ns().saturating_sub(*shared.begun_ns.get()?));
    let running = running.checked_sub(shared.job.start_delay.0)?;
    Some(match running.checked_sub(shared.job.ramp_time.0) {
        Some(measured)
            if shared.job.runtime.is_some_and(|runtime| measured > runtime.0 + PROGRESS_INTERVAL) =>
        {
            (measured, Phase::Verify)
        }
        Some(measured) => (measured, Phase::Measure),
        None => (running, Phase::Ramp),
    })
}

/// How far the threads of all jobs are, told by the first job that is still at it.
fn observe(shared_jobs: &[SharedJob<'_>], lanes: &[Vec<Lane>]) -> Option<Progress> {
    let (elapsed, phase) = shared_jobs.iter().filter_map(elapsed).min_by_key(|(_, phase)| match phase {
        Phase::Measure => 0,
        Phase::Ramp | Phase::Layout => 1,
        Phase::Verify => 2,
    })?;
    let all = || lanes.iter().flatten();
    let (ios, bytes) = match phase {
        Phase::Ramp => (all().map(|lane| lane.ramp.load(Ordering::Relaxed)).sum(), 0),
        _ => (
            all().map(|lane| lane.counted.load(Ordering::Relaxed)).sum(),
            all().map(|lane| lane.bytes.load(Ordering::Relaxed)).sum(),
        ),
    };
    Some(Progress { phase, elapsed: Span(elapsed), ios, bytes: Bytes(bytes) })
}
