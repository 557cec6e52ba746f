//! Measures one load point: small and large I/O beside each other through the engine.

mod divergence;
mod figures;
mod idle;
mod jobs;
mod notes;
mod rehearsal;
mod served;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_engine::{EngineError, Outcome, Phase, Prepared, Progress, SERIES_INTERVAL, run_together};
use iostone_model::orion::{LoadPoint, OrionHeader, PointRecord};
use iostone_model::units::Span;
use iostone_probe::WatchedDevice;

use crate::error::OrionError;
use crate::lun::{Lun, pins_of};
use crate::precision::{self, PrecisionWatch};
pub use divergence::{Divergence, divergences};
pub(crate) use jobs::base_job;
pub use jobs::{Load, PointJob, jobs_of, untested_bytes, volume_bytes};
pub(crate) use notes::tells_precision;
use rehearsal::prepare_all;
pub(crate) use rehearsal::rehearse;
use served::Watcher;
pub use served::devices_of;
pub(crate) use served::{tells_served, tolerance as served_tolerance};

/// What a test is done on.
#[derive(Debug, Clone)]
pub struct Subject<'a> {
    /// What is asked.
    pub header: &'a OrionHeader,
    /// The LUNs, in order.
    pub luns: &'a [Lun],
    /// The devices whose counters say what was served; see [`devices_of`].
    pub devices: Vec<WatchedDevice>,
}

/// Hears what is going on (`warming`, `measuring`), for how long, and for how long at most.
pub type Teller<'a> = &'a mut dyn FnMut(&'static str, Span, Span);

/// Measures a point, `number` in the order of measurement.
///
/// Both loads measure the same time, after a ramp of a tenth of it, at most 1 s. What is counted ends with a whole 100 ms, also
/// where the point ends by precision, so that rate and precision are of the same time. The point without load only watches the
/// devices, for 1 s at most. Nothing is warmed here, see [`warm`](crate::warming::warm).
///
/// # Errors
/// [`OrionError::Interrupted`] when `stop` was raised, [`OrionError::Fault`] for an I/O that failed, and what keeps the
/// engine from beginning. Nothing of the point is kept then.
pub fn measure(
    subject: &Subject<'_>,
    (number, point): (u32, LoadPoint),
    stop: &AtomicBool,
    tell: Teller<'_>,
) -> Result<PointRecord, OrionError> {
    let Subject { header, luns, devices } = subject;
    let mut jobs = jobs_of(header, luns, point);
    let mut record = if jobs.is_empty() {
        idle::watch(devices, header.test.duration.0, stop)?
    } else {
        if let Some(one) = jobs.first_mut() {
            one.job.invalidate = !header.direct;
        }
        let loads: Vec<Load> = jobs.iter().map(|one| one.load).collect();
        let prepared = prepare_all(jobs, &pins_of(luns), stop)?;
        let mut run = Run::new(header, point, devices);
        let outcomes = run.go(prepared, stop, tell)?;
        if let Some(fault) = outcomes.iter().find_map(|outcome| outcome.error.as_ref()) {
            return Err(OrionError::Fault { point: point.to_string(), fault: fault.to_string() });
        }
        run.describe(point, &loads, &outcomes)
    };
    record.number = number;
    Ok(record)
}

/// What the engine says, with its own word for an interruption taken for ours.
pub(crate) fn refused(error: EngineError) -> OrionError {
    match error {
        EngineError::Interrupted => OrionError::Interrupted,
        error => error.into(),
    }
}

/// The moment that lies so long back, RFC 3339 with the offset of the machine's zone.
pub(crate) fn moment(ago: Duration) -> String {
    let now = jiff::Zoned::now();
    let then = now.checked_sub(ago).unwrap_or(now);
    then.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// A point while it runs.
struct Run<'a> {
    header: &'a OrionHeader,
    watcher: Watcher,
    precision: Option<PrecisionWatch>,
    /// Raised by the caller's stop, or when the rates are known precisely enough.
    halt: AtomicBool,
    precise: bool,
    started_at: Option<String>,
}

impl<'a> Run<'a> {
    fn new(header: &'a OrionHeader, point: LoadPoint, devices: &[WatchedDevice]) -> Self {
        Self {
            header,
            watcher: Watcher::begin(devices),
            precision: PrecisionWatch::new(header, point),
            halt: AtomicBool::new(false),
            precise: false,
            started_at: None,
        }
    }

    fn go(
        &mut self,
        prepared: Vec<Prepared>,
        stop: &AtomicBool,
        tell: Teller<'_>,
    ) -> Result<Vec<Outcome>, OrionError> {
        let Self { header, watcher, precision, halt, precise, started_at } = self;
        let most = header.test.duration;
        let mut interrupted = stop.load(Ordering::Relaxed);
        halt.store(interrupted, Ordering::Relaxed);
        let outcomes = run_together(prepared, halt, &mut |progress: Progress| {
            if stop.load(Ordering::Relaxed) {
                interrupted = true;
                halt.store(true, Ordering::Relaxed);
            }
            let Progress { phase, elapsed, ios, bytes } = progress;
            if phase != Phase::Measure {
                let elapsed = if phase == Phase::Verify { most } else { Span::default() };
                return tell("measuring", elapsed, most);
            }
            watcher.measuring(elapsed.0);
            started_at.get_or_insert_with(|| moment(elapsed.0));
            let enough = precision.as_mut().is_some_and(|watch| watch.look(elapsed.0, ios, bytes.0));
            if enough {
                *precise = true;
                halt.store(true, Ordering::Relaxed);
            }
            tell("measuring", Span(elapsed.0.min(most.0)), most);
        })
        .map_err(refused)?;
        if interrupted { Err(OrionError::Interrupted) } else { Ok(outcomes) }
    }

    fn describe(self, point: LoadPoint, loads: &[Load], outcomes: &[Outcome]) -> PointRecord {
        let measured = || outcomes.iter().map(|outcome| outcome.elapsed.0);
        let longest = measured().max().unwrap_or_default();
        let shortest = measured().min().unwrap_or_default();
        let (whole, counted) = whole_intervals(shortest).unzip();
        let counted: Duration = counted.unwrap_or(longest);
        let of = |load| {
            let matching = loads.iter().zip(outcomes).filter(move |(of, _)| **of == load);
            figures::figures_of(matching.map(|(_, outcome)| outcome), whole)
        };
        // Each job reports the process, which is the same for all, over the job's time: a little longer than what counts.
        let cpu_of = |outcome: &Outcome| {
            let share =
                counted.as_secs_f64() / outcome.elapsed.0.max(counted).as_secs_f64().max(f64::MIN_POSITIVE);
            let process = outcome.cpu.process;
            [process.user, process.system].map(|used| used.0.as_secs_f64() * share)
        };
        let (served, notes) = self.watcher.end(counted);
        let mut record = PointRecord {
            small: point.small,
            large: point.large,
            started_at: self.started_at.unwrap_or_else(|| moment(longest)),
            seconds: counted.as_secs_f64(),
            small_io: of(Load::Small),
            large_io: of(Load::Large),
            cpu_seconds: outcomes.first().map(cpu_of).unwrap_or_default(),
            served,
            notes,
            ..PointRecord::default()
        };
        record.precision = match &self.precision {
            Some(watch) if self.precise => watch.reached(),
            _ => precision::worse(record.small_io.as_ref(), record.large_io.as_ref(), record.seconds),
        };
        let divergent = divergences(&record, !self.header.direct);
        record.notes.extend(divergent.iter().map(ToString::to_string));
        record.notes.extend(notes::tell(&record, self.header, self.precise));
        record
    }
}

/// How many whole intervals a time has, and how long they are together; none if it has none.
fn whole_intervals(time: Duration) -> Option<(usize, Duration)> {
    let whole =
        u32::try_from(time.as_nanos() / SERIES_INTERVAL.as_nanos()).ok().filter(|whole| *whole > 0)?;
    Some((usize::try_from(whole).ok()?, SERIES_INTERVAL * whole))
}

#[cfg(test)]
pub(crate) mod tests;
