//! `io`: the load engine by itself, on files of a temporary directory.

mod ends;
mod failures;
mod figures;
mod language;
mod like_fio;
mod ownership;
mod phases;
mod refusals;
mod shapes;
mod syncs;
mod targets;
mod verify;
mod verify_crash;

use serde_json::Value;

use crate::support::Bench;

/// What every job of a load did; it must have ended well.
#[track_caller]
fn jobs(bench: &Bench, words: &[&str]) -> Vec<Value> {
    let mut document = bench.iostone(&[&["io"], words, &["--json"]].concat()).ended_with(0).json();
    match document["jobs"].take() {
        Value::Array(jobs) => jobs,
        other => panic!("`jobs` is {other}"),
    }
}

/// What the only job of a load did; it must have ended well.
#[track_caller]
fn job(bench: &Bench, words: &[&str]) -> Value {
    let mut jobs = jobs(bench, words);
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    jobs.remove(0)
}

/// I/Os of a job: reads, writes, discards.
fn ios(job: &Value) -> [u64; 3] {
    ["reads", "writes", "trims"].map(|kind| job[kind]["ios"].as_u64().unwrap())
}

/// Bytes of a job: read, written, discarded.
fn bytes(job: &Value) -> [u64; 3] {
    ["reads", "writes", "trims"].map(|kind| job[kind]["bytes"].as_u64().unwrap())
}

/// The parts of a file that are not zeros, in units of 512 bytes, as ranges of bytes.
fn filled(content: &[u8]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (number, sector) in content.chunks(512).enumerate() {
        if sector.iter().all(|byte| *byte == 0) {
            continue;
        }
        let begin = number * 512;
        match runs.last_mut() {
            Some((_, end)) if *end == begin => *end = begin + sector.len(),
            _ => runs.push((begin, begin + sector.len())),
        }
    }
    runs
}
