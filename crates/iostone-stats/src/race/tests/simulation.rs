//! Sweeps and plain races on known curves with noise: how often they err, and how many trials they take.

use super::*;
use crate::schedule::{SplitMix64, block_order};

/// Walls as in a published case: a limit just above the allowance is best, one above it is as bad as none.
const LIMITS: [f64; 10] = [30.0, 15.0, 10.0, 16.7, 17.0, 17.5, 18.0, 18.5, 18.8, 19.0];

/// What came of some races.
#[derive(Debug, Default)]
struct Tally {
    runs: u32,
    /// Answers that name a level which is worse than the best by more than the margin, or leave the best out.
    wrong: u32,
    unique: u32,
    within: u32,
    open: u32,
    trials: u32,
}

impl Tally {
    fn count(&mut self, curve: &[f64], outcome: Option<Outcome>) {
        let best = curve.iter().copied().fold(f64::INFINITY, f64::min);
        self.runs += 1;
        match outcome {
            Some(Outcome::Unique(level)) => {
                self.unique += 1;
                self.wrong += u32::from(curve[level] > best * (1.0 + 1e-9));
            }
            Some(Outcome::WithinMargin(level)) => {
                self.within += 1;
                self.wrong += u32::from(curve[level] > best * 1.03);
            }
            Some(Outcome::Unstable) => self.wrong += 1,
            None => self.open += 1,
        }
    }
}

/// A machine that gives a curve's times with noise of its own kind.
struct Machine<'a> {
    curve: &'a [f64],
    cv: f64,
    generator: SplitMix64,
    seed: u64,
    block: u64,
}

impl Machine<'_> {
    fn run(&mut self, held: &[usize]) -> Vec<RaceFigure> {
        let order = block_order(self.seed, self.block, self.curve.len());
        self.block += 1;
        // The host is slower at times, for a whole block.
        let host = 0.1 * self.generator.next_normal();
        let order: Vec<usize> = order.into_iter().filter(|level| held.contains(level)).collect();
        let mut figures = Vec::new();
        for (place, level) in order.into_iter().enumerate() {
            let value = self.curve[level] * (host + self.cv * self.generator.next_normal()).exp();
            figures.push(RaceFigure { level, value, order: Some(place as f64) });
        }
        figures
    }
}

/// Both kinds of race on the same machine.
fn race(curve: &[f64], cv: f64, seeds: u64) -> (Tally, Tally) {
    let (mut swept, mut raced) = (Tally::default(), Tally::default());
    for seed in 0..seeds {
        let machine = || Machine { curve, cv, generator: SplitMix64::new(seed ^ 0x5EED), seed, block: 0 };
        let mut of_sweep = machine();
        let mut sweep = Sweep::new(curve.len(), rules(40)).unwrap();
        let mut status = sweep.status();
        while status.outcome.is_none() && sweep.blocks() < 40 || sweep.blocks() == 0 {
            let block = of_sweep.run(&status.active);
            swept.trials += crate::count(block.len());
            sweep.push(&block).unwrap();
            status = sweep.status();
        }
        swept.count(curve, status.outcome);
        let mut of_race = machine();
        let mut race = Race::new(curve.len(), rules(40)).unwrap();
        while race.outcome().is_none() && race.blocks() < 40 {
            let block = of_race.run(race.alive());
            raced.trials += crate::count(block.len());
            race.push(&block).unwrap();
        }
        raced.count(curve, race.outcome());
    }
    (swept, raced)
}

/// One wrong answer in so many is what the confidence allows; a sound procedure stays far below it.
fn assert_rarely_wrong(tally: &Tally) {
    assert!(tally.wrong * 20 <= tally.runs, "{tally:?}");
}

#[test]
fn a_sweep_finds_the_same_best_as_a_race_of_all_in_at_most_three_fifths_of_its_trials() {
    for (cv, seeds) in [(0.01, 40), (0.03, 60), (0.06, 100)] {
        let (swept, raced) = race(&LIMITS, cv, seeds);
        assert_eq!((swept.unique, raced.unique), (swept.runs, raced.runs), "at {cv}: {swept:?} {raced:?}");
        assert_rarely_wrong(&swept);
        assert_rarely_wrong(&raced);
        assert!(swept.trials * 10 <= raced.trials * 6, "at {cv}: {swept:?} {raced:?}");
    }
    // The best elsewhere, and less of a best.
    let shifted = [24.0, 20.0, 17.0, 14.5, 12.0, 10.0, 11.6, 13.0, 14.2, 15.1];
    for cv in [0.01, 0.02] {
        let (swept, raced) = race(&shifted, cv, 40);
        assert_eq!(swept.open + raced.open, 0);
        assert_rarely_wrong(&swept);
        assert!(swept.trials * 10 <= raced.trials * 6, "at {cv}: {swept:?} {raced:?}");
    }
}

#[test]
fn a_flat_curve_ends_within_the_margin() {
    let (swept, raced) = race(&[10.0; 10], 0.01, 12);
    assert_eq!((swept.within, raced.within), (swept.runs, raced.runs));
    let (swept, _) = race(&[10.0; 10], 0.06, 3);
    assert_eq!(swept.open, swept.runs, "noise of twice the margin leaves it open, and says so");
}

#[test]
fn a_curve_that_falls_to_its_end_is_best_at_its_end() {
    let falling = [20.0, 18.0, 16.2, 14.6, 13.1, 11.8, 10.6, 9.6, 8.6, 7.8];
    let rising: Vec<f64> = falling.iter().rev().copied().collect();
    for curve in [&falling[..], &rising] {
        let (swept, _) = race(curve, 0.02, 15);
        assert_eq!((swept.unique, swept.wrong), (swept.runs, 0));
    }
}

#[test]
fn of_two_dips_that_the_first_pass_shows_the_better_is_found() {
    let two = [20.0, 12.0, 10.0, 12.0, 15.0, 15.0, 11.5, 9.0, 11.5, 15.0];
    for cv in [0.01, 0.03] {
        let (swept, _) = race(&two, cv, 20);
        assert_eq!((swept.open, swept.wrong), (0, 0), "at {cv}: {swept:?}");
    }
}

#[test]
fn the_forecast_of_racing_all_is_near_what_racing_all_takes() {
    let curves: [&[f64]; 3] = [&LIMITS, &[13.0, 11.5, 10.6, 10.0, 10.4, 11.0, 11.8, 12.8], &[10.0; 8]];
    for (curve, cv) in curves.into_iter().zip([0.06, 0.02, 0.015]) {
        let (_, raced) = race(curve, cv, 10);
        let mut forecasts = Vec::new();
        for seed in 0..10 {
            let mut machine = Machine { curve, cv, generator: SplitMix64::new(seed), seed, block: 0 };
            let mut sweep = Sweep::new(curve.len(), rules(40)).unwrap();
            while sweep.blocks() == 0 || sweep.status().outcome.is_none() && sweep.blocks() < 40 {
                sweep.push(&machine.run(&sweep.status().active)).unwrap();
            }
            forecasts.push(f64::from(sweep.trials_of_racing_all().unwrap()));
        }
        let forecast = crate::median::median(&forecasts).unwrap();
        let real = f64::from(raced.trials) / f64::from(raced.runs);
        assert!((forecast / real).ln().abs() < 0.25, "{forecast} for {real} on {curve:?}");
    }
}
