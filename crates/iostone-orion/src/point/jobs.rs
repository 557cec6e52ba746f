//! The engine's jobs that make up a load point.

use std::time::Duration;

use iostone_engine::{Content, Job, Preparation, Volume, Walk};
use iostone_model::load::Rw;
use iostone_model::orion::{FileData, LargeIo, LoadPoint, LunRecord, OrionHeader, OrionTest, SimulatedArray};
use iostone_model::units::{Bytes, Span};
use iostone_stats::schedule::SplitMix64;

use crate::lun::Lun;

/// I/O goes on for this share of the measured time before it, so that the queues are full when it begins.
const RAMP_SHARE: u32 = 10;
/// But for no longer than this.
const LONGEST_RAMP: Duration = Duration::from_secs(1);

/// Which of a point's two loads a job belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Small random I/O.
    Small,
    /// Large random I/O, or one of the sequential streams.
    Large,
}

/// A job of a load point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointJob {
    /// The load that it is, or is part of.
    pub load: Load,
    /// What the engine does.
    pub job: Job,
}

/// The jobs of a load point, all to be run together: one for the small I/O, and for the large I/O one if it is random, else
/// one for each stream. None for the point without load.
///
/// Each point has a seed of its own, drawn from the test's and its two loads: the same test measures the same places again,
/// but no point those of the one before it, which a cache may still hold. Random I/O goes over the whole volume, every
/// block once before any comes again. (ORION was seen to re-read a set of blocks far smaller than the volume.)
///
/// Streams begin where ORION's manual has them: with `-simulate raid0` and no small I/O beside them evenly spread over the
/// volume, stream i of n (from 0) at `(i + 1) / (n + 1)` of it, and a single one at its beginning; else at places drawn.
/// Places are whole large blocks.
pub fn jobs_of(header: &OrionHeader, luns: &[Lun], point: LoadPoint) -> Vec<PointJob> {
    let test = &header.test;
    let mut chance = SplitMix64::new(seed_of(header.seed, point));
    let mut jobs = Vec::new();
    let random_rw = |seed| {
        let mut job = base_job(header, luns, random_direction(test.write_percent));
        job.rwmixread = 100 - test.write_percent.min(100);
        job.seed = seed;
        job
    };
    // Drawn whether or not they are needed, so that a load's places do not depend on the other load.
    let seeds = [chance.next_u64(), chance.next_u64()];
    if point.small > 0 {
        let mut job = random_rw(seeds[0]);
        job.bs = test.size_small.into();
        job.iodepth = point.small;
        jobs.push(PointJob { load: Load::Small, job });
    }
    if point.large == 0 {
        return jobs;
    }
    if test.large_io == LargeIo::Rand {
        let mut job = random_rw(seeds[1]);
        job.bs = test.size_large.into();
        job.iodepth = point.large;
        jobs.push(PointJob { load: Load::Large, job });
        return jobs;
    }
    for stream in 0..point.large {
        let rw = if stream_writes(test, stream, point.large) { Rw::Write } else { Rw::Read };
        let mut job = base_job(header, luns, rw);
        job.bs = test.size_large.into();
        job.iodepth = test.num_stream_io.max(1);
        job.seed = chance.next_u64();
        let start = stream_start(test, luns, point, stream, chance.next_u64());
        job.walk = Walk { start: Bytes(start), ..Walk::default() };
        jobs.push(PointJob { load: Load::Large, job });
    }
    jobs
}

/// The size of the volume that the LUNs make, in bytes.
pub fn volume_bytes(test: &OrionTest, luns: &[Lun]) -> u64 {
    let sizes: Vec<u64> = luns.iter().map(|lun| lun.bytes).collect();
    volume_over(test, &sizes)
}

/// The bytes of the LUNs that no I/O of a test touches: what RAID 0 leaves of LUNs that are larger than the smallest, and
/// what fills no page of a concatenation's LUN, no stripe, or no block of the loads at the end of the volume.
pub fn untested_bytes(test: &OrionTest, luns: &[LunRecord]) -> u64 {
    let sizes: Vec<u64> = luns.iter().map(|lun| lun.bytes).collect();
    let points = test.points(test.num_disks.unwrap_or(u32::try_from(sizes.len()).unwrap_or(u32::MAX)));
    let blocks = [
        (points.iter().any(|point| point.small > 0), test.size_small.0),
        (points.iter().any(|point| point.large > 0), test.size_large.0),
    ];
    let volume = volume_over(test, &sizes);
    let reached = |(used, block): (bool, u64)| used.then(|| volume / block.max(1) * block);
    let tested = blocks.into_iter().filter_map(reached).max().unwrap_or(volume);
    sizes.iter().sum::<u64>().saturating_sub(tested)
}

fn volume_over(test: &OrionTest, sizes: &[u64]) -> u64 {
    match (volume_of(test, sizes.len()), sizes) {
        (None, [bytes]) => *bytes,
        (Some(Volume::Raid0 { chunk }), sizes) => {
            let smallest = sizes.iter().copied().min().unwrap_or(0);
            smallest / chunk.0.max(1) * chunk.0 * sizes.len() as u64
        }
        _ => sizes.iter().map(|bytes| bytes / CONCAT_UNIT * CONCAT_UNIT).sum(),
    }
}

/// The engine uses whole pages of each member of a concatenation.
const CONCAT_UNIT: u64 = 4096;

/// How so many LUNs make a volume; a single one is it as it is.
fn volume_of(test: &OrionTest, luns: usize) -> Option<Volume> {
    (luns > 1).then_some(match test.simulate {
        SimulatedArray::Concat => Volume::Concat,
        SimulatedArray::Raid0 => Volume::Raid0 { chunk: test.stripe },
    })
}

/// A job on all LUNs for the time of a point.
///
/// A file keeps whatever blocks it has, for never-written ones were dealt with before the test. What the page cache holds is
/// dropped once before a test, and without `O_DIRECT` before each point.
pub(crate) fn base_job(header: &OrionHeader, luns: &[Lun], rw: Rw) -> Job {
    let mut job = Job::new("", rw);
    job.targets = luns.iter().map(|lun| lun.path.clone()).collect();
    job.volume = volume_of(&header.test, luns.len());
    job.direct = header.direct;
    job.preparation = Preparation::Leave;
    job.invalidate = false;
    if header.data == FileData::Zeros {
        job.data.content = Content::Zeros;
    }
    job.runtime = Some(header.test.duration);
    job.ramp_time = ramp_of(header.test.duration);
    // A failure ends the point, not only the load that met it.
    job.exit_all = true;
    job
}

/// How long I/O goes on before it is measured.
fn ramp_of(duration: Span) -> Span {
    Span((duration.0 / RAMP_SHARE).min(LONGEST_RAMP))
}

fn random_direction(write_percent: u32) -> Rw {
    match write_percent {
        0 => Rw::RandRead,
        1..=99 => Rw::RandRw,
        _ => Rw::RandWrite,
    }
}

/// Whether a stream writes: as many as the test has write, evenly spread among the others.
fn stream_writes(test: &OrionTest, stream: u32, streams: u32) -> bool {
    let writing = u64::from(test.writing_streams(streams));
    let before = |stream: u32| u64::from(stream) * writing / u64::from(streams.max(1));
    before(stream + 1) > before(stream)
}

fn stream_start(test: &OrionTest, luns: &[Lun], point: LoadPoint, stream: u32, drawn: u64) -> u64 {
    let block = test.size_large.0.max(1);
    let blocks = (volume_bytes(test, luns) / block).max(1);
    let spread = test.simulate == SimulatedArray::Raid0 && point.small == 0;
    let first = match (spread, point.large) {
        (true, 1) => 0,
        (true, streams) => {
            let place = u128::from(blocks) * u128::from(stream + 1) / (u128::from(streams) + 1);
            u64::try_from(place).unwrap_or(0)
        }
        (false, _) => drawn % blocks,
    };
    first * block
}

fn seed_of(seed: u64, point: LoadPoint) -> u64 {
    // Drawn from once before the point goes in, or neighbouring seeds and neighbouring loads could cancel out.
    let load = u64::from(point.small) << 32 | u64::from(point.large);
    SplitMix64::new(SplitMix64::new(seed).next_u64() ^ load).next_u64()
}

#[cfg(test)]
mod tests;
