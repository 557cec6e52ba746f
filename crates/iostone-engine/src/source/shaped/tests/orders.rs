//! Sequences that are known in advance.

use iostone_model::load::PerDirection;

use super::*;
use crate::source::plain::Plain;

#[test]
fn a_plain_job_gets_what_the_plain_source_gives() {
    let part = Part { offset_bytes: 8192, length_bytes: 100 * 4096 + 512 };
    for rw in [Rw::Read, Rw::Write, Rw::RandRead, Rw::RandWrite] {
        let job = job(rw, |_| ());
        let direction = if rw.writes() { Direction::Write } else { Direction::Read };
        let mut plain = if rw.is_random() {
            Plain::random(direction, 4096, part, rng(3))
        } else {
            Plain::sequential(direction, 4096, part, 0)
        };
        let mut shaped = Shaped::new(&job, vec![part], rng(3));
        for _ in 0..250 {
            assert_eq!(shaped.next(None), plain.next(None));
        }
    }
}

#[test]
fn a_walk_with_holes_or_backwards_goes_as_fio_does() {
    let mut holes = source(&job(Rw::Write, |job| job.walk.skip_bytes = 4096), &[40 * KIB]);
    assert_eq!(places(&take(&mut holes, 7)), [0, 8, 16, 24, 32, 0, 8]);
    let backwards = job(Rw::Read, |job| job.walk.skip_bytes = -8192);
    let part = Part { offset_bytes: 40 * KIB, length_bytes: 40 * KIB };
    let mut backwards = Shaped::new(&backwards, vec![part], rng(1));
    assert_eq!(places(&take(&mut backwards, 11)), [40, 72, 68, 64, 60, 56, 52, 48, 44, 40, 72]);
}

#[test]
fn reads_and_writes_of_a_mix_each_walk_from_the_start_as_fio_does() {
    let mut mixed = source(&job(Rw::ReadWrite, |_| ()), &[4096 * KIB]);
    let requests = take(&mut mixed, 200);
    for direction in [Direction::Read, Direction::Write] {
        let own: Vec<Request> =
            requests.iter().copied().filter(|request| request.direction == direction).collect();
        assert!(places(&own).into_iter().eq((0..100).map(|block| block * 4)));
    }
}

#[test]
fn the_direction_that_is_wanted_overrides_the_mix() {
    let mut mixed = source(&job(Rw::ReadWrite, |_| ()), &[4096 * KIB]);
    let wanted: Vec<Request> = (0..10).filter_map(|_| mixed.next(Some(Direction::Write))).collect();
    assert!(wanted.iter().all(|request| request.direction == Direction::Write));
    assert_eq!(places(&wanted), [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]);
}

#[test]
fn each_block_is_discarded_then_written_as_fio_does() {
    let pairs = job(Rw::TrimWrite, |job| job.bs = PerDirection::all(range(4096, 16_384)));
    let requests = take(&mut source(&pairs, &[1024 * KIB]), 100);
    let mut end = 0;
    for pair in requests.chunks(2) {
        assert_eq!(pair[0], Request { direction: Direction::Trim, offset_bytes: end, ..pair[1] });
        assert_eq!(pair[1].direction, Direction::Write);
        end += u64::from(pair[0].length_bytes);
    }
}

#[test]
fn runs_go_on_in_sequence_or_stay_in_place() {
    let mut runs = source(&job(Rw::RandRead, |job| job.walk.run_length = 4), &[1 << 40]);
    for run in take(&mut runs, 400).chunks(4) {
        let first = run[0].offset_bytes;
        assert!(run.iter().zip(0..).all(|(request, index)| request.offset_bytes == first + index * 4096));
    }
    let identical = job(Rw::RandRead, |job| {
        job.walk.run_length = 4;
        job.walk.repeat_place = true;
    });
    let requests = take(&mut source(&identical, &[1 << 40]), 400);
    assert!(requests.chunks(4).all(|run| run.iter().all(|request| *request == run[0])));
    assert!(requests.windows(5).all(|pair| pair[0] != pair[4]));
}

#[test]
fn a_run_at_the_end_goes_on_elsewhere() {
    // Two blocks: each run begins at random and meets the end on its way.
    let mut runs = source(&job(Rw::RandRead, |job| job.walk.run_length = 10), &[8 * KIB]);
    let requests = take(&mut runs, 1000);
    assert_eq!(requests.len(), 1000);
    assert!(requests.iter().all(|request| request.offset_bytes + 4096 <= 8 * KIB));
}

#[test]
fn a_share_of_a_random_job_is_sequential() {
    let partly = job(Rw::RandRead, |job| job.walk.percentage_random.read = 30);
    let requests = take(&mut source(&partly, &[1 << 40]), 50_000);
    let sequential =
        requests.windows(2).filter(|pair| pair[0].offset_bytes + 4096 == pair[1].offset_bytes).count();
    assert!((34_500..35_500).contains(&sequential), "{sequential}");
    let none = job(Rw::RandRead, |job| job.walk.percentage_random.read = 0);
    assert_eq!(places(&take(&mut source(&none, &[12 * KIB]), 5)), [0, 4, 8, 0, 4]);
}

/// In KiB.
fn strides(range: u64, io: u64, skip: u64) -> Strides {
    Strides { range: Bytes(range * KIB), io: Bytes(io * KIB), skip: Bytes(skip * KIB) }
}

#[test]
fn strides_go_as_fio_does() {
    let seen = |range, io, skip| {
        let strides = strides(range, io, skip);
        take(&mut source(&job(Rw::Read, |job| job.walk.strides = Some(strides)), &[64 * KIB]), 16)
    };
    assert_eq!(places(&seen(16, 8, 8)), [0, 4, 24, 28, 48, 52, 0, 4, 24, 28, 48, 52, 0, 4, 24, 28]);
    assert_eq!(places(&seen(8, 16, 16)), [0, 4, 0, 4, 24, 28, 24, 28, 48, 52, 48, 52, 0, 4, 0, 4]);
}

#[test]
fn no_more_is_done_in_a_stride_that_is_cut_short_than_it_holds() {
    let seen = |skip| {
        let strides = strides(24, 24, skip);
        take(&mut source(&job(Rw::Read, |job| job.walk.strides = Some(strides)), &[65 * KIB]), 18)
    };
    assert_eq!(places(&seen(0))[12..], [48, 52, 56, 60, 0, 4]);
    assert_eq!(places(&seen(4))[12..], [56, 60, 0, 4, 8, 12]);
    assert_eq!(places(&seen(9))[12..], [0, 4, 8, 12, 16, 20]);
}

#[test]
fn random_blocks_stay_in_their_stride_and_cover_it() {
    let strided = job(Rw::RandWrite, |job| job.walk.strides = Some(strides(64, 128, 64)));
    let requests = take(&mut source(&strided, &[256 * KIB]), 16 * 2 * 6);
    for (pass, start) in requests.chunks(16).zip([0, 0, 128, 128].into_iter().cycle()) {
        let mut covered = places(pass);
        covered.sort_unstable();
        assert!(covered.into_iter().eq((0..16).map(|block| start + block * 4)));
    }
}

#[test]
fn several_targets_take_turns_as_fio_does() {
    let targets = |requests: &[Request]| requests.iter().map(|request| request.target).collect::<Vec<_>>();
    let mut robin = source(&job(Rw::Read, |_| ()), &[12 * KIB, 12 * KIB]);
    let requests = take(&mut robin, 8);
    assert_eq!(targets(&requests), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(places(&requests), [0, 0, 4, 4, 8, 8, 0, 0]);
    let one_by_one = job(Rw::Read, |job| job.service = Service { order: ServiceOrder::Sequential, every: 1 });
    let requests = take(&mut source(&one_by_one, &[12 * KIB, 8 * KIB]), 7);
    assert_eq!(targets(&requests), [0, 0, 0, 1, 1, 0, 0]);
    assert_eq!(places(&requests), [0, 4, 8, 0, 4, 0, 4]);
}
