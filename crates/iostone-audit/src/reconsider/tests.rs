//! The published figures of the barrier test, of single builds and of striped volumes, judged again.

use std::collections::BTreeMap;

use super::*;
use iostone_model::metric::Direction;

fn observation(labels: &[(&str, &str)], metric: &str, value: f64) -> Observation {
    Observation {
        labels: labels.iter().map(|(label, level)| ((*label).to_owned(), (*level).to_owned())).collect(),
        figures: BTreeMap::from([(metric.to_owned(), value.into())]),
        ..Observation::default()
    }
}

fn stated(metric: &str, by: &str, baseline: &str, better: Direction) -> StatedComparison {
    StatedComparison {
        table: None,
        metric: metric.to_owned(),
        by: by.to_owned(),
        baseline: baseline.to_owned(),
        within: Vec::new(),
        block: None,
        margin: 0.02,
        better,
        claim: None,
    }
}

#[test]
fn five_and_five_runs_allow_a_bound_but_no_verdict() {
    let mut dataset = Dataset::new("barrier");
    for (level, figures) in [
        ("on", [198.832, 198.525, 197.24, 198.003, 193.24]),
        ("off", [195.168, 196.525, 196.241, 197.79, 195.378]),
    ] {
        let rows =
            figures.iter().map(|figure| observation(&[("barrier", level)], "throughput", figure * 1e6));
        dataset.observations.extend(rows);
    }
    let outcome = compare(&dataset, &stated("throughput", "barrier", "on", Direction::Higher));
    let [level] = outcome.levels.as_slice() else { panic!("{outcome:?}") };
    let test = level.comparison.unpaired.as_ref().unwrap();
    assert_eq!(level.comparison.verdict, None);
    assert!((test.p_value - 0.2222).abs() < 1e-3, "{test:?}");
    assert!((test.ratio - 0.991).abs() < 1e-3);
    assert!((test.ratio_interval[0].unwrap() - 0.983).abs() < 1e-3);
    assert!((test.ratio_interval[1].unwrap() - 1.0155).abs() < 1e-3);
    assert!(level.statement.contains("a difference beyond 2\u{a0}% is unlikely"), "{}", level.statement);
}

#[test]
fn single_runs_say_how_steady_they_must_have_been() {
    let mut dataset = Dataset::new("build");
    for (limit, seconds) in [("none", 11_219.721), ("25 %", 5408.645), ("30 %", 4503.421), ("40 %", 5246.738)]
    {
        dataset.observations.push(observation(&[("limit", limit)], "wall_time", seconds));
    }
    let outcome = compare(&dataset, &stated("wall_time", "limit", "30 %", Direction::Lower));
    let cv = |level: &str| {
        outcome.levels.iter().find(|l| l.comparison.level == level).and_then(|l| l.breakeven_cv).unwrap()
    };
    assert!((cv("none") - 0.329).abs() < 1e-3);
    assert!((cv("25 %") - 0.066).abs() < 1e-3);
    assert!((cv("40 %") - 0.055).abs() < 1e-3);
    assert!(outcome.levels[0].statement.contains("the direction is safe"), "{}", outcome.levels[0].statement);
}

#[test]
fn four_blocks_cannot_decide() {
    let mut dataset = Dataset::new("raid0");
    for (instance, figures) in [
        ("t1.micro", [28395.0, 34970.0]),
        ("m1.large", [40685.0, 78498.0]),
        ("m1.xlarge", [34706.0, 81722.0]),
        ("m2.2xlarge", [42641.0, 70917.0]),
    ] {
        for (disks, figure) in ["1", "2"].iter().zip(figures) {
            let labels = [("instance", instance), ("disks", *disks)];
            dataset.observations.push(observation(&labels, "block_write", figure));
        }
    }
    let by_instance = StatedComparison {
        block: Some("instance".to_owned()),
        ..stated("block_write", "disks", "1", Direction::Higher)
    };
    let outcome = compare(&dataset, &by_instance);
    let level = &outcome.levels[0];
    assert!((level.comparison.ratio.unwrap() - 1.75).abs() < 0.05, "{level:?}");
    assert!(level.statement.contains("4 blocks cannot decide (p is 0.125 at best)"), "{}", level.statement);
}

#[test]
fn what_cannot_be_compared_says_why() {
    let outcome = compare(&Dataset::new("empty"), &stated("throughput", "barrier", "on", Direction::Higher));
    assert_eq!(outcome.unjudged.as_deref(), Some("there are no figures to judge"));
}
