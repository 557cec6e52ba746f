//! Loads of many shapes, from the experiment file to the report.

use serde_json::Value;

use super::{PROGRAM, finished};
use crate::support::{Bench, OPEN_LOOP, masked};

/// The open-loop experiment in a few seconds, in a directory that need not have `O_DIRECT`.
fn small_open_loop() -> String {
    let gates = PROGRAM.split("[trials]").nth(1).unwrap();
    let levels = OPEN_LOOP.lines().find(|line| line.starts_with("levels")).unwrap();
    let text = OPEN_LOOP
        .replace(levels, "levels = { through = {}, past = { workload.norandommap = true } }")
        .replace("size = \"128MiB\"", "size = \"4MiB\"")
        .replace("ramp_time = \"1s\"", "ramp_time = \"0s\"")
        .replace("runtime = \"10s\"", "runtime = \"200ms\"")
        .replace("max = 40", "max = 6");
    format!("{text}\n[trials]{gates}")
}

#[test]
fn a_mixed_and_rated_load_with_hot_data_runs_and_says_what_it_was() {
    let bench = finished(&small_open_loop());
    let trial = bench.iostone(&["show", "--trial", "1", "--json"]).ended_with(0).json();
    let fact = |name: &str| trial["workload"]["facts"][name].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        fact("loop"),
        "open: 300 reads and 100 writes a second a thread, at random (Poisson), up to 32 in flight"
    );
    assert_eq!(fact("distribution"), "hot-cold:90/10");
    assert!(fact("mix").contains(" % reads: "), "{}", fact("mix"));
    assert!(fact("unserved").contains(" arrivals found no room"), "{}", fact("unserved"));
    for metric in ["latency_p99", "service_p99", "service_mean"] {
        assert!(trial["metrics"][metric].is_number(), "{metric}: {}", trial["metrics"]);
    }
    let claimed = |key: &str| trial["workload"][key].as_u64().unwrap();
    assert!(claimed("claimed_read_bytes") > 0 && claimed("claimed_written_bytes") > 0);

    let text = bench.iostone(&["report", "--full"]).ended_with(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shape = "randrw 4KiB/80:64KiB/20 · spread hot-cold:90/10 · open loop of 300 reads/s and 100 writes/s at random";
    assert!(text.contains(shape), "{text}");
    let shown = bench.iostone(&["show", "--trial", "1"]).ended_with(0).stdout;
    assert!(shown.contains("\n  service_p99 ") && shown.contains("\n  loop "), "{shown}");
}

#[test]
fn a_dry_run_tells_the_shape() {
    let bench = Bench::new();
    bench.write("open-loop.toml", OPEN_LOOP);
    let said = bench.iostone(&["run", "open-loop.toml", "--dry-run"]).ended_with(0).stdout;
    let said = masked(&said, &bench, "open-loop");
    let shape = "randrw 4KiB/80:64KiB/20, spread hot-cold:90/10, open loop of 300 reads/s and 100 writes/s at random, \
                 depth 32, 10s, ";
    let said = said.lines().find(|line| line.contains("O_DIRECT")).unwrap();
    assert!(said.ends_with("O_DIRECT, 1s ramp not measured"), "{said}");
    assert!(said.contains(shape), "{said}");
}

/// The experiment with another workload and another baseline; what the trials were.
fn trials_of(lines: &str, levels: &str) -> Vec<Value> {
    let (before, rest) =
        small_open_loop().split_once("[workload]").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let old = before.lines().find(|line| line.starts_with("levels")).unwrap().to_owned();
    let decide = rest.split_once("[decide]").unwrap().1.replace("latency_p99", "iops");
    let text = format!(
        "{}[workload]\nkind = \"io\"\nsize = \"1MiB\"\nio_size = \"1MiB\"\n{lines}\n\n[decide]{decide}",
        before.replace(&old, levels)
    );
    let bench = finished(&text);
    let record = bench.iostone(&["show", "--json"]).ended_with(0).json();
    record["trials"].as_array().unwrap().clone()
}

#[test]
fn discards_are_no_bytes_read_or_written_and_verified_blocks_are_told() {
    let levels = "levels = { through = { workload.rw = \"trim\" }, past = { workload.rw = \"randwrite\", \
                  workload.verify = \"crc32c\" } }";
    for trial in trials_of("rw = \"write\"", levels) {
        let report = &trial["workload"];
        assert!(trial["metrics"]["iops"].is_number(), "{trial}");
        if trial["configuration"] == "through" {
            assert_eq!(
                (&report["claimed_read_bytes"], &report["claimed_written_bytes"]),
                (&0.into(), &0.into())
            );
            assert_eq!(report["facts"]["mix"], "256 discards; 1.00 MiB discarded");
        } else {
            assert_eq!(report["claimed_written_bytes"], 1 << 20);
            let verify = report["facts"]["verify"].as_str().unwrap();
            assert!(verify.starts_with("crc32c: 256 blocks (1.00 MiB) checked, none wrong"), "{verify}");
        }
    }
}

#[test]
fn a_request_that_takes_too_long_fails_its_trial() {
    let bench = Bench::new();
    let text = small_open_loop().replace("rate_iops = ", "max_latency = \"1ns\"\nrate_iops = ");
    bench.write("experiment.toml", &text);
    let said = bench.iostone(&["run", "experiment.toml"]).ended_with(1);
    assert!(said.stderr.contains("1ns") || said.stderr.contains("latency"), "{}", said.stderr);
    bench.assert_undone();
}
