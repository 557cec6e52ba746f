//! A fleet of real SSH servers through real Ansible: one killed in the middle and resumed, a controller killed, a plain playbook.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool, small_barrier, words};
use crate::ssh_hosts::SshHosts;

const PROGRAM: &str = env!("CARGO_BIN_EXE_iostone");

/// The one fleet directory of a lab.
fn the_fleet(lab: &Lab) -> PathBuf {
    let mut fleets: Vec<PathBuf> =
        std::fs::read_dir(lab.runs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(fleets.len(), 1, "{fleets:?}");
    fleets.remove(0)
}

fn states(fleet: &std::path::Path) -> Vec<(String, String)> {
    let text = std::fs::read(fleet.join("fleet.json")).unwrap();
    let fleet: Value = serde_json::from_slice(&text).unwrap();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    fleet["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| (word(&host["state"]), word(&host["reason"])))
        .collect()
}

#[track_caller]
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come");
        sleep(Duration::from_millis(50));
    }
}

fn trials(hosts: &SshHosts, name: &str) -> u64 {
    hosts.status(name).map_or(0, |status| status["trials"].as_u64().unwrap_or(0))
}

#[test]
fn three_hosts_one_killed_resumed_and_one_report() {
    needs_root!();
    needs_tool!("ansible-playbook");
    needs_tool!("sshd");
    let lab = Lab::new();
    let hosts = SshHosts::start(&lab, 3, true);
    let inventory = hosts.inventory(&[]).display().to_string();
    let file = lab.write("experiment.toml", &small_barrier("write back", 7));
    let quick = ["--poll", "2s", "--lease", "60s"];
    let mut run = hosts.controller(&lab, PROGRAM, &["fleet", "run", &file, "--inventory", &inventory]);
    let child = run.args(quick).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("a trial of host2", || trials(&hosts, "host2") > 1);
    let pid = hosts.status("host2").unwrap()["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(4), "{}", words(&ended));
    let fleet = the_fleet(&lab);
    let found = states(&fleet);
    assert_eq!(
        found.iter().map(|(state, _)| state.as_str()).collect::<Vec<_>>(),
        ["done", "missing", "done"]
    );
    assert!(found[1].1.contains("killed"), "{found:?}");
    assert!(words(&ended).contains("--resume"), "{}", words(&ended));
    // What the killed run had built is there still, and the next one takes it away.
    let path = fleet.display().to_string();
    let mut again = hosts.controller(&lab, PROGRAM, &["fleet", "run", "--resume", &path, "--json"]);
    let again = again.args(quick).output().unwrap();
    assert!(again.status.success(), "{}", words(&again));
    let report: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(report["hosts"].as_array().unwrap().len(), 3);
    assert_eq!(report["comparisons"][0]["these"]["verdict"], "faster", "{report:#}");
    assert!(report["comparisons"][0]["like_these"]["verdict"].is_null());
    assert!(!words(&again).contains("host1: started"), "what is done was done again");
    let page = std::fs::read_to_string(fleet.join("report.html")).unwrap();
    assert!(hosts.names.iter().all(|name| page.contains(name)));
    let shown = lab.iostone(&["report", &path]).output().unwrap();
    assert!(shown.status.success() && words(&shown).contains("hosts like these"), "{}", words(&shown));
    // The killed run's trials were kept: the resumed run has a second session.
    let sessions = std::fs::read_to_string(fleet.join("hosts/host2/journal.jsonl")).unwrap();
    assert_eq!(
        sessions.matches("session_begun").count().max(sessions.matches("session-begun").count()),
        2,
        "{sessions}"
    );
    hosts.assert_as_found();
    lab.assert_nothing_left();
}

#[test]
fn hosts_end_by_themselves_when_the_controller_is_gone() {
    needs_root!();
    needs_tool!("ansible-playbook");
    needs_tool!("sshd");
    let lab = Lab::new();
    let hosts = SshHosts::start(&lab, 3, true);
    let inventory = hosts.inventory(&[]).display().to_string();
    let text = small_barrier("write back", 7).replace("400ms", "3s");
    let file = lab.write("experiment.toml", &text);
    let mut run = hosts.controller(&lab, PROGRAM, &["fleet", "run", &file, "--inventory", &inventory]);
    run.args(["--poll", "2s", "--lease", "6s"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = run.spawn().unwrap();
    wait_for("a trial of every host", || hosts.names.iter().all(|name| trials(&hosts, name) > 0));
    child.kill().unwrap();
    child.wait().unwrap();
    let state = |name: &String| hosts.status(name).map_or(Value::Null, |status| status["state"].clone());
    wait_for("the end of every lease", || hosts.names.iter().all(|name| state(name) == "expired"));
    assert_eq!(lab.attached_loops(), Vec::<String>::new(), "a host did not undo everything");
    let fleet = the_fleet(&lab).display().to_string();
    let cleaned = hosts.controller(&lab, PROGRAM, &["fleet", "cleanup", &fleet]).output().unwrap();
    assert!(cleaned.status.success(), "{}", words(&cleaned));
    hosts.assert_as_found();
    lab.assert_nothing_left();
}

#[test]
fn the_collection_works_without_the_command() {
    needs_root!();
    needs_tool!("ansible-playbook");
    needs_tool!("ansible-galaxy");
    needs_tool!("sshd");
    let lab = Lab::new();
    let hosts = SshHosts::start(&lab, 3, true);
    let inventory = hosts.inventory(&[]).display().to_string();
    let file = lab.write("experiment.toml", &small_barrier("write back", 6));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ansible");
    let here = lab.path().display().to_string();
    for arguments in [
        vec!["collection", "build", source, "--output-path", &here],
        vec!["collection", "install", "iostone-fleet-0.1.0.tar.gz", "-p", &here, "--offline"],
    ] {
        let made = hosts.controller(&lab, "ansible-galaxy", &arguments).output().unwrap();
        assert!(made.status.success(), "{}", words(&made));
    }
    std::fs::remove_file(lab.path().join("iostone-fleet-0.1.0.tar.gz")).unwrap();
    let results = lab.path().join("results").display().to_string();
    let variables = format!(
        "{{\"iostone_experiment\": \"{file}\", \"iostone_binaries\": {{\"{}\": \"{PROGRAM}\"}}, \"iostone_poll\": 2, \
         \"iostone_results\": \"{results}\"}}",
        std::env::consts::ARCH
    );
    let arguments = ["-i", &inventory, "iostone.fleet.site", "-e", &variables];
    let mut play = hosts.controller(&lab, "ansible-playbook", &arguments);
    let played = play.env("ANSIBLE_COLLECTIONS_PATH", &here).output().unwrap();
    assert!(played.status.success(), "{}", words(&played));
    hosts.assert_as_found();
    let collected = lab.iostone(&["fleet", "collect", &results, "--json"]).output().unwrap();
    assert!(collected.status.success(), "{}", words(&collected));
    let report: Value = serde_json::from_slice(&collected.stdout).unwrap();
    let names: Vec<&str> =
        report["hosts"].as_array().unwrap().iter().filter_map(|host| host["name"].as_str()).collect();
    assert_eq!(names, ["host1", "host2", "host3"]);
    lab.assert_nothing_left();
}
