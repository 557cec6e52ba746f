//! Curves of closed systems, known exactly, and what the search makes of them.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small figures of the tests' own"
)]

use iostone_model::orion::{LatencyFigures, Matrix, RunLevel, TransferFigures};
use proptest::prelude::*;

use super::*;

const SECONDS: f64 = 1000.0;

fn figures(load: u32, rate: f64) -> LoadFigures {
    let ios = (rate * SECONDS).round() as u64;
    let latency = (ios > 0).then(|| LatencyFigures {
        mean: f64::from(load) * SECONDS / ios as f64,
        ..LatencyFigures::default()
    });
    LoadFigures {
        reads: TransferFigures { ios, bytes: ios * 8192, latency: None },
        latency,
        ..LoadFigures::default()
    }
}

fn record(point: LoadPoint, rate: f64) -> PointRecord {
    PointRecord {
        small: point.small,
        large: point.large,
        seconds: SECONDS,
        small_io: (point.small > 0).then(|| figures(point.small, rate)),
        large_io: (point.large > 0).then(|| figures(point.large, rate)),
        ..PointRecord::default()
    }
}

fn measure(schedule: &KneeSchedule, rate: impl Fn(u32) -> f64) -> Vec<PointRecord> {
    let mut done = Vec::new();
    while let Some(point) = schedule.next(&done) {
        let again = done.iter().any(|record: &PointRecord| record.point() == point);
        assert!(!again && done.len() < 30, "{point} of {}", done.len());
        done.push(record(point, rate(point.small.max(point.large))));
    }
    done
}

fn loads(done: &[PointRecord]) -> Vec<u32> {
    done.iter().map(|record| record.small.max(record.large)).collect()
}

fn simple() -> KneeSchedule {
    KneeSchedule::new(&OrionTest::new(RunLevel::Simple), 1)
}

#[test]
fn the_knee_of_a_device_with_ten_servers_is_at_ten() {
    let done = measure(&simple(), |load| f64::from(load.min(10)) * 1000.0);
    assert_eq!(loads(&done), [1, 2, 4, 8, 16, 32, 64, 10, 7, 15]);
    let knee = simple().knee(&done).unwrap();
    assert!((knee.load - 10.0).abs() < 0.01, "{knee:?}");
    assert_eq!((knee.at, knee.saturated, knee.small), (10, true, true));
    assert!((knee.iops - 10_000.0).abs() < 1.0 && (knee.latency_ratio - 1.0).abs() < 1e-3);
    assert!((knee.share_of_maximum - 1.0).abs() < 1e-3);
}

#[test]
fn a_rate_that_one_io_reaches_has_its_knee_there() {
    let done = measure(&simple(), |_| 500.0);
    assert_eq!(loads(&done), [1, 2, 4, 8]);
    let knee = simple().knee(&done).unwrap();
    assert_eq!((knee.at, knee.saturated), (1, true));
    assert_eq!(knee_of(&done[..3], true), None, "three loads do not tell");
    assert_eq!(knee_of(&done[1..], true), None, "nor do any without the lowest");
}

#[test]
fn a_device_that_never_saturates_is_told_so() {
    let schedule = KneeSchedule::new(&OrionTest::new(RunLevel::Simple), 4);
    assert_eq!(schedule.cap(), 160);
    let done = measure(&schedule, |load| f64::from(load) * 100.0);
    assert_eq!(loads(&done), [1, 2, 4, 8, 16, 32, 64, 128, 160, 107]);
    let knee = schedule.knee(&done).unwrap();
    assert_eq!((knee.at, knee.saturated), (160, false));
}

#[test]
fn a_rate_that_falls_under_load_keeps_its_maximum() {
    let rate = |load: u32| if load <= 8 { f64::from(load) * 100.0 } else { 800.0 - f64::from(load) };
    let knee = simple().knee(&measure(&simple(), rate)).unwrap();
    assert_eq!((knee.at, knee.saturated), (8, true));
}

#[test]
fn a_rate_that_wavers_on_its_way_to_the_top_is_saturated_where_a_lower_load_reached_it() {
    let rates = [11_100.0, 17_500.0, 25_100.0, 22_200.0, 25_111.0];
    let points: Vec<PointRecord> =
        (1..).zip(rates).map(|(small, rate)| record(LoadPoint { small, large: 0 }, rate)).collect();
    let knee = knee_of(&points, true).unwrap();
    assert_eq!((knee.at, knee.saturated), (3, true));
}

#[test]
fn a_plan_without_small_loads_is_gone_along_its_column() {
    let schedule = KneeSchedule::new(&OrionTest::new(RunLevel::Dss), 1);
    let done = measure(&schedule, |load| f64::from(load.min(4)) * 60.0);
    assert!(done.iter().all(|record| record.small == 0));
    assert!(!schedule.knee(&done).unwrap().small);
    assert_eq!(knee_of(&done, true), None);
    assert_eq!(knee_of(&done, false).unwrap().at, 4);
    let mut beside = OrionTest::new(RunLevel::Advanced);
    (beside.matrix, beside.num_large) = (Matrix::Row, Some(3));
    assert!(measure(&KneeSchedule::new(&beside, 1), |_| 1.0).iter().all(|record| record.large == 3));
    (beside.matrix, beside.num_large, beside.num_small) = (Matrix::Col, None, Some(5));
    assert!(measure(&KneeSchedule::new(&beside, 1), |_| 1.0).iter().all(|record| record.small == 5));
}

#[test]
fn a_device_that_answers_nothing_ends_the_search() {
    assert_eq!(loads(&measure(&simple(), |_| 0.0)), [1, 2, 4, 8]);
}

proptest! {
    #[test]
    fn any_curve_ends_and_goes_on_where_it_was(
        rates in prop::collection::vec(0.0..1e6_f64, 64),
        disks in 1_u32..200,
    ) {
        let schedule = KneeSchedule::new(&OrionTest::new(RunLevel::Oltp), disks);
        let done = measure(&schedule, |load| rates[load as usize % 64]);
        for kept in 0..done.len() {
            prop_assert_eq!(schedule.next(&done[..kept]), Some(done[kept].point()));
        }
        let _ = schedule.knee(&done);
    }

    #[test]
    fn a_saturating_curve_gives_its_knee(
        knee in 2.0..200.0_f64, fastest in 10.0..1e5_f64, sharpness in 3.0..12.0_f64, noise in prop::collection::vec(-0.01..0.01, 64),
    ) {
        let rate = |load: u32| {
            let share = (1.0 + (f64::from(load) / knee).powf(-sharpness)).powf(-1.0 / sharpness);
            fastest * share * (1.0 + noise[load as usize % 64])
        };
        let schedule = KneeSchedule::new(&OrionTest::new(RunLevel::Oltp), 10);
        let found = schedule.knee(&measure(&schedule, rate)).unwrap();
        prop_assert!((found.load / knee - 1.0).abs() < 0.12, "{} for {}", found.load, knee);
        prop_assert!(found.saturated);
    }
}
