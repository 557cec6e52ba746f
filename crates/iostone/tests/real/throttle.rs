//! Throttled volumes through the binary: limits are read back into the record, the figures are those of the limits, and
//! nothing is left, also after a kill.

use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_stack::ThrottleController;

use crate::lab::{Lab, cannot_limit, needs_root, words};

/// Two levels of the volume's limit over an instance that binds the second.
const EXPERIMENT: &str = r#"
name = "small-throttle"

[stack]
volume = { kind = "loop", size = "48MiB", instance = { throughput = "20MB/s" } }

[[factor]]
name = "volume"
levels = { slow = { volume.throughput = "10MB/s" }, fast = { volume.throughput = "40MB/s" } }

[workload]
kind = "io"
rw = "randread"
bs = "64KiB"
iodepth = 16
direct = true
ramp_time = "500ms"
runtime = "1s"

[decide]
metric = "throughput"
baseline = "slow"
blocks = { min = 6, max = 6 }

[trials]
settle = "20ms"
warmups = 0

[gates]
steal = "off"
idle = "off"
throttling = "off"
"#;

fn groups_of(run_tokens: &str) -> Vec<PathBuf> {
    let parent = ThrottleController::find().unwrap().parent;
    let entries = std::fs::read_dir(parent).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.display().to_string().contains(run_tokens)).collect()
}

/// The token that the run's names hold: the end of its directory's name.
fn token(lab: &Lab) -> String {
    let name = lab.the_run().file_name().unwrap().to_string_lossy().into_owned();
    format!("iostone-{}", name.rsplit('-').next().unwrap())
}

#[test]
fn a_faster_volume_buys_no_more_than_its_instance_carries() {
    needs_root!();
    if cannot_limit() {
        return;
    }
    let lab = Lab::new();
    let file = lab.write("experiment.toml", EXPERIMENT);
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let record = lab.record();
    for trial in record["trials"].as_array().unwrap() {
        let slow = trial["configuration"] == "slow";
        let limit = if slow { 10e6 } else { 20e6 };
        // An upper bound: on a busy machine there may be less, but no more. A second begins with what a tenth may take.
        let measured = trial["metrics"]["throughput"].as_f64().unwrap();
        assert!(measured < limit * 1.12, "{measured} over {limit}");
        let checks = trial["checks"].as_array().unwrap();
        let read_back = |text: &str| {
            checks.iter().any(|check| {
                check["layer"] == "throttle" && check["read_back"].as_str().unwrap().ends_with(text)
            })
        };
        assert!(read_back(if slow { "reads 10MB/s" } else { "reads 40MB/s" }), "{checks:?}");
        assert!(read_back("writes 20MB/s"), "{checks:?}");
        let roles: Vec<&str> = trial["signals"]["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|device| device["role"].as_str().unwrap())
            .collect();
        assert_eq!(roles[..2], ["stack", "below"]);
    }
    assert!(words(&output).contains("20MB/s"), "{}", words(&output));
    assert_eq!(groups_of(&token(&lab)), Vec::<PathBuf>::new());
    lab.assert_nothing_left();
}

#[test]
fn a_run_killed_under_limits_is_cleaned_up() {
    needs_root!();
    if cannot_limit() {
        return;
    }
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &EXPERIMENT.replace("runtime = \"1s\"", "runtime = \"60s\""));
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let own = child.id().to_string();
    let inside = || {
        let text = std::fs::read_to_string(format!("/proc/{own}/cgroup")).unwrap_or_default();
        text.contains("/iostone-")
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !inside() && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
    let was_inside = inside();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(was_inside, "the workload's process entered the group");
    let token = token(&lab);
    assert_eq!(groups_of(&token).len(), 1);
    let output = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(words(&output).contains("control group"), "{}", words(&output));
    assert_eq!(groups_of(&token), Vec::<PathBuf>::new());
    lab.assert_nothing_left();
}
