//! Workloads in overlays and containers, through the binary: where they stood is in the record as it was seen from inside,
//! limits reach them, and nothing is left.

use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool, words};

/// Levels of the place in a small container; the workload and the rest of the stack follow.
fn experiment(container: &str, places: &[&str], stack: &str, workload: &str, metric: &str) -> String {
    let levels: Vec<String> =
        places.iter().map(|place| format!("{place} = {{ container.place = \"{place}\" }}")).collect();
    format!(
        r#"
name = "small-container"

[stack]
volume = {{ kind = "loop", size = "512MiB" }}
filesystem = {{ kind = "ext4" }}
container = {{ {container} }}
{stack}

[[factor]]
name = "place"
levels = {{ {} }}

[workload]
{workload}

[decide]
metric = "{metric}"
baseline = "{}"
blocks = {{ min = 6, max = 6 }}

[trials]
settle = "20ms"
warmups = 0

[gates]
steal = "off"
idle = "off"
throttling = "off"
"#,
        levels.join(", "),
        places[0]
    )
}

const SYNCED: &str =
    "kind = \"io\"\nrw = \"randwrite\"\nbs = \"8KiB\"\nsize = \"8MiB\"\nfdatasync = 1\nruntime = \"400ms\"";

fn rehearse(lab: &Lab, text: &str) -> Vec<Value> {
    let file = lab.write("experiment.toml", text);
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let trials = lab.record()["trials"].as_array().unwrap().clone();
    assert!(!trials.is_empty());
    for trial in &trials {
        assert_eq!(trial["valid"], true, "{trial:#}");
        assert_eq!(trial["container"]["place"], trial["configuration"], "{trial:#}");
    }
    trials
}

fn of<'a>(trials: &'a [Value], place: &'a str) -> impl Iterator<Item = &'a Value> {
    trials.iter().filter(move |trial| trial["configuration"] == place)
}

fn line(trial: &Value) -> &str {
    trial["container"]["mount_line"].as_str().unwrap()
}

#[test]
fn a_plain_overlay_is_worked_in_and_recorded_as_it_is_seen() {
    needs_root!();
    let lab = Lab::new();
    let places = ["host", "layer", "tmpfs"];
    let trials = rehearse(&lab, &experiment("kind = \"overlay\"", &places, "", SYNCED, "iops"));
    assert!(of(&trials, "host").all(|trial| line(trial).contains(" - ext4 ")));
    assert!(of(&trials, "layer").all(|trial| line(trial).contains(" - overlay ")));
    for trial in of(&trials, "tmpfs") {
        assert!(line(trial).contains(" - tmpfs "), "{trial:#}");
        let gates = trial["gates"].as_array().unwrap();
        let served = gates.iter().find(|gate| gate["gate"] == "served").unwrap();
        assert!(served["message"].as_str().unwrap().contains("memory"), "{served:#}");
    }
}

fn in_an_engine(kind: &str) {
    let lab = Lab::new();
    let places = ["host", "bind", "layer"];
    let trials = rehearse(&lab, &experiment(&format!("kind = \"{kind}\""), &places, "", SYNCED, "iops"));
    for trial in &trials {
        assert_eq!(trial["container"]["kind"], kind);
        assert!(trial["container"]["start_seconds"].is_number(), "{trial:#}");
        assert!(trial["signals"]["cpu"]["user_seconds"].is_number(), "{trial:#}");
    }
    assert!(of(&trials, "layer").all(|trial| line(trial).contains(" - overlay ")));
    assert!(of(&trials, "bind").all(|trial| line(trial).contains(" - ext4 ")));
}

/// More buffers than the least limit on locked memory of today's systems, 8 MiB, and of earlier ones.
const DEEP: &str = "kind = \"io\"\nengine = \"io_uring\"\nrw = \"randread\"\nbs = \"128KiB\"\niodepth = 128\nsize = \"32MiB\"\n\
                    runtime = \"400ms\"";

/// Buffers that the kernel would count as locked memory are registered inside as they are outside.
fn the_engine_works_alike(kind: &str) {
    let lab = Lab::new();
    let places = ["host", "layer"];
    let trials = rehearse(&lab, &experiment(&format!("kind = \"{kind}\""), &places, "", DEEP, "iops"));
    let told = |trial: &Value| {
        ["engine_features", "engine_declined"].map(|name| trial["workload"]["facts"][name].to_string())
    };
    let outside = told(of(&trials, "host").next().unwrap());
    assert!(trials.iter().all(|trial| told(trial) == outside), "{outside:?}: {trials:#?}");
}

#[test]
fn the_engine_works_alike_in_a_container_of_docker() {
    needs_root!();
    needs_tool!("dockerd");
    the_engine_works_alike("docker");
}

#[test]
fn the_engine_works_alike_in_a_container_of_podman() {
    needs_root!();
    needs_tool!("podman");
    the_engine_works_alike("podman");
}

#[test]
fn a_workload_runs_in_a_container_of_docker() {
    needs_root!();
    needs_tool!("dockerd");
    in_an_engine("docker");
}

#[test]
fn a_workload_runs_in_a_container_of_podman() {
    needs_root!();
    needs_tool!("podman");
    in_an_engine("podman");
}

#[test]
fn fio_runs_in_a_container_of_podman() {
    needs_root!();
    needs_tool!("podman");
    needs_tool!("fio");
    let lab = Lab::new();
    let fio = "kind = \"fio\"\njob = '''\n[synced]\nrw=randwrite\nbs=8k\nsize=1M\nfdatasync=1\n'''";
    let places = ["bind", "layer"];
    for trial in rehearse(&lab, &experiment("kind = \"podman\"", &places, "", fio, "iops")) {
        assert!(trial["metrics"]["iops"].as_f64().unwrap() > 0.0, "{trial:#}");
        assert_eq!(trial["workload"]["claimed_written_bytes"], 1 << 20, "{trial:#}");
    }
}

/// Programs of the workload are in the image, and what limits the trial holds them inside as well.
fn limits_reach_inside(kind: &str) {
    let lab = Lab::new();
    let places = ["host", "layer"];
    let busy =
        "kind = \"command\"\nargv = [\"sh\", \"-c\", \"i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done\"]";
    let stack = "limit = { cpu = \"20%\" }";
    let text = experiment(&format!("kind = \"{kind}\""), &places, stack, busy, "wall_time");
    for trial in rehearse(&lab, &text) {
        assert!(trial["signals"]["throttled"].as_f64().unwrap() > 0.0, "{trial:#}");
    }
}

#[test]
fn limits_reach_into_a_container_of_docker() {
    needs_root!();
    needs_tool!("dockerd");
    limits_reach_inside("docker");
}

#[test]
fn limits_reach_into_a_container_of_podman() {
    needs_root!();
    needs_tool!("podman");
    limits_reach_inside("podman");
}

#[test]
fn a_program_that_cannot_be_carried_is_named_before_anything_is_done() {
    needs_root!();
    needs_tool!("dockerd");
    let lab = Lab::new();
    let command = "kind = \"command\"\nargv = [\"no-such-program-here\"]";
    let text = experiment("kind = \"docker\"", &["host", "layer"], "", command, "wall_time");
    let file = lab.write("experiment.toml", &text);
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("no-such-program-here"), "{}", words(&output));
    assert!(!lab.runs().exists(), "a run was begun");
}
