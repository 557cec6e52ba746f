//! The experiments on CPU limits and instances: rehearsed as they are, with a real build under control groups.

use serde_json::Value;

use crate::experiments::{rehearse, trial};
use crate::lab::{Lab, needs_root, needs_tool};

/// Skips a test by name where groups cannot hold CPU time.
macro_rules! needs_cpu_controller {
    () => {
        let controllers = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let v1 = controllers.lines().any(|line| line.split([':', ',']).any(|word| word == "cpu"));
        let v2 = std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers")
            .is_ok_and(|names| names.split_whitespace().any(|name| name == "cpu"));
        if !v1 && !v2 {
            eprintln!("skipped: needs the control group controller `cpu`");
            return;
        }
    };
}

fn seconds(trial: &Value, name: &str) -> f64 {
    trial["signals"]["cpu"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("no `{name}` in {:#}", trial["signals"]["cpu"]))
}

fn wall(record: &Value, configuration: &str) -> f64 {
    trial(record, configuration)["metrics"]["wall_time"].as_f64().unwrap()
}

/// No group of the lab's run is left in any hierarchy; other tests have theirs at the same time.
fn assert_no_group_left(lab: &Lab) {
    let run = lab.the_run().display().to_string();
    let (_, id) = run.rsplit_once('-').unwrap();
    let mut directories = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                assert!(!name.starts_with(&format!("iostone-{id}")), "{} is left", entry.path().display());
                directories.push(entry.path());
            }
        }
    }
}

#[test]
fn a_build_that_limits_itself_ends_before_one_that_the_allowance_stops() {
    needs_root!();
    needs_tool!("cc");
    needs_tool!("make");
    needs_cpu_controller!();
    let lab = Lab::new();
    let record = rehearse(&lab, "cpu-limit", &[]);
    assert_no_group_left(&lab);
    let trials = record["trials"].as_array().unwrap();
    let levels: Vec<&str> = trials.iter().map(|trial| trial["configuration"].as_str().unwrap()).collect();
    assert_eq!(trials.len(), 3, "{levels:?}");
    assert!(
        wall(&record, "25%") < wall(&record, "none"),
        "{} {}",
        wall(&record, "25%"),
        wall(&record, "none")
    );
    for level in ["none", "25%", "40%"] {
        let trial = trial(&record, level);
        assert_eq!(trial["valid"], true, "{trial:#}");
        let governor = &trial["governor"];
        assert_eq!(governor["governor"]["allowance"]["name"], "penalty", "{governor:#}");
        assert_eq!(governor["governor"]["speed"], 20.0);
        assert!(!governor["balance"].as_array().unwrap().is_empty());
        assert!(governor["other_laws"].as_array().unwrap().len() > 1, "{governor:#}");
    }
    let of = |level| trial(&record, level);
    assert!(
        seconds(of("none"), "governed_seconds") > 0.0
            && of("none")["governor"]["throttled_times"].as_u64() > Some(0)
    );
    assert!(seconds(of("25%"), "throttled_seconds") > 0.0);
    // What a limit of 25 % lets through is less than what flows in, so the allowance never holds it.
    assert_eq!(of("25%")["governor"]["throttled_times"], 0);
}

#[test]
fn a_build_by_instance_is_governed_by_the_allowance_of_its_level() {
    needs_root!();
    needs_tool!("cc");
    needs_tool!("make");
    needs_cpu_controller!();
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("skipped: needs two processors");
        return;
    }
    let lab = Lab::new();
    let record = rehearse(&lab, "build-by-instance", &[]);
    assert_no_group_left(&lab);
    let trials = record["trials"].as_array().unwrap();
    let levels: Vec<&str> = trials.iter().map(|trial| trial["configuration"].as_str().unwrap()).collect();
    assert_eq!(trials.len(), 3, "{levels:?}");
    for (level, law) in [("t2.micro", "credits"), ("m1.small", "share"), ("t2.medium", "credits")] {
        let allowance = &trial(&record, level)["governor"]["governor"]["allowance"];
        assert_eq!(allowance["instance"], level);
        assert_eq!(allowance["law"]["kind"], law, "{allowance:#}");
    }
    // Less than a quarter of a processor against a whole one.
    assert!(wall(&record, "m1.small") > wall(&record, "t2.micro"));
}

#[test]
fn the_sweep_of_limits_is_rehearsed_and_says_no_verdict() {
    needs_root!();
    needs_tool!("cc");
    needs_tool!("make");
    needs_cpu_controller!();
    let lab = Lab::new();
    let record = rehearse(&lab, "cpu-limit-sweep", &[]);
    assert_no_group_left(&lab);
    assert_eq!(record["trials"].as_array().unwrap().len(), 3);
    assert!(record["verdicts"]["sweep"]["best"].is_null(), "{:#}", record["verdicts"]["sweep"]);
}
