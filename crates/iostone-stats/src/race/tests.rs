//! Races against the reference cases, and their chances of error and their trials in simulation.

mod simulation;

use super::*;
use crate::vectors;

fn rules(budget: u32) -> RaceRules {
    RaceRules {
        direction: Direction::Lower,
        margin: 0.03,
        confidence: 0.95,
        budget,
        minimum: 6,
        adjust_order: true,
    }
}

fn figure(level: usize, value: f64) -> RaceFigure {
    RaceFigure { level, value, order: None }
}

/// Pushes blocks of the same figures, `levels` of them, a little apart from block to block.
fn repeat(sweep: &mut Sweep, values: &[f64], held: &[usize], blocks: u32) {
    for _ in 0..blocks {
        let block = sweep.blocks();
        // Of some size, but without any system that a level could profit by.
        let noise = |level: usize| 1.0 + 0.001 * f64::from((block * 7 + crate::count(level) * 5) % 11);
        let of = |level: &usize| figure(*level, values[*level] * noise(*level));
        sweep.push(&held.iter().map(of).collect::<Vec<_>>()).unwrap();
    }
}

#[test]
fn the_plain_race_matches_the_vectors_look_by_look() {
    for case in vectors::list("best_arm") {
        let rows: Vec<Vec<f64>> = serde_json::from_value(case["y"].clone()).unwrap();
        let margin = case["delta"].as_f64().unwrap();
        let rules = RaceRules { direction: Direction::Higher, margin, adjust_order: false, ..rules(40) };
        let mut race = Race::new(rows[0].len(), rules).unwrap();
        let mut trace = case["trace"].as_array().unwrap().iter();
        let mut next = trace.next();
        for row in &rows {
            let Some(expected) = next else { break };
            let before = race.alive().to_vec();
            let block: Vec<RaceFigure> =
                before.iter().map(|level| figure(*level, row[*level].exp())).collect();
            race.push(&block).unwrap();
            if u64::from(race.blocks()) != expected["n"].as_u64().unwrap() {
                continue;
            }
            let list = |key: &str| serde_json::from_value::<Vec<usize>>(expected[key].clone()).unwrap();
            let gone: Vec<usize> = before.into_iter().filter(|level| !race.alive().contains(level)).collect();
            assert_eq!((gone, race.alive().to_vec()), (list("eliminated"), list("alive")));
            assert_eq!(race.within_margin(), list("near_best"));
            let said = match race.outcome() {
                Some(Outcome::Unique(level)) => Some(format!("best={level}")),
                Some(Outcome::WithinMargin(level)) => Some(format!("near_best={level}")),
                _ => None,
            };
            assert_eq!(said.as_deref(), expected.get("verdict").and_then(|verdict| verdict.as_str()));
            next = trace.next();
        }
        assert!(next.is_none(), "every look of the case was compared");
    }
}

#[test]
fn two_blocks_screen_and_the_next_hold_the_best_and_its_neighbours() {
    let values = [30.0, 15.0, 10.0, 16.7, 17.0, 17.5, 18.0, 18.5, 18.8, 19.0];
    let mut sweep = Sweep::new(values.len(), rules(40)).unwrap();
    assert_eq!(sweep.status().active, (0..10).collect::<Vec<_>>());
    assert_eq!(sweep.status().leader, None);
    repeat(&mut sweep, &values, &(0..10).collect::<Vec<_>>(), 1);
    assert_eq!(
        sweep.status().active,
        (0..10).collect::<Vec<_>>(),
        "once more, because one trial may mislead"
    );
    assert_eq!(sweep.blocks_to_go(), Some(9));
    repeat(&mut sweep, &values, &(0..10).collect::<Vec<_>>(), 1);
    assert_eq!(sweep.status().active, [1, 2, 3]);
    repeat(&mut sweep, &values, &[1, 2, 3], 7);
    assert_eq!(sweep.status().outcome, None);
    repeat(&mut sweep, &values, &[1, 2, 3], 1);
    assert_eq!(sweep.blocks(), fewest_blocks_of_sweep(10, 0.95));
    assert_eq!(sweep.status().outcome, Some(Outcome::Unique(2)));
    assert_eq!(sweep.trials_of_racing_all(), Some(90));
}

#[test]
fn the_window_moves_when_a_neighbour_wins() {
    let screened = [14.0, 12.0, 10.0, 10.9, 10.8, 12.0, 14.0];
    let true_values = [14.0, 12.0, 11.5, 10.0, 8.5, 10.4, 13.0];
    let mut sweep = Sweep::new(7, rules(40)).unwrap();
    repeat(&mut sweep, &screened, &[0, 1, 2, 3, 4, 5, 6], 1);
    let mut held = sweep.status().active;
    assert_eq!(sweep.status().leader, Some(2));
    while sweep.status().outcome.is_none() {
        repeat(&mut sweep, &true_values, &held, 1);
        held = sweep.status().active;
        assert!(sweep.blocks() < 40);
    }
    assert_eq!(sweep.status().outcome, Some(Outcome::Unique(4)));
}

#[test]
fn one_unlucky_trial_hides_no_optimum() {
    let truth = [1.6, 1.3, 1.0, 1.3, 1.5, 1.5, 1.5, 0.7, 1.4, 1.5];
    let everything: Vec<usize> = (0..10).collect();
    let mut unlucky = truth;
    unlucky[7] = 2.0;
    let mut sweep = Sweep::new(10, rules(40)).unwrap();
    repeat(&mut sweep, &unlucky, &everything, 1);
    assert_eq!(sweep.status().leader, Some(2));
    while sweep.status().outcome.is_none() {
        let held = sweep.status().active;
        repeat(&mut sweep, &truth, &held, 1);
        assert!(sweep.blocks() < 40);
    }
    assert_eq!(sweep.status().outcome, Some(Outcome::Unique(7)));
    assert_eq!(sweep.status().basins.len(), 2);
}

#[test]
fn a_fit_keeps_to_the_dip_of_the_best() {
    let dips = [1.5, 1.1, 0.9, 0.715, 0.95, 1.1, 0.9, 0.74, 0.9, 1.2];
    let mut sweep = Sweep::new(10, rules(40)).unwrap();
    while sweep.blocks() < 2 || sweep.status().outcome.is_none() {
        let held = sweep.status().active;
        repeat(&mut sweep, &dips, &held, 1);
    }
    let levels: Vec<String> = (1..=10).map(|tenth| format!("{tenth}0%")).collect();
    let positions: Vec<f64> = (1..=10).map(|tenth| f64::from(tenth) / 10.0).collect();
    let axis = Axis { factor: "quota", levels: &levels, positions: &positions };
    let verdict = sweep.verdict(axis, false);
    assert_eq!((verdict.best.as_deref(), verdict.optima), (Some("40%"), 2));
    let fit = verdict.fit.unwrap();
    assert!(fit.optimum > 0.35 && fit.optimum < 0.45 && fit.value < 0.73, "{fit:?}");
}

#[test]
fn a_level_between_two_better_ones_contradicts_the_assumption_and_parts_them() {
    // The screening did not show that the level in the middle is worse.
    let mut sweep = Sweep::new(7, rules(40)).unwrap();
    repeat(&mut sweep, &[24.0, 20.0, 10.0, 9.9, 9.0, 20.0, 24.0], &[0, 1, 2, 3, 4, 5, 6], 2);
    repeat(&mut sweep, &[24.0, 20.0, 10.0, 14.0, 9.0, 20.0, 24.0], &[2, 3, 4, 5], 20);
    assert!(sweep.status().contradicted);
    // What lies beyond the lesser of the two has not lost to it yet.
    while sweep.status().outcome.is_none() {
        let held = sweep.status().active;
        repeat(&mut sweep, &[24.0, 20.0, 10.0, 14.0, 9.0, 20.0, 24.0], &held, 1);
        assert!(sweep.blocks() < 40);
    }
    assert_eq!(sweep.status().outcome, Some(Outcome::Unique(4)));
}

#[test]
fn runs_that_never_end_are_worse_than_any_other() {
    let mut sweep = Sweep::new(3, rules(40)).unwrap();
    for _ in 0..9 {
        let block = [figure(0, f64::INFINITY), figure(1, 10.0), figure(2, 14.0)];
        sweep.push(&block).unwrap();
    }
    assert_eq!(sweep.status().outcome, Some(Outcome::Unique(1)));
    let levels = ["1", "2", "3"].map(str::to_owned);
    let axis = Axis { factor: "depth", levels: &levels, positions: &[1.0, 2.0, 3.0] };
    let verdict = sweep.verdict(axis, false);
    assert_eq!(verdict.best.as_deref(), Some("2"));
    assert_eq!(verdict.levels[0].median, None);
    assert_eq!(verdict.levels[0].ratio, None);
    assert_eq!(verdict.not_shown_worse, ["2"]);
}

#[test]
fn a_verdict_names_what_was_passed_over_and_what_is_not_shown_worse_by_more_than_the_margin() {
    use iostone_model::verdict::SweepState::{Best, BeyondWorse, NotShownWorse, Worse};
    use iostone_model::verdict::{SweepOutcome, SweepState};
    let values = [12.0, 10.2, 10.0, 11.0, 12.0, 13.0, 14.0];
    let mut sweep = Sweep::new(7, rules(40)).unwrap();
    repeat(&mut sweep, &values, &[0, 1, 2, 3, 4, 5, 6], 1);
    while sweep.status().outcome.is_none() {
        let held = sweep.status().active;
        repeat(&mut sweep, &values, &held, 1);
    }
    let levels = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned);
    let axis = Axis { factor: "quota", levels: &levels, positions: &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7] };
    let verdict = sweep.verdict(axis, false);
    assert_eq!(verdict.outcome, SweepOutcome::UniqueBest);
    assert_eq!(verdict.not_shown_worse, ["b", "c"]);
    let states: Vec<SweepState> = verdict.levels.iter().map(|level| level.state).collect();
    assert_eq!(states, [Worse, NotShownWorse, Best, Worse, BeyondWorse, BeyondWorse, BeyondWorse]);
    let [low, high] = verdict.levels[1].ratio_interval;
    assert!(
        low.unwrap() < verdict.levels[1].ratio.unwrap() && verdict.levels[1].ratio.unwrap() < high.unwrap()
    );
    assert_eq!(verdict.levels[5].ratio_interval, [None, None]);
    let fit = verdict.fit.unwrap();
    assert!(fit.optimum > 0.15 && fit.optimum < 0.35, "{}", fit.optimum);
    let rehearsed = sweep.verdict(axis, true);
    assert_eq!((rehearsed.outcome, rehearsed.best), (SweepOutcome::Open, None));
}

#[test]
fn rules_and_figures_that_cannot_be_used_are_refused() {
    assert!(Sweep::new(3, RaceRules { margin: -1.0, ..rules(40) }).is_err());
    assert!(Race::new(3, RaceRules { confidence: 1.0, ..rules(40) }).is_err());
    assert!(Sweep::new(3, rules(0)).is_err());
    assert!(Sweep::new(3, rules(40)).unwrap().push(&[figure(0, 0.0)]).is_err());
}

#[test]
fn up_to_six_levels_all_race_and_nothing_is_taken_for_granted() {
    let mut sweep = Sweep::new(6, rules(40)).unwrap();
    repeat(&mut sweep, &[12.0, 10.2, 10.0, 11.0, 12.0, 13.0], &[0, 1, 2, 3, 4, 5], 4);
    assert_eq!(sweep.status().active, [0, 1, 2, 3, 4, 5]);
    let levels = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
    let axis = Axis { factor: "quota", levels: &levels, positions: &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6] };
    let verdict = sweep.verdict(axis, false);
    assert_eq!(verdict.trials_of_racing_all, None);
    assert!(verdict.assumption.starts_with("nothing of the curve"));
}

#[test]
fn of_levels_within_the_margin_a_race_names_the_one_that_looks_best() {
    let mut race = Race::new(3, rules(40)).unwrap();
    while race.outcome().is_none() {
        // Neither is shown to be worse than another, and the last looks best.
        let wave = [1.0, 1.01, 0.99][race.blocks() as usize % 3];
        race.push(&[figure(0, 10.0), figure(1, 10.0 / wave), figure(2, 9.99 * wave)]).unwrap();
    }
    assert_eq!(race.outcome(), Some(Outcome::WithinMargin(2)));
}
