//! Tests of how a load point becomes jobs.

use iostone_model::orion::RunLevel;
use proptest::prelude::*;

use super::*;
use crate::point::tests::{header, luns};

const MIB: u64 = 1 << 20;

fn test(change: impl FnOnce(&mut OrionTest)) -> OrionHeader {
    let mut test = OrionTest::new(RunLevel::Advanced);
    change(&mut test);
    header(test)
}

fn sequential(array: SimulatedArray, write_percent: u32) -> OrionHeader {
    test(|test| {
        test.large_io = LargeIo::Seq;
        test.simulate = array;
        test.write_percent = write_percent;
    })
}

fn point(small: u32, large: u32) -> LoadPoint {
    LoadPoint { small, large }
}

fn starts(header: &OrionHeader, luns: &[Lun], point: LoadPoint) -> Vec<u64> {
    let jobs = jobs_of(header, luns, point);
    jobs.iter().filter(|one| one.load == Load::Large).map(|one| one.job.walk.start.0).collect()
}

#[test]
fn a_load_is_a_job_of_its_depth_and_no_load_is_none() {
    let header = test(|_| ());
    let luns = luns(&[100 * MIB]);
    assert!(jobs_of(&header, &luns, point(0, 0)).is_empty());
    let jobs = jobs_of(&header, &luns, point(5, 2));
    let described: Vec<_> = jobs.iter().map(|one| (one.load, one.job.rw, one.job.iodepth)).collect();
    assert_eq!(described, [(Load::Small, Rw::RandRead, 5), (Load::Large, Rw::RandRead, 2)]);
    assert_eq!(jobs[0].job.bs, Bytes(8192).into());
    assert_eq!(jobs[1].job.bs, Bytes(MIB).into());
    for PointJob { job, .. } in &jobs {
        assert!(job.direct && job.exit_all && !job.invalidate && !job.walk.revisits);
        assert_eq!((job.preparation, job.size, job.offset), (Preparation::Leave, None, Bytes(0)));
        assert_eq!((job.runtime, job.ramp_time.0), (Some(header.test.duration), LONGEST_RAMP));
    }
}

#[test]
fn writes_carry_what_the_files_hold() {
    let mut header = test(|test| test.write_percent = 100);
    for (data, content) in [(FileData::Random, Content::Noise), (FileData::Zeros, Content::Zeros)] {
        header.data = data;
        for PointJob { job, .. } in jobs_of(&header, &luns(&[100 * MIB]), point(1, 1)) {
            assert_eq!(job.data.content, content);
        }
    }
}

#[test]
fn writes_are_a_share_of_random_ios() {
    for (percent, rw) in [(0, Rw::RandRead), (20, Rw::RandRw), (100, Rw::RandWrite)] {
        let header = test(|test| test.write_percent = percent);
        for PointJob { job, .. } in jobs_of(&header, &luns(&[100 * MIB]), point(1, 1)) {
            assert_eq!((job.rw, job.rwmixread), (rw, 100 - percent));
        }
    }
}

#[test]
fn several_luns_are_one_volume() {
    let striped = test(|test| test.simulate = SimulatedArray::Raid0);
    let two = luns(&[100 * MIB + 4097, 70 * MIB + 1]);
    let job = &jobs_of(&striped, &two, point(1, 0))[0].job;
    assert_eq!((job.targets.len(), job.volume), (2, Some(Volume::Raid0 { chunk: Bytes(MIB) })));
    assert_eq!(volume_bytes(&striped.test, &two), 140 * MIB);
    let behind = test(|_| ());
    assert_eq!(jobs_of(&behind, &two, point(1, 0))[0].job.volume, Some(Volume::Concat));
    assert_eq!(volume_bytes(&behind.test, &two), 170 * MIB + 4096);
    assert_eq!(jobs_of(&striped, &luns(&[MIB]), point(1, 0))[0].job.volume, None);
}

#[test]
fn streams_of_a_stripe_begin_evenly_spread_and_a_single_one_at_the_beginning() {
    let header = sequential(SimulatedArray::Raid0, 0);
    let two = luns(&[50 * MIB, 50 * MIB]);
    assert_eq!(starts(&header, &two, point(0, 1)), [0]);
    assert_eq!(starts(&header, &two, point(0, 3)), [25 * MIB, 50 * MIB, 75 * MIB]);
    for PointJob { job, .. } in jobs_of(&header, &two, point(0, 3)) {
        assert_eq!((job.rw, job.iodepth), (Rw::Read, 4));
    }
}

#[test]
fn streams_beside_small_io_or_of_a_concatenation_begin_anywhere() {
    let two = luns(&[500 * MIB, 500 * MIB]);
    for (array, point) in [(SimulatedArray::Raid0, point(1, 8)), (SimulatedArray::Concat, point(0, 8))] {
        let header = sequential(array, 0);
        let mut places = starts(&header, &two, point);
        assert_eq!(places, starts(&header, &two, point));
        assert!(places.iter().all(|place| place.is_multiple_of(MIB) && *place < 1000 * MIB));
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 4, "{places:?}");
    }
}

#[test]
fn writing_streams_are_spread_among_the_others() {
    let header = sequential(SimulatedArray::Raid0, 50);
    let jobs = jobs_of(&header, &luns(&[100 * MIB]), point(0, 4));
    let rw: Vec<Rw> = jobs.iter().map(|one| one.job.rw).collect();
    assert_eq!(rw, [Rw::Read, Rw::Write, Rw::Read, Rw::Write]);
}

#[test]
fn what_raid_0_and_whole_blocks_leave_is_counted() {
    let untested = |array, sizes: &[u64]| {
        let records: Vec<LunRecord> = luns(sizes).iter().map(Lun::to_record).collect();
        untested_bytes(&sequential(array, 0).test, &records)
    };
    assert_eq!(untested(SimulatedArray::Raid0, &[4 * MIB, 16 * MIB]), 12 * MIB);
    assert_eq!(untested(SimulatedArray::Raid0, &[4 * MIB, 4 * MIB]), 0);
    assert_eq!(untested(SimulatedArray::Concat, &[4 * MIB, 16 * MIB]), 0);
    assert_eq!(untested(SimulatedArray::Concat, &[4 * MIB + 5000, 4 * MIB]), 5000);
    assert_eq!(
        untested(SimulatedArray::Concat, &[4 * MIB + 8200]),
        8,
        "small blocks reach further than large"
    );
    assert_eq!(untested(SimulatedArray::Concat, &[]), 0);
}

#[test]
fn each_point_and_each_job_has_a_seed_of_its_own() {
    let header = sequential(SimulatedArray::Concat, 0);
    let one_lun = luns(&[100 * MIB]);
    let mut seeds: Vec<u64> = (0..20)
        .flat_map(|small| (0..4).flat_map(move |large| [point(small, large)]))
        .flat_map(|point| jobs_of(&header, &one_lun, point))
        .map(|one| one.job.seed)
        .collect();
    let all = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), all);
    let mut other = header.clone();
    other.seed += 1;
    assert_ne!(
        jobs_of(&header, &one_lun, point(1, 0))[0].job.seed,
        jobs_of(&other, &one_lun, point(1, 0))[0].job.seed
    );
}

proptest! {
    #[test]
    fn as_many_streams_write_as_the_test_says_and_all_begin_within_the_volume(
        streams in 1u32..80,
        percent in 0u32..=100,
        small in 0u32..2,
        mib in 1u64..5000,
        striped: bool,
    ) {
        let array = if striped { SimulatedArray::Raid0 } else { SimulatedArray::Concat };
        let header = sequential(array, percent);
        let luns = luns(&[mib * MIB, mib * MIB]);
        let jobs = jobs_of(&header, &luns, point(small, streams));
        let writing = jobs.iter().filter(|one| one.load == Load::Large && one.job.rw == Rw::Write).count();
        prop_assert_eq!(writing as u64, u64::from(header.test.writing_streams(streams)));
        prop_assert_eq!(jobs.len() as u64, u64::from(streams) + u64::from(small));
        for start in starts(&header, &luns, point(small, streams)) {
            prop_assert!(start + MIB <= volume_bytes(&header.test, &luns));
        }
    }

    #[test]
    fn every_job_is_one_that_the_engine_takes(
        small in 0u32..100,
        large in 0u32..20,
        percent in 0u32..=100,
        seq: bool,
    ) {
        let header = test(|test| {
            test.write_percent = percent;
            test.large_io = if seq { LargeIo::Seq } else { LargeIo::Rand };
        });
        for mut one in jobs_of(&header, &luns(&[100 * MIB]), point(small, large)) {
            one.job.walk.start = Bytes(0);
            prop_assert!(one.job.check().is_ok());
        }
    }
}
