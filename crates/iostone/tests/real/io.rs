//! `io` on devices of its own: discards, failures, limits, stalls. Root only.

mod damage;
mod devices;
mod disk;
mod stall;
mod throttled;

use serde_json::Value;

use crate::lab::{Lab, words};
use disk::Disk;

/// What the jobs of a load did; it must have ended with that code.
#[track_caller]
fn jobs(lab: &Lab, arguments: &[&str], code: i32) -> Vec<Value> {
    let output = lab.iostone(&[&["io"], arguments, &["--json"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    match document["jobs"].take() {
        Value::Array(jobs) => jobs,
        other => panic!("`jobs` is {other}"),
    }
}

/// I/Os of a job: reads, writes, discards.
fn ios(job: &Value) -> [u64; 3] {
    ["reads", "writes", "trims"].map(|kind| job[kind]["ios"].as_u64().unwrap())
}
