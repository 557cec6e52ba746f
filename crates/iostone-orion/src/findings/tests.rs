//! Whole tests, and what is said of them.

use iostone_model::orion::{CellEstimate, LimitKind, OrionEnd, PointRecord, ServedAtPoint};

use super::find;
use super::fixture::{at, large, limit, record, small};

#[test]
fn a_clean_test_has_its_findings_and_one_remark() {
    let mut test = record(vec![limit(LimitKind::WriteIops, 500.0)]);
    test.points.push(PointRecord { seconds: 1.0, ..PointRecord::default() });
    test.points.extend((1..=5).map(|load| small(load, 0.0, 499.0)));
    test.points.extend((1..=2).map(|load| large(load, 0.0, 30.0)));
    let found = find(&test);
    assert_eq!(found.maxima.iops.unwrap().point, at(1, 0));
    assert_eq!((found.ceilings.len(), found.plateaus.len()), (2, 2));
    let knee = found.knee.unwrap();
    assert_eq!((knee.at, knee.saturated), (1, true));
    assert_eq!(found.remarks, Vec::<String>::new());
}

#[test]
fn the_knee_that_was_looked_for_goes_before_any_other() {
    let mut test = record(Vec::new());
    test.points.extend((1..=5).map(|load| large(load, 30.0, 0.0)));
    let own = find(&test).knee.unwrap();
    assert!(!own.small, "there is no small I/O");
    test.end.as_mut().unwrap().knee = Some(iostone_model::orion::Knee { at: 77, ..own });
    assert_eq!(find(&test).knee.unwrap().at, 77);
}

#[test]
fn most_iops_and_least_latency_are_told_apart() {
    let mut test = record(Vec::new());
    test.points.extend([small(1, 100.0, 0.0), small(8, 200.0, 0.0)]);
    assert_eq!(
        find(&test).remarks,
        [
            "Maximum IOPS (Small=8 and Large=0) and minimum latency (Small=1 and Large=0) lie at different points: \
          at the maximum, latency is 4.0 times the minimum, 40.0 ms to 10.0 ms"
        ]
    );
}

#[test]
fn everything_that_is_not_as_it_should_be_is_said() {
    let mut test = record(Vec::new());
    test.header.direct = false;
    let idle = PointRecord { notes: vec!["the devices were not idle".to_owned()], ..PointRecord::default() };
    let served = |bytes| {
        let devices = vec!["loop0".to_owned()];
        Some(ServedAtPoint {
            devices,
            read_bytes: bytes,
            written_bytes: 2 * bytes,
            ..ServedAtPoint::default()
        })
    };
    let mut cached = small(1, 1000.0, 500.0);
    cached.served = served(40_960_000);
    cached.precision = Some(0.2);
    cached.notes = vec!["merged".to_owned()];
    test.points = vec![idle, cached];
    let cell = CellEstimate { small: 2, large: 0, iops: None, latency: None, throughput: None, error: 0.04 };
    let reason = Some("interrupted".to_owned());
    test.end = Some(OrionEnd { finished: false, reason, estimates: vec![cell], ..OrionEnd::default() });
    assert_eq!(
        find(&test).remarks,
        [
            "I/O went through the page cache: rates and latencies may be those of memory",
            "the devices were not idle",
            "of 81.9 MB read, loop0 served 41.0 MB (50.0 %): the rest came to a cache above, so the rates are not the storage's",
            "loop0 served 81.9 MB written where 41.0 MB were asked for (200 %): others used it too, or what lies above adds I/O of its own",
            "1 of 2 points are less precise than ±10.0 %, the worst ±20.0 % at Small=1 and Large=0",
            "1 of 8 points were not measured but estimated, each within 4.00 % at most",
            "at Small=1 and Large=0: merged",
            "the test is not finished, with 2 of 8 points measured: interrupted",
        ]
    );
}

#[test]
fn nothing_is_found_in_a_test_without_points() {
    let found = find(&record(Vec::new()));
    assert_eq!(
        (found.ceilings.len(), found.plateaus.len(), found.knee, found.remarks.len()),
        (0, 0, None, 0)
    );
}
