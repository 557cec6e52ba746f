//! Conducts tests on real files, small and for a short time.

mod bench;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bench::{Bench, Follower};
use iostone_model::orion::{LargeIo, LoadPoint, Matrix, OrionTest, RunLevel, SimulatedArray};
use iostone_model::units::{Bytes, Span};
use iostone_orion::record::{self, RecordFile};

fn test(run: RunLevel, change: impl FnOnce(&mut OrionTest)) -> OrionTest {
    let mut test = OrionTest::new(run);
    test.duration = Span(Duration::from_millis(300));
    test.size_large = Bytes(256 << 10);
    change(&mut test);
    test
}

fn one_point(small: u32, large: u32, change: impl FnOnce(&mut OrionTest)) -> OrionTest {
    test(RunLevel::Advanced, |test| {
        test.matrix = Matrix::Point;
        (test.num_small, test.num_large) = (Some(small), Some(large));
        change(test);
    })
}

#[test]
fn the_basic_matrix_of_one_disk_is_measured_and_recorded() {
    // Long enough that each load has an I/O done, however busy the machine is.
    let asked = test(RunLevel::Simple, |test| test.duration = Span(Duration::from_secs(1)));
    let bench = Bench::new(1, asked);
    let mut follower = Follower::recording(&bench);
    let (points, end) = bench.conduct(Vec::new(), &mut follower, &AtomicBool::new(false)).unwrap();
    assert!(end.finished && end.reason.is_none(), "{end:?}");
    let measured: Vec<LoadPoint> = points.iter().map(iostone_model::orion::PointRecord::point).collect();
    assert_eq!(measured, bench.header.test.points(1));
    assert_eq!(follower.begun.first(), Some(&(1, Some(8))));
    for record in &points {
        let loads = [(record.small, &record.small_io, 8 << 10), (record.large, &record.large_io, 256 << 10)];
        for (load, figures, block) in loads {
            assert_eq!(load > 0, figures.is_some());
            let Some(figures) = figures else { continue };
            assert!(figures.ios() > 0 && figures.writes.ios == 0);
            assert_eq!(figures.bytes(), figures.ios() * block);
            assert_eq!(figures.ios_per_100ms.iter().sum::<u64>(), figures.ios());
            let latency = figures.latency.as_ref().unwrap();
            assert_eq!(latency.histogram.iter().map(|(_, _, count)| count).sum::<u64>(), figures.ios());
            assert!(
                latency.min <= latency.p50 && latency.p50 <= latency.p99_99 && latency.p99_99 <= latency.max
            );
            assert!((record.seconds - 1.0).abs() < 1e-3, "{}", record.seconds);
        }
    }
    let read_back = record::read(&bench.record_path()).unwrap();
    assert_eq!((read_back.header, read_back.points), (bench.header.clone(), points));
}

#[test]
fn streams_over_two_striped_luns_are_warmed_for_and_measured() {
    let asked = one_point(2, 3, |test| {
        test.large_io = LargeIo::Seq;
        test.simulate = SimulatedArray::Raid0;
        test.stripe = Bytes(64 << 10);
        test.cache_size = Some(Bytes(80 << 20));
        test.num_stream_io = 2;
    });
    let bench = Bench::new(2, asked);
    let mut follower = Follower::default();
    let (points, end) = bench.conduct(Vec::new(), &mut follower, &AtomicBool::new(false)).unwrap();
    assert!(end.finished, "{end:?}");
    assert!(points[0].warming_bytes >= 80 << 20);
    assert!(points[0].large_io.as_ref().unwrap().reads.ios > 0);
    assert!(points[0].small_io.as_ref().unwrap().reads.ios > 0);
}

#[test]
fn a_fifth_of_the_random_ios_writes() {
    let bench = Bench::new(1, one_point(4, 2, |test| test.write_percent = 20));
    let (points, end) = bench.conduct(Vec::new(), &mut Follower::default(), &AtomicBool::new(false)).unwrap();
    assert!(end.finished, "{end:?}");
    let small = points[0].small_io.as_ref().unwrap();
    let share = small.writes.ios as f64 / small.ios() as f64;
    // Five standard deviations of a binomial share.
    let tolerance = 5.0 * (0.2 * 0.8 / small.ios() as f64).sqrt();
    assert!((share - 0.2).abs() <= tolerance.max(0.01), "{share} of {}", small.ios());
}

#[test]
fn a_writing_stream_writes_beside_a_reading_one() {
    let asked = one_point(0, 2, |test| {
        test.large_io = LargeIo::Seq;
        test.cache_size = Some(Bytes(0));
        test.write_percent = 50;
    });
    let bench = Bench::new(1, asked);
    let (points, _) = bench.conduct(Vec::new(), &mut Follower::default(), &AtomicBool::new(false)).unwrap();
    let large = points[0].large_io.as_ref().unwrap();
    assert!(large.reads.ios > 0 && large.writes.ios > 0 && points[0].warming_bytes == 0);
}

#[test]
fn an_interrupted_test_keeps_its_points_and_goes_on_to_the_same_plan() {
    let bench = Bench::new(1, test(RunLevel::Simple, |_| ()));
    let stop = AtomicBool::new(false);
    let mut follower = Follower::recording(&bench);
    follower.raise_at = Some((4, &stop));
    let (points, end) = bench.conduct(Vec::new(), &mut follower, &stop).unwrap();
    assert_eq!((points.len(), end.finished, end.reason.as_deref()), (3, false, Some("interrupted")));
    follower.record.as_mut().unwrap().append_end(&end).unwrap();
    drop(follower);

    let open = std::fs::OpenOptions::new().read(true).append(true).open(bench.record_path()).unwrap();
    let (file, before) = RecordFile::reopen(open, &bench.record_path()).unwrap();
    assert_eq!(before.points, points);
    record::check_same(&before.header, &bench.luns).unwrap();
    let mut follower = Follower { record: Some(file), ..Follower::default() };
    stop.store(false, Ordering::Relaxed);
    let (points, end) = bench.conduct(before.points, &mut follower, &stop).unwrap();
    assert!(end.finished && follower.begun.first() == Some(&(4, Some(8))), "{end:?}");
    let whole: Vec<LoadPoint> = points.iter().map(iostone_model::orion::PointRecord::point).collect();
    assert_eq!(whole, bench.header.test.points(1));
    assert_eq!(record::read(&bench.record_path()).unwrap().points, points);
}

#[test]
fn an_io_that_fails_ends_the_test_with_the_point_and_the_fault() {
    let bench = Bench::new(1, test(RunLevel::Simple, |_| ()));
    let mut follower = Follower::default();
    let path = bench.luns[0].path.clone();
    // Cut off behind the third point: what is still asked for lies beyond its end.
    follower.before = Some(Box::new(move |number| {
        if number == 3 {
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(4096).unwrap();
        }
    }));
    let (points, end) = bench.conduct(Vec::new(), &mut follower, &AtomicBool::new(false)).unwrap();
    assert_eq!((points.len(), end.finished), (2, false), "{end:?}");
    assert!(end.reason.as_ref().is_some_and(|reason| reason.contains("lun-0")), "{end:?}");
}

#[test]
fn what_keeps_a_test_from_beginning_is_an_error() {
    let mut bench = Bench::new(1, one_point(1, 0, |_| ()));
    bench.luns[0].path.set_file_name("missing");
    let begun = bench.conduct(Vec::new(), &mut Follower::default(), &AtomicBool::new(false));
    assert!(begun.unwrap_err().to_string().contains("missing"));
}

#[test]
fn what_a_later_point_needs_and_cannot_have_is_refused_before_the_first() {
    let bench = Bench::new(1, test(RunLevel::Simple, |test| test.size_large = Bytes(64 << 20)));
    let mut follower = Follower::default();
    let refused = bench.conduct(Vec::new(), &mut follower, &AtomicBool::new(false)).unwrap_err();
    assert!(refused.to_string().contains("64MiB are needed"), "{refused}");
    assert!(follower.begun.is_empty());
}

#[test]
fn a_point_that_ends_by_precision_says_what_it_reached() {
    let asked = one_point(2, 0, |test| test.duration = Span(Duration::from_secs(20)));
    let mut bench = Bench::new(1, asked);
    bench.header.until = Some(5.0);
    let (points, end) = bench.conduct(Vec::new(), &mut Follower::default(), &AtomicBool::new(false)).unwrap();
    // 500 % is reached at once, which is at the first look.
    assert!(end.finished && points[0].precision.is_some_and(|precision| precision <= 5.0), "{end:?}");
    assert!(points[0].seconds < 20.0 && points[0].small_io.as_ref().unwrap().ios() > 0);
}
