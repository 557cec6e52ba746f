//! Warms the cache of an array before a large sequential point, by unmeasured random I/O.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iostone_engine::{Job, Progress, prepare_pinned};
use iostone_model::load::Rw;
use iostone_model::orion::{LargeIo, LoadPoint, OrionTest};
use iostone_model::units::{Bytes, Span};
use iostone_stats::schedule::SplitMix64;

use crate::error::OrionError;
use crate::lun::pins_of;
use crate::point::{Subject, Teller, base_job, refused};

/// How long the cache is warmed where `-cache_size` was not given, as ORION's manual has it.
pub const UNSET_DURATION: Duration = Duration::from_secs(120);
/// As many large I/Os keep any array busy, and their buffers fit anywhere.
const DEEPEST: u32 = 32;
/// Tells the seed of warming from those of points.
const WARMING: u64 = 0x7761_726d;

/// How far a cache is warmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Until so many bytes were moved.
    Moved(Bytes),
    /// For so long.
    Lasting(Duration),
}

/// Whether, and how far, the cache is warmed before a point: only before large sequential I/O, by `-cache_size`, for two
/// minutes without it, and not at all where it is 0.
pub fn extent_before(test: &OrionTest, point: LoadPoint) -> Option<Extent> {
    if test.large_io != LargeIo::Seq || point.large == 0 {
        return None;
    }
    match test.cache_size {
        None => Some(Extent::Lasting(UNSET_DURATION)),
        Some(Bytes(0)) => None,
        Some(bytes) => Some(Extent::Moved(bytes)),
    }
}

/// Warms the cache before a point where that is due, with random large reads, or writes where a stream of the point
/// writes; gives the bytes that were moved.
///
/// # Errors
/// [`OrionError::Interrupted`] when `stop` was raised, [`OrionError::Fault`] for an I/O that failed, and what keeps the
/// engine from beginning.
pub fn warm(
    subject: &Subject<'_>,
    point: LoadPoint,
    stop: &AtomicBool,
    tell: Teller<'_>,
) -> Result<u64, OrionError> {
    let Some(extent) = extent_before(&subject.header.test, point) else { return Ok(0) };
    let job = warming_job(subject, point, extent);
    let prepared = prepare_pinned(&job, &pins_of(subject.luns), stop, &mut |_| ()).map_err(refused)?;
    let outcome = prepared
        .run(stop, &mut |progress: Progress| tell("warming", progress.elapsed, most(extent, progress)))
        .map_err(refused)?;
    if let Some(fault) = outcome.error {
        let point = format!("{point}, warming the cache before it");
        return Err(OrionError::Fault { point, fault: fault.to_string() });
    }
    if stop.load(Ordering::Relaxed) { Err(OrionError::Interrupted) } else { Ok(outcome.bytes().0) }
}

fn warming_job(subject: &Subject<'_>, point: LoadPoint, extent: Extent) -> Job {
    let test = &subject.header.test;
    let rw = if test.writing_streams(point.large) > 0 { Rw::RandWrite } else { Rw::RandRead };
    let mut job = base_job(subject.header, subject.luns, rw);
    job.bs = test.size_large.into();
    job.iodepth = point.large.saturating_mul(test.num_stream_io).clamp(1, DEEPEST);
    let load = u64::from(point.small) << 32 | u64::from(point.large);
    job.seed = SplitMix64::new(subject.header.seed ^ WARMING ^ load).next_u64();
    job.ramp_time = Span::default();
    (job.runtime, job.io_size) = match extent {
        Extent::Moved(bytes) => {
            let block = test.size_large.0.max(1);
            (None, Some(Bytes(bytes.0.div_ceil(block).saturating_mul(block))))
        }
        Extent::Lasting(duration) => (Some(Span(duration)), None),
    };
    job
}

/// For how long it will go on at most, where its end is a number of bytes judged from how fast it was so far.
fn most(extent: Extent, progress: Progress) -> Span {
    match extent {
        Extent::Lasting(duration) => Span(duration),
        Extent::Moved(bytes) => {
            let share = bytes.0 as f64 / progress.bytes.0.max(1) as f64;
            let seconds = progress.elapsed.0.as_secs_f64() * share.max(1.0);
            Span(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::orion::RunLevel;

    use super::*;
    use crate::point::tests::{header, luns};

    fn sequential(cache_size: Option<Bytes>, write_percent: u32) -> OrionTest {
        let mut test = OrionTest::new(RunLevel::Advanced);
        (test.large_io, test.cache_size, test.write_percent) = (LargeIo::Seq, cache_size, write_percent);
        test
    }

    #[test]
    fn only_large_sequential_points_are_warmed_for() {
        let streams = LoadPoint { small: 0, large: 2 };
        assert_eq!(
            extent_before(&sequential(None, 0), streams),
            Some(Extent::Lasting(Duration::from_secs(120)))
        );
        assert_eq!(extent_before(&sequential(Some(Bytes(0)), 0), streams), None);
        let size = Bytes(64 << 20);
        assert_eq!(extent_before(&sequential(Some(size), 0), streams), Some(Extent::Moved(size)));
        assert_eq!(extent_before(&sequential(None, 0), LoadPoint { small: 3, large: 0 }), None);
        assert_eq!(extent_before(&OrionTest::new(RunLevel::Normal), streams), None);
    }

    #[test]
    fn junk_is_read_before_reads_and_written_before_writing_streams() {
        let luns = luns(&[64 << 20]);
        for (large, write_percent, rw) in
            [(3, 0, Rw::RandRead), (3, 20, Rw::RandWrite), (2, 20, Rw::RandRead), (2, 25, Rw::RandWrite)]
        {
            let point = LoadPoint { small: 0, large };
            let header = header(sequential(Some(Bytes(3 << 19)), write_percent));
            let subject = Subject { header: &header, luns: &luns, devices: Vec::new() };
            let job = warming_job(&subject, point, Extent::Moved(Bytes(3 << 19)));
            assert_eq!(
                (job.rw, job.io_size, job.runtime, job.iodepth),
                (rw, Some(Bytes(2 << 20)), None, 4 * large)
            );
            assert!(job.check().is_ok());
        }
    }
}
