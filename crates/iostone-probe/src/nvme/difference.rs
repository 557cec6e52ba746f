//! What a device counted between two readings of its page.

use iostone_model::sample::{NvmeCounters, NvmeKind, NvmeLatencyBin, NvmeSizeClass, NvmeStatistics};

/// Why two pages cannot be held against each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DifferenceError {
    /// Counters only grow, until the volume is detached or the instance stopped.
    #[error("the volume was attached anew meanwhile: its count of {counter} fell from {before} to {after}")]
    AttachedAnew {
        /// Which one.
        counter: &'static str,
        /// The earlier page's.
        before: u64,
        /// The later page's.
        after: u64,
    },
    /// One is of a volume and one of a disk.
    #[error("the pages are of different devices: an {} and an {}", before.name(), after.name())]
    Kinds {
        /// The earlier page's.
        before: NvmeKind,
        /// The later page's.
        after: NvmeKind,
    },
    /// Histograms over other bins.
    #[error("the bins of {0} are others than before")]
    Bins(&'static str),
}

/// What the counters of a page grew by. Where a histogram's 32-bit count went over its end, that is seen through; the
/// queue's length is no counter and has no difference.
///
/// # Errors
/// [`DifferenceError`]: never a negative figure.
pub fn difference(before: &NvmeStatistics, after: &NvmeStatistics) -> Result<NvmeCounters, DifferenceError> {
    if before.kind != after.kind {
        return Err(DifferenceError::Kinds { before: before.kind, after: after.kind });
    }
    let (old, new) = (&before.counters, &after.counters);
    let volume = |counter, old: Option<u64>, new: Option<u64>| match (old, new) {
        (Some(old), Some(new)) => grown(counter, old, new).map(Some),
        _ => Ok(None),
    };
    Ok(NvmeCounters {
        reads: grown("reads", old.reads, new.reads)?,
        writes: grown("writes", old.writes, new.writes)?,
        read_bytes: grown("bytes read", old.read_bytes, new.read_bytes)?,
        written_bytes: grown("bytes written", old.written_bytes, new.written_bytes)?,
        read_time_us: grown("microseconds of reads", old.read_time_us, new.read_time_us)?,
        write_time_us: grown("microseconds of writes", old.write_time_us, new.write_time_us)?,
        volume_iops_exceeded_us: volume(
            "microseconds above the volume's IOPS",
            old.volume_iops_exceeded_us,
            new.volume_iops_exceeded_us,
        )?,
        volume_throughput_exceeded_us: volume(
            "microseconds above the volume's throughput",
            old.volume_throughput_exceeded_us,
            new.volume_throughput_exceeded_us,
        )?,
        instance_iops_exceeded_us: grown(
            "microseconds above the instance's IOPS",
            old.instance_iops_exceeded_us,
            new.instance_iops_exceeded_us,
        )?,
        instance_throughput_exceeded_us: grown(
            "microseconds above the instance's throughput",
            old.instance_throughput_exceeded_us,
            new.instance_throughput_exceeded_us,
        )?,
        read_latency: grown_bins("read latencies", &old.read_latency, &new.read_latency)?,
        write_latency: grown_bins("write latencies", &old.write_latency, &new.write_latency)?,
        by_size: grown_classes(&old.by_size, &new.by_size)?,
    })
}

fn grown(counter: &'static str, before: u64, after: u64) -> Result<u64, DifferenceError> {
    after.checked_sub(before).ok_or(DifferenceError::AttachedAnew { counter, before, after })
}

/// Whether the volume was attached anew the 64-bit counters have told before; a count of 32 bits that fell went over its
/// end, as it does after 2^32 I/Os: twelve hours at 100,000 a second.
fn grown_bins(
    of: &'static str,
    before: &[NvmeLatencyBin],
    after: &[NvmeLatencyBin],
) -> Result<Vec<NvmeLatencyBin>, DifferenceError> {
    if before.len() != after.len() {
        return Err(DifferenceError::Bins(of));
    }
    before
        .iter()
        .zip(after)
        .map(|(old, new)| {
            if (old.lower_us, old.upper_us) != (new.lower_us, new.upper_us) {
                return Err(DifferenceError::Bins(of));
            }
            Ok(NvmeLatencyBin { count: new.count.wrapping_sub(old.count), ..*new })
        })
        .collect()
}

fn grown_classes(
    before: &[NvmeSizeClass],
    after: &[NvmeSizeClass],
) -> Result<Vec<NvmeSizeClass>, DifferenceError> {
    let shape = |class: &NvmeSizeClass| (class.largest_bytes, class.reads.len(), class.writes.len());
    if !before.iter().map(shape).eq(after.iter().map(shape)) {
        return Err(DifferenceError::Bins("latencies by size"));
    }
    let counts = |counter, old: &[u64], new: &[u64]| {
        old.iter().zip(new).map(|(old, new)| grown(counter, *old, *new)).collect::<Result<Vec<u64>, _>>()
    };
    let classes = before.iter().zip(after).map(|(old, new)| {
        Ok(NvmeSizeClass {
            largest_bytes: new.largest_bytes,
            reads: counts("reads by size", &old.reads, &new.reads)?,
            writes: counts("writes by size", &old.writes, &new.writes)?,
        })
    });
    classes.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::nvme::page::tests::any_page;

    fn page(reads: u64, count: u32) -> NvmeStatistics {
        NvmeStatistics {
            kind: NvmeKind::Ebs,
            version: 0,
            counters: NvmeCounters {
                reads,
                volume_iops_exceeded_us: Some(reads * 10),
                volume_throughput_exceeded_us: Some(0),
                read_latency: vec![NvmeLatencyBin { lower_us: 0, upper_us: Some(64), count }],
                ..NvmeCounters::default()
            },
            queue_length: 32,
        }
    }

    #[test]
    fn counters_grow_and_a_full_histogram_count_goes_over_its_end() {
        let grown = difference(&page(10, u32::MAX - 1), &page(15, 3)).unwrap();
        assert_eq!(grown.reads, 5);
        assert_eq!(grown.volume_iops_exceeded_us, Some(50));
        assert_eq!(grown.read_latency[0].count, 5);
    }

    #[test]
    fn a_counter_that_fell_means_a_volume_attached_anew() {
        let error = difference(&page(10, 10), &page(2, 2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the volume was attached anew meanwhile: its count of reads fell from 10 to 2"
        );
    }

    #[test]
    fn pages_of_different_shape_are_not_subtracted() {
        let mut other = page(11, 1);
        other.counters.read_latency[0].upper_us = Some(65);
        assert_eq!(difference(&page(10, 1), &other), Err(DifferenceError::Bins("read latencies")));
        other.counters.read_latency.clear();
        assert_eq!(difference(&page(10, 1), &other), Err(DifferenceError::Bins("read latencies")));
        other.kind = NvmeKind::InstanceStore;
        assert!(matches!(difference(&page(10, 1), &other), Err(DifferenceError::Kinds { .. })));
    }

    proptest! {
        #[test]
        fn a_page_differs_from_itself_by_nothing(page in any_page()) {
            let grown = difference(&page, &page).unwrap();
            prop_assert_eq!((grown.reads, grown.written_bytes, grown.instance_iops_exceeded_us), (0, 0, 0));
            prop_assert!(grown.read_latency.iter().all(|bin| bin.count == 0));
        }

        #[test]
        fn either_way_round_nothing_is_negative(one in any_page(), other in any_page()) {
            if let Ok(grown) = difference(&one, &other) {
                prop_assert_eq!(one.counters.reads + grown.reads, other.counters.reads);
            }
        }
    }
}
