//! Finds out before a test what would keep its heaviest point from being measured hours later.

use std::sync::atomic::AtomicBool;

use iostone_engine::{EngineError, Prepared, prepare_watched};
use iostone_model::orion::LoadPoint;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::jobs::{PointJob, jobs_of};
use super::{Subject, refused};
use crate::error::OrionError;

/// Files that are open beside the LUNs.
const OTHER_FILES: u64 = 256;

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
    prepare_all(jobs, &AtomicBool::new(false)).map(drop)
}

/// Prepares the jobs of a point.
pub(super) fn prepare_all(jobs: Vec<PointJob>, stop: &AtomicBool) -> Result<Vec<Prepared>, OrionError> {
    make_room_for_files(jobs.iter().map(|one| one.job.targets.len() as u64).sum());
    let prepared: Result<Vec<Prepared>, EngineError> =
        jobs.into_iter().map(|one| prepare_watched(&one.job, stop, &mut |_| ())).collect();
    prepared.map_err(refused)
}

/// Many streams over many LUNs are more open files than a process gets without asking (1,024 as a rule), and far fewer than
/// it may ask for. If it may not, opening them says so.
fn make_room_for_files(files: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = files.saturating_add(OTHER_FILES);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let current = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum });
}
