//! Conducts a test: point after point, each recorded before the next begins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_model::orion::{LoadPoint, OrionEnd, OrionHeader, PointRecord};
use iostone_model::units::Span;

use crate::error::OrionError;
use crate::lun::Lun;
use crate::point::{Subject, Teller, devices_of, measure, moment, rehearse};
use crate::refusal::explain;
use crate::schedule::Schedule;
use crate::warming::warm;

/// What is to be done.
pub struct Assignment<'a> {
    /// The test as it is recorded: options, LUNs, seed.
    pub header: &'a OrionHeader,
    /// The LUNs, in order, checked and let pass.
    pub luns: &'a [Lun],
    /// Which point is next.
    pub schedule: &'a dyn Schedule,
    /// Points measured by an earlier session.
    pub done: Vec<PointRecord>,
}

/// Hears how a test gets on.
pub trait Observer {
    /// Nothing is known any more that would keep the test from being done.
    fn ready(&mut self) {}

    /// A point begins: its number from 1, and how many there are, where that is known.
    fn begins(&mut self, _number: u32, _total: Option<u32>, _point: LoadPoint) {}

    /// About ten times a second: what is going on (`warming`, `measuring`), for how long, and for how long at most.
    fn goes_on(&mut self, _what: &'static str, _elapsed: Span, _most: Span) {}

    /// A point was measured. It must be durable when this returns; an error ends the test.
    ///
    /// # Errors
    /// That it could not be recorded.
    fn measured(&mut self, record: &PointRecord) -> Result<(), OrionError>;
}

/// Measures the points of a schedule that are still to be measured. Gives all of them, those of earlier sessions first, and
/// how the test ended; a failed I/O and an interruption are such ends, and so is what the engine refuses once a point was
/// measured. The heaviest points of the plan are prepared before the first one is measured, so that what would keep it from
/// being measured is known then and not hours later.
///
/// # Errors
/// What keeps it from beginning, and what the observer says.
pub fn conduct(
    assignment: Assignment<'_>,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(Vec<PointRecord>, OrionEnd), OrionError> {
    let Assignment { header, luns, schedule, mut done } = assignment;
    let subject = Subject { header, luns, devices: devices_of(luns) };
    let before = done.len();
    if let Some(next) = schedule.next(&done) {
        for point in to_rehearse(header, next) {
            rehearse(&subject, point).map_err(|error| explain(error, &subject, point))?;
        }
    }
    observer.ready();
    let reason = loop {
        let Some(point) = schedule.next(&done) else { break None };
        if stop.load(Ordering::Relaxed) {
            break Some(OrionError::Interrupted);
        }
        let number = u32::try_from(done.len() + 1).unwrap_or(u32::MAX);
        observer.begins(number, schedule.total(), point);
        let mut tell = |what: &'static str, elapsed: Span, most: Span| observer.goes_on(what, elapsed, most);
        match measure_warm(&subject, (number, point), stop, &mut tell) {
            Ok(record) => {
                observer.measured(&record)?;
                done.push(record);
            }
            Err(end @ (OrionError::Interrupted | OrionError::Fault { .. })) => break Some(end),
            Err(refusal) if done.len() == before => return Err(refusal),
            Err(refusal) => break Some(refusal),
        }
    };
    let end = OrionEnd {
        ended_at: moment(Duration::ZERO),
        finished: reason.is_none(),
        reason: reason.map(|reason| reason.to_string()),
        knee: schedule.knee(&done),
        estimates: schedule.estimates(&done),
    };
    Ok((done, end))
}

/// The points that show whether the plan can be done: the heaviest ones; of one that is found on the way (`--knee`), the
/// next.
fn to_rehearse(header: &OrionHeader, next: LoadPoint) -> Vec<LoadPoint> {
    let extremes = if header.knee { Vec::new() } else { header.test.extremes(header.num_disks) };
    if extremes.is_empty() { vec![next] } else { extremes }
}

fn measure_warm(
    subject: &Subject<'_>,
    (number, point): (u32, LoadPoint),
    stop: &AtomicBool,
    tell: Teller<'_>,
) -> Result<PointRecord, OrionError> {
    let mut measured = || {
        let warming_bytes = warm(subject, point, stop, tell)?;
        let record = measure(subject, (number, point), stop, tell)?;
        Ok(PointRecord { warming_bytes, ..record })
    };
    measured().map_err(|error| explain(error, subject, point))
}
