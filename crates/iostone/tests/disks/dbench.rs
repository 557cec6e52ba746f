//! dbench through the binary: its figure is that of its own last line, and what it lacks is said before or at once.

use crate::lab::{Lab, needs_root, needs_tool, words};

fn experiment(volume: &str, workload: &str) -> String {
    format!(
        r#"
name = "small-dbench"

[stack]
volume = {{ kind = "loop", size = "{volume}", backing_io = "buffered" }}
queue = {{ write_cache = "write back" }}
filesystem = {{ kind = "ext4" }}

[[factor]]
name = "barrier"
levels = {{ on = {{ mount.options = ["barrier=1"] }}, off = {{ mount.options = ["barrier=0"] }} }}

[workload]
kind = "dbench"
{workload}

[decide]
metric = "throughput"
baseline = "on"

[trials]
settle = "20ms"

# A machine that runs tests is neither quiet nor its own master.
[gates]
steal = "off"
idle = "off"
throttling = "off"
"#
    )
}

#[test]
fn the_figures_of_dbench_are_those_of_its_own_output() {
    needs_root!();
    needs_tool!("dbench");
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment("64MiB", "clients = 2\nseconds = 10"));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    for trial in lab.record()["trials"].as_array().unwrap() {
        let raw =
            lab.the_run().join(format!("trials/{:06}/raw/stdout.txt", trial["number"].as_u64().unwrap()));
        let log = std::fs::read_to_string(raw).unwrap();
        let last = log.lines().find(|line| line.starts_with("Throughput ")).unwrap();
        let words: Vec<&str> = last.split_whitespace().collect();
        let printed: f64 = words[1].parse().unwrap();
        let throughput = trial["metrics"]["throughput"].as_f64().unwrap();
        assert!((throughput / 1e6 - printed).abs() < 1e-6, "{throughput} of {last}");
        assert_eq!(&words[3..5], ["2", "clients"]);
        let flush = log.lines().find(|line| line.trim_start().starts_with("Flush ")).unwrap();
        let mean: f64 = flush.split_whitespace().nth(2).unwrap().parse().unwrap();
        assert!((trial["metrics"]["Flush.latency_mean"].as_f64().unwrap() * 1e3 - mean).abs() < 1e-9);
        let workload = &trial["workload"];
        assert!(trial["metrics"]["pass_time"].as_f64().unwrap() > 0.0);
        assert!(workload["facts"]["version"].as_str().unwrap().starts_with("dbench "));
        assert!(workload["facts"]["argv"].as_str().unwrap().contains("-t 10"));
        let seconds = workload["measured_seconds"].as_f64().unwrap();
        let claimed = workload["claimed_read_bytes"].as_f64().unwrap()
            + workload["claimed_written_bytes"].as_f64().unwrap();
        assert!((claimed - throughput * seconds).abs() < 1e-4 * claimed, "{claimed} in {seconds} s");
    }
}

#[test]
fn a_volume_that_dbench_fills_ends_the_run_with_that_reason() {
    needs_root!();
    needs_tool!("dbench");
    let lab = Lab::new();
    // A loadfile that is named tells nothing of the room it takes, so that only dbench finds out.
    let loadfile = "/usr/share/dbench/client.txt";
    if !std::path::Path::new(loadfile).is_file() {
        eprintln!("skipped: needs {loadfile}");
        return;
    }
    let workload = format!("clients = 4\nseconds = 10\nloadfile = \"{loadfile}\"");
    let file = lab.write("experiment.toml", &experiment("32MiB", &workload));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(words(&output).contains("the volume was full"), "{}", words(&output));
    lab.assert_nothing_left();
}

#[test]
fn what_dbench_cannot_do_is_refused_before_anything_is_written() {
    needs_tool!("dbench");
    needs_root!();
    let lab = Lab::new();
    for (workload, reason) in [
        ("loadfile = \"/nowhere/client.txt\"", "`workload.loadfile` names `/nowhere/client.txt`"),
        ("seconds = 20\nwarm_up = 15", "always warms up for a fifth"),
    ] {
        let file = lab.write("experiment.toml", &experiment("64MiB", workload));
        let output = lab.iostone(&["run", &file]).output().unwrap();
        let said = words(&output);
        if said.contains("dbench 5") && output.status.success() {
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
        assert!(!lab.runs().exists(), "a run was begun");
    }
}
