//! The monitor against vectors of another program, and how often its alarms are false.

use serde_json::Value;

use super::change::statistic;
use super::dependence::Dependence;
use super::{Change, Hazard, Monitor, replay, watch};
use crate::schedule::SplitMix64;
use crate::vectors;

fn all() -> Value {
    serde_json::from_str(include_str!("../../tests/history_vectors.json")).unwrap()
}

fn hazard(name: &str) -> Hazard {
    match name {
        "1/200" => Hazard::In200,
        "1/500" => Hazard::In500,
        _ => Hazard::In1000,
    }
}

#[test]
fn limits_match_the_vectors() {
    for (name, limits) in all()["limits"].as_object().unwrap() {
        for (runs, limit) in limits.as_object().unwrap() {
            vectors::assert_close(hazard(name).limit(runs.parse().unwrap()).unwrap(), limit);
        }
    }
    assert_eq!(Hazard::In500.limit(7), None);
}

#[test]
fn the_statistic_matches_the_vectors() {
    for case in all()["statistic"].as_array().unwrap() {
        let runs = vectors::numbers(&case["x"]);
        let (value, last) = statistic(&runs).unwrap();
        vectors::assert_close(value, &case["D"]);
        assert_eq!((runs.len() - last) as u64, case["before"].as_u64().unwrap(), "{case}");
    }
    assert_eq!(statistic(&[0.1; 12]), None);
}

#[test]
fn changes_match_the_vectors() {
    for case in all()["monitor"].as_array().unwrap() {
        let (runs, hazard) = (vectors::numbers(&case["x"]), hazard(case["hazard"].as_str().unwrap()));
        let mut monitor = Monitor::new(hazard);
        let alarms: Vec<Change> = runs.iter().filter_map(|run| monitor.push(*run)).collect();
        let expected = case["alarms"].as_array().unwrap();
        assert_eq!(alarms.len(), expected.len(), "{}", case["name"]);
        let watched = watch(&runs, hazard);
        assert_eq!(watched.segments.len(), expected.len() + 1);
        for (change, alarm) in alarms.iter().zip(expected) {
            assert_eq!(change.seen_at as u64 + 1, alarm["run"].as_u64().unwrap());
            assert_eq!(change.first as u64, alarm["changed_after"].as_u64().unwrap());
            vectors::assert_close(change.statistic, &alarm["statistic"]);
            vectors::assert_close(change.limit, &alarm["limit"]);
            vectors::assert_close(change.shift, &alarm["shift"]);
        }
    }
}

#[test]
fn the_runs_after_an_alarm_tell_where_the_change_was() {
    let exact = |refined: bool| {
        (1..=200)
            .filter(|seed| {
                let runs = year(*seed, 0.0, |week| if week >= 26 { -0.05 } else { 0.0 });
                let mut monitor = Monitor::new(Hazard::In500);
                let alarms: Vec<Change> = runs.iter().filter_map(|run| monitor.push(*run)).collect();
                let changes = if refined { watch(&runs, Hazard::In500).changes } else { alarms };
                changes.iter().any(|change| change.first.abs_diff(26) <= 1)
            })
            .count()
    };
    let (at_alarm, later) = (exact(false), exact(true));
    assert!(later > at_alarm && later >= 170, "{at_alarm} {later} of 200");
}

#[test]
fn the_rank_ratio_matches_the_vectors() {
    for case in all()["bartels"].as_array().unwrap() {
        let found = Dependence::of(&vectors::numbers(&case["x"])).unwrap();
        vectors::assert_close(found.ratio, &case["ratio"]);
        vectors::assert_close(found.p_value, &case["p"]);
    }
    assert_eq!(Dependence::of(&[0.1; 30]), None);
    assert_eq!(Dependence::of(&[0.1, 0.2]), None);
}

/// A year of weekly runs.
fn year(seed: u64, dependence: f64, changed: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut generator = SplitMix64::new(seed);
    let mut state = generator.next_normal();
    let runs = (0..52).map(|week| {
        state = dependence * state + (1.0 - dependence * dependence).sqrt() * generator.next_normal();
        0.02 * state + changed(week)
    });
    runs.collect()
}

#[test]
fn a_year_without_a_change_seldom_has_an_alarm_and_a_change_is_found() {
    let alarmed = |dependence: f64| {
        (1..=400)
            .filter(|seed| !watch(&year(*seed, dependence, |_| 0.0), Hazard::In500).changes.is_empty())
            .count()
    };
    let quiet = alarmed(0.0);
    // 10 % promised; 60 of 400 would be four standard errors more.
    assert!(quiet < 60, "{quiet} of 400 years without a change have an alarm");
    let found = |step: f64, within: usize| {
        (1..=200)
            .filter(|seed| {
                let runs = year(*seed, 0.0, |week| if week >= 30 { step } else { 0.0 });
                let changes = watch(&runs[..30 + within], Hazard::In500).changes;
                changes.iter().any(|change| change.seen_at >= 30)
            })
            .count()
    };
    assert!(found(-0.1, 4) >= 195, "{} of 200 steps of 10 % found within four runs", found(-0.1, 4));
    assert!(found(-0.05, 6) >= 185, "{} of 200 steps of 5 % found within six runs", found(-0.05, 6));
    // Runs that depend fool every procedure that only looks at figures; it must at least be said.
    let flagged = (1..=200).filter(|seed| {
        let watched = watch(&year(*seed, 0.8, |_| 0.0), Hazard::In500);
        watched.changes.is_empty() || watched.runs_depend()
    });
    assert!(flagged.count() >= 130);
}

#[test]
fn few_runs_raise_no_alarm_and_say_how_many_are_missing() {
    let step: Vec<f64> =
        (0..10).map(|run| if run < 5 { 0.0 } else { 1.0 } + 0.001 * f64::from(run)).collect();
    let watched = watch(&step, Hazard::In500);
    assert!(watched.changes.is_empty() && watched.runs_until_alarm > 0, "{watched:?}");
    assert_eq!(watch(&[], Hazard::In500).segments, []);
}

#[test]
fn a_standing_level_needs_eleven_blocks_and_a_confirmation_six() {
    assert_eq!(replay::fewest(replay::standing_confidence(52)), 11);
    assert_eq!(replay::fewest(replay::CONFIRMING_CONFIDENCE), 6);
}
