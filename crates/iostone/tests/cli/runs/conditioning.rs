//! `decide.conditioning`: every trial follows an unrecorded one of its own level.

use std::fs;

use super::{PROGRAM, finished};
use crate::support::Bench;

/// A program that notes its level in a file that outlives its trial.
fn noting(log: &str) -> String {
    PROGRAM
        .replace("echo $WHICH in $IOSTONE_CONFIGURATION", &format!("echo $WHICH >> {log}"))
        .replace("[decide]", "[decide]\nconditioning = true")
}

#[test]
fn every_trial_follows_one_of_its_own_level_and_says_so() {
    let place = Bench::new();
    let log = place.path("levels");
    let bench = finished(&noting(log.to_str().unwrap()));
    let levels = fs::read_to_string(&log).unwrap();
    let levels: Vec<&str> = levels.lines().collect();
    assert_eq!(levels.len(), 24, "{levels:?}");
    assert!(levels.chunks(2).all(|pair| pair[0] == pair[1]), "{levels:?}");

    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    let configurations = report["configurations"].as_array().unwrap();
    let trials: Vec<_> = configurations.iter().flat_map(|one| one["trials"].as_array().unwrap()).collect();
    assert_eq!(trials.len(), 12);
    assert!(trials.iter().all(|trial| trial["conditioned_seconds"].as_f64().unwrap() > 0.0));
    assert!(trials.iter().all(|trial| trial["phases"]["run"].as_f64().unwrap() > 0.0));
    let flags = report["verdicts"]["comparisons"][0]["flags"].as_array().unwrap();
    assert!(flags.iter().all(|flag| flag["name"] != "carry-over-unchecked"), "{flags:?}");
    let text = bench.iostone(&["report", "--full"]).ended_with(0).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("each after an unrecorded one of its level"), "{text}");
}

#[test]
fn a_plan_says_that_trials_are_conditioned() {
    let bench = Bench::new();
    bench.write("experiment.toml", noting("/dev/null"));
    let plan = bench.iostone(&["run", "--dry-run", "experiment.toml"]).ended_with(0).stdout;
    assert!(plan.contains("; each trial follows an unrecorded one of its own level\n"), "{plan}");
}
