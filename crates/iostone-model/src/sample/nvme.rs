//! What an NVMe device of Amazon EC2 counts by itself, log page 0xD0: I/Os, times, and how long a limit was exceeded.
//!
//! The page is described in "Amazon EBS detailed performance statistics" and "Amazon EC2 instance store volume
//! statistics" of the provider's guides; nvme-cli's `amzn stats` and amazon-ec2-utils' `ebsnvme` read the same bytes.

use serde::{Deserialize, Serialize};

/// Whose page it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NvmeKind {
    /// An EBS volume, magic 0x3C23B510.
    Ebs,
    /// A disk of the instance's own, magic 0xEC2C0D7E.
    InstanceStore,
}

impl NvmeKind {
    /// For readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ebs => "EBS volume",
            Self::InstanceStore => "instance store disk",
        }
    }
}

/// Counters that only grow while a volume stays attached, or what they grew by.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NvmeCounters {
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Microseconds that reads took, summed over them.
    pub read_time_us: u64,
    /// Microseconds that writes took, summed over them.
    pub write_time_us: u64,
    /// Microseconds in which more I/Os were asked for than the volume's IOPS allow; none on an instance store disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_iops_exceeded_us: Option<u64>,
    /// Microseconds in which more bytes were asked for than the volume's throughput allows; none on an instance store
    /// disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_throughput_exceeded_us: Option<u64>,
    /// Microseconds in which the IOPS that the instance has for its volumes (or its disk) were exceeded.
    pub instance_iops_exceeded_us: u64,
    /// Microseconds in which the throughput that the instance has for its volumes (or its disk) was exceeded.
    pub instance_throughput_exceeded_us: u64,
    /// Latencies of reads.
    pub read_latency: Vec<NvmeLatencyBin>,
    /// Latencies of writes.
    pub write_latency: Vec<NvmeLatencyBin>,
    /// The same by the size of the I/O; only instance store disks tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<NvmeSizeClass>,
}

/// I/Os whose latency lay between two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NvmeLatencyBin {
    /// Microseconds, from.
    pub lower_us: u64,
    /// Microseconds, to; none where the bin has no upper bound.
    pub upper_us: Option<u64>,
    /// I/Os.
    pub count: u32,
}

/// Latencies of the I/Os of one class of sizes; the bins are those of [`NvmeCounters::read_latency`] and
/// [`NvmeCounters::write_latency`], at most the first 32 of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NvmeSizeClass {
    /// The largest I/O of the class in bytes; none for whatever is larger than the class before.
    pub largest_bytes: Option<u32>,
    /// Reads in each bin.
    pub reads: Vec<u64>,
    /// Writes in each bin.
    pub writes: Vec<u64>,
}

/// A page as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeStatistics {
    /// Whose it is.
    pub kind: NvmeKind,
    /// The page's version; on EBS volumes these bytes are reserved.
    pub version: u32,
    /// What it has counted since the volume was attached, or the instance started.
    pub counters: NvmeCounters,
    /// Requests that wait or are under way, at this moment.
    pub queue_length: u64,
}

/// What an NVMe device counted between two readings of its page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NvmeActivity {
    /// Kernel name of the whole device: `nvme1n1`.
    pub device: String,
    /// Whose page it is.
    pub kind: NvmeKind,
    /// Seconds between the two readings, which lie just outside the workload.
    pub seconds: f64,
    /// What the counters grew by.
    #[serde(flatten)]
    pub grown: NvmeCounters,
    /// Requests waiting or under way at the first reading.
    pub queue_length_before: u64,
    /// Requests waiting or under way at the second reading.
    pub queue_length_after: u64,
}

/// The bin in which a percentile lies: 0.5 gives that of the median. None without I/Os, or for a share outside 0 to 1.
///
/// A histogram of bins knows no more than that the percentile is between the bin's bounds.
pub fn nvme_percentile(bins: &[NvmeLatencyBin], share: f64) -> Option<NvmeLatencyBin> {
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    let total: u64 = bins.iter().map(|bin| u64::from(bin.count)).sum();
    let mut below = 0;
    bins.iter()
        .find(|bin| {
            below += u64::from(bin.count);
            bin.count > 0 && below as f64 >= share * total as f64
        })
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(counts: &[u32]) -> Vec<NvmeLatencyBin> {
        (0_u64..)
            .zip(counts)
            .map(|(place, &count)| NvmeLatencyBin {
                lower_us: place * 10,
                upper_us: (place < 3).then_some(place * 10 + 10),
                count,
            })
            .collect()
    }

    #[test]
    fn a_percentile_is_the_bin_that_holds_it() {
        let bins = bins(&[0, 50, 49, 1]);
        let lower = |share| nvme_percentile(&bins, share).map(|bin| bin.lower_us);
        assert_eq!(lower(0.0), Some(10), "an empty bin holds nothing");
        assert_eq!(lower(0.5), Some(10));
        assert_eq!(lower(0.51), Some(20));
        assert_eq!(lower(0.99), Some(20));
        assert_eq!(lower(1.0), Some(30));
        assert_eq!(lower(1.1), None);
        assert_eq!(nvme_percentile(&bins, 1.0).and_then(|bin| bin.upper_us), None);
        assert_eq!(nvme_percentile(&[], 0.5), None);
    }
}
