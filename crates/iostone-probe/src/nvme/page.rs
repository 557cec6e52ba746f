//! The bytes of log page 0xD0, little endian: read, and written for tests.
//!
//! Offsets are those of nvme-cli's `struct amzn_latency_log_page` and amazon-ec2-utils' `ebsnvme`.

use iostone_model::sample::{NvmeCounters, NvmeKind, NvmeLatencyBin, NvmeSizeClass, NvmeStatistics};

use super::{DETAILED_PAGE_BYTES, PAGE_BYTES};

const EBS_MAGIC: u32 = 0x3C23_B510;
const INSTANCE_STORE_MAGIC: u32 = 0xEC2C_0D7E;
/// The version from which histograms by size follow.
const DETAILED_VERSION: u32 = 1;
/// Where each histogram's number of bins stands; its bins follow 8 bytes later.
const READ_HISTOGRAM: usize = 512;
const WRITE_HISTOGRAM: usize = 2056;
const MOST_BINS: usize = 64;
const BIN_BYTES: usize = 24;
/// How many classes of sizes there are, and behind it the largest I/O of each.
const CLASSES: usize = 3600;
const MOST_CLASSES: usize = 8;
/// Counts of a class, of 64 bits: 32 of reads, 32 of writes.
const CLASS_BINS: usize = 32;
/// The largest I/O of a class that has no bound.
const UNBOUNDED: u32 = u32::MAX;

/// Why bytes are no page of statistics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Too few bytes, or too many.
    #[error("{found} bytes, and {} has {expected}", of_whom(*expected))]
    Length {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// It does not begin as one.
    #[error(
        "it begins with {0:#010x}, and not with 0x3c23b510 as an EBS volume's page or 0xec2c0d7e as an instance store disk's"
    )]
    Magic(u32),
    /// Bins that overlap or run backward.
    #[error("bin {bin} of the latencies of {of} is from {lower} to {upper} us, behind a bin to {before} us")]
    Bins {
        /// `reads` or `writes`.
        of: &'static str,
        /// Counted from 0.
        bin: usize,
        /// Where it begins.
        lower: u64,
        /// Where it ends.
        upper: u64,
        /// Where the bin before ends.
        before: u64,
    },
    /// Classes of sizes that do not ascend.
    #[error("class {class} of the sizes ends at {largest} bytes, behind one to {before} bytes")]
    Classes {
        /// Counted from 0.
        class: usize,
        /// Where it ends.
        largest: u32,
        /// Where the class before ends.
        before: u32,
    },
}

fn of_whom(expected: usize) -> &'static str {
    if expected == PAGE_BYTES { "a page" } else { "a page with histograms by size" }
}

/// The rest of a page without room for it reads as zero, which [`parse_page`] has ruled out by the length.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Whether the first 4096 bytes say that 4096 more follow.
pub(super) fn is_detailed(bytes: &[u8]) -> bool {
    word(bytes, 0) == INSTANCE_STORE_MAGIC && word(bytes, 4) == DETAILED_VERSION
}

/// Reads a page: 4096 bytes, or 8192 of an instance store disk whose page has version 1.
///
/// # Errors
/// [`PageError`]: another length or magic, bins or classes of sizes out of order. A number of bins above 64, or of classes
/// above 8, is taken for that, as the provider's own tools do.
pub fn parse_page(bytes: &[u8]) -> Result<NvmeStatistics, PageError> {
    if bytes.len() < PAGE_BYTES {
        return Err(PageError::Length { found: bytes.len(), expected: PAGE_BYTES });
    }
    let kind = match word(bytes, 0) {
        EBS_MAGIC => NvmeKind::Ebs,
        INSTANCE_STORE_MAGIC => NvmeKind::InstanceStore,
        other => return Err(PageError::Magic(other)),
    };
    let expected = if is_detailed(bytes) { DETAILED_PAGE_BYTES } else { PAGE_BYTES };
    if bytes.len() != expected {
        return Err(PageError::Length { found: bytes.len(), expected });
    }
    let of_volume = |at: usize| (kind == NvmeKind::Ebs).then(|| long(bytes, at));
    let read_latency = parse_bins(bytes, READ_HISTOGRAM, "reads")?;
    let write_latency = parse_bins(bytes, WRITE_HISTOGRAM, "writes")?;
    let by_size = if is_detailed(bytes) {
        parse_classes(bytes, read_latency.len(), write_latency.len())?
    } else {
        Vec::new()
    };
    Ok(NvmeStatistics {
        kind,
        version: word(bytes, 4),
        counters: NvmeCounters {
            reads: long(bytes, 8),
            writes: long(bytes, 16),
            read_bytes: long(bytes, 24),
            written_bytes: long(bytes, 32),
            read_time_us: long(bytes, 40),
            write_time_us: long(bytes, 48),
            volume_iops_exceeded_us: of_volume(56),
            volume_throughput_exceeded_us: of_volume(64),
            instance_iops_exceeded_us: long(bytes, 72),
            instance_throughput_exceeded_us: long(bytes, 80),
            read_latency,
            write_latency,
            by_size,
        },
        queue_length: long(bytes, 88),
    })
}

fn parse_bins(bytes: &[u8], at: usize, of: &'static str) -> Result<Vec<NvmeLatencyBin>, PageError> {
    let count = usize::try_from(long(bytes, at)).unwrap_or(MOST_BINS).min(MOST_BINS);
    let mut bins = Vec::with_capacity(count);
    let mut before = 0;
    for bin in 0..count {
        let place = at + 8 + bin * BIN_BYTES;
        let (lower, upper) = (long(bytes, place), long(bytes, place + 8));
        let io_count = word(bytes, place + 16);
        // A bin that is counted among them and was never set up.
        let is_blank = bin > 0 && (lower, upper, io_count) == (0, 0, 0);
        if is_blank {
            continue;
        }
        if lower > upper || lower < before {
            return Err(PageError::Bins { of, bin, lower, upper, before });
        }
        before = upper;
        let upper_us = (upper != u64::MAX).then_some(upper);
        bins.push(NvmeLatencyBin { lower_us: lower, upper_us, count: io_count });
    }
    Ok(bins)
}

fn parse_classes(bytes: &[u8], read_bins: usize, write_bins: usize) -> Result<Vec<NvmeSizeClass>, PageError> {
    let count = usize::try_from(word(bytes, CLASSES)).unwrap_or(MOST_CLASSES).min(MOST_CLASSES);
    let mut before = 0;
    (0..count)
        .map(|class| {
            let largest = word(bytes, CLASSES + 4 + 4 * class);
            if largest <= before {
                return Err(PageError::Classes { class, largest, before });
            }
            before = largest;
            let counts = |direction: usize, bins: usize| {
                let place = PAGE_BYTES + (2 * class + direction) * CLASS_BINS * 8;
                (0..bins.min(CLASS_BINS)).map(|bin| long(bytes, place + 8 * bin)).collect()
            };
            Ok(NvmeSizeClass {
                largest_bytes: (largest != UNBOUNDED).then_some(largest),
                reads: counts(0, read_bins),
                writes: counts(1, write_bins),
            })
        })
        .collect()
}

/// The bytes of a page, as a device would give them: for tests, of readers of saved pages too. What has no room on a page
/// (bins above 64, classes above 8, or a class without a bound before the last) is cut.
pub fn encode_page(statistics: &NvmeStatistics) -> Vec<u8> {
    let detailed = statistics.kind == NvmeKind::InstanceStore && statistics.version == DETAILED_VERSION;
    let mut bytes = vec![0; if detailed { DETAILED_PAGE_BYTES } else { PAGE_BYTES }];
    let counters = &statistics.counters;
    let magic = match statistics.kind {
        NvmeKind::Ebs => EBS_MAGIC,
        NvmeKind::InstanceStore => INSTANCE_STORE_MAGIC,
    };
    put(&mut bytes, 0, &magic.to_le_bytes());
    put(&mut bytes, 4, &statistics.version.to_le_bytes());
    let longs = [
        counters.reads,
        counters.writes,
        counters.read_bytes,
        counters.written_bytes,
        counters.read_time_us,
        counters.write_time_us,
        counters.volume_iops_exceeded_us.unwrap_or_default(),
        counters.volume_throughput_exceeded_us.unwrap_or_default(),
        counters.instance_iops_exceeded_us,
        counters.instance_throughput_exceeded_us,
        statistics.queue_length,
    ];
    for (place, value) in longs.iter().enumerate() {
        put(&mut bytes, 8 + 8 * place, &value.to_le_bytes());
    }
    for (at, bins) in [(READ_HISTOGRAM, &counters.read_latency), (WRITE_HISTOGRAM, &counters.write_latency)] {
        let bins = bins.get(..MOST_BINS).unwrap_or(bins);
        put(&mut bytes, at, &(bins.len() as u64).to_le_bytes());
        for (number, bin) in bins.iter().enumerate() {
            let place = at + 8 + number * BIN_BYTES;
            put(&mut bytes, place, &bin.lower_us.to_le_bytes());
            put(&mut bytes, place + 8, &bin.upper_us.unwrap_or(u64::MAX).to_le_bytes());
            put(&mut bytes, place + 16, &bin.count.to_le_bytes());
        }
    }
    if detailed {
        put_classes(&mut bytes, &counters.by_size);
    }
    bytes
}

fn put_classes(bytes: &mut [u8], classes: &[NvmeSizeClass]) {
    let classes = classes.get(..MOST_CLASSES).unwrap_or(classes);
    put(bytes, CLASSES, &u32::try_from(classes.len()).unwrap_or_default().to_le_bytes());
    for (number, class) in classes.iter().enumerate() {
        put(bytes, CLASSES + 4 + 4 * number, &class.largest_bytes.unwrap_or(UNBOUNDED).to_le_bytes());
        for (direction, counts) in [&class.reads, &class.writes].into_iter().enumerate() {
            let place = PAGE_BYTES + (2 * number + direction) * CLASS_BINS * 8;
            for (bin, count) in counts.iter().take(CLASS_BINS).enumerate() {
                put(bytes, place + 8 * bin, &count.to_le_bytes());
            }
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

#[cfg(test)]
pub(super) mod tests;
