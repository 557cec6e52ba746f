//! What a volume has done, by its server's own stamps.

use iostone_engine::LatencyHistogram;
use serde::{Deserialize, Serialize};

use crate::model::Operation;

/// What one kind of operation has done on one volume.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OperationCounters {
    /// Requests answered, those with an error as well.
    pub requests: u64,
    /// Bytes of the requests that were answered without an error.
    pub bytes: u64,
    /// Requests answered with an error.
    pub errors: u64,
    /// I/Os that the requests counted as, after splitting and merging.
    pub ios: u64,
    /// Requests that counted as none, since they were merged into those before them.
    pub merged: u64,
    /// Requests that had to wait for a bucket, for those before them, or for the end of a stall.
    pub waited: u64,
    /// The time that they waited, in nanoseconds.
    pub waited_ns: u64,
    /// From the arrival of a request to its answer, of all that were answered without an error. Its sum is exact.
    pub service: LatencyHistogram,
}

/// What one volume has done since it began, or since its counters were reset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Reads.
    pub reads: OperationCounters,
    /// Writes.
    pub writes: OperationCounters,
    /// Flushes.
    pub flushes: OperationCounters,
    /// Discards.
    pub discards: OperationCounters,
    /// I/Os left in the burst bucket; none without such a bucket.
    pub credits: Option<f64>,
    /// Bytes left in the burst bucket; none without such a bucket.
    pub credit_bytes: Option<f64>,
    /// Whether the power is on.
    pub powered: bool,
}

/// What the file, device or memory below a volume could not do: no fault that was asked for, but one of this machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoreFailures {
    /// Reads, writes, flushes and discards that failed there since the server began.
    pub requests: u64,
    /// The kernel's number of why the first did (errno(3)); none if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_errno: Option<i32>,
}

impl Counters {
    /// The counters of one kind of operation.
    pub fn of(&self, operation: Operation) -> &OperationCounters {
        match operation {
            Operation::Read => &self.reads,
            Operation::Write => &self.writes,
            Operation::Flush => &self.flushes,
            Operation::Discard => &self.discards,
        }
    }

    pub(crate) fn of_mut(&mut self, operation: Operation) -> &mut OperationCounters {
        match operation {
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
            Operation::Flush => &mut self.flushes,
            Operation::Discard => &mut self.discards,
        }
    }

    /// Bytes of reads and writes together.
    pub fn bytes(&self) -> u64 {
        self.reads.bytes.saturating_add(self.writes.bytes)
    }

    /// I/Os of reads, writes and discards together, as they were charged.
    pub fn ios(&self) -> u64 {
        self.reads.ios.saturating_add(self.writes.ios).saturating_add(self.discards.ios)
    }

    /// Requests answered with an error.
    pub fn errors(&self) -> u64 {
        [&self.reads, &self.writes, &self.flushes, &self.discards]
            .iter()
            .map(|counters| counters.errors)
            .sum()
    }
}

impl OperationCounters {
    pub(crate) fn note_admission(&mut self, ios: u64, costs: bool, waited_ns: u64) {
        self.ios += ios;
        self.merged += u64::from(costs && ios == 0);
        self.waited += u64::from(waited_ns > 0);
        self.waited_ns = self.waited_ns.saturating_add(waited_ns);
    }

    pub(crate) fn note_answer(&mut self, length: u32, service_ns: u64, error: bool) {
        self.requests += 1;
        if error {
            self.errors += 1;
        } else {
            self.bytes = self.bytes.saturating_add(u64::from(length));
            self.service.record(service_ns);
        }
    }
}
