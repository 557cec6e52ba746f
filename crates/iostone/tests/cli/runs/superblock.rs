//! `decide.blocks.start = "superblock"`: several trials of every level in one random order, then blocks.

use serde_json::Value;

use super::interrupt::interrupted;
use super::{PROGRAM, finished};
use crate::support::Bench;

/// Two programs that print figures which nobody can mistake for each other's, whatever else the machine does. Part of each
/// is chance, as there is no telling levels without any apart.
fn clear() -> String {
    PROGRAM
        .replace(
            "echo $WHICH in $IOSTONE_CONFIGURATION\"]",
            "sleep 0.05; echo cost $((WHICH + $(od -An -N1 -tu1 /dev/urandom)))\"]\n\
             metrics = { cost = { regex = 'cost ([0-9]+)', better = \"lower\" } }",
        )
        .replace("WHICH = \"a\"", "WHICH = \"1000\"")
        .replace("WHICH = \"b\"", "WHICH = \"2000\"")
        .replace("metric = \"wall_time\"", "metric = \"cost\"")
        .replace("min = 6, max = 6", "start = \"superblock\", max = 12")
}

/// The orders of all blocks, as the report has them.
fn orders(report: &Value) -> Vec<Vec<&str>> {
    report["blocks"].as_array().unwrap().iter().map(order).collect()
}

fn order(block: &Value) -> Vec<&str> {
    block["order"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

fn count(order: &[&str], name: &str) -> usize {
    order.iter().filter(|other| **other == name).count()
}

#[test]
fn four_trials_of_each_level_decide_what_is_clear() {
    let bench = finished(&clear());
    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    let [order] = &orders(&report)[..] else { panic!("{:#}", report["blocks"]) };
    assert_eq!((order.len(), count(order, "a"), count(order, "b")), (8, 4, 4));
    let verdicts = &report["verdicts"];
    let comparison = &verdicts["comparisons"][0];
    assert_eq!((&comparison["verdict"], &comparison["decided_at"]), (&"slower".into(), &4.into()));
    assert_eq!(verdicts["blocks"]["superblock"], 4);
    assert_eq!(verdicts["blocks"]["complete"], 4);
    let headline = report["headline"].as_str().unwrap();
    assert!(headline.contains("4 trials each"), "{headline}");
    let text = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(text.contains("a superblock of 4 trials each (8 trials)"), "{text}");
    assert!(!text.contains("few-runs"), "{text}");
    let page = bench.iostone(&["report", "--format", "html"]).ended_with(0).stdout;
    assert!(page.contains("The run begins with a superblock: 4 trials of every configuration"), "{page}");
}

#[test]
fn blocks_follow_until_the_budget_which_the_superblock_is_part_of() {
    let equal = clear().replace("2000", "1001").replace("max = 12", "max = 6");
    let bench = finished(&format!("{equal}\n").replace("[decide]", "[decide]\nmargin = \"0.01%\""));
    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    let orders = orders(&report);
    let lengths: Vec<usize> = orders.iter().map(Vec::len).collect();
    assert!(lengths == [8, 2, 2] || lengths == [8, 2] || lengths == [8], "{lengths:?}");
    let figures: usize = lengths.iter().sum();
    assert_eq!(report["verdicts"]["blocks"]["complete"], figures / 2);
}

#[test]
fn an_interrupted_superblock_is_drawn_and_run_anew() {
    let bench = Bench::new();
    bench.write("experiment.toml", clear());
    interrupted(&bench).ended_with(130);
    bench.assert_undone();
    let before = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    assert_eq!(before["headline"], "No block is complete yet, so nothing can be said.");
    bench.iostone(&["run", "--resume", "latest"]).ended_with(0);
    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    let orders = orders(&report);
    assert_eq!(orders.iter().map(Vec::len).collect::<Vec<_>>(), [8, 8]);
    assert_eq!([&report["blocks"][0]["counted"], &report["blocks"][1]["counted"]], [false, true]);
    assert_eq!(report["verdicts"]["blocks"]["complete"], 4);
    assert_eq!(report["verdicts"]["comparisons"][0]["verdict"], "slower");
    let plan = bench.iostone(&["show", "--json"]).ended_with(0).json();
    assert_eq!(plan["plan"]["superblock"], 4, "{:#}", plan["plan"]);
}

#[test]
fn a_dry_run_tells_the_superblock_and_its_trials_follow_from_the_comparisons() {
    let bench = Bench::new();
    bench.write("experiment.toml", clear());
    let two = bench.iostone(&["run", "--dry-run", "experiment.toml"]).ended_with(0).stdout;
    let said = "8 to 24 trials in 4 to 12 blocks of 2; first a superblock that counts as 4: 4 trials of each, 8 in one random order\n";
    assert!(two.contains(said), "{two}");
    let third = "c = { workload.env = { WHICH = \"0.3\" } } }\n\n[workload]";
    bench.write("experiment.toml", clear().replace(" }\n\n[workload]", &format!(", {third}")));
    let three = bench.iostone(&["run", "--dry-run", "experiment.toml"]).ended_with(0).stdout;
    assert!(three.contains("counts as 5: 5 trials of each, 15 in one random order"), "{three}");
    let short = bench.iostone(&["run", "--dry-run", "experiment.toml", "--set", "decide.blocks.max=4"]);
    short.ended_with(2).complains_of("`decide.blocks.max` is 4, too few for 2 comparisons");
}

#[test]
fn a_noise_run_and_a_rehearsal_are_in_blocks() {
    let bench = Bench::new();
    bench.write("experiment.toml", clear());
    for option in ["--aa", "--quick"] {
        let said = bench.iostone(&["run", "--dry-run", option, "experiment.toml"]).ended_with(0).stdout;
        assert!(!said.contains("superblock"), "{said}");
    }
}

#[test]
fn what_has_no_superblock_refuses_it() {
    let bench = Bench::new();
    let curve = include_str!("../../../../../experiments/orion.toml");
    bench.write("experiment.toml", curve);
    let set = ["run", "--dry-run", "experiment.toml", "--set", "decide.blocks.start=superblock"];
    let said = bench.iostone(&set).ended_with(2);
    said.complains_of("but the points of a curve are judged by the coin of each block; leave it out");
    bench.write("experiment.toml", clear().replace("\"superblock\"", "\"triples\""));
    bench.iostone(&["run", "--dry-run", "experiment.toml"]).ended_with(2).complains_of("superblock");
}
