//! Throttled volumes through the binary: limits are read back into the record, the figures are those of the limits, and
//! nothing is left, also after a kill.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_stack::ThrottleController;
use rustix::process::{Pid, Signal, kill_process};

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
        assert!(measured < limit * 1.3, "{measured} over {limit}");
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
    let said = words(&output);
    assert!(said.contains("20MB/s of the instance"), "{said}");
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
    let was_inside = enters_the_group(&child);
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

/// Waits until a run's workload is under its limits.
fn enters_the_group(child: &Child) -> bool {
    let own = child.id().to_string();
    let inside = || {
        let text = std::fs::read_to_string(format!("/proc/{own}/cgroup")).unwrap_or_default();
        text.contains("/iostone-")
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !inside() && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
    inside()
}

/// One request takes 16 seconds, and 16 are under way.
fn tight() -> String {
    let limited = EXPERIMENT.replace("runtime = \"1s\"", "runtime = \"60s\"");
    limited.replace("throughput = \"20MB/s\"", "throughput = \"4096B/s\"")
}

#[test]
fn an_interrupt_ends_a_run_whose_requests_wait_for_minutes() {
    needs_root!();
    if cannot_limit() {
        return;
    }
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &tight());
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(enters_the_group(&child), "the workload's process entered the group");
    sleep(Duration::from_millis(500));
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    // Four minutes of requests are in the queue: this is no measure of speed, but of their having been let go.
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < deadline {
        sleep(Duration::from_millis(20));
    }
    let status = child.try_wait().unwrap();
    assert_eq!(status.and_then(|status| status.code()), Some(130), "still waiting, or ended otherwise");
    assert_eq!(groups_of(&token(&lab)), Vec::<PathBuf>::new());
    lab.assert_nothing_left();
}

#[test]
fn cleanup_frees_what_a_killed_run_still_waits_for() {
    needs_root!();
    if cannot_limit() {
        return;
    }
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &tight());
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(enters_the_group(&child), "the workload's process entered the group");
    sleep(Duration::from_millis(500));
    child.kill().unwrap();
    // Its threads hold the journal's lock for as long as the kernel holds their requests back.
    let output = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(words(&output).contains("control group"), "{}", words(&output));
    child.wait().unwrap();
    assert_eq!(groups_of(&token(&lab)), Vec::<PathBuf>::new());
    lab.assert_nothing_left();
}
