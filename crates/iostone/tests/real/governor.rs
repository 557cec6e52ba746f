//! Governed machines through the binary: the law acts and is recorded, and whoever of iostone and its governor is killed, no
//! group is left and no process stays slow.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Lab, needs_root, words};
use crate::limit::{cannot_limit_cpu, groups_named, processes_of};

/// A loop of a shell's, some CPU seconds long, beside a process that it does not wait for.
fn experiment(count: u32, machine: &str) -> String {
    format!(
        r#"
name = "small-governed"

[stack]
volume = {{ kind = "directory" }}

[[factor]]
name = "limit"
levels = {{ none = {{ limit.cpu = "none" }}, half = {{ limit.cpu = "50%" }} }}

[workload]
kind = "command"
argv = ["sh", "-c", "sleep 1000 & i=0; while [ $i -lt {count} ]; do i=$((i+1)); done"]

[decide]
metric = "wall_time"
baseline = "none"
blocks = {{ min = 6, max = 6 }}

[trials]
settle = "20ms"
warmups = 0

[gates]
idle = "off"

[machine]
kind = "governed"
cpu = "t1.micro"
law = "costly-bucket"
{machine}
"#
    )
}

/// Slow from the beginning: at 3 % of a processor it goes on for minutes.
const USED_UP: &str = "start = \"empty\"";

/// An iostone that is killed at the end of the test, however that ends, and cleaned up after.
struct Running<'a> {
    lab: &'a Lab,
    child: Child,
}

impl<'a> Running<'a> {
    fn start(lab: &'a Lab, mut command: Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { lab, child: command.spawn().unwrap() }
    }

    /// Its governor, once there is one.
    fn governor(&self) -> Option<u32> {
        let parent = format!("PPid:\t{}\n", self.child.id());
        let is_it = |pid: &u32| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0governor\0"))
                && fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|text| text.contains(&parent))
        };
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_it)
    }

    /// Waits until a law holds its workload.
    fn await_slow(&mut self) -> Held {
        wait_for("a workload in a group that is slow", &mut || {
            assert!(self.child.try_wait().unwrap().is_none(), "it ended before its workload had begun");
            tokens(self.lab).iter().any(|token| {
                let names = processes_of(token);
                ["sh", "sleep"].iter().all(|name| names.iter().any(|one| one.trim() == *name))
                    && governed(token).iter().any(|group| !is_free(group))
            })
        });
        let mut tokens = tokens(self.lab);
        assert_eq!(tokens.len(), 1, "{tokens:?}");
        Held { governor: self.governor().unwrap(), token: tokens.remove(0) }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = self.lab.iostone(&["cleanup"]).output();
    }
}

/// What a law holds: whose groups, by which process.
struct Held {
    token: String,
    governor: u32,
}

/// The sessions whose journals there are.
fn tokens(lab: &Lab) -> Vec<String> {
    let entries = fs::read_dir(lab.path().join("state/journals")).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned)).collect()
}

/// The inner groups of a session.
fn governed(token: &str) -> Vec<PathBuf> {
    groups_named(token).into_iter().filter(|group| group.ends_with("governed")).collect()
}

/// Whether a group has no quota, whichever version it is of.
fn is_free(group: &Path) -> bool {
    ["cpu.cfs_quota_us", "cpu.max"].iter().all(|file| {
        // A group that goes meanwhile holds nobody.
        fs::read_to_string(group.join(file))
            .map_or(true, |quota| quota.starts_with("-1") || quota.starts_with("max"))
    })
}

fn wait_for(what: &str, is_so: &mut dyn FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// Sends a signal; a process that has ended meanwhile has had it.
fn signal(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}

/// Gone, or waited for by nobody any more.
fn has_ended(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |line| line.is_empty())
}

/// Whether every thread of a process stands still.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    threads
        .map(|thread| fs::read_to_string(thread.path().join("status")).unwrap_or_default())
        .all(|status| status.contains("State:\tT"))
}

/// Starts a run whose first trial is slow from its beginning.
fn start_slow(lab: &Lab) -> Running<'_> {
    let file = lab.write("experiment.toml", &experiment(3_000_000, USED_UP));
    Running::start(lab, lab.iostone(&["run", &file]))
}

/// Cleans up, and looks that nothing of these sessions is left: no group, no process, so that nothing is limited or frozen.
fn assert_clean(lab: &Lab, sessions: &[String]) {
    let output = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    for token in sessions {
        assert_eq!(groups_named(token), Vec::<PathBuf>::new(), "{}", words(&output));
        // A process that was killed takes a moment to go.
        wait_for("no process of the session", &mut || processes_of(token).is_empty());
    }
    lab.assert_nothing_left();
}

#[test]
fn a_governed_machine_slows_down_what_spends_too_much_and_says_how_exactly() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment(1_000_000, "speed = 100"));
    let output = lab.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let record = lab.record();
    let processors = std::thread::available_parallelism().unwrap().get() as f64;
    for trial in record["trials"].as_array().unwrap() {
        let governor = &trial["governor"];
        let figure = |name: &str| governor[name].as_f64().unwrap();
        assert!(figure("throttled_times") >= 1.0, "{governor}");
        // A busy machine makes looks late, and what one look misses is an error of so little CPU time on each processor.
        let missed = figure("late_seconds") * processors;
        assert!(figure("used_cpu_seconds") < figure("allowed_cpu_seconds") * 1.5 + missed, "{governor}");
        assert!(governor["balance"].as_array().unwrap().len() >= 3, "{governor}");
        let laws = governor["other_laws"].as_array().unwrap();
        assert!(laws[0][0] == "costly-bucket" && laws.len() >= 3, "{governor}");
        let notes = trial["notes"].to_string();
        let note = "emulated by control groups: t1.micro, law `costly-bucket` (assumed), 100 times faster";
        assert!(notes.contains(note), "{notes}");
        let checks = trial["checks"].as_array().unwrap();
        assert!(checks.iter().any(|check| check["layer"] == "governor"), "{checks:?}");
    }
    assert_clean(&lab, &[]);
}

#[test]
fn a_trial_whose_governor_is_killed_fails_and_is_not_slowed_down_for_ever() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let mut running = start_slow(&lab);
    let held = running.await_slow();
    signal(held.governor, Signal::KILL);
    let trial = lab.the_run().join("trials/000001/trial.json");
    wait_for("the first trial is recorded", &mut || trial.exists());
    wait_for("the next trial has a governor of its own", &mut || {
        running.governor().is_some_and(|governor| governor != held.governor)
    });
    signal(running.child.id(), Signal::INT);
    running.child.wait().unwrap();
    let trial: Value = serde_json::from_slice(&fs::read(&trial).unwrap()).unwrap();
    let error = trial["workload"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("governor") && error.contains("does not count"), "{trial}");
    assert_ne!(trial["valid"], true, "{trial}");
    assert_clean(&lab, &[held.token]);
}

#[test]
fn a_governor_lets_go_when_iostone_is_killed_and_cleanup_removes_the_groups() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let mut running = start_slow(&lab);
    let held = running.await_slow();
    running.kill();
    wait_for("the governor ends by itself", &mut || has_ended(held.governor));
    let groups = governed(&held.token);
    assert!(!groups.is_empty() && groups.iter().all(|group| is_free(group)), "a quota is left: {groups:?}");
    // The workload goes with iostone; what it started itself is for the cleanup.
    wait_for("the workload ends", &mut || !processes_of(&held.token).iter().any(|name| name.trim() == "sh"));
    assert_eq!(processes_of(&held.token), ["sleep\n"]);
    assert_clean(&lab, &[held.token]);
}

#[test]
fn killing_both_of_them_leaves_nothing_behind_after_a_cleanup() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let mut running = start_slow(&lab);
    let held = running.await_slow();
    // So that neither lifts the quota for the other. A stop reaches one thread after the other.
    signal(running.child.id(), Signal::STOP);
    wait_for("iostone stands still", &mut || is_stopped(running.child.id()));
    signal(held.governor, Signal::KILL);
    wait_for("the governor is killed", &mut || has_ended(held.governor));
    running.kill();
    assert!(governed(&held.token).iter().any(|group| !is_free(group)), "nobody could lift the quota");
    assert_clean(&lab, &[held.token]);
}

#[test]
fn kills_at_random_moments_leave_nothing_behind_after_a_cleanup() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    // Any sequence does; this one is the same every time, the moments it hits are not.
    let mut random = 88_172_645_463_325_252_u64;
    for attempt in 0..9 {
        let lab = Lab::new();
        let mut running = start_slow(&lab);
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let deadline = Instant::now() + Duration::from_millis(100 + random % 1200);
        while Instant::now() < deadline && running.child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(2));
        }
        let sessions = tokens(&lab);
        // Iostone alone, the governor first, both.
        let governor = running.governor().filter(|_| attempt % 3 > 0);
        if let Some(governor) = governor {
            signal(governor, Signal::KILL);
        }
        if governor.is_some() && attempt % 3 == 1 {
            sleep(Duration::from_millis(random % 400));
        }
        running.kill();
        assert_clean(&lab, &sessions);
    }
}

#[test]
fn a_machine_with_more_processors_than_this_one_is_refused() {
    let processors = std::thread::available_parallelism().unwrap().get();
    if processors >= 8 {
        eprintln!("skipped: needs fewer than the 8 processors of t2.2xlarge");
        return;
    }
    let lab = Lab::new();
    let text = experiment(1, "").replace("t1.micro", "t2.2xlarge").replace("law = \"costly-bucket\"", "");
    let file = lab.write("experiment.toml", &text);
    let said = "`t2.2xlarge` has 8 processors, but this machine has";
    let asked: [&[&str]; 3] =
        [&["run", &file], &["run", "--dry-run", &file], &["limit", "--governed", "t2.2xlarge", "--", "true"]];
    for arguments in asked {
        let output = lab.iostone(arguments).output().unwrap();
        // A dry run has done all that it was asked for, once it has said so.
        let code = if arguments.contains(&"--dry-run") { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", words(&output));
        assert!(words(&output).contains(said), "{arguments:?}: {}", words(&output));
        assert!(words(&output).contains("iostone credits --list"), "{arguments:?}: {}", words(&output));
    }
    lab.assert_nothing_left();
}

/// `iostone limit` under the allowance of a t1.micro.
fn under_allowance(lab: &Lab, options: &[&str], script: &str) -> Command {
    let mut arguments = vec!["limit", "--governed", "t1.micro", "--law", "costly-bucket"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", script]);
    lab.iostone(&arguments)
}

#[test]
fn a_command_under_an_allowance_is_slowed_down_and_says_so() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let loops = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let output = under_allowance(&lab, &["50%", "--speed", "100", "--json"], loops).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["governed_seconds"].as_f64().unwrap() > 0.0, "{told}");
    assert!(told["governor"]["throttled_times"].as_u64().unwrap() >= 1, "{told}");
    let output = under_allowance(&lab, &["--speed", "20"], "exit 7").output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", words(&output));
    assert!(
        words(&output).contains("by the allowance of t1.micro (law `costly-bucket`)"),
        "{}",
        words(&output)
    );
    lab.assert_nothing_left();
}

#[test]
fn a_command_under_an_allowance_is_let_go_of_when_iostone_is_killed() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let script = "sleep 1000 & while :; do :; done";
    let command = under_allowance(&lab, &["--speed", "20", "--start", "empty"], script);
    let mut running = Running::start(&lab, command);
    let held = running.await_slow();
    running.kill();
    wait_for("the governor ends by itself", &mut || has_ended(held.governor));
    let groups = governed(&held.token);
    assert!(!groups.is_empty() && groups.iter().all(|group| is_free(group)), "a quota is left: {groups:?}");
    assert_clean(&lab, &[held.token]);
}

#[test]
fn a_command_whose_governor_is_killed_is_let_go_of_and_its_figures_are_no_success() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let script = "sleep 1000 & i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let mut running = Running::start(&lab, under_allowance(&lab, &["--start", "empty"], script));
    let held = running.await_slow();
    signal(held.governor, Signal::KILL);
    assert_eq!(running.child.wait().unwrap().code(), Some(1));
    assert_clean(&lab, &[held.token]);
}
