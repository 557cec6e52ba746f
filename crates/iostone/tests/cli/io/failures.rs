//! I/O that fails: which errno, where, after how much, and the figures until then.

use std::fs::{self, OpenOptions};
use std::process::Stdio;

use serde_json::Value;

use super::ios;
use crate::support::{Bench, Said};

#[test]
fn a_device_that_is_full_ends_the_job_with_its_figures_and_code_1() {
    let bench = Bench::new();
    let said = bench.iostone(&["io", "--filename=/dev/full", "--rw=write", "--size=1MiB", "--json"]);
    let said = said.ended_with(1);
    assert_eq!(
        said.stderr,
        "error: ENOSPC when writing 4096 bytes at offset 0 of `/dev/full`, after 0 I/Os\n"
    );
    let document = said.json();
    let failed = &document["jobs"][0];
    assert_eq!(ios(failed), [0, 0, 0]);
    let error = &failed["error"];
    assert_eq!(
        (&error["errno"], &error["name"], &error["operation"]),
        (&28.into(), &"ENOSPC".into(), &"write".into())
    );
    // People get the table too.
    let said = bench.iostone(&["io", "--filename=/dev/full", "--rw=write", "--size=1MiB"]).ended_with(1);
    assert!(said.stdout.contains("nothing in "), "{}", said.stdout);
}

#[test]
fn a_job_may_outlive_its_errors_and_counts_them() {
    let bench = Bench::new();
    let load =
        ["io", "--filename=/dev/full", "--rw=write", "--size=64KiB", "--continue_on_error=write", "--json"];
    let said = bench.iostone(&load);
    let document = said.json();
    let done = &document["jobs"][0];
    assert_eq!((ios(done), &done["errors"]), ([0, 0, 0], &16.into()));
    // That it went on is no reason to call it a success.
    said.ended_with(1).complains_of("ENOSPC");
}

/// Starts a load that lasts until something goes wrong, and cuts its file to a half once it has begun.
fn cut_short(bench: &Bench, words: &[&str]) -> Said {
    fs::write(bench.path("data"), vec![1; 1 << 20]).unwrap();
    let endless = ["--time_based", "--runtime=10min", "--thinktime=1ms", "--json", "--filename=data"];
    let mut command = bench.command(&[&["io"], &endless[..], words].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It has begun once its threads are there.
    let tasks = format!("/proc/{}/task", child.id());
    while fs::read_dir(&tasks).unwrap().count() < 2 {
        std::thread::yield_now();
    }
    OpenOptions::new().write(true).open(bench.path("data")).unwrap().set_len(512 << 10).unwrap();
    Said::from(child.wait_with_output().unwrap()).ended_with(1)
}

fn error_of(said: &Said) -> Value {
    said.json()["jobs"][0]["error"].clone()
}

#[test]
fn a_file_that_is_cut_short_under_a_reader_ends_it_where_the_file_ends() {
    let bench = Bench::new();
    let said = cut_short(&bench, &["--rw=read", "--bs=64KiB"]);
    // The reader may have been anywhere behind the cut when it came.
    let error = error_of(&said);
    let offset = error["offset"].as_str().unwrap();
    let kibibytes: u64 = offset.strip_suffix("KiB").unwrap().parse().unwrap();
    assert!((512..1024).contains(&kibibytes), "{offset}");
    let place = kibibytes << 10;
    said.complains_of(&format!("error: short read at offset {place}: 0 of 65536 bytes of `data`, after "));
    assert_eq!((&error["name"], &error["errno"]), (&"short read".into(), &0.into()));
    let reads = said.json()["jobs"][0]["reads"]["ios"].as_u64().unwrap();
    assert_eq!(error["completed_ios"].as_u64(), Some(reads), "partial figures are kept");
}

#[test]
fn a_mapping_of_a_file_that_is_cut_short_fails_and_does_not_crash() {
    let bench = Bench::new();
    let said = cut_short(&bench, &["--rw=read", "--ioengine=mmap", "--bs=64KiB"]);
    said.complains_of("of `data`, after ");
    assert_eq!(error_of(&said)["name"], "EIO");
}

#[test]
fn what_takes_too_long_or_is_too_slow_ends_a_job_that_says_so() {
    let bench = Bench::new();
    bench.write("data", vec![1; 1 << 20]);
    let load = ["io", "--filename=data", "--rw=randread", "--direct=1", "--json"];
    let said = bench.iostone(&[&load[..], &["--max_latency=1ns"]].concat());
    if said.code == Some(2) {
        // fio's times are whole microseconds.
        let said = bench.iostone(&[&load[..], &["--max_latency=1us", "--number_ios=100"]].concat());
        said.ended_with(1).complains_of("took longer than `max_latency` allows");
    } else {
        said.ended_with(1).complains_of("took longer than `max_latency` allows");
    }
    let slow =
        ["--rate_iops_min=1000000000", "--rate_cycle=100", "--time_based", "--runtime=5s", "--thinktime=1ms"];
    bench.iostone(&[&load[..], &slow[..]].concat()).ended_with(1).complains_of("the rate fell below");
}
