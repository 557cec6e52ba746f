//! `ramp_time = "auto"`: pilots, the ramp that they declare, and the check of every trial's steady state.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::PROGRAM;
use crate::support::{Bench, FLUSH_PRICE};

/// The flush-price experiment with pilots of two seconds and trials of one, when it is rehearsed.
fn with_pilots() -> String {
    let gates = PROGRAM.split("[trials]").nth(1).unwrap();
    let text = FLUSH_PRICE
        .replace("size = \"64MiB\"", "size = \"1MiB\"")
        .replace("ramp_time = \"500ms\"", "ramp_time = \"auto\"");
    assert!(text.contains("\"auto\""), "{text}");
    format!("{text}\n[trials]{gates}")
}

fn journal(bench: &Bench) -> Vec<Value> {
    let text = fs::read_to_string(bench.only_run().join("journal.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn pilots_run_first_and_their_longest_cut_is_the_ramp_of_every_trial() {
    let bench = Bench::new();
    bench.write("experiment.toml", with_pilots());
    let said = bench.iostone(&["run", "experiment.toml", "--quick"]).ended_with(0);
    let told: Vec<&str> = said.stderr.lines().filter(|line| line.starts_with("pilot ")).collect();
    assert_eq!(told.len(), 2, "{}", said.stderr);
    assert!(told.iter().all(|line| line.contains("2s run: ")), "{told:?}");
    assert!(said.stderr.contains("warm-up in every trial\nblock 1 "), "{}", said.stderr);

    // Declared before the first block, and what the two records say.
    let events = journal(&bench);
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let expected = ["session_begun", "pilot_recorded", "pilot_recorded", "ramp_declared", "block_begun"];
    assert_eq!(names[..5], expected, "{names:?}");
    let declared = &events[3];
    assert_eq!((&declared["rule"], &declared["pilots"]), (&"largest".into(), &2.into()));

    let shown = bench.iostone(&["show"]).ended_with(0).stdout;
    for line in ["pilot 1: ", "pilot 2: ", "declared before block 1: "] {
        assert!(shown.contains(line), "`{line}` is not in:\n{shown}");
    }
    let ramp = declared["ramp"].as_str().unwrap();
    let full = bench.iostone(&["report", "--full"]).ended_with(0).stdout;
    let text = full.split_whitespace().collect::<Vec<_>>().join(" ");
    // Where caches are warm already none is needed.
    let line = if ramp == "0s" {
        "warm-up none, as 2 pilots showed no need of it (MSER-5), declared before block 1".to_owned()
    } else {
        format!("warm-up {ramp} not counted in every trial: the largest cut of 2 pilots (MSER-5), that of ")
    };
    assert!(text.contains(&line) && text.contains("declared before block 1"), "{text}");
    let unchecked = "steady state not checked, the trials are too short: 1.0 s measured, 2.5 s needed";
    assert!(text.contains(unchecked), "{text}");
    let page = bench.iostone(&["report", "--format", "html"]).ended_with(0).stdout;
    assert!(page.contains("(MSER-5)") && page.contains("declared before block 1"));

    let report = bench.iostone(&["report", "--format", "json"]).ended_with(0).json();
    let warm_up = &report["run"]["warm_up"];
    let seconds = warm_up["declared_ramp_seconds"].as_f64().unwrap();
    let pilots = warm_up["pilots"].as_array().unwrap();
    let cuts: Vec<f64> = pilots.iter().map(|pilot| pilot["cut_seconds"].as_f64().unwrap()).collect();
    assert!(cuts.contains(&seconds) && cuts.iter().all(|cut| *cut <= seconds), "{cuts:?}");
    assert!(cuts.iter().all(|cut| *cut < 1.0), "{cuts:?}");
    let record = bench.iostone(&["show", "--json"]).ended_with(0).json();
    let trials = record["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "a pilot was taken for a trial");
    for trial in trials {
        assert_eq!(trial["ramp_seconds"].as_f64(), Some(seconds), "{trial:#}");
        assert_eq!(trial["steady_state"]["state"], "not_checked");
    }
    let pilot = bench.only_run().join("pilots/000001");
    let kept: Value = serde_json::from_str(&fs::read_to_string(pilot.join("pilot.json")).unwrap()).unwrap();
    assert_eq!((&kept["schema"], &kept["runtime"]), (&"iostone/pilot/1".into(), &"2s".into()));
    assert!(kept["workload"]["operations_per_100ms"].as_array().unwrap().len() >= 20);
    assert!(fs::read_to_string(pilot.join("samples.jsonl")).unwrap().lines().count() > 10);
    bench.assert_undone();
}

#[test]
fn a_resumed_run_repeats_no_pilot() {
    let bench = Bench::new();
    bench.write("experiment.toml", with_pilots());
    let mut command = bench.command(&["run", "experiment.toml", "--quick"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("\npilot ") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended by itself:\n{said}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("resume with `iostone run --resume "), "{said}");
    bench.assert_undone();
    let shown = bench.iostone(&["show"]).ended_with(0).stdout;
    assert!(shown.contains("pilot 1: ") && !shown.contains("declared before"), "{shown}");
    let report = bench.iostone(&["report", "--full"]).ended_with(0).stdout;
    assert!(report.contains("left to pilots, and not declared yet"), "{report}");

    // The journal's line of the pilot is lost to a crash: its record is found again.
    let path = bench.only_run().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("pilot_recorded")).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();

    bench.iostone(&["run", "--resume", "latest"]).ended_with(0);
    let record = bench.iostone(&["show", "--json"]).ended_with(0).json();
    let pilots: Vec<(&Value, &Value)> = record["pilots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pilot| (&pilot["configuration"], &pilot["session"]))
        .collect();
    assert_eq!(pilots.len(), 2, "{pilots:?}");
    assert_ne!(pilots[0].0, pilots[1].0);
    assert_eq!((pilots[0].1, pilots[1].1), (&0.into(), &1.into()));
    assert_eq!(record["defects"], Value::Null);
    assert_eq!(journal(&bench).iter().filter(|event| event["event"] == "pilot_recorded").count(), 2);

    // A pilot that the journal knows and the disk does not is a defect: the ramp rests on it.
    fs::remove_dir_all(bench.only_run().join("pilots/000002")).unwrap();
    let report = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(report.contains("! damaged: pilot 2 is in the journal, but its record is gone"), "{report}");
}

#[test]
fn pilots_are_planned_and_refused_where_they_cannot_be() {
    let bench = Bench::new();
    bench.write("experiment.toml", with_pilots());
    let said = bench.iostone(&["run", "experiment.toml", "--dry-run"]).ended_with(0).stdout;
    let planned =
        "2 pilots of 10s first, one a configuration: where MSER-5 cuts them is declared as the warm-up";
    assert!(said.contains(planned), "{said}");
    assert!(
        said.contains("depth 1, 5s, ") && said.contains("the ramp found by pilots not measured"),
        "{said}"
    );

    bench.write("bytes.toml", with_pilots().replace("runtime = \"5s\"", "io_size = \"1MiB\""));
    let said = bench.iostone(&["run", "bytes.toml", "--dry-run"]).ended_with(2);
    said.complains_of("has no runtime for a pilot to choose a ramp from");
    let program = PROGRAM.replace("kind = \"command\"", "kind = \"command\"\nramp_time = \"auto\"");
    bench.write("program.toml", program);
    let said = bench.iostone(&["run", "program.toml", "--dry-run"]).ended_with(2);
    said.complains_of("`ramp_time` is not a key of `workload`");
    bench.write("word.toml", with_pilots().replace("\"auto\"", "\"automatic\""));
    bench.iostone(&["run", "word.toml", "--dry-run"]).ended_with(2).complains_of("or \"auto\"");
}

#[test]
fn trials_long_enough_are_checked_for_a_steady_state() {
    let bench = Bench::new();
    let gates = PROGRAM.split("[trials]").nth(1).unwrap();
    let text = FLUSH_PRICE
        .replace("size = \"64MiB\"", "size = \"1MiB\"\nrw = \"randread\"")
        .replace("rw = \"randwrite\"\n", "")
        .replace("workload.fdatasync = 1", "workload.bs = \"4KiB\"")
        .replace("workload.fdatasync = 0", "workload.bs = \"8KiB\"")
        .replace("ramp_time = \"500ms\"", "ramp_time = \"100ms\"")
        .replace("runtime = \"5s\"", "runtime = \"2500ms\"")
        .replace("min = 6, max = 40", "min = 1, max = 6")
        .replace("margin = \"3%\"", "margin = \"3%\"\ntime = \"1s\"");
    bench.write("experiment.toml", format!("{text}\n[trials]{gates}"));
    let said = bench.iostone(&["run", "experiment.toml", "--full"]).ended_with(0);
    let record = bench.iostone(&["show", "--json"]).ended_with(0).json();
    let trials = record["trials"].as_array().unwrap();
    assert!(!trials.is_empty());
    for trial in trials {
        let state = &trial["steady_state"];
        // Which of the two is the machine's affair.
        assert!(matches!(state["state"].as_str(), Some("steady" | "not_steady")), "{state:#}");
        assert!(state["range_fraction"].is_number() && state["slope_fraction"].is_number(), "{state:#}");
    }
    let text = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("100ms not counted in every trial, as the experiment says · "), "{text}");
    assert!(text.contains(" trials steady"), "{text}");
    let one = bench.iostone(&["show", "--trial", "1"]).ended_with(0).stdout;
    assert!(one.contains("\n  warm-up          100 ms not counted\n  steady           "), "{one}");
}

#[test]
fn a_plan_says_what_is_left_to_the_pilots() {
    let bench = Bench::new();
    let text = with_pilots()
        .replace("runtime = \"5s\"", "runtime = \"auto\"")
        .replace("[decide]", "[decide]\ncovariates = [\"foreign-io\"]");
    bench.write("experiment.toml", &text);
    let said = bench.iostone(&["run", "experiment.toml", "--dry-run"]).ended_with(0).stdout;
    assert!(said.contains("runtime chosen from the pilots, file of"), "{said}");
    let first = "2 pilots of 30s first, one a configuration: where MSER-5 cuts them is declared as the warm-up of every trial; \
                 they also give the slopes for foreign I/O";
    assert!(said.contains(first), "{said}");

    bench.write("fixed.toml", text.replace("ramp_time = \"auto\"", "ramp_time = \"1s\""));
    let refused = bench.iostone(&["run", "fixed.toml", "--dry-run"]).ended_with(2).stderr;
    for reason in ["pilots choose the runtime", "fitted to pilots"] {
        assert!(refused.contains(reason), "`{reason}` is not in:\n{refused}");
    }
}
