//! `io`: the load engine by itself, on files of a temporary directory.

use std::fs;

use crate::support::{Bench, assert_text, masked};

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
