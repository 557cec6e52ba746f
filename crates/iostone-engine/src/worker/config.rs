//! Turns a job into what one of its threads is to do.

use std::fs::File;
use std::time::Duration;

use iostone_model::load::RequestFlag;

use super::SharedJob;
use crate::driver::{Cadence, Lane, Pacer, RawFault, Tally, WorkerConfig};
use crate::engine::uring::BATCH;
use crate::fault::Operation;
use crate::job::Job;
use crate::payload;
use crate::source::Part;
use crate::verify::Verifier;

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// When the job begins, on its clock; the first thread of all jobs starts the clock.
pub(super) fn begin(shared: &SharedJob<'_>) -> u64 {
    let begun = *shared.begun_ns.get_or_init(|| shared.clock.now_ns());
    begun.saturating_add(nanoseconds(shared.job.start_delay.0))
}

/// The thread's part of each target: all of it for a random job, which covers the whole span in an order of its own;
/// a share each where threads would otherwise do the same blocks, or overwrite what another one checks.
pub(super) fn parts_of(shared: &SharedJob<'_>, number: u32) -> Vec<Part> {
    if shared.job.rw.is_random() && shared.job.verify.is_none() {
        return shared.parts.to_vec();
    }
    let unit = shared.job.largest_block().0.max(1);
    let share = |part: &Part| {
        let (first, units) = share_of(part.length_bytes / unit, shared.job.numjobs, number);
        Part { offset_bytes: part.offset_bytes + first * unit, length_bytes: units * unit }
    };
    let whole = shared.job.numjobs == 1;
    shared.parts.iter().map(|part| if whole { *part } else { share(part) }).collect()
}

/// First unit and number of units of thread `number` when `units` are shared out; remainders go to the first.
pub(crate) fn share_of(units: u64, threads: u32, number: u32) -> (u64, u64) {
    let (threads, number) = (u64::from(threads), u64::from(number));
    let (each, left) = (units / threads, units % threads);
    (number * each + number.min(left), each + u64::from(number < left))
}

/// The `RWF_*` flags of each request.
pub(super) fn request_flags(job: &Job) -> i32 {
    /// `RWF_ATOMIC` and `RWF_DONTCACHE` of the kernel's `linux/fs.h`, which the C library's headers lack still.
    const RWF_ATOMIC: i32 = 0x40;
    const RWF_DONTCACHE: i32 = 0x80;
    let value = |flag: &RequestFlag| match flag {
        RequestFlag::Hipri => libc::RWF_HIPRI,
        RequestFlag::Dsync => libc::RWF_DSYNC,
        RequestFlag::Sync => libc::RWF_SYNC,
        RequestFlag::Nowait => libc::RWF_NOWAIT,
        RequestFlag::Atomic => RWF_ATOMIC,
        RequestFlag::Dontcache => RWF_DONTCACHE,
    };
    job.flags.iter().map(value).fold(0, |flags, flag| flags | flag)
}

pub(super) fn plan<'a>(
    shared: &'a SharedJob<'_>,
    number: u32,
    files: &'a [File],
    lane: &'a Lane,
) -> WorkerConfig<'a> {
    let job = shared.job;
    let opens_ns = begin(shared).saturating_add(nanoseconds(job.ramp_time.0));
    let closes_ns = job.runtime.map_or(u64::MAX, |runtime| opens_ns.saturating_add(nanoseconds(runtime.0)));
    let once = || parts_of(shared, number).iter().map(|part| bytes_of_pass(job, part)).sum();
    let limit_bytes = match (job.io_size, job.runtime, job.ios) {
        (Some(bytes), _, _) => bytes.0,
        (None, None, None) => once(),
        (None, _, _) => u64::MAX,
    };
    WorkerConfig {
        clock: shared.clock,
        stamp: job.stamp,
        iodepth: job.iodepth,
        batch: job.batch.min(job.iodepth.max(BATCH)),
        iodepth_low: job.iodepth_low.unwrap_or(0),
        cadence: Cadence {
            fsync: job.fsync,
            fdatasync: job.fdatasync,
            range: job.sync_file_range,
            end_fsync: job.end_fsync,
            backlog: job.verify.as_ref().map_or(0, |verify| verify.backlog),
            think: job.think,
        },
        opens_ns,
        closes_ns,
        limit_ios: job.ios.unwrap_or(u64::MAX),
        limit_bytes,
        max_latency_ns: job.max_latency.map_or(u64::MAX, |most| nanoseconds(most.0)),
        continue_on_error: job.continue_on_error,
        nowait: job.flags.contains(&RequestFlag::Nowait),
        files,
        stop: shared.stop,
        halt: &shared.halt,
        exit_all: shared.exit_all,
        lane,
    }
}

/// The bytes of one pass over a part. Where every block is discarded before it is written it is gone over twice.
fn bytes_of_pass(job: &Job, part: &Part) -> u64 {
    let block = job.smallest_block().0.max(1);
    let passes = if job.rw.trims() && job.rw.writes() { 2 } else { 1 };
    part.length_bytes / block * block * passes
}

/// The arrivals of an open loop; None in a closed one.
pub(super) fn plan_arrivals(shared: &SharedJob<'_>, number: u32) -> Option<Pacer> {
    let job = shared.job;
    // The streams of another seed, so that arrivals and places have nothing to do with each other.
    let (arrivals, _) = payload::streams_of_thread(job.seed ^ 0xA55A_A55A_A55A_A55A, number);
    Pacer::begin(&job.pace, job.directions_taken(), begin(shared), arrivals)
}

/// After the load: reads back what was written, or everything where nothing else was asked for.
pub(super) fn read_back(shared: &SharedJob<'_>, files: &[File], verifier: &mut Verifier, tally: &mut Tally) {
    let Some(verify) = &shared.job.verify else { return };
    let failed = tally.fault.is_some() && !shared.job.continue_on_error;
    let wanted = verify.only || (verify.read_back && shared.job.rw.writes());
    if failed || !wanted {
        return;
    }
    let checked = if verify.only {
        verifier.check_all(files, shared.stop)
    } else {
        verifier.read_back(files, shared.stop)
    };
    if let Err(fault) = checked {
        tally.errors += 1;
        let errno = fault.raw_os_error().unwrap_or(libc::EIO);
        let (at_ns, request) = (shared.clock.now_ns(), fault.request);
        let fault = RawFault { at_ns, operation: Operation::Verify, errno, request, transferred_bytes: 0 };
        tally.fault.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_tile_the_span(units in 1u64..10_000, threads in 1u32..64) {
            let mut next = 0;
            for number in 0..threads {
                let (first, count) = share_of(units, threads, number);
                prop_assert_eq!(first, next);
                next = first + count;
            }
            prop_assert_eq!(next, units);
        }
    }
}
