//! Curves of limited storage, with the limit known and unknown.

use iostone_model::metric::Unit;
use iostone_model::orion::{KnownLimit, LimitKind, PointRecord, ServedAtPoint};
use proptest::prelude::*;

use super::*;
use crate::findings::fixture::{large, limit, record, small};

fn limited(limits: Vec<KnownLimit>, points: Vec<PointRecord>) -> OrionRecord {
    OrionRecord { points, ..record(limits) }
}

#[test]
fn a_flat_write_curve_is_a_plateau_from_load_1_and_names_its_limit() {
    let points = || (1..=5).map(|load| small(load, 0.0, 499.0)).collect::<Vec<_>>();
    let unknown = limited(Vec::new(), points());
    let found = ceilings(&unknown);
    assert_eq!(found.len(), 1, "there is no large I/O");
    assert_eq!(found[0].bound_by, BoundBy::Plateau);
    assert_eq!(
        found[0].sentence,
        "small I/O stays at 499 /s from load 1 on, and only latency grows; no limit is known that would explain it"
    );
    let flat = plateaus(&unknown);
    assert_eq!(flat.len(), 1);
    assert_eq!((flat[0].from, flat[0].to, flat[0].unit), (1, 5, Unit::PerSecond));
    let known =
        limited(vec![limit(LimitKind::WriteIops, 500.0), limit(LimitKind::ReadIops, 2000.0)], points());
    let found = &ceilings(&known)[0];
    assert_eq!(found.sentence, "500 writes a second on loop0 bind: 499 were measured, 99.8 %");
    assert!(matches!(&found.bound_by, BoundBy::Limit { limit, .. } if limit.kind == LimitKind::WriteIops));
}

#[test]
fn with_one_write_in_five_both_limits_bind() {
    let limits = vec![limit(LimitKind::ReadIops, 2000.0), limit(LimitKind::WriteIops, 500.0)];
    let points = vec![small(1, 800.0, 200.0), small(2, 1600.0, 400.0), small(4, 1990.0, 499.0)];
    let found = &ceilings(&limited(limits, points))[0];
    assert_eq!(
        found.sentence,
        "500 writes a second on loop0 bind: 499 were measured, 99.8 %; 2000 reads a second bind as well, 99.5 %"
    );
    assert_eq!(found.point.small, 4);
}

#[test]
fn a_rate_above_its_limit_is_told_to_be_a_cache_or_burst() {
    let limits = vec![limit(LimitKind::WriteBytes, 64e6)];
    let found = &ceilings(&limited(limits, vec![large(1, 0.0, 122.0)]))[0];
    let expected =
        "64.0 MB/s of writes on loop0 were exceeded: 128 MB/s were measured, 200 %; a cache, or a burst";
    assert_eq!(found.sentence, expected);
}

#[test]
fn a_slice_more_in_a_short_time_is_no_excess() {
    let told = |seconds: f64| {
        let mut point = small(4, 0.0, 525.0);
        point.seconds = seconds;
        let writes = &mut point.small_io.as_mut().unwrap().writes;
        writes.ios = if seconds > 1.0 { 5250 } else { 525 };
        ceilings(&limited(vec![limit(LimitKind::WriteIops, 500.0)], vec![point])).remove(0).sentence
    };
    assert!(told(1.0).starts_with("500 writes a second on loop0 bind"));
    assert!(told(10.0).starts_with("500 writes a second on loop0 were exceeded"));
}

#[test]
fn more_than_all_of_a_limit_says_how_well_the_window_is_known() {
    let told = |rate: f64, seconds: f64| {
        let mut point = small(4, rate, 0.0);
        point.seconds = seconds;
        let reads = &mut point.small_io.as_mut().unwrap().reads;
        reads.ios = reads.ios * whole(seconds) / 10;
        ceilings(&limited(vec![limit(LimitKind::ReadIops, 2000.0)], vec![point])).remove(0).sentence
    };
    assert_eq!(
        told(2082.0, 1.0),
        "2000 reads a second on loop0 bind: 2082 were measured, 104 % (a window of 1 s is known to ±10 %)"
    );
    assert!(told(2082.0, 2.0).ends_with("104 % (a window of 2 s is known to ±5 %)"));
    assert!(told(2050.0, 10.0).ends_with("2050 were measured, 102 %"), "a slice of 10 s is less than that");
    assert!(told(2004.0, 1.0).ends_with("2004 were measured, 100 %"));
    assert!(told(1990.0, 1.0).ends_with("1990 were measured, 99.5 %"));
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "figures of the tests' own")]
fn whole(seconds: f64) -> u64 {
    seconds as u64
}

#[test]
fn a_highest_rate_that_a_lower_load_reached_is_no_growth() {
    let rates = [(1, 11_100.0), (2, 17_500.0), (3, 25_100.0), (4, 22_200.0), (5, 25_111.0)];
    let points = rates.map(|(load, rate)| small(load, rate, 0.0)).to_vec();
    let found = &ceilings(&limited(Vec::new(), points))[0];
    assert_eq!((&found.bound_by, found.point.small), (&BoundBy::Plateau, 5));
    assert_eq!(
        found.sentence,
        "small I/O stopped growing at 25.1 k/s, which load 3 already reached; no limit is known that would explain it"
    );
    let rates = [(1, 100.0), (2, 150.0), (3, 200.0), (4, 205.0), (5, 220.0)];
    let points = rates.map(|(load, rate)| PointRecord { precision: Some(0.2), ..small(load, rate, 0.0) });
    assert_eq!(
        ceilings(&limited(Vec::new(), points.to_vec()))[0].sentence,
        "small I/O came to 220 /s at load 5, above lower loads by less than the points are known to; no limit is known \
         that would explain it"
    );
}

#[test]
fn large_io_meets_a_limit_on_ios_by_the_requests_it_is_split_into() {
    let mut split = large(4, 125.0, 0.0);
    let served = |device: &str| {
        Some(ServedAtPoint { devices: vec![device.to_owned()], reads: 5000, ..ServedAtPoint::default() })
    };
    let limits = || vec![limit(LimitKind::ReadIops, 500.0), limit(LimitKind::ReadBytes, 1e9)];
    split.served = served("loop0");
    let found = ceilings(&limited(limits(), vec![split.clone()])).remove(0);
    assert_eq!(found.sentence, "500 reads a second on loop0 bind: 500 were measured, 100 %");
    split.served = served("vda");
    let found = ceilings(&limited(limits(), vec![split])).remove(0);
    assert_eq!(found.bound_by, BoundBy::Load, "what another device serves does not count");
}

#[test]
fn a_rate_that_still_grows_is_bound_by_the_load() {
    let grows = (1..=5).map(|load| small(load, f64::from(load) * 100.0, 0.0)).collect();
    let found = &ceilings(&limited(vec![limit(LimitKind::ReadIops, 2000.0)], grows))[0];
    assert_eq!(found.bound_by, BoundBy::Load);
    assert_eq!(
        found.sentence,
        "small I/O still grew at the highest load, 5: 500 /s may not be all it can do; of the known limits, 2000 reads a second on loop0 were used most, 25.0 %"
    );
}

#[test]
fn a_peak_before_the_highest_load_is_no_matter_of_load() {
    let rates = [(1, 100.0), (2, 200.0), (4, 390.0), (8, 300.0), (16, 250.0)];
    let points = rates.map(|(load, rate)| small(load, rate, 0.0)).to_vec();
    let test = limited(Vec::new(), points);
    assert_eq!(plateaus(&test), vec![]);
    let found = &ceilings(&test)[0];
    assert_eq!(found.bound_by, BoundBy::Plateau);
    assert!(found.sentence.starts_with("small I/O stopped growing at 390 /s, which load 4 reached"));
}

#[test]
fn two_levels_are_two_plateaus() {
    let rates = [(1, 100.0), (2, 101.0), (3, 99.0), (4, 200.0), (8, 202.0), (16, 199.0), (32, 400.0)];
    let points = rates.map(|(load, rate)| large(load, rate, 0.0)).to_vec();
    let found = plateaus(&limited(Vec::new(), points));
    assert_eq!(
        found.iter().map(|flat| (flat.from, flat.to, flat.small)).collect::<Vec<_>>(),
        [(1, 3, false), (4, 16, false)]
    );
}

proptest! {
    #[test]
    fn a_plateau_is_as_flat_as_it_says(rates in prop::collection::vec(1.0..1000.0_f64, 1..20)) {
        let points = rates.iter().zip(1..).map(|(rate, load)| small(load, *rate * 10.0, 0.0)).collect();
        let test = limited(Vec::new(), points);
        let mut last = 0;
        for flat in plateaus(&test) {
            prop_assert!(flat.from > last && flat.to >= 2 * flat.from && flat.spread <= 0.05);
            last = flat.to;
        }
        prop_assert_eq!(ceilings(&test).len(), 1);
    }
}
