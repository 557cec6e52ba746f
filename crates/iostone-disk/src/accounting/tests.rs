//! Tests of accounting against the examples of the EBS user guide.

use iostone_model::experiment::Burst;
use iostone_model::units::{ByteRate, Bytes};
use proptest::prelude::*;

use super::*;

const KIB: u32 = 1024;

fn volume(io_size_kib: u64, merge: bool) -> EmulatedVolume {
    let mut volume = EmulatedVolume::new(Bytes(1 << 30));
    volume.io_size = Some(Bytes(io_size_kib * 1024));
    volume.merge = merge;
    volume
}

fn total_ios(accounting: &mut Accounting, requests: impl IntoIterator<Item = (u64, u32)>) -> u64 {
    requests.into_iter().map(|(offset, length)| accounting.charge(Operation::Read, offset, length).ios).sum()
}

fn sequential(count: u64, length: u32) -> impl Iterator<Item = (u64, u32)> {
    (0..count).map(move |index| (index * u64::from(length), length))
}

fn scattered(count: u64, length: u32) -> impl Iterator<Item = (u64, u32)> {
    (0..count).map(move |index| (index * 10_000_000, length))
}

#[test]
fn without_a_size_every_request_is_one() {
    let mut accounting = Accounting::new(&EmulatedVolume::new(Bytes(1 << 30)));
    let charge = accounting.charge(Operation::Write, 0, 32 << 20);
    assert_eq!(charge, Charge { ios: 1, bytes: 32 << 20 });
}

#[test]
fn a_large_request_is_split() {
    let mut accounting = Accounting::new(&volume(16, false));
    assert_eq!(total_ios(&mut accounting, [(0, 64 * KIB)]), 4);
    assert_eq!(total_ios(&mut accounting, [(0, 65 * KIB)]), 5);
    assert_eq!(total_ios(&mut accounting, sequential(4, 4 * KIB)), 4, "nothing is merged unasked");
}

#[test]
fn the_examples_of_the_guide_come_out() {
    let ssd = || Accounting::new(&volume(256, true));
    assert_eq!(total_ios(&mut ssd(), [(0, 1024 * KIB)]), 4);
    assert_eq!(total_ios(&mut ssd(), sequential(8, 32 * KIB)), 1);
    assert_eq!(total_ios(&mut ssd(), scattered(8, 32 * KIB)), 8);
    let hdd = || Accounting::new(&volume(1024, true));
    assert_eq!(total_ios(&mut hdd(), sequential(8, 128 * KIB)), 1);
    assert_eq!(total_ios(&mut hdd(), scattered(8, 128 * KIB)), 8);
}

#[test]
fn directions_are_merged_apart_and_streams_side_by_side() {
    let mut accounting = Accounting::new(&volume(256, true));
    let mut ios = 0;
    for index in 0..8 {
        let offset = index * 32 * 1024;
        ios += accounting.charge(Operation::Read, offset, 32 * KIB).ios;
        ios += accounting.charge(Operation::Write, offset, 32 * KIB).ios;
        ios += accounting.charge(Operation::Read, (1 << 29) + offset, 32 * KIB).ios;
    }
    assert_eq!(ios, 3);
}

#[test]
fn a_random_read_of_a_throughput_volume_costs_a_whole_io() {
    let mut st1 = volume(1024, true);
    st1.throughput = Some(ByteRate(40 << 20));
    st1.burst = Some(Burst {
        iops: None,
        credits: None,
        throughput: Some(ByteRate(250 << 20)),
        credit_bytes: Some(Bytes(1 << 40)),
        start: None,
    });
    let mut accounting = Accounting::new(&st1);
    assert_eq!(accounting.charge(Operation::Read, 0, 4 * KIB), Charge { ios: 1, bytes: 1 << 20 });
    assert_eq!(accounting.charge(Operation::Read, 4096, 4 * KIB), Charge { ios: 0, bytes: 0 });
    assert_eq!(accounting.charge(Operation::Read, 1 << 28, 4 * KIB), Charge { ios: 1, bytes: 1 << 20 });
}

#[test]
fn a_flush_is_free_and_a_discard_is_one_io_without_bytes() {
    let mut accounting = Accounting::new(&volume(256, true));
    assert_eq!(accounting.charge(Operation::Flush, 0, 0), Charge { ios: 0, bytes: 0 });
    assert_eq!(accounting.charge(Operation::Discard, 0, u32::MAX), Charge { ios: 1, bytes: 0 });
}

proptest! {
    #[test]
    fn a_stream_that_overtakes_itself_counts_as_one_in_order(
        depth in 1_usize..33,
        moves in prop::collection::vec(0_usize..32, 2000),
        blocks in prop::sample::select(vec![1_u64, 4, 16]),
    ) {
        let mut order: Vec<u64> = (0..2000).collect();
        for (index, by) in moves.into_iter().enumerate() {
            let other = (index + by % depth).min(order.len() - 1);
            order.swap(index, other);
        }
        let length = blocks * 4096;
        let mut accounting = Accounting::new(&volume(64, true));
        let requests = order.into_iter().map(|number| (number * length, u32::try_from(length).unwrap()));
        let ios = total_ios(&mut accounting, requests);
        // What was charged for pieces at the very end may not have been taken off yet.
        let least = (2000 * length).div_ceil(64 * 1024);
        prop_assert!((least..=least + 32).contains(&ios), "{ios} instead of {least}");
    }

    #[test]
    fn what_lies_apart_counts_one_each(places in prop::collection::hash_set(0_u64..10_000, 1..300)) {
        let mut accounting = Accounting::new(&volume(256, true));
        let count = places.len() as u64;
        let requests = places.into_iter().map(|place| (place * 8192, 4 * KIB));
        prop_assert_eq!(total_ios(&mut accounting, requests), count);
    }

    #[test]
    fn a_stream_counts_as_its_bytes_over_the_size(
        lengths in prop::collection::vec(1_u32..700_000, 1..60),
        io_size_kib in 1_u64..1025,
    ) {
        let mut accounting = Accounting::new(&volume(io_size_kib, true));
        let mut offset = 0;
        let mut ios = 0;
        for length in lengths {
            ios += accounting.charge(Operation::Write, offset, length).ios;
            offset += u64::from(length);
        }
        prop_assert_eq!(ios, offset.div_ceil(io_size_kib * 1024));
    }

    #[test]
    fn merging_never_costs_more(requests in prop::collection::vec((0_u64..64, 1_u32..64), 1..80)) {
        let (mut merging, mut plain) = (Accounting::new(&volume(256, true)), Accounting::new(&volume(256, false)));
        let requests = || requests.iter().map(|(page, pages)| (page * 4096, pages * 4096));
        prop_assert!(total_ios(&mut merging, requests()) <= total_ios(&mut plain, requests()));
    }
}
