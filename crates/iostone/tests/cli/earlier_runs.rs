//! Runs that version 0.1.0 made are opened, judged and reported.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::Bench;

/// Runs of every kind of workload, stack and verdict, without their samples but for two.
const ARCHIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/runs-0.1.0.tar.gz");

/// The word of each verdict, in the order of the document.
fn verdicts(verdicts: &Value) -> Vec<&str> {
    let comparisons = verdicts["comparisons"].as_array().into_iter().flatten();
    comparisons.filter_map(|comparison| comparison["verdict"].as_str()).collect()
}

pub(crate) fn unpacked() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.runs()).unwrap();
    let unpacked = Command::new("tar").args(["-xzf", ARCHIVE, "-C"]).arg(bench.runs()).status().unwrap();
    assert!(unpacked.success());
    bench
}

/// Changes every trial of a run, or its plan, as if it had gone otherwise.
fn change(run: &Path, file: &str, change: impl Fn(&mut Value)) {
    let trials = fs::read_dir(run.join("trials")).unwrap().map(|trial| trial.unwrap().path());
    for path in trials.chain([run.to_owned()]).map(|folder| folder.join(file)).filter(|path| path.exists()) {
        let mut record = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        change(&mut record);
        fs::write(path, record.to_string()).unwrap();
    }
}

#[test]
fn runs_of_version_0_1_0_are_read_judged_and_reported() {
    let bench = unpacked();
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
            let stored: Value = serde_json::from_str(&stored).unwrap();
            assert_eq!(verdicts(&report["verdicts"]), verdicts(&stored), "{name}");
        }
    }
}

#[test]
fn a_closed_loop_of_one_is_limited_by_its_queue_depth() {
    let bench = unpacked();
    let explained = bench.iostone(&["explain", "2026-11-28-depths-bj6sp7d6"]).ended_with(0).stdout;
    assert!(explained.contains("limited by queue depth 1, at 198 µs an I/O"), "{explained}");
}

#[test]
fn what_trials_met_is_found_whatever_their_figures_say() {
    let bench = unpacked();
    let name = "2026-11-28-ext4-barrier-d38rvpp2";
    let run = bench.runs().join(name);
    let message = |rule: &str| {
        let audit = bench.iostone(&["audit", name, "--json"]).ended_with(0).json();
        let findings = audit["findings"].as_array().cloned().unwrap_or_default();
        let own = findings.into_iter().find(|finding| finding["rule"] == rule);
        own.map(|finding| finding["message"].as_str().unwrap_or_default().to_owned())
    };
    for rule in ["no-flush", "disk-full", "not-interleaved"] {
        assert_eq!(message(rule), None, "{rule}");
    }
    // Barriers alone were varied, and the device saw none under either level.
    change(&run, "trial.json", |trial| trial["signals"]["devices"][0]["served"]["flushes"] = json!(0));
    assert!(message("no-flush").unwrap().contains("under either level"));
    // Records of version 0.1.0 have the words alone.
    change(&run, "trial.json", |trial| {
        trial["workload"]["error"] = json!("ENOSPC when writing 4096 bytes at offset 0, after 17 I/Os");
    });
    assert!(message("disk-full").unwrap().contains("in 12 of 12 observations"));
    change(&run, "plan.json", |plan| {
        for (index, kernel) in ["6.1", "6.12"].iter().enumerate() {
            plan["experiment"]["configurations"][index]["machine"] =
                json!({"kind": "local", "kernel": kernel});
        }
    });
    assert!(message("not-interleaved").unwrap().contains("`on` and `off` each stood in a boot of their own"));
}
