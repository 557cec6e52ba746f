//! `io`: the load engine by itself, on files of a temporary directory.

use std::fs;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bench, Said, assert_text, masked};

#[test]
fn every_request_is_counted_in_json() {
    let bench = Bench::new();
    let write = ["io", "--filename", "data", "--rw", "write", "--size", "1MiB", "--fsync", "4", "--json"];
    let written = bench.iostone(&write).ended_with(0).json();
    assert_eq!(written["schema"], "iostone/io/1");
    assert_eq!((&written["writes"]["ios"], &written["writes"]["bytes"]), (&256.into(), &1_048_576.into()));
    assert_eq!(written["writes"]["latency"]["count"], 256);
    assert_eq!(written["syncs"]["count"], 64);
    assert_eq!(written["reads"]["ios"], 0);
    assert_eq!(fs::metadata(bench.path("data")).unwrap().len(), 1_048_576);

    let read =
        ["io", "--filename", "data", "--rw", "randread", "--bs", "8KiB", "--io-size", "256KiB", "--json"];
    let read = bench.iostone(&read).ended_with(0).json();
    assert_eq!((&read["reads"]["ios"], &read["reads"]["bytes"]), (&32.into(), &262_144.into()));
    assert_eq!((&read["writes"]["ios"], &read["error"]), (&0.into(), &serde_json::Value::Null));
    assert_eq!(bench.names(), ["data"]);
}

#[test]
fn the_same_seed_writes_the_same_data() {
    let write = |seed: &str| {
        let bench = Bench::new();
        let job = ["--rw", "randwrite", "--size", "1MiB", "--io-size", "64KiB", "--seed", seed];
        bench.iostone(&[&["io", "--filename", "data"], &job[..]].concat()).ended_with(0);
        fs::read(bench.path("data")).unwrap()
    };
    assert!(write("7") == write("7"), "the data differ");
    assert!(write("7") != write("8"), "the seed is ignored");
}

#[test]
fn people_read_rates_latencies_and_the_seed() {
    let bench = Bench::new();
    let job = ["--rw", "write", "--size", "1MiB", "--fdatasync", "1", "--seed", "7"];
    let said = bench.iostone(&[&["io", "--filename", "data"], &job[..]].concat()).ended_with(0);
    for words in
        ["256 writes in ", "laid out 1.00 MiB", "\nwrites ", "\nsyncs ", "\nwrite + sync ", "seed 7\n"]
    {
        assert!(said.stdout.contains(words), "`{words}` is not in:\n{}", said.stdout);
    }
    assert_eq!(said.stderr, "");
}

#[test]
fn a_device_that_fails_ends_the_job_with_its_figures_and_code_1() {
    let bench = Bench::new();
    let said = bench.iostone(&["io", "--filename", "/dev/full", "--rw", "write", "--size", "1MiB", "--json"]);
    let said = said.ended_with(1);
    said.complains_of("ENOSPC when writing 4096 bytes at offset 0");
    assert_eq!(said.json()["writes"]["ios"], 0);
}

#[test]
fn a_file_of_somebody_elses_is_not_written_over() {
    let bench = Bench::new();
    bench.write("thesis", "years of work");
    let write = ["io", "--filename", "thesis", "--rw", "write", "--size", "64KiB"];
    bench.iostone(&write).ended_with(3).complains_of("--destroy thesis");
    assert_eq!(fs::read_to_string(bench.path("thesis")).unwrap(), "years of work");
    bench.iostone(&["io", "--filename", "thesis", "--rw", "read", "--size", "64KiB"]).ended_with(2);
    assert_eq!(fs::read_to_string(bench.path("thesis")).unwrap(), "years of work");
    bench.iostone(&[&write[..], &["--destroy", "thesis"]].concat()).ended_with(0);
    assert_eq!(fs::metadata(bench.path("thesis")).unwrap().len(), 64 << 10);
}

/// Whether a process has a handler for SIGINT by now: the second bit of its caught signals, `proc_pid_status(5)`.
fn catches_interrupts(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

#[test]
fn an_interrupted_job_gives_the_figures_so_far() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    let job = ["--rw", "randread", "--runtime", "10min", "--json"];
    let mut command = bench.command(&[&["io", "--filename", "data"], &job[..]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !catches_interrupts(&child) {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::from(child.wait_with_output().unwrap()).ended_with(130);
    assert_eq!(said.json()["interrupted"], true);
    assert_eq!(said.stderr, "error: interrupted; the figures cover the time before\n");
}

#[test]
fn an_interrupted_layout_has_no_figures() {
    let bench = Bench::new();
    // Large enough to be interrupted, small enough to find room.
    let job = ["--rw", "randread", "--size", "2GiB"];
    let mut command = bench.command(&[&["io", "--filename", "data"], &job[..]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && (!catches_interrupts(&child) || !bench.path("data").exists())
    {
        std::thread::yield_now();
    }
    if child.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    }
    let said = Said::from(child.wait_with_output().unwrap()).ended_with(130);
    assert_eq!((said.stdout.as_str(), said.stderr.contains("interrupted")), ("", true), "{}", said.stderr);
}

#[test]
fn jobs_that_cannot_be_done_are_refused() {
    let bench = Bench::new();
    bench.write("data", vec![0u8; 1 << 20]);
    let here = bench.path("").display().to_string();
    let cases: &[&[&str]] = &[
        &["missing/data", "--size", "1MiB"],
        &["data", "--bs", "1000B", "--direct"],
        &["data", "--bs", "1MiB", "--size", "4KiB"],
        &["data", "--bs", "0B"],
        &["data", "--bs", "4KiBs"],
        &["data", "--bs", "4096"],
        &["data", "--runtime", "0s"],
        &["data", "--runtime", "10"],
        &["data", "--iodepth", "0"],
        &["data", "--iodepth", "8", "--engine", "sync"],
        &["data", "--numjobs", "0"],
        &["data", "--fsync", "1"],
        &["data", "--rw", "write", "--fsync", "1", "--fdatasync", "1"],
        &["data", "--rw", "randrw"],
        &["new", "--rw", "read"],
        &["", "--size", "1MiB"],
        &[&here, "--rw", "read"],
        &[&here, "--rw", "write"],
    ];
    let mut all = String::new();
    for case in cases {
        let said = bench.iostone(&[&["io", "--filename"], *case].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{case:?}: {}", said.stderr);
        all += &format!("{}\n    {}\n", case.join(" "), said.stderr.trim_end().replace('\n', "\n    "));
    }
    assert_eq!(bench.names(), ["data"]);
    assert_text("io_refusals", &masked(&all.replace(&here, "[here]"), &bench, "none"));
}
