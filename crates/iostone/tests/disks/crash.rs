//! kill -9 at any moment: the machine is restored, no recorded trial is lost or doubled, and the run goes on.

use std::path::PathBuf;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::lab::{Lab, needs_root, small_barrier, wait_until, words};

/// Numbers of the trials whose record is on disk.
fn recorded(lab: &Lab) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for run in std::fs::read_dir(lab.runs()).into_iter().flatten().flatten() {
        for trial in std::fs::read_dir(run.path().join("trials")).into_iter().flatten().flatten() {
            let path = trial.path().join("trial.json");
            if let Ok(content) = std::fs::read(&path) {
                found.push((path, content));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn twenty_kills_at_random_moments_leave_nothing_and_lose_nothing() {
    needs_root!();
    let lab = Lab::new();
    let text = small_barrier("write back", 6).replace("runtime = \"400ms\"", "runtime = \"150ms\"");
    let file = lab.write("experiment.toml", &text);
    let mut before: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    // Any sequence does; this one is the same every time, the moments it hits are not.
    let mut random = 88_172_645_463_325_252_u64;
    let mut killed = 0;
    for attempt in 0..20 {
        let arguments: &[&str] =
            if lab.runs().exists() && std::fs::read_dir(lab.runs()).unwrap().next().is_some() {
                &["run", "--resume", "latest"]
            } else {
                &["run", &file]
            };
        let mut child = lab.iostone(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let moment = Duration::from_millis(20 + random % 2500);
        let deadline = Instant::now() + moment;
        while Instant::now() < deadline && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            killed += 1;
        }
        child.wait().unwrap();
        let after = recorded(&lab);
        for trial in &before {
            assert!(after.contains(trial), "attempt {attempt}: {} was lost or changed", trial.0.display());
        }
        before = after;
        // Every other time by the command, otherwise by the start of the next run.
        if attempt % 2 == 0 {
            let output = lab.iostone(&["cleanup"]).output().unwrap();
            assert!(output.status.success(), "{}", words(&output));
            lab.assert_nothing_left();
        }
    }
    assert!(killed >= 5, "only {killed} kills hit a running process");
    let output = lab.iostone(&["run", "--resume", "latest"]).output().unwrap();
    assert!(output.status.success() || words(&output).contains("has finished"), "{}", words(&output));
    lab.assert_nothing_left();

    let record = lab.record();
    assert_eq!(record["finished"], true);
    let trials = record["trials"].as_array().unwrap();
    let mut numbers: Vec<u64> = trials.iter().map(|trial| trial["number"].as_u64().unwrap()).collect();
    numbers.dedup();
    assert_eq!(numbers, (1..=trials.len() as u64).collect::<Vec<_>>(), "each number once, without a gap");
    let mut places: Vec<(u64, String)> = trials
        .iter()
        .map(|trial| (trial["block"].as_u64().unwrap(), trial["configuration"].as_str().unwrap().to_owned()))
        .collect();
    let count = places.len();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), count, "no configuration ran twice in a block");
    let counted =
        record["blocks"].as_array().unwrap().iter().filter(|block| block["counted"] == true).count();
    assert!(counted >= 6, "{counted} blocks count");
}

#[test]
fn cleanup_restores_the_machine_also_when_the_run_directory_is_gone() {
    needs_root!();
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &small_barrier("write back", 6).replace("400ms", "20s"));
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&mut child, || !lab.attached_loops().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!lab.attached_loops().is_empty());
    // Mounted or not: what can be removed is removed, as a careless hand would.
    let _ = std::process::Command::new("rm").args(["-rf", "--one-file-system"]).arg(lab.runs()).output();
    let output = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(lab.attached_loops().is_empty());
    lab.assert_nothing_left();
    let again = lab.iostone(&["cleanup"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&again.stdout), "nothing to undo\n");
}

#[test]
fn an_interrupt_undoes_everything_exits_130_and_the_run_can_go_on() {
    needs_root!();
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &small_barrier("write back", 6));
    let mut child =
        lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, || recorded(&lab).len() >= 3);
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    lab.assert_nothing_left();
    let output = lab.iostone(&["run", "--resume", "latest"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(lab.record()["finished"], true);
}

#[test]
fn signals_in_a_row_still_undo_everything() {
    needs_root!();
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &small_barrier("write back", 6).replace("400ms", "20s"));
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&mut child, || !lab.attached_loops().is_empty());
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    // What a closing terminal and `timeout` send, all at once.
    for signal in [Signal::TERM, Signal::HUP, Signal::TERM, Signal::INT, Signal::HUP, Signal::INT] {
        rustix::process::kill_process(pid, signal).unwrap();
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    lab.assert_nothing_left();
}

#[test]
fn a_run_is_not_resumed_with_another_plan_or_without_a_trial_it_had() {
    needs_root!();
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &small_barrier("write back", 6));
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&mut child, || recorded(&lab).len() >= 3);
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    child.wait().unwrap();
    let refused = |why: &str| {
        let output = lab.iostone(&["run", "--resume", "latest"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", words(&output));
        assert!(words(&output).contains(why), "{}", words(&output));
    };

    let plan = lab.the_run().join("plan.json");
    let declared = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, declared.replace("\"margin\": \"3%\"", "\"margin\": \"30%\"")).unwrap();
    refused("what was declared before cannot be changed");
    std::fs::write(&plan, &declared).unwrap();

    let trial = lab.the_run().join("trials/000001");
    let aside = lab.path().join("aside");
    std::fs::rename(&trial, &aside).unwrap();
    refused("trial 1 is in the journal, but its record is gone");
    std::fs::rename(&aside, &trial).unwrap();

    let environment = lab.the_run().join("environment.json");
    let before = std::fs::read_to_string(&environment).unwrap();
    std::fs::write(&environment, before.replace("\"release\": \"", "\"release\": \"another-")).unwrap();
    refused("another machine or kernel");
    std::fs::write(&environment, before).unwrap();

    let output = lab.iostone(&["run", "--resume", "latest"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
}

#[test]
fn a_run_that_is_being_written_is_not_resumed_and_cleanup_leaves_it_alone() {
    needs_root!();
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &small_barrier("write back", 6).replace("400ms", "5s"));
    let mut child = lab.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(&mut child, || !lab.attached_loops().is_empty());
    let resumed = lab.iostone(&["run", "--resume", "latest"]).output().unwrap();
    assert_eq!(resumed.status.code(), Some(2), "{}", words(&resumed));
    assert!(words(&resumed).contains("another iostone"), "{}", words(&resumed));
    let cleaned = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(words(&cleaned).contains("left alone"), "{}", words(&cleaned));
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    assert!(!lab.attached_loops().is_empty());
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    lab.assert_nothing_left();
}

#[test]
fn two_runs_at_once_do_not_touch_each_other() {
    needs_root!();
    let labs = [Lab::new(), Lab::new()];
    let children: Vec<_> = labs
        .iter()
        .map(|lab| {
            let file = lab.write("experiment.toml", &small_barrier("write back", 6));
            lab.iostone(&["run", &file]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for (child, lab) in children.into_iter().zip(&labs) {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        lab.assert_nothing_left();
    }
}
