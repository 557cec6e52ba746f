//! Whole tests, and what is said of them.

use iostone_model::orion::{
    CellEstimate, LimitKind, LunKind, LunRecord, OrionEnd, PointRecord, ServedAtPoint, SimulatedArray,
};

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
            "`loop0` served 50 % of the bytes read at Small=1 and Large=0: the rest came to a cache above, so the rates are not the storage's",
            "`loop0` served 2.0 times the bytes written at Small=1 and Large=0: others used it too, or what lies above adds I/O of its own",
            "1 of 2 points is less precise than ±10.0 %, the worst ±20.0 % at Small=1 and Large=0",
            "1 of 8 points was not measured but estimated, the least certain to about ±4.00 %",
            "at Small=1 and Large=0: merged",
            "the test is not finished, with 2 of 8 points measured: interrupted",
        ]
    );
}

/// Points of which the device served so many times the bytes read.
fn served(shares: &[f64]) -> Vec<PointRecord> {
    (1..)
        .zip(shares)
        .map(|(load, share)| {
            let mut point = small(load, 1000.0 * f64::from(load), 0.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the test's own")]
            let read_bytes = (point.small_io.as_ref().unwrap().bytes() as f64 * share) as u64;
            point.served = Some(ServedAtPoint {
                devices: vec!["loop0".to_owned()],
                read_bytes,
                ..ServedAtPoint::default()
            });
            point.notes = vec![
                "`loop0` served 41.0 MB read where 8.2 MB were asked for: others use it too".to_owned(),
                format!("`loop0` got {load} requests for 100 I/Os read: the kernel merged them"),
            ];
            point
        })
        .collect()
}

#[test]
fn what_was_served_is_said_once_with_its_range() {
    let mut test = record(Vec::new());
    test.points = served(&[5.1, 1.0, 1.3, 2.0]);
    assert_eq!(
        find(&test).remarks,
        [
            "`loop0` served 1.3 to 5.1 times the bytes read at 3 of 4 points, the worst Small=1 and Large=0: others used it too, \
             or what lies above adds I/O of its own",
            "at Small=1 and Large=0, and alike at 3 more points: `loop0` got 1 requests for 100 I/Os read: the kernel merged \
             them",
        ]
    );
    test.points = served(&[0.12, 0.5, 1.0, 1.5]);
    let told = find(&test).remarks;
    assert!(told[0].starts_with(
        "`loop0` served 12 to 50 % of the bytes read at 2 of 4 points, the worst Small=1 and Large=0"
    ));
    assert!(told[1].starts_with("`loop0` served 1.5 times the bytes read at Small=4 and Large=0"));
    let short = |mut point: PointRecord| {
        point.seconds = 1.0;
        point
    };
    test.points = served(&[1.15, 1.15]).into_iter().map(short).collect();
    assert_eq!(
        find(&test).remarks[0],
        "`loop0` served 270 MiB read where 234 MiB were asked for (115 %): others used it too, or what lies above adds I/O of \
         its own",
        "no point for itself is off by more than a second allows"
    );
    test.points = served(&[1.0, 1.02, 0.98]);
    assert_eq!(find(&test).remarks.len(), 1, "only that requests were merged");
}

#[test]
fn notes_of_a_kind_are_one_remark() {
    let mut test = record(Vec::new());
    let noted = |load, notes: &[&str]| PointRecord {
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        ..small(load, 100.0, 0.0)
    };
    test.points = vec![
        noted(1, &["its loads ended 20 ms apart", "counting stopped"]),
        noted(
            2,
            &["its loads ended 31 ms apart", "the rate is known within 4.0 % where 2.0 % were asked for"],
        ),
        noted(3, &["counting stopped"]),
    ];
    assert_eq!(
        find(&test).remarks,
        [
            "at Small=1 and Large=0, and alike at another point: its loads ended 20 ms apart",
            "at 2 points from Small=1 and Large=0 on: counting stopped",
        ]
    );
}

#[test]
fn points_less_precise_than_estimates_may_be_off_are_said_with_what_would_help() {
    let mut test = record(Vec::new());
    let precisions = [0.01, 0.08, 0.10, 0.12, 0.43];
    test.points = (1..)
        .zip(precisions)
        .map(|(load, precision)| PointRecord { precision: Some(precision), ..small(load, 100.0, 0.0) })
        .collect();
    test.header.adaptive = Some(0.05);
    let told = |test: &iostone_model::orion::OrionRecord| find(test).remarks.remove(0);
    assert_eq!(
        told(&test),
        "points are known to ±10.0 % in the middle (the worst to ±43.0 % at Small=5 and Large=0), worse than the 5 % asked \
         for: a longer `-duration` or `--until 2%` would let more points be estimated"
    );
    test.header.until = Some(0.02);
    assert!(told(&test).ends_with("a longer `-duration` would let more points be estimated"));
    (test.header.until, test.header.adaptive) = (None, Some(0.1));
    assert!(told(&test).starts_with("2 of 5 points are less precise than ±10.0 %, the worst ±43.0 %"));
}

#[test]
fn what_raid_0_leaves_of_larger_luns_is_said_once() {
    let mut test = record(Vec::new());
    test.header.test.simulate = SimulatedArray::Raid0;
    let lun = |bytes| LunRecord { name: "lun".to_owned(), kind: LunKind::File, bytes, identity: None };
    test.header.luns = vec![lun(4 << 20), lun(16 << 20)];
    assert_eq!(
        find(&test).remarks,
        [
            "12.0 MiB of 20.0 MiB are not tested: RAID 0 uses as much of each LUN as the smallest has, in whole stripes"
        ]
    );
    test.header.test.simulate = SimulatedArray::Concat;
    assert_eq!(find(&test).remarks, Vec::<String>::new());
}

#[test]
fn nothing_is_found_in_a_test_without_points() {
    let found = find(&record(Vec::new()));
    assert_eq!(
        (found.ceilings.len(), found.plateaus.len(), found.knee, found.remarks.len()),
        (0, 0, None, 0)
    );
}
