//! Sweeps: the best level of an ordered factor, through the binary, to its verdict and interrupted on the way.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::PROGRAM;
use crate::support::Bench;

/// Requests at a given rate on a small file: the rate is the figure, so the highest is the best beyond doubt.
fn experiment() -> String {
    let gates = PROGRAM.split("[trials]").nth(1).unwrap();
    format!(
        "name = \"rate\"\nquestion = \"Which rate is served?\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n\
         [[factor]]\nname = \"rate\"\npath = \"workload.rate_iops\"\nsweep = \"200..600 step 200\"\n[workload]\n\
         kind = \"io\"\nrw = \"randread\"\nsize = \"64KiB\"\nramp_time = \"0s\"\nruntime = \"400ms\"\n[decide]\n\
         metric = \"iops\"\nblocks = {{ min = 2, max = 16 }}\n[trials]{gates}"
    )
}

fn trials(bench: &Bench) -> Vec<Value> {
    let shown = bench.iostone(&["show", "--json"]).ended_with(0).json();
    shown["trials"].as_array().unwrap().clone()
}

#[test]
fn a_sweep_interrupted_after_its_first_block_is_resumed_to_its_verdict() {
    let bench = Bench::new();
    bench.write("experiment.toml", experiment());
    let planned = bench.iostone(&["run", "experiment.toml", "--dry-run"]).ended_with(0).stdout;
    assert!(
        planned.contains(" blocks of 3 at first; levels shown to be worse are dropped later\n"),
        "{planned}"
    );

    let compared = ["run", "experiment.toml", "--dry-run", "--fail-if", "200 slower than 400"];
    bench.iostone(&compared).ended_with(2).complains_of("a sweep finds the best level and compares no two");

    let mut command = bench.command(&["run", "experiment.toml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("\nblock 2") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended by itself:\n{said}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    bench.assert_undone();
    let kept = trials(&bench);
    let report = bench.iostone(&["report"]).ended_with(0).stdout;
    assert!(report.contains("Ended before its time: interrupted.\n"), "{report}");

    let resumed = bench.iostone(&["run", "--resume", "latest", "--json"]).ended_with(0).json();
    let sweep = &resumed["sweep"];
    assert_eq!((&sweep["outcome"], &sweep["best"]), (&"unique-best".into(), &"600".into()), "{sweep:#}");
    let levels: Vec<&str> =
        sweep["levels"].as_array().unwrap().iter().map(|level| level["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["200", "400", "600"]);
    let all = trials(&bench);
    // A trial of the block that was interrupted stays, and counts no longer.
    let counted: u64 =
        sweep["levels"].as_array().unwrap().iter().map(|level| level["trials"].as_u64().unwrap()).sum();
    assert_eq!(sweep["trials"], counted);
    assert!((7..=all.len() as u64).contains(&counted), "{counted} of {}", all.len());
    assert_eq!(all[..kept.len()], kept, "a trial of the first session was lost");

    for format in ["text", "html", "json"] {
        let report = bench.iostone(&["report", "--format", format]).ended_with(0).stdout;
        assert!(report.contains("600") && !report.contains("baseline ``"), "{format}:\n{report}");
    }
    let refused = bench.iostone(&["report", "--baseline", "400"]).ended_with(2);
    refused.complains_of("error[io0008]: a sweep has no baseline: it searches for its best level");
    for format in ["json", "csv"] {
        let exported = bench.iostone(&["export", "--format", format]).ended_with(0).stdout;
        assert!(exported.contains("600"), "{format}:\n{exported}");
    }
    let audit = bench.iostone(&["audit", bench.only_run().to_str().unwrap()]).ended_with(0).stdout;
    assert!(!audit.contains("few-runs (") && !audit.contains("single-run ("), "{audit}");
    let listed = bench.iostone(&["list"]).ended_with(0).stdout;
    assert!(listed.contains("600"), "{listed}");
}
