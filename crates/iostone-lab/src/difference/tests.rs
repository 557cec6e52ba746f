//! Runs side by side, made up.

use super::*;
use crate::history::tests::{summary, year};

fn sides<'a>(runs: &[&'a NamedSummary]) -> Vec<Side<'a>> {
    runs.iter().map(|run| Side { name: run.directory.clone(), runs: vec![*run] }).collect()
}

#[test]
fn without_a_ground_there_is_no_verdict_and_a_common_level_is_one() {
    let (one, other) = (summary(0, "6.1", 1e8), summary(1, "6.12", 0.5e8));
    let found = difference(&sides(&[&one, &other]), &[], None);
    assert_eq!(found.circumstances.len(), 1, "{:?}", found.circumstances);
    assert_eq!(found.circumstances[0].values, [Some("6.1".to_owned()), Some("6.12".to_owned())]);
    let [on, off, ratio] = found.figures.as_slice() else { panic!("{:?}", found.figures) };
    for row in [on, off] {
        // Half as fast on another day: that may be the day.
        let answer = &row.answers[0];
        assert_eq!((answer.ground, answer.differs), (Ground::None, None), "{answer:?}");
        assert_eq!(answer.interval, [None, None]);
    }
    assert_eq!((ratio.configuration.as_str(), ratio.answers[0].ground), ("off / on", Ground::CommonLevel));
    assert_eq!(ratio.answers[0].differs, Some(false));
    assert!((ratio.values[0].unwrap() - 1.5).abs() < 1e-9);
    let mut gained = summary(2, "6.12", 1e8);
    for value in gained.summary.configurations[1].values.get_mut("throughput").unwrap() {
        *value = value.map(|value| 1.3 * value);
    }
    let found = difference(&sides(&[&one, &gained]), &[], None);
    let answer = &found.figures[2].answers[0];
    assert!(answer.differs == Some(true) && (answer.ratio.unwrap() - 1.3).abs() < 0.01, "{answer:?}");
}

#[test]
fn five_other_runs_show_how_far_runs_lie_apart() {
    let runs = year(12, 12);
    let changed = summary(12, "6.1", 0.8e8);
    let found = difference(&sides(&[&runs[10], &changed]), &runs, None);
    let answer = &found.figures[0].answers[0];
    assert_eq!(
        (answer.ground, answer.runs, answer.differs),
        (Ground::History, Some(11), Some(true)),
        "{answer:?}"
    );
    let alike = difference(&sides(&[&runs[10], &runs[11]]), &runs, None);
    assert_eq!(alike.figures[0].answers[0].runs, Some(10));
    assert_eq!(
        difference(&sides(&[&runs[10], &changed]), &runs[..4], None).figures[0].answers[0].differs,
        None
    );
    // On another host nothing is known of how far its runs lie apart.
    let mut elsewhere = changed.clone();
    elsewhere.summary.machine.host = "h2".to_owned();
    let found = difference(&sides(&[&runs[10], &elsewhere]), &runs, None);
    assert_eq!(found.figures[0].answers[0].ground, Ground::None);
}

#[test]
fn hosts_are_compared_by_their_runs() {
    let (slow, fast): (Vec<_>, Vec<_>) = (
        (0..4).map(|day| summary(day, "6.1", 0.8e8 + 1e5 * day as f64)).collect(),
        (4..9).map(|day| summary(day, "6.1", 1e8 + 1e5 * day as f64)).collect(),
    );
    let sides = [
        Side { name: "h1".to_owned(), runs: slow.iter().collect() },
        Side { name: "h2".to_owned(), runs: fast.iter().collect() },
    ];
    let found = difference(&sides, &[], None);
    assert_eq!(found.figures[0].answers[0].ground, Ground::Runs);
    assert_eq!(found.figures[0].answers[0].differs, Some(true));
    let few = [sides[0].clone(), Side { name: "h2".to_owned(), runs: fast.iter().take(3).collect() }];
    assert_eq!(difference(&few, &[], None).figures[0].answers[0].ground, Ground::None);
}
