//! Docker that dies under a trial, finds no room, or stands at an unusual path: each failed trial says why, the next one gets
//! a container of its own, and nothing is left.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool, words};

/// Two places in Docker, with a workload that runs long enough for something to happen to it.
fn experiment(volume: &str, driver: &str, runtime: &str) -> String {
    format!(
        r#"
name = "failing-engine"

[stack]
volume = {{ kind = "loop", size = "{volume}" }}
filesystem = {{ kind = "ext4" }}
container = {{ kind = "docker", driver = "{driver}" }}

[[factor]]
name = "place"
levels = {{ bind = {{ container.place = "bind" }}, layer = {{ container.place = "layer" }} }}

[workload]
kind = "io"
rw = "randwrite"
bs = "8KiB"
size = "8MiB"
fdatasync = 1
runtime = "{runtime}"

[decide]
metric = "iops"
baseline = "bind"
blocks = {{ min = 6, max = 6 }}

[trials]
settle = "20ms"
warmups = 0

[gates]
steal = "off"
idle = "off"
throttling = "off"
"#
    )
}

/// The processes of the engines that the sessions of a lab started, by the token that they carry.
fn engine_processes(token: &str) -> Vec<(u32, String)> {
    let wanted = format!("IOSTONE_ENGINE={token}-");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|one| one.starts_with(wanted.as_bytes())) {
            let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            found.push((pid, name.trim().to_owned()));
        }
    }
    found
}

/// The token of the session that is open in a lab, from the name of its journal.
fn token(lab: &Lab) -> Option<String> {
    let mut journals = std::fs::read_dir(lab.path().join("state/journals")).ok()?.flatten();
    journals.find_map(|entry| {
        let path: PathBuf = entry.path();
        path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned)
    })
}

/// A run that is ended with the test.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            if let Some(pid) = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()) {
                let _ = kill_process(pid, Signal::INT);
            }
            let _ = child.wait();
        }
    }
}

/// Kills one process of the engine once the agent is in the first container; gives what the run said in the end.
fn run_and_kill(lab: &Lab, text: &str, victim: &str) -> Output {
    let file = lab.write("experiment.toml", text);
    let mut command = lab.iostone(&["run", &file, "--quick"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(Some(child));
    let (token, processes) = loop {
        let ended = running.0.as_mut().unwrap().try_wait().unwrap();
        if ended.is_some() {
            let output = running.0.take().unwrap().wait_with_output().unwrap();
            panic!("the run ended before its time: {}", words(&output));
        }
        if let Some(token) = token(lab) {
            let processes = engine_processes(&token);
            // The first process of the container, and the agent that works in it.
            if processes.iter().filter(|(_, name)| name == "iostone").count() >= 2 {
                break (token, processes);
            }
        }
        thread::sleep(Duration::from_millis(50));
    };
    // A rehearsal works for a second. Were it still laying files out, it would fail all the same.
    thread::sleep(Duration::from_millis(300));
    let (pid, _) = processes.iter().find(|(_, name)| name == victim).unwrap_or_else(|| {
        panic!("no `{victim}` among {processes:?}");
    });
    kill_process(Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    let output = running.0.take().unwrap().wait_with_output().unwrap();
    lab.assert_nothing_left();
    assert_eq!(engine_processes(&token), Vec::new(), "processes are left");
    output
}

/// The reasons of the trials that failed, and how many did not.
fn reasons(lab: &Lab) -> (Vec<String>, usize) {
    let trials = lab.record()["trials"].as_array().unwrap().clone();
    let (good, bad): (Vec<Value>, Vec<Value>) = trials.into_iter().partition(|trial| trial["valid"] == true);
    (bad.iter().map(Value::to_string).collect(), good.len())
}

fn fails_by_itself(victim: &str, reason: &str) {
    let lab = Lab::new();
    let output = run_and_kill(&lab, &experiment("512MiB", "overlay2", "4s"), victim);
    let (failed, good) = reasons(&lab);
    let said = words(&output);
    assert!(said.contains(reason) || failed.iter().any(|one| one.contains(reason)), "{said}\n{failed:#?}");
    assert!(good >= 2, "the trials after it are good: {said}");
}

#[test]
fn a_container_that_loses_its_shim_fails_its_trial() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("containerd-shim", "the container ended in mid-trial");
}

#[test]
fn a_killed_daemon_fails_its_trial() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("dockerd", "the daemon is gone");
}

#[test]
fn a_killed_containerd_fails_its_trial() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("containerd", "ended in mid-trial");
}

#[test]
fn an_image_that_finds_no_room_says_which_key_makes_some() {
    needs_root!();
    needs_tool!("dockerd");
    let lab = Lab::new();
    // The plan reckons with iostone itself, and not with what else is carried.
    let large = std::fs::File::create(lab.path().join("large")).unwrap();
    large.set_len(700 << 20).unwrap();
    let carried =
        "kind = \"command\"\nfiles = [\"large\"]\nargv = [\"true\"]\n\n[decide]\nmetric = \"wall_time\"";
    let text = experiment("512MiB", "overlay2", "400ms");
    let (before, rest) = text.split_once("kind = \"io\"").unwrap();
    let (_, after) = rest.split_once("metric = \"iops\"").unwrap();
    let file = lab.write("experiment.toml", &format!("{before}{carried}{after}"));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    let said = words(&output);
    assert!(!output.status.success() && said.contains("no space left"), "{said}");
    assert!(said.contains("`stack.volume.size`"), "{said}");
    lab.assert_nothing_left();
}

#[test]
fn a_volume_that_cannot_hold_the_image_is_refused_before_anything_is_done() {
    needs_root!();
    needs_tool!("dockerd");
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment("16MiB", "overlay2", "400ms"));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("`stack.volume.size`"), "{}", words(&output));
    assert!(!lab.runs().exists(), "a run was begun");
}

#[test]
fn a_driver_that_the_filesystem_does_not_carry_is_refused_before_anything_is_done() {
    needs_root!();
    needs_tool!("dockerd");
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment("512MiB", "btrfs", "400ms"));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("container.driver"), "{}", words(&output));
    assert!(!lab.runs().exists(), "a run was begun");
}

/// overlayfs takes neither in the names of its layers.
#[test]
fn colons_and_commas_in_the_path_of_the_runs_do_no_harm() {
    needs_root!();
    needs_tool!("dockerd");
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment("512MiB", "overlay2", "400ms"));
    let runs = lab.path().join("at 10:30, again/runs");
    let output = lab.iostone(&["run", &file, "--quick"]).env("IOSTONE_RUNS", &runs).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let left = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!left.contains("again"), "{left}");
    assert!(Path::new(&runs).is_dir());
}
