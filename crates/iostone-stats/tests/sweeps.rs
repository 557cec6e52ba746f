//! A sweep is no dearer than racing all of its levels, on average over curves of many kinds.

#[path = "../benches/truth/sweeps.rs"]
mod simulated;

use simulated::{CURVES, Row, Tally, cell};

fn sum(rows: &[Row], of: impl Fn(&Row) -> Tally) -> Tally {
    rows.iter().map(of).fold(Tally::default(), Tally::and)
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
        assert_eq!((row.sweep.trials, row.sweep.open), (row.race.trials, row.race.open), "{}", curve.name);
    }
}
