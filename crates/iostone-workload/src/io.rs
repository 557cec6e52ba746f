//! The `io` workload: iostone's own load engine on a file of the stack, or on the bare device.

mod report;

use std::sync::atomic::AtomicBool;

use iostone_engine::{
    Arrivals, BlockSize, BlockSizes, Checksum, Distribution, EngineChoice, Extent, Job, Pace, PerDirection,
    RangeSync, Rate, RequestFlag, Rw, SizeShare, Think, Verify, WriteSync, Zone,
};
use iostone_model::experiment::{
    self, Decimal, IoEngine, IoWorkload, RandomDistribution, RateProcess, ReadWrite, SyncMode, Verification,
};
use iostone_model::units::BytesPerSecond;

pub use report::measurement;

use crate::{CpuUse, Measurement, Place, Prepared, TrialContext, WorkloadError};

/// The file that the engine works on, in the directory that the stack offers.
const FILE_NAME: &str = "iostone.data";

struct PreparedIo {
    spec: IoWorkload,
    engine: iostone_engine::Prepared,
}

/// Turns a workload of the experiment file into a job of the engine on a target.
pub fn job(spec: &IoWorkload, target: std::path::PathBuf, seed: u64) -> Job {
    let mut job = Job::new(target, order(spec.rw));
    job.rwmixread = spec.rwmixread.unwrap_or(job.rwmixread);
    job.bs = block_sizes(spec);
    job.walk.distribution = distribution(spec);
    job.walk.revisits = spec.norandommap;
    job.iodepth = spec.iodepth;
    job.numjobs = spec.numjobs;
    job.offset = spec.offset;
    job.size = spec.size;
    job.runtime = spec.asked_runtime();
    job.io_size = spec.io_size;
    job.ramp_time = spec.ramp_time.span();
    job.pace = pace(spec);
    job.think = spec.thinktime.filter(|time| !time.0.is_zero()).map(|time| Think {
        time,
        spin: iostone_model::units::Span::default(),
        every: spec.thinktime_blocks.unwrap_or(1),
        io_time: None,
    });
    job.max_latency = spec.max_latency;
    job.direct = spec.direct;
    job.fsync = spec.fsync;
    job.fdatasync = spec.fdatasync;
    job.sync_file_range = spec.sync_file_range.map_or_else(RangeSync::default, |sync| RangeSync {
        every: sync.every,
        wait_before: sync.wait_before,
        write: sync.write,
        wait_after: sync.wait_after,
    });
    job.sync = match spec.sync {
        SyncMode::None => WriteSync::None,
        SyncMode::Dsync => WriteSync::Dsync,
        SyncMode::Sync => WriteSync::Sync,
    };
    job.flags = spec.flags.iter().map(|flag| request_flag(*flag)).collect();
    job.engine = match spec.engine {
        IoEngine::Auto => EngineChoice::Auto,
        IoEngine::IoUring => EngineChoice::IoUring,
        IoEngine::Sync => EngineChoice::Sync,
        IoEngine::Mmap => EngineChoice::Mmap,
    };
    job.data.compress_percent = spec.buffer_compress_percentage.unwrap_or_default();
    job.data.compress_chunk = spec.buffer_compress_chunk;
    job.data.dedupe_percent = spec.dedupe_percentage;
    job.verify = match spec.verify {
        Verification::None => None,
        Verification::Crc32c => Some(Checksum::Crc32c),
        Verification::Sha256 => Some(Checksum::Sha256),
    }
    .map(|checksum| Verify { checksum, ..Verify::default() });
    job.seed = seed;
    job
}

fn order(rw: ReadWrite) -> Rw {
    match rw {
        ReadWrite::Read => Rw::Read,
        ReadWrite::Write => Rw::Write,
        ReadWrite::Randread => Rw::RandRead,
        ReadWrite::Randwrite => Rw::RandWrite,
        ReadWrite::Rw => Rw::ReadWrite,
        ReadWrite::Randrw => Rw::RandRw,
        ReadWrite::Trim => Rw::Trim,
        ReadWrite::Randtrim => Rw::RandTrim,
        ReadWrite::Trimwrite => Rw::TrimWrite,
        ReadWrite::Randtrimwrite => Rw::RandTrimWrite,
    }
}

fn block_sizes(spec: &IoWorkload) -> BlockSizes {
    match spec.block_sizes() {
        experiment::BlockSizes::Fixed(bytes) => bytes.into(),
        experiment::BlockSizes::Range(range) => {
            PerDirection::all(BlockSize::Range { min: range.min, max: range.max })
        }
        experiment::BlockSizes::Split(split) => {
            let share = |(bs, percent): &(_, _)| SizeShare { bs: *bs, percent: *percent };
            PerDirection::all(BlockSize::Split(split.shares().iter().map(share).collect()))
        }
    }
}

fn distribution(spec: &IoWorkload) -> Distribution {
    let center = |center: &Option<Decimal>| center.map(Decimal::as_f64);
    match &spec.random_distribution {
        None | Some(RandomDistribution::Random) => Distribution::Uniform,
        Some(RandomDistribution::Zipf { theta, center: at }) => {
            Distribution::Zipf { theta: theta.as_f64(), center: center(at) }
        }
        Some(RandomDistribution::Pareto { h, center: at }) => {
            Distribution::Pareto { h: h.as_f64(), center: center(at) }
        }
        Some(RandomDistribution::Normal { deviation_percent, center: at }) => {
            Distribution::Normal { deviation_percent: deviation_percent.as_f64(), center: center(at) }
        }
        Some(zoned @ (RandomDistribution::Zoned(_) | RandomDistribution::HotCold(_))) => {
            let zone = |zone: experiment::Zone| Zone {
                access_percent: zone.access_percent.as_f64(),
                extent: Extent::Percent(zone.span_percent.as_f64()),
            };
            Distribution::Zoned(zoned.zones().into_iter().map(zone).collect())
        }
    }
}

/// As in fio, one rate is that of each direction that the workload goes in.
fn pace(spec: &IoWorkload) -> Pace {
    let [reads, writes] = match (spec.rate_iops, spec.rate) {
        (Some(rates), _) => [rates.reads(), rates.writes()].map(|rate| Some(Rate::Iops(rate.into()))),
        (None, Some(rates)) => {
            [rates.reads(), rates.writes()].map(|rate| Some(Rate::Bytes(BytesPerSecond(rate.0 as f64))))
        }
        (None, None) => [None, None],
    };
    Pace {
        rate: PerDirection {
            read: reads.filter(|_| spec.rw.reads()),
            write: writes.filter(|_| spec.rw.writes()),
            trim: writes.filter(|_| spec.rw.trims()),
        },
        arrivals: match spec.rate_process.unwrap_or_default() {
            RateProcess::Linear => Arrivals::Constant,
            RateProcess::Poisson => Arrivals::Poisson,
        },
    }
}

fn request_flag(flag: experiment::RequestFlag) -> RequestFlag {
    match flag {
        experiment::RequestFlag::Hipri => RequestFlag::Hipri,
        experiment::RequestFlag::Dsync => RequestFlag::Dsync,
        experiment::RequestFlag::Sync => RequestFlag::Sync,
        experiment::RequestFlag::Nowait => RequestFlag::Nowait,
        experiment::RequestFlag::Atomic => RequestFlag::Atomic,
        experiment::RequestFlag::Dontcache => RequestFlag::Dontcache,
    }
}

pub(crate) fn prepare(
    spec: &IoWorkload,
    place: &Place,
    context: &TrialContext,
    stop: &AtomicBool,
) -> Result<Box<dyn Prepared>, WorkloadError> {
    let target = match (&place.directory, &place.device) {
        (Some(directory), _) => directory.join(FILE_NAME),
        (None, Some(device)) => device.clone(),
        (None, None) => return Err(WorkloadError::NoDirectory { kind: "io" }),
    };
    let job = job(spec, target, context.seed);
    let engine = iostone_engine::prepare_watched(&job, stop, &mut |_| {})?;
    Ok(Box::new(PreparedIo { spec: spec.clone(), engine }))
}

impl Prepared for PreparedIo {
    fn run(self: Box<Self>, stop: &AtomicBool) -> Result<Measurement, WorkloadError> {
        let before = CpuUse::of_this_process();
        let outcome = self.engine.run(stop, &mut |_| {})?;
        let cpu = CpuUse::of_this_process().since(before);
        Ok(Measurement { cpu: Some(cpu), ..measurement(&self.spec, &outcome) })
    }
}

#[cfg(test)]
mod tests;
