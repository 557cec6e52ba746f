//! Surfaces of storage that is known exactly: what share is measured, and how honest the stated errors are.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small figures of the tests' own"
)]

use iostone_model::orion::{LatencyFigures, LoadFigures, Matrix, OrionTest, RunLevel, TransferFigures};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;

/// Small I/Os a second and bytes a second of large I/O at a pair of loads.
#[derive(Debug, Clone, Copy)]
enum Storage {
    /// Response times that go from an idle one over to what the queue needs, the more abruptly the sharper.
    Shared { idle: [f64; 2], demand: [f64; 2], sharpness: f64 },
    /// Two servers of which each class visits both, exactly by mean value analysis, with a delay beside them.
    Stations { demand: [[f64; 2]; 2], delay: [f64; 2] },
    /// Limits on I/Os and on bytes, each held sharply, with the rest in proportion to the loads.
    Limited { idle: [f64; 2], ios: f64, bytes: f64 },
    /// A disk that sorts its queue: its service time falls with the queue's depth, or rises once it thrashes.
    Sorting { demand: [f64; 2], gain: f64 },
}

const LARGE_BYTES: f64 = 1_048_576.0;
const SMALL_BYTES: f64 = 8192.0;

impl Storage {
    /// Response times of small and large I/O, seconds, for all loads up to a pair, `[small][large]`.
    fn times(&self, most: (u32, u32)) -> Vec<Vec<[f64; 2]>> {
        let mut table = vec![vec![[0.0; 2]; most.1 as usize + 1]; most.0 as usize + 1];
        let mut queues = vec![vec![[0.0; 2]; most.1 as usize + 1]; most.0 as usize + 1];
        for small in 0..=most.0 as usize {
            for large in 0..=most.1 as usize {
                let (s, l) = (small as f64, large as f64);
                table[small][large] = match *self {
                    Self::Shared { idle, demand, sharpness } => {
                        let queue = s * demand[0] + l * demand[1];
                        idle.map(|idle| (idle.powf(sharpness) + queue.powf(sharpness)).powf(1.0 / sharpness))
                    }
                    Self::Stations { demand, delay } => {
                        let before = [
                            if small > 0 { queues[small - 1][large] } else { [0.0; 2] },
                            if large > 0 { queues[small][large - 1] } else { [0.0; 2] },
                        ];
                        let visit = |class: usize, station: usize| {
                            demand[class][station] * (1.0 + before[class][station])
                        };
                        let time = |class: usize| delay[class] + visit(class, 0) + visit(class, 1);
                        let rate = [s / time(0), l / time(1)];
                        queues[small][large] =
                            [0, 1].map(|station| rate[0] * visit(0, station) + rate[1] * visit(1, station));
                        [time(0), time(1)]
                    }
                    Self::Limited { idle, ios, bytes } => {
                        let offered = [s / idle[0], l / idle[1]];
                        let by_ios = (offered[0] + offered[1]) / ios;
                        let by_bytes = (offered[0] * SMALL_BYTES + offered[1] * LARGE_BYTES) / bytes;
                        idle.map(|idle| idle * by_ios.max(by_bytes).max(1.0))
                    }
                    Self::Sorting { demand, gain } => {
                        let depth = (s + l).max(1.0);
                        let queue = (s * demand[0] + l * demand[1]) * depth.powf(-gain);
                        demand.map(|own| own.max(queue))
                    }
                };
            }
        }
        table
    }
}

fn storages() -> impl Strategy<Value = Storage> {
    let pair = |low: f64, high: f64| prop::array::uniform2((low.ln()..high.ln()).prop_map(f64::exp));
    prop_oneof![
        (pair(1e-4, 2e-2), pair(1e-5, 2e-2), 1.5..6.0_f64)
            .prop_map(|(idle, demand, sharpness)| Storage::Shared { idle, demand, sharpness }),
        (pair(1e-4, 1e-2), pair(1e-4, 1e-2), pair(1e-5, 5e-2))
            .prop_map(|(a, b, delay)| Storage::Stations { demand: [a, b], delay }),
        (pair(1e-4, 1e-2), 200.0..20_000.0_f64, 2e7..1e9_f64)
            .prop_map(|(idle, ios, bytes)| Storage::Limited { idle, ios, bytes }),
        (pair(1e-3, 2e-2), -0.2..0.3_f64).prop_map(|(demand, gain)| Storage::Sorting { demand, gain }),
    ]
}

fn smooth_storages() -> impl Strategy<Value = Storage> {
    storages().prop_filter("a limit has an edge", |it| !matches!(it, Storage::Limited { .. }))
}

/// Repeatable noise of a standard deviation, from the point and a seed.
fn noise(seed: u64, point: LoadPoint, class: u64, deviation: f64) -> f64 {
    let mut state = seed ^ (u64::from(point.small) << 40) ^ (u64::from(point.large) << 16) ^ class;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    // The sum of twelve uniform ones is normal enough, with the standard deviation 1.
    1.0 + deviation * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)
}

fn record(point: LoadPoint, times: [f64; 2]) -> PointRecord {
    let seconds = 1e6;
    let figures = |load: u32, time: f64, bytes: f64| {
        let ios = (f64::from(load) / time * seconds).round();
        let transfer = TransferFigures { ios: ios as u64, bytes: (ios * bytes) as u64, latency: None };
        let latency = Some(LatencyFigures { mean: time, ..LatencyFigures::default() });
        LoadFigures { reads: transfer, latency, ..LoadFigures::default() }
    };
    PointRecord {
        small: point.small,
        large: point.large,
        seconds,
        small_io: (point.small > 0).then(|| figures(point.small, times[0], SMALL_BYTES)),
        large_io: (point.large > 0).then(|| figures(point.large, times[1], LARGE_BYTES)),
        ..PointRecord::default()
    }
}

fn plan(disks: u32) -> Vec<LoadPoint> {
    OrionTest::new(RunLevel::Normal).points(disks)
}

/// What became of a plan.
struct Outcome {
    points: usize,
    measured: usize,
    estimated: usize,
    /// Estimated cells that are further off than was said.
    dishonest: usize,
}

fn run(storage: Storage, disks: u32, target: f64, deviation: f64, seed: u64) -> Outcome {
    run_known(storage, disks, target, (deviation, None), seed)
}

/// With noise of a standard deviation, and the precision that the points say they have.
fn run_known(
    storage: Storage,
    disks: u32,
    target: f64,
    (deviation, precision): (f64, Option<f64>),
    seed: u64,
) -> Outcome {
    let points = plan(disks);
    let schedule = AdaptiveSchedule::new(&points, target);
    let times = storage.times((disks * 5, disks * 2));
    let truth = |point: LoadPoint| times[point.small as usize][point.large as usize];
    let mut done = Vec::new();
    while let Some(point) = schedule.next(&done) {
        let [small, large] = truth(point);
        let noisy = [small * noise(seed, point, 1, deviation), large * noise(seed, point, 2, deviation)];
        done.push(PointRecord { precision, ..record(point, noisy) });
        assert!(done.len() <= points.len());
    }
    let estimates = schedule.estimates(&done);
    assert_eq!(done.len() + estimates.len(), points.len(), "every cell is measured or estimated");
    let mut outcome =
        Outcome { points: points.len(), measured: done.len(), estimated: estimates.len(), dishonest: 0 };
    for cell in &estimates {
        let known = precision.unwrap_or(0.0);
        assert!(cell.error <= target.hypot(known) * 1.0001);
        assert!(cell.error >= (target * RESOLUTION).hypot(known) * 0.9999);
        let point = LoadPoint { small: cell.small, large: cell.large };
        let exact = record(point, truth(point));
        let off = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a / b - 1.0).abs(),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        };
        let error = off(cell.iops, exact.iops())
            .max(off(cell.latency, exact.latency()))
            .max(off(cell.throughput, exact.throughput()));
        outcome.dishonest += usize::from(error > cell.error);
    }
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn stated_errors_hold_for_all_but_one_cell_in_twenty(
        storage in storages(), disks in prop::sample::select(vec![8_u32, 16, 32]),
        target in 0.04..0.15_f64, seed: u64,
    ) {
        let outcome = run(storage, disks, target, 0.01, seed);
        let count = outcome.estimated.max(1) as f64;
        let share = outcome.dishonest as f64 / count;
        // One of many storages may lie two standard deviations of such a count above it by chance.
        let chance = 2.0 * (0.05 * 0.95 / count).sqrt();
        prop_assert!(share < 0.05 + chance, "{} of {}", outcome.dishonest, outcome.estimated);
    }

    #[test]
    fn a_third_of_a_smooth_matrix_is_enough(
        storage in smooth_storages(), disks in prop::sample::select(vec![8_u32, 16, 32, 64]), seed: u64,
    ) {
        let outcome = run(storage, disks, 0.05, 0.01, seed);
        prop_assert!(outcome.measured * 3 <= outcome.points, "{} of {}", outcome.measured, outcome.points);
    }
}

/// What the docstring of the schedule says.
#[test]
fn over_many_storages_few_cells_are_further_off_and_a_quarter_is_measured() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut shares, mut dishonest, mut estimated) = (Vec::new(), 0, 0);
    for seed in 0..100 {
        let storage = storages().new_tree(&mut runner).unwrap().current();
        let disks = [2, 4, 8, 16, 32][seed as usize % 5];
        let outcome = run(storage, disks, 0.05, 0.01, seed);
        shares.push(outcome.measured as f64 / outcome.points as f64);
        dishonest += outcome.dishonest;
        estimated += outcome.estimated;
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean < 0.25, "{mean}");
    assert!(dishonest * 200 < estimated, "{dishonest} of {estimated}");
}

/// Cells share the points they are interpolated from, so that in one matrix several are off together; over many it evens out.
#[test]
fn with_noise_that_points_know_of_few_cells_are_further_off() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut dishonest, mut estimated) = (0, 0);
    for seed in 0..36 {
        let storage = storages().new_tree(&mut runner).unwrap().current();
        let disks = [8, 16][seed as usize % 2];
        let deviation = [0.01, 0.02, 0.04, 0.06][seed as usize % 4];
        let target = [0.05, 0.1, 0.15][seed as usize % 3];
        // So many standard deviations to either side are 95 % of a normal distribution.
        let outcome = run_known(storage, disks, target, (deviation, Some(1.96 * deviation)), seed);
        dishonest += outcome.dishonest;
        estimated += outcome.estimated;
    }
    assert!(estimated > 1000 && dishonest * 100 < estimated, "{dishonest} of {estimated}");
}

#[test]
fn every_shape_of_a_matrix_is_settled() {
    let storage = Storage::Shared { idle: [0.001, 0.004], demand: [0.0003, 0.002], sharpness: 2.0 };
    let times = storage.times((200, 60));
    for run in [RunLevel::Simple, RunLevel::Oltp, RunLevel::Dss, RunLevel::Advanced] {
        for matrix in [Matrix::Basic, Matrix::Point, Matrix::Row, Matrix::Col, Matrix::Max] {
            let mut test = OrionTest::new(run);
            (test.matrix, test.num_small, test.num_large) = (matrix, Some(12), Some(7));
            let plan = test.points(4);
            let schedule = AdaptiveSchedule::new(&plan, 0.05);
            let mut done = Vec::new();
            while let Some(point) = schedule.next(&done) {
                assert!(plan.contains(&point));
                done.push(record(point, times[point.small as usize][point.large as usize]));
            }
            assert_eq!(done.len() + schedule.estimates(&done).len(), plan.len(), "{run:?} {matrix:?}");
        }
    }
}

#[test]
fn a_course_goes_on_where_it_was_and_estimates_only_what_is_settled() {
    let plan = plan(8);
    let schedule = AdaptiveSchedule::new(&plan, 0.05);
    let times = Storage::Sorting { demand: [0.004, 0.011], gain: 0.1 }.times((40, 16));
    let mut done: Vec<PointRecord> = Vec::new();
    let mut before = 0;
    while let Some(point) = schedule.next(&done) {
        assert!(done.iter().all(|record| record.point() != point), "{point} twice");
        let estimates = schedule.estimates(&done).len();
        assert!(done.len() + estimates < plan.len(), "something is still to be settled");
        before = before.max(estimates);
        done.push(record(point, times[point.small as usize][point.large as usize]));
    }
    assert!(before > 0);
    // Of storage that answers nothing every point is measured, for nothing tells of any other.
    let mut silent: Vec<PointRecord> = Vec::new();
    while let Some(point) = schedule.next(&silent) {
        silent.push(PointRecord { small: point.small, large: point.large, ..PointRecord::default() });
    }
    assert!(schedule.estimates(&silent).iter().all(|cell| cell.iops.is_none() && cell.throughput.is_none()));
}

#[test]
fn what_points_are_not_known_to_no_estimate_is() {
    let storage = Storage::Shared { idle: [0.001, 0.004], demand: [0.0003, 0.002], sharpness: 2.0 };
    let times = storage.times((40, 16));
    let plan = plan(8);
    let schedule = AdaptiveSchedule::new(&plan, 0.05);
    let mut done: Vec<PointRecord> = Vec::new();
    while let Some(point) = schedule.next(&done) {
        let precision = Some(if point.large == 0 { 0.01 } else { 0.1 });
        let record = record(point, times[point.small as usize][point.large as usize]);
        done.push(PointRecord { precision, ..record });
    }
    let estimates = schedule.estimates(&done);
    assert!(estimates.iter().any(|cell| cell.large == 0) && estimates.iter().any(|cell| cell.large > 0));
    for cell in &estimates {
        let known: f64 = if cell.large == 0 { 0.01 } else { 0.1 };
        assert!(
            cell.error >= known.hypot(0.025) - 1e-9 && cell.error <= known.hypot(0.05) + 1e-9,
            "{cell:?}"
        );
    }
}
