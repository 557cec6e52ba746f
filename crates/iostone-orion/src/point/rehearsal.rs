//! Finds out before a test what would keep its heaviest point from being measured hours later.

use std::sync::atomic::AtomicBool;

use iostone_engine::{EngineError, Pins, Prepared, make_room_for_files, prepare_pinned};
use iostone_model::orion::LoadPoint;

use super::jobs::{PointJob, jobs_of};
use super::{Subject, refused};
use crate::error::OrionError;
use crate::lun::pins_of;

/// Does everything for a point but run it: jobs, memory, rights, alignment, room for open files. Drops what the page cache
/// holds of the LUNs.
///
/// # Errors
/// What the engine would refuse when the point's turn comes.
pub(crate) fn rehearse(subject: &Subject<'_>, point: LoadPoint) -> Result<(), OrionError> {
    // The point without load has no jobs; its devices and LUNs are looked at all the same.
    let point = if point.small == 0 && point.large == 0 { LoadPoint { small: 1, large: 0 } } else { point };
    let mut jobs = jobs_of(subject.header, subject.luns, point);
    if let Some(one) = jobs.first_mut() {
        one.job.invalidate = true;
    }
    // Nothing is laid out that would have to be interrupted.
    prepare_all(jobs, &pins_of(subject.luns), &AtomicBool::new(false)).map(drop)
}

/// Prepares the jobs of a point.
pub(super) fn prepare_all(
    jobs: Vec<PointJob>,
    pins: &Pins,
    stop: &AtomicBool,
) -> Result<Vec<Prepared>, OrionError> {
    make_room_for_files(jobs.iter().map(|one| 4 * one.job.targets.len() as u64).sum());
    let prepared: Result<Vec<Prepared>, EngineError> =
        jobs.into_iter().map(|one| prepare_pinned(&one.job, pins, stop, &mut |_| ())).collect();
    prepared.map_err(refused)
}
