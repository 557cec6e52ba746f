//! How a load ends before its time: an interrupt, and a reader that went away.

use std::fs;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bench, Said};

/// Whether a process has a handler for SIGINT by now: the second bit of its caught signals, `proc_pid_status(5)`.
fn catches_interrupts(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

/// Starts a load and interrupts it once it can be and a file is there.
fn interrupted(bench: &Bench, words: &[&str], file: &str) -> Said {
    let mut command = bench.command(&[&["io"], words].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && (!catches_interrupts(&child) || !bench.path(file).exists()) {
        std::thread::yield_now();
    }
    if child.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    }
    Said::from(child.wait_with_output().unwrap())
}

#[test]
fn an_interrupted_job_gives_the_figures_so_far() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    let job = ["--filename=data", "--rw=randread", "--time_based", "--runtime=10min", "--json"];
    let said = interrupted(&bench, &job, "data").ended_with(130);
    assert_eq!(said.json()["jobs"][0]["interrupted"], true);
    assert_eq!(said.stderr, "error: interrupted; the figures cover the time before\n");
}

#[test]
fn an_interrupted_layout_has_no_figures_and_leaves_no_file() {
    let bench = Bench::new();
    // Large enough to be interrupted, small enough to find room.
    let layout = || interrupted(&bench, &["--filename=data", "--rw=randread", "--size=2GiB"], "data");
    let mut said = layout();
    // It may be done before whoever interrupts it has his turn.
    for _ in 0..3 {
        if said.code == Some(0) {
            fs::remove_file(bench.path("data")).unwrap();
            said = layout();
        }
    }
    let said = said.ended_with(130);
    assert_eq!((said.stdout.as_str(), said.stderr.contains("interrupted")), ("", true), "{}", said.stderr);
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn phases_behind_an_interrupted_one_do_not_begin() {
    let bench = Bench::new();
    let job = [
        "--size=64KiB",
        "--name=first",
        "--filename=data",
        "--rw=randwrite",
        "--time_based",
        "--runtime=10min",
        "--name=second",
        "--stonewall",
        "--filename=other",
        "--rw=write",
        "--json",
    ];
    let said = interrupted(&bench, &job, "data").ended_with(130);
    let jobs = said.json()["jobs"].as_array().unwrap().len();
    // The interrupt may also have come before the first of them.
    assert!(jobs <= 1, "{}", said.stdout);
    assert!(!bench.path("other").exists());
}

#[test]
fn one_interrupt_ends_jobs_beside_each_other() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    let job =
        ["--filename=data", "--rw=randread", "--time_based", "--runtime=10min", "--numjobs=3", "--json"];
    let said = interrupted(&bench, &job, "data").ended_with(130);
    for job in said.json()["jobs"].as_array().unwrap() {
        assert_eq!(job["interrupted"], true);
    }
}
