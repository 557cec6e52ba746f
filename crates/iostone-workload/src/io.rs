//! The `io` workload: iostone's own load engine on a file of the stack, or on the bare device.

mod report;

use std::sync::atomic::AtomicBool;

use iostone_engine::{Checksum, Job, Pace, Rate, Think, Verify};
use iostone_model::experiment::{IoWorkload, Verification};
use iostone_model::load::PerDirection;
use iostone_model::units::{BytesPerSecond, Span};

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
    let mut job = Job::new(target, spec.rw);
    job.rwmixread = spec.rwmixread.unwrap_or(job.rwmixread);
    job.bs = PerDirection::all(spec.block_sizes());
    job.walk.distribution = spec.random_distribution.clone().unwrap_or_default();
    job.walk.revisits = spec.norandommap;
    job.iodepth = spec.iodepth;
    job.numjobs = spec.numjobs;
    job.offset = spec.offset;
    job.size = spec.size;
    job.runtime = spec.asked_runtime();
    job.io_size = spec.io_size;
    job.ramp_time = spec.ramp_time.span();
    job.pace = Pace { rate: rates(spec), arrivals: spec.rate_process.unwrap_or_default() };
    job.think = spec.thinktime.filter(|time| !time.0.is_zero()).map(|time| Think {
        time,
        spin: Span::default(),
        every: spec.thinktime_blocks.unwrap_or(1),
        io_time: None,
    });
    job.max_latency = spec.max_latency;
    job.direct = spec.direct;
    job.fsync = spec.fsync;
    job.fdatasync = spec.fdatasync;
    job.sync_file_range = spec.sync_file_range;
    job.sync = spec.sync;
    job.flags.clone_from(&spec.flags);
    job.engine = spec.engine;
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

/// As in fio, one rate is that of each direction that the workload goes in.
fn rates(spec: &IoWorkload) -> PerDirection<Option<Rate>> {
    let [reads, writes] = match (spec.rate_iops, spec.rate) {
        (Some(rates), _) => [rates.reads(), rates.writes()].map(|rate| Some(Rate::Iops(rate.into()))),
        (None, Some(rates)) => {
            [rates.reads(), rates.writes()].map(|rate| Some(Rate::Bytes(BytesPerSecond(rate.0 as f64))))
        }
        (None, None) => [None, None],
    };
    PerDirection {
        read: reads.filter(|_| spec.rw.reads()),
        write: writes.filter(|_| spec.rw.writes()),
        trim: writes.filter(|_| spec.rw.trims()),
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
