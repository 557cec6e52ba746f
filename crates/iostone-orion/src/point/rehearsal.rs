//! Finds out before a test what would keep its heaviest point from being measured hours later.

use std::sync::atomic::AtomicBool;

use iostone_engine::{EngineError, Prepared, prepare_watched};
use iostone_model::orion::{LargeIo, LoadPoint, OrionHeader};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::jobs::{PointJob, jobs_of};
use super::{Subject, refused};
use crate::error::OrionError;

/// Files that are open beside the LUNs.
const OTHER_FILES: u64 = 256;

/// The point of a plan with the most bytes in flight; none of a plan without points, and of one that is found on the way
/// (`--knee`).
pub(crate) fn heaviest(header: &OrionHeader) -> Option<LoadPoint> {
    if header.knee {
        return None;
    }
    let test = &header.test;
    let per_large = match test.large_io {
        LargeIo::Rand => 1,
        LargeIo::Seq => u64::from(test.num_stream_io),
    };
    let in_flight = |point: &LoadPoint| {
        let small = u64::from(point.small).saturating_mul(test.size_small.0);
        let large = u64::from(point.large).saturating_mul(per_large).saturating_mul(test.size_large.0);
        small.saturating_add(large)
    };
    test.points(header.num_disks).into_iter().max_by_key(in_flight)
}

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

#[cfg(test)]
mod tests {
    use iostone_model::orion::{Matrix, OrionTest, RunLevel};

    use super::*;
    use crate::point::tests::header;

    #[test]
    fn the_heaviest_point_has_the_most_bytes_in_flight() {
        let simple = header(OrionTest::new(RunLevel::Simple));
        assert_eq!(heaviest(&simple), Some(LoadPoint { small: 0, large: 2 }));
        let normal = header(OrionTest::new(RunLevel::Normal));
        assert_eq!(heaviest(&normal), Some(LoadPoint { small: 5, large: 2 }));
        let mut knee = normal;
        knee.knee = true;
        assert_eq!(heaviest(&knee), None);
        let mut test = OrionTest::new(RunLevel::Advanced);
        (test.matrix, test.num_small, test.num_large) = (Matrix::Point, Some(0), Some(0));
        assert_eq!(heaviest(&header(test)), Some(LoadPoint { small: 0, large: 0 }));
    }
}
