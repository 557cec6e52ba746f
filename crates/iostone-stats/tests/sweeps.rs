//! A sweep is no dearer than racing all of its levels, on average over curves of many kinds.

#[path = "../benches/truth/sweeps.rs"]
mod sweeps;

use sweeps::{CURVES, Row, Tally, cell, simulate};

fn sum(rows: &[Row], of: impl Fn(&Row) -> Tally) -> Tally {
    rows.iter().map(of).fold(Tally::default(), |sum, tally| Tally {
        runs: sum.runs + tally.runs,
        trials: sum.trials + tally.trials,
        open: sum.open + tally.open,
        wrong: sum.wrong + tally.wrong,
        picked: sum.picked + tally.picked,
    })
}

#[test]
fn ten_levels_are_swept_in_no_more_trials_than_raced() {
    let cells: Vec<Row> = CURVES.into_iter().map(|curve| cell(curve, 10, 0.03, 4).unwrap()).collect();
    let (swept, raced) = (sum(&cells, |row| row.sweep), sum(&cells, |row| row.race));
    assert!(swept.trials <= raced.trials, "{swept:?} {raced:?}");
    assert!(swept.wrong * 20 <= swept.runs, "{swept:?}");
}

#[test]
fn up_to_six_levels_a_sweep_is_a_race() {
    for curve in CURVES {
        let row = cell(curve, 5, 0.03, 2).unwrap();
        assert_eq!((row.sweep.trials, row.sweep.open), (row.race.trials, row.race.open), "{}", row.curve);
    }
}

#[test]
#[ignore = "takes minutes; cargo test --release -p iostone-stats --test sweeps -- --ignored --nocapture"]
fn every_curve_number_of_levels_and_noise() {
    let repetitions = std::env::var("SWEEP_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let rows = simulate(repetitions).unwrap();
    for levels in sweeps::LEVELS {
        let of: Vec<Row> = rows.iter().copied().filter(|row| row.levels == levels).collect();
        for curve in CURVES {
            let of: Vec<Row> = of.iter().copied().filter(|row| row.curve == curve.name).collect();
            let (swept, raced) = (sum(&of, |row| row.sweep), sum(&of, |row| row.race));
            println!("{} {levels}: {swept:?} {raced:?}", curve.name);
        }
        let (swept, raced) = (sum(&of, |row| row.sweep), sum(&of, |row| row.race));
        println!("{levels} levels: {swept:?} {raced:?}");
        assert!(swept.trials <= raced.trials, "{levels}: {swept:?} {raced:?}");
        assert!(swept.picked * 100 >= (swept.runs - swept.open) * 99, "{levels}: {swept:?}");
        assert!(swept.wrong * 20 <= swept.runs, "{levels}: {swept:?}");
    }
}
