//! What one thread counts.

use iostone_model::load::Direction;

use crate::driver::recorder::Recorder;
use crate::fault::Operation;
use crate::histogram::LatencyHistogram;
use crate::source::Request;
use crate::verify::VerifyReport;

/// An I/O that failed, before it is put into words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFault {
    pub(crate) at_ns: u64,
    pub(crate) operation: Operation,
    /// 0 for a short transfer.
    pub(crate) errno: i32,
    /// What was asked for; of an operation on a whole target only the target counts.
    pub(crate) request: Request,
    pub(crate) transferred_bytes: u32,
}

/// The I/Os of one direction.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// From submission to reaping.
    pub(crate) service: LatencyHistogram,
    /// From the intended start to reaping; only in an open loop.
    pub(crate) response: LatencyHistogram,
}

/// Completions of a batch that have direction and latency in common, as those submitted together have.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) direction: Direction,
    pub(crate) ns: u64,
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
}

/// What one thread has counted.
#[derive(Debug)]
pub(crate) struct Tally {
    /// By direction.
    pub(crate) of: [Count; 3],
    pub(crate) sync_latency: LatencyHistogram,
    pub(crate) durable_latency: LatencyHistogram,
    pub(crate) recorder: Recorder,
    pub(crate) ramp_ios: u64,
    pub(crate) ended_ns: u64,
    pub(crate) interrupted: bool,
    pub(crate) fault: Option<RawFault>,
    /// I/Os that failed.
    pub(crate) errors: u64,
    /// Arrivals before the end of the window that were never submitted.
    pub(crate) unserved: u64,
    /// I/Os submitted at a depth of 1, 2 to 3, 4 to 7, ... 64 and more.
    pub(crate) depth_levels: [u64; 7],
    /// What verifying found.
    pub(crate) verify: Option<VerifyReport>,
}

impl Tally {
    /// Counts a run and records its latency.
    #[inline]
    pub(crate) fn count_run(&mut self, run: &Run, record: bool) {
        let Some(count) = self.of.get_mut(run.direction as usize) else { return };
        count.ios += run.ios;
        count.bytes += run.bytes;
        if record {
            count.service.record_many(run.ns, run.ios);
        }
    }

    pub(crate) fn new(window_ns: u64) -> Self {
        Self {
            of: std::array::from_fn(|_| Count::default()),
            sync_latency: LatencyHistogram::new(),
            durable_latency: LatencyHistogram::new(),
            recorder: Recorder::new(window_ns),
            ramp_ios: 0,
            ended_ns: 0,
            interrupted: false,
            fault: None,
            errors: 0,
            unserved: 0,
            depth_levels: [0; 7],
            verify: None,
        }
    }
}
