//! Conducts a test: point after point, each recorded before the next begins.

use std::sync::atomic::AtomicBool;

use iostone_model::orion::{LoadPoint, OrionEnd, OrionHeader, PointRecord};
use iostone_model::units::Span;

use crate::course::Course;
use crate::error::OrionError;
use crate::lun::Lun;

/// What is to be done.
pub struct Assignment<'a> {
    /// The test as it is recorded: options, LUNs, seed.
    pub header: &'a OrionHeader,
    /// The LUNs, in order, checked and let pass.
    pub luns: &'a [Lun],
    /// Which point is next.
    pub course: &'a dyn Course,
    /// Points measured by an earlier session.
    pub done: Vec<PointRecord>,
}

/// Hears how a test gets on.
pub trait Observer {
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

/// Measures the points of a course that are still to be measured. Gives all of them, those of earlier sessions first, and
/// how the test ended; a failed I/O and an interruption are such ends.
///
/// # Errors
/// What keeps it from beginning, and what the observer says.
pub fn conduct(
    assignment: Assignment<'_>,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(Vec<PointRecord>, OrionEnd), OrionError> {
    let _ = (assignment, observer, stop);
    Err(OrionError::Interrupted)
}
