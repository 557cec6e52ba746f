use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// A page written byte by byte from the published offsets, so that reader and writer cannot agree on a wrong one.
fn by_hand(magic: u32) -> Vec<u8> {
    let mut bytes = vec![0_u8; 4096];
    bytes[..4].copy_from_slice(&magic.to_le_bytes());
    for (place, value) in (8..96).step_by(8).zip(1_u64..) {
        bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
    }
    for (at, count) in [(512, 2_u64), (2056, 1)] {
        bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
    }
    bin(&mut bytes, 520, 0, 128, 7);
    bin(&mut bytes, 544, 128, u64::MAX, 8);
    bin(&mut bytes, 2064, 0, 64, 9);
    bytes
}

fn bin(bytes: &mut [u8], at: usize, lower: u64, upper: u64, count: u32) {
    bytes[at..at + 8].copy_from_slice(&lower.to_le_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&upper.to_le_bytes());
    bytes[at + 16..at + 20].copy_from_slice(&count.to_le_bytes());
}

#[test]
fn every_field_is_at_its_published_offset() {
    let page = parse_page(&by_hand(0x3C23_B510)).unwrap();
    assert_eq!(page.kind, NvmeKind::Ebs);
    assert_eq!(page.queue_length, 11);
    let counters = page.counters;
    assert_eq!((counters.reads, counters.writes), (1, 2));
    assert_eq!((counters.read_bytes, counters.written_bytes), (3, 4));
    assert_eq!((counters.read_time_us, counters.write_time_us), (5, 6));
    assert_eq!(counters.volume_iops_exceeded_us, Some(7));
    assert_eq!(counters.volume_throughput_exceeded_us, Some(8));
    assert_eq!((counters.instance_iops_exceeded_us, counters.instance_throughput_exceeded_us), (9, 10));
    let first = NvmeLatencyBin { lower_us: 0, upper_us: Some(128), count: 7 };
    let last = NvmeLatencyBin { lower_us: 128, upper_us: None, count: 8 };
    assert_eq!(counters.read_latency, [first, last]);
    assert_eq!(counters.write_latency, [NvmeLatencyBin { lower_us: 0, upper_us: Some(64), count: 9 }]);
    assert!(counters.by_size.is_empty());
}

#[test]
fn an_instance_store_disk_has_no_limits_of_a_volume_and_tells_by_size() {
    let mut bytes = by_hand(0xEC2C_0D7E);
    assert_eq!(parse_page(&bytes).unwrap().counters.volume_iops_exceeded_us, None);
    bytes[4] = 1;
    assert_eq!(parse_page(&bytes), Err(PageError::Length { found: 4096, expected: 8192 }));
    bytes.resize(8192, 0);
    bytes[3600] = 2;
    bytes[3604..3608].copy_from_slice(&4096_u32.to_le_bytes());
    bytes[3608..3612].copy_from_slice(&u32::MAX.to_le_bytes());
    bytes[4096] = 21; // detail_io[0].read_counts[0]
    bytes[4352] = 22; // detail_io[0].write_counts[0]
    bytes[4616] = 23; // detail_io[1].read_counts[1]
    let page = parse_page(&bytes).unwrap();
    assert_eq!(
        page.counters.by_size,
        [
            NvmeSizeClass { largest_bytes: Some(4096), reads: vec![21, 0], writes: vec![22] },
            NvmeSizeClass { largest_bytes: None, reads: vec![0, 23], writes: vec![0] },
        ]
    );
    bytes[3604..3608].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(parse_page(&bytes), Err(PageError::Classes { class: 1, .. })));
}

#[test]
fn what_is_no_page_is_refused_with_what_was_found() {
    let said = |bytes: &[u8]| parse_page(bytes).unwrap_err().to_string();
    assert_eq!(said(&[]), "0 bytes, and a page has 4096");
    assert_eq!(said(&by_hand(0x3C23_B510)[..4095]), "4095 bytes, and a page has 4096");
    assert_eq!(said(&[0; 4097]).split(',').next(), Some("it begins with 0x00000000"));
    let mut long = by_hand(0x3C23_B510);
    long.push(0);
    assert_eq!(said(&long), "4097 bytes, and a page has 4096");
    // Big endian: another magic.
    assert!(said(&by_hand(0x3C23_B510_u32.swap_bytes())).starts_with("it begins with 0x10b5233c"));
}

#[test]
fn bins_that_run_backward_or_overlap_are_refused() {
    let mut bytes = by_hand(0x3C23_B510);
    bin(&mut bytes, 544, 100, 200, 1);
    let error = parse_page(&bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bin 1 of the latencies of reads is from 100 to 200 us, behind a bin to 128 us"
    );
    bin(&mut bytes, 544, 128, 256, 1);
    bin(&mut bytes, 2064, 5, 4, 1);
    assert!(matches!(parse_page(&bytes), Err(PageError::Bins { of: "writes", bin: 0, .. })));
}

#[test]
fn a_number_of_bins_beyond_the_page_is_taken_for_all_that_it_holds() {
    let mut bytes = by_hand(0x3C23_B510);
    bytes[512..520].copy_from_slice(&u64::MAX.to_le_bytes());
    // Only two were ever set up.
    assert_eq!(parse_page(&bytes).unwrap().counters.read_latency.len(), 2);
    for (place, number) in (520..2056).step_by(24).zip(0..) {
        bin(&mut bytes, place, number, number + 1, 1);
    }
    assert_eq!(parse_page(&bytes).unwrap().counters.read_latency.len(), 64);
}

fn histogram() -> impl Strategy<Value = Vec<NvmeLatencyBin>> {
    (vec((1_u64..1 << 50, any::<u32>()), 0..=64), any::<bool>()).prop_map(|(steps, open)| {
        let mut lower_us = 0_u64;
        let last = steps.len().saturating_sub(1);
        let bins = steps.into_iter().enumerate().map(|(place, (width, count))| {
            let upper = lower_us + width;
            let upper_us = (!open || place != last).then_some(upper);
            let bin = NvmeLatencyBin { lower_us, upper_us, count };
            lower_us = upper;
            bin
        });
        bins.collect()
    })
}

/// Any page that a device could give.
pub(in crate::nvme) fn any_page() -> impl Strategy<Value = NvmeStatistics> {
    let classes = vec((vec(any::<u64>(), 32), vec(any::<u64>(), 32)), 0..=8);
    let kind = prop_oneof![Just((NvmeKind::Ebs, 0)), Just((NvmeKind::InstanceStore, 1))];
    let longs = proptest::array::uniform11(any::<u64>());
    (kind, longs, histogram(), histogram(), classes, option::of(Just(()))).prop_map(
        |((kind, version), longs, read_latency, write_latency, classes, open)| {
            let of_volume = |value| (kind == NvmeKind::Ebs).then_some(value);
            let last = classes.len().saturating_sub(1);
            let by_size = (0_u32..).zip(classes).map(|(class, (mut reads, mut writes))| {
                reads.truncate(read_latency.len());
                writes.truncate(write_latency.len());
                let largest_bytes = (open.is_none() || class as usize != last).then_some(4096 << class);
                NvmeSizeClass { largest_bytes, reads, writes }
            });
            let by_size = if kind == NvmeKind::InstanceStore { by_size.collect() } else { Vec::new() };
            NvmeStatistics {
                kind,
                version,
                counters: NvmeCounters {
                    reads: longs[0],
                    writes: longs[1],
                    read_bytes: longs[2],
                    written_bytes: longs[3],
                    read_time_us: longs[4],
                    write_time_us: longs[5],
                    volume_iops_exceeded_us: of_volume(longs[6]),
                    volume_throughput_exceeded_us: of_volume(longs[7]),
                    instance_iops_exceeded_us: longs[8],
                    instance_throughput_exceeded_us: longs[9],
                    read_latency,
                    write_latency,
                    by_size,
                },
                queue_length: longs[10],
            }
        },
    )
}

proptest! {
    #[test]
    fn a_page_that_was_written_reads_back_the_same(page in any_page()) {
        prop_assert_eq!(parse_page(&encode_page(&page)), Ok(page));
    }

    #[test]
    fn no_bytes_panic(mut bytes in vec(any::<u8>(), 4090..8200), magic in option::of(any::<bool>())) {
        if let Some(ebs) = magic {
            let magic: u32 = if ebs { EBS_MAGIC } else { INSTANCE_STORE_MAGIC };
            bytes[..4].copy_from_slice(&magic.to_le_bytes());
        }
        let _ = parse_page(&bytes);
    }
}
