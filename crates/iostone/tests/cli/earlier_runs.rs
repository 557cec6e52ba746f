//! Runs that version 0.1.0 made are opened, judged and reported.

use std::fs;
use std::process::Command;

use crate::support::Bench;

/// Runs of every kind of workload, stack and verdict, without their samples but for two.
const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/runs-0.1.0.tar.gz");

/// The word of each verdict, in the order of the document.
fn verdicts(verdicts: &serde_json::Value) -> Vec<&str> {
    let comparisons = verdicts["comparisons"].as_array().into_iter().flatten();
    comparisons.filter_map(|comparison| comparison["verdict"].as_str()).collect()
}

#[test]
fn runs_of_version_0_1_0_are_read_judged_and_reported() {
    let bench = Bench::new();
    fs::create_dir(bench.runs()).unwrap();
    let unpacked = Command::new("tar").args(["-xzf", ARCHIVE, "-C"]).arg(bench.runs()).status().unwrap();
    assert!(unpacked.success());
    let list = bench.iostone(&["list"]).ended_with(0).stdout;
    let runs = bench.run_directories();
    assert_eq!(runs.len(), 16);
    for run in &runs {
        let name = run.file_name().unwrap().to_str().unwrap();
        assert!(list.contains(name), "{name} is not listed:\n{list}");
        for arguments in
            [["show", name].as_slice(), &["explain", name], &["report", name, "--format", "html"]]
        {
            assert!(!bench.iostone(arguments).ended_with(0).stdout.is_empty(), "{arguments:?}");
        }
        let audit = bench.iostone(&["audit", name, "--json"]).ended_with(0).json();
        assert!(audit["observations"].as_u64() > Some(0), "{name}");
        let report = bench.iostone(&["report", name, "--format", "json"]).ended_with(0).json();
        if let Ok(stored) = fs::read_to_string(run.join("verdicts.json")) {
            let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
            assert_eq!(verdicts(&report["verdicts"]), verdicts(&stored), "{name}");
        }
    }
}
