//! How many I/Os a request counts as, and how many bytes it is charged: splitting and merging, as EBS does it.
//!
//! "The maximum amount of data that EBS counts as a single I/O is 256 KiB for SSD volumes and 1,024 KiB for HDD
//! volumes ... When small I/O operations are physically sequential, Amazon EBS attempts to merge them into a single
//! I/O operation up to the maximum I/O size", and larger ones are split. (EBS user guide, "I/O characteristics and
//! monitoring". Its examples: on SSD one I/O of 1,024 KiB counts as 4, eight sequential ones of 32 KiB as 1, eight
//! random ones of 32 KiB as 8; on HDD eight sequential ones of 128 KiB as 1, eight random ones as 8.)
//!
//! Two things the guide leaves open are decided here: a stream is merged however slowly it comes, and each direction
//! of a volume has up to [`STREAMS`] streams side by side, as several files read at once have.

use iostone_model::experiment::EmulatedVolume;

use crate::model::Operation;

/// Sequential streams that are told apart in each direction.
const STREAMS: usize = 4;

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    /// I/Os; none if the request was merged into those before it.
    pub(crate) ios: u64,
    /// Bytes: its length, or whole I/Os where the volume counts those.
    pub(crate) bytes: u64,
}

/// Where a stream goes on, and how much of its last I/O is free.
#[derive(Debug, Clone, Copy)]
struct Stream {
    next_offset: u64,
    room_bytes: u64,
}

/// The accounting of one volume.
#[derive(Debug, Clone)]
pub(crate) struct Accounting {
    io_size: Option<u64>,
    merge: bool,
    whole_bytes: bool,
    reads: Vec<Stream>,
    writes: Vec<Stream>,
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
            reads: Vec::with_capacity(STREAMS),
            writes: Vec::with_capacity(STREAMS),
        }
    }

    /// What one request costs. A flush costs nothing, a discard one I/O without bytes.
    pub(crate) fn charge(&mut self, operation: Operation, offset: u64, length: u32) -> Charge {
        let length = u64::from(length);
        let streams = match operation {
            Operation::Flush => return Charge { ios: 0, bytes: 0 },
            Operation::Discard => return Charge { ios: 1, bytes: 0 },
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
        };
        let Some(io_size) = self.io_size else { return Charge { ios: 1, bytes: length } };
        let ios = if self.merge {
            merged_ios(streams, io_size, offset, length)
        } else {
            length.div_ceil(io_size).max(1)
        };
        let bytes = if self.whole_bytes { ios.saturating_mul(io_size) } else { length };
        Charge { ios, bytes }
    }
}

/// I/Os that a request adds to the stream that it continues, or begins. The stream last used is the last of the list.
fn merged_ios(streams: &mut Vec<Stream>, io_size: u64, offset: u64, length: u64) -> u64 {
    let known = streams.iter().position(|stream| stream.next_offset == offset);
    let room_bytes = match known {
        Some(index) => streams.remove(index).room_bytes,
        None if streams.len() == STREAMS => {
            streams.remove(0);
            0
        }
        None => 0,
    };
    let beyond = length.saturating_sub(room_bytes);
    let ios = beyond.div_ceil(io_size);
    let room_bytes = room_bytes.saturating_add(ios * io_size).saturating_sub(length);
    streams.push(Stream { next_offset: offset.saturating_add(length), room_bytes });
    ios
}

#[cfg(test)]
mod tests;
