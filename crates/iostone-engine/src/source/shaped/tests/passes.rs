//! What a pass covers, and what shares a mix has.

use super::*;
use std::collections::BTreeMap;

/// Asserts that the requests lie side by side over all of each part.
fn assert_covers(requests: &[Request], lengths: &[u64]) {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    let mut sorted = requests.to_vec();
    sorted.sort_unstable_by_key(|request| (request.target, request.offset_bytes));
    for request in sorted {
        let end = ends.entry(request.target).or_default();
        assert_eq!(request.offset_bytes, *end, "{request:?}");
        *end += u64::from(request.length_bytes);
    }
    assert!(ends.into_values().eq(lengths.iter().copied()));
}

fn take_bytes(source: &mut Shaped, bytes: u64) -> Vec<Request> {
    let mut left = bytes;
    let requests = std::iter::from_fn(|| {
        let request = (left > 0).then(|| source.next(None))??;
        left = left.saturating_sub(request.length_bytes.into());
        Some(request)
    });
    requests.collect()
}

#[test]
fn reads_and_writes_of_a_random_mix_cover_every_block_once_together() {
    let mut mixed = source(&job(Rw::RandRw, |job| job.rwmixread = 30), &[4000 * KIB]);
    for _ in 0..3 {
        let requests = take(&mut mixed, 1000);
        assert_covers(&requests, &[4000 * KIB]);
        assert_eq!(requests.iter().filter(|request| request.direction == Direction::Read).count(), 300);
    }
}

#[test]
fn blocks_of_several_sizes_cover_a_pass() {
    let mut sizes = source(&job(Rw::RandWrite, |job| job.bs.write = range(4096, 65_536)), &[4000 * KIB]);
    for _ in 0..2 {
        assert_covers(&take_bytes(&mut sizes, 4000 * KIB), &[4000 * KIB]);
    }
}

#[test]
fn targets_of_different_sizes_are_each_covered_before_any_begins_again() {
    let lengths = [40 * KIB, 400 * KIB, 4 * KIB, 80 * KIB];
    let all = lengths.iter().sum();
    let even = ServiceOrder::Random(RandomDistribution::Random);
    for rw in [Rw::Write, Rw::RandWrite] {
        for order in [ServiceOrder::RoundRobin, ServiceOrder::Sequential, even.clone()] {
            let shared = job(rw, |job| job.service = Service { order, every: 3 });
            let mut shared = source(&shared, &lengths);
            for _ in 0..2 {
                assert_covers(&take_bytes(&mut shared, all), &lengths);
            }
        }
    }
}

#[test]
fn random_jobs_bounded_by_time_alone_wait_for_no_target() {
    let endless = job(Rw::RandRead, |job| job.runtime = "1s".parse().ok());
    let requests = take(&mut source(&endless, &[4 * KIB, 4000 * KIB]), 100);
    assert_eq!(requests.iter().filter(|request| request.target == 0).count(), 50);
}

#[test]
fn in_sequence_a_target_gets_its_length_also_where_blocks_are_drawn_again() {
    let revisiting = job(Rw::RandWrite, |job| {
        job.walk.revisits = true;
        job.service = Service { order: ServiceOrder::Sequential, every: 1 };
    });
    let requests = take(&mut source(&revisiting, &[40 * KIB, 80 * KIB]), 60);
    let targets: Vec<u32> = requests.iter().map(|request| request.target).collect();
    let runs: Vec<usize> = targets.chunk_by(|a, b| a == b).map(<[u32]>::len).collect();
    assert_eq!(runs, [10, 20, 10, 20]);
}

#[test]
fn random_pairs_cover_every_block_once() {
    let mut pairs = source(&job(Rw::RandTrimWrite, |_| ()), &[400 * KIB]);
    let requests = take(&mut pairs, 200);
    let (discards, writes): (Vec<Request>, Vec<Request>) =
        requests.into_iter().partition(|request| request.direction == Direction::Trim);
    assert_covers(&discards, &[400 * KIB]);
    assert_eq!(places(&discards), places(&writes));
}

#[test]
fn drawing_again_touches_as_many_blocks_as_theory_says() {
    // Of n blocks, n draws touch 1 - 1/e on average.
    let drawn = job(Rw::RandRead, |job| job.walk.revisits = true);
    let mut touched = places(&take(&mut source(&drawn, &[40_000 * KIB]), 10_000));
    touched.sort_unstable();
    touched.dedup();
    assert!((6_200..6_440).contains(&touched.len()), "{}", touched.len());
}

#[test]
fn small_alignment_reaches_the_last_byte_and_no_further() {
    let aligned = job(Rw::RandRead, |job| job.walk.align = Some(Bytes(512)));
    let requests = take(&mut source(&aligned, &[16 * KIB]), 2000);
    let mut touched: Vec<u64> = requests.iter().map(|request| request.offset_bytes).collect();
    touched.sort_unstable();
    touched.dedup();
    assert!(touched.into_iter().eq((0..=24).map(|sector| sector * 512)));
}

#[test]
fn a_part_that_holds_no_block_has_no_requests() {
    for rw in [Rw::Read, Rw::RandRead, Rw::RandWrite, Rw::RandTrimWrite, Rw::ReadWrite] {
        for lengths in [&[][..], &[0], &[4095], &[100, 0]] {
            assert_eq!(source(&job(rw, |_| ()), lengths).next(None), None);
        }
        let mut partly = source(&job(rw, |_| ()), &[100, 40 * KIB]);
        assert!(take(&mut partly, 50).iter().all(|request| request.target == 1));
        assert!(partly.next(None).is_some());
    }
}
