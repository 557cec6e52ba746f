//! How many I/Os a request counts as, and how many bytes it is charged: splitting and merging, as EBS does it.
//!
//! "The maximum amount of data that EBS counts as a single I/O is 256 KiB for SSD volumes and 1,024 KiB for HDD
//! volumes ... When small I/O operations are physically sequential, Amazon EBS attempts to merge them into a single
//! I/O operation up to the maximum I/O size", and larger ones are split. (EBS user guide, "I/O characteristics and
//! monitoring". Its examples: on SSD one I/O of 1,024 KiB counts as 4, eight sequential ones of 32 KiB as 1, eight
//! random ones of 32 KiB as 8; on HDD eight sequential ones of 128 KiB as 1, eight random ones as 8.)
//!
//! What the guide leaves open is decided here: a run of adjacent requests is merged however slowly it comes, and in
//! whatever order, because with several requests in flight those of one stream overtake each other. Each direction of a
//! volume has up to [`RUNS`] runs side by side: those of several files read at once, and the pieces of a stream whose
//! gaps are still on their way.

use iostone_model::experiment::EmulatedVolume;

use crate::model::Operation;

/// Runs of adjacent requests that are told apart in each direction: more than are usually in flight.
const RUNS: usize = 64;

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// I/Os; none if the request was merged into those before it.
    pub(crate) ios: u64,
    /// Bytes: its length, or whole I/Os where the volume counts those.
    pub(crate) bytes: u64,
}

/// Bytes without a gap that requests have asked for, in whatever order.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
}

/// What one direction was charged for lately.
#[derive(Debug, Clone, Default)]
struct Direction {
    /// The one last used is the last.
    runs: Vec<Run>,
    /// I/Os charged for pieces that came out to be one: they are taken off the next charges.
    owed: u64,
}

/// The accounting of one volume.
#[derive(Debug, Clone)]
pub(crate) struct Accounting {
    io_size: Option<u64>,
    merge: bool,
    whole_bytes: bool,
    reads: Direction,
    writes: Direction,
}

impl Accounting {
    /// The accounting that a volume asks for.
    ///
    /// A volume that merges and has a bucket of bytes (st1, sc1) is charged `io_size` bytes for each I/O, since
    /// there "each random I/O, even if smaller than 1 MiB, costs 1 MiB of throughput credit".
    pub(crate) fn new(volume: &EmulatedVolume) -> Self {
        let io_size = volume.io_size.map(|size| size.0.max(1));
        let merge = volume.merge && io_size.is_some();
        let counts_bytes = volume.burst.as_ref().is_some_and(|burst| burst.credit_bytes.is_some());
        Self {
            io_size,
            merge,
            whole_bytes: merge && counts_bytes,
            reads: Direction::default(),
            writes: Direction::default(),
        }
    }

    /// Begins anew: what comes is merged with nothing that came before, and pays nothing back.
    pub(crate) fn forget(&mut self) {
        (self.reads, self.writes) = (Direction::default(), Direction::default());
    }

    /// What one request costs. A flush costs nothing, a discard one I/O without bytes.
    pub(crate) fn charge(&mut self, operation: Operation, offset: u64, length: u32) -> Charge {
        let length = u64::from(length);
        let direction = match operation {
            Operation::Flush => return Charge { ios: 0, bytes: 0 },
            Operation::Discard => return Charge { ios: 1, bytes: 0 },
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
        };
        let Some(io_size) = self.io_size else { return Charge { ios: 1, bytes: length } };
        let ios = if self.merge {
            direction.charge(io_size, offset, length)
        } else {
            length.div_ceil(io_size).max(1)
        };
        let bytes = if self.whole_bytes { ios.saturating_mul(io_size) } else { length };
        Charge { ios, bytes }
    }
}

impl Direction {
    /// I/Os that a request adds: what the run that it makes, lengthens or closes a gap of counts as, less what its
    /// pieces were charged as.
    fn charge(&mut self, io_size: u64, offset: u64, length: u64) -> u64 {
        let mut run = Run { start: offset, end: offset.saturating_add(length) };
        let mut charged = 0;
        // The latest first, should bytes have been asked for twice.
        if let Some(before) = self.runs.iter().rposition(|one| one.end == offset) {
            let before = self.runs.remove(before);
            charged += before.ios(io_size);
            run.start = before.start;
        }
        if let Some(behind) = self.runs.iter().rposition(|one| one.start == run.end) {
            let behind = self.runs.remove(behind);
            charged += behind.ios(io_size);
            run.end = behind.end;
        }
        if self.runs.len() == RUNS {
            self.runs.remove(0);
        }
        self.runs.push(run);
        let due = run.ios(io_size);
        self.owed += charged.saturating_sub(due);
        let due = due.saturating_sub(charged);
        let paid = due.min(self.owed);
        self.owed -= paid;
        due - paid
    }
}

impl Run {
    fn ios(self, io_size: u64) -> u64 {
        self.end.saturating_sub(self.start).div_ceil(io_size)
    }
}

#[cfg(test)]
mod tests;
