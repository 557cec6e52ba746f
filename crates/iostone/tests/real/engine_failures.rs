//! Docker that dies under a trial, finds no room, or stands at an unusual path: each failed trial says why, the next one gets
//! a container of its own, and nothing is left.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// How much a process has written. Laying out the workload's files is a lot, starting it is next to nothing.
fn written_bytes(pid: u32) -> u64 {
    let counters = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let of =
        |name: &str| counters.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    // The first counts calls, the second what a ring submits as well.
    ["wchar:", "write_bytes:"].into_iter().filter_map(of).sum()
}

/// Whether the first trial of a lab's run has ended.
fn has_recorded(lab: &Lab) -> bool {
    let runs = std::fs::read_dir(lab.runs()).into_iter().flatten().flatten();
    runs.into_iter().any(|run| run.path().join("trials/000001/trial.json").exists())
}

/// Sends a signal to one process of the engine, or to the `agent`, once that lays out its files in the first container; gives
/// what the run said in the end. None where it came too late: on a busy machine a trial may end before.
fn run_and_strike(lab: &Lab, text: &str, victim: &str, signal: Signal) -> Option<Output> {
    let file = lab.write("experiment.toml", text);
    let mut command = lab.iostone(&["run", &file, "--quick"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut running = Running(Some(child));
    let deadline = Instant::now() + Duration::from_secs(180);
    let (token, processes, agent) = loop {
        let ended = running.0.as_mut().unwrap().try_wait().unwrap();
        if ended.is_some() {
            let output = running.0.take().unwrap().wait_with_output().unwrap();
            panic!("the run ended before its time: {}", words(&output));
        }
        if has_recorded(lab) {
            return None;
        }
        assert!(Instant::now() < deadline, "no agent began to lay out its files");
        if let Some(token) = token(lab) {
            let processes = engine_processes(&token);
            let agent =
                processes.iter().find(|(pid, name)| name == "iostone" && written_bytes(*pid) > 1 << 20);
            if let Some(agent) = agent.cloned() {
                break (token, processes, agent);
            }
        }
        thread::sleep(Duration::from_millis(50));
    };
    let struck =
        if victim == "agent" { agent } else { processes.iter().find(|(_, name)| name == victim)?.clone() };
    // It may have ended meanwhile, with its trial.
    kill_process(Pid::from_raw(i32::try_from(struck.0).unwrap()).unwrap(), signal).ok()?;
    if has_recorded(lab) {
        return None;
    }
    let output = running.0.take().unwrap().wait_with_output().unwrap();
    lab.assert_nothing_left();
    assert_eq!(engine_processes(&token), Vec::new(), "processes are left");
    Some(output)
}

/// The reasons of the trials that failed, and how many did not.
fn reasons(lab: &Lab) -> (Vec<String>, usize) {
    let trials = lab.record()["trials"].as_array().unwrap().clone();
    let (good, bad): (Vec<Value>, Vec<Value>) = trials.into_iter().partition(|trial| trial["valid"] == true);
    (bad.iter().map(Value::to_string).collect(), good.len())
}

fn fails_by_itself(victim: &str, signal: Signal, reason: &str) {
    for _ in 0..5 {
        let lab = Lab::new();
        let struck = run_and_strike(&lab, &experiment("512MiB", "overlay2", "4s"), victim, signal);
        let Some(output) = struck else { continue };
        let (failed, good) = reasons(&lab);
        let said = words(&output);
        assert!(
            said.contains(reason) || failed.iter().any(|one| one.contains(reason)),
            "{said}\n{failed:#?}"
        );
        assert!(good >= 1, "the trial after it is good: {said}");
        return;
    }
    panic!("five trials ended before `{victim}` was struck");
}

#[test]
fn a_container_that_loses_its_shim_fails_its_trial() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("containerd-shim", Signal::KILL, "the agent ended during the trial");
}

#[test]
fn a_killed_daemon_fails_its_trial() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("dockerd", Signal::KILL, "the daemon is gone");
}

#[test]
fn a_killed_containerd_fails_its_trial() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("containerd", Signal::KILL, "ended during the trial");
}

#[test]
fn a_stopped_agent_fails_its_trial_and_is_not_waited_for() {
    needs_root!();
    needs_tool!("dockerd");
    fails_by_itself("agent", Signal::STOP, "was suspended for 5 s");
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
