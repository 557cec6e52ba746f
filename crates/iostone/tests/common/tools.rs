//! What the tests of single tools share: an experiment around a workload, its one block, and what its trials kept.
#![allow(dead_code, reason = "each test program uses a part of it")]

use serde_json::Value;

use crate::lab::{Lab, words};

/// An experiment of two mount options around a workload.
pub(crate) fn experiment(name: &str, metric: &str, workload: &str) -> String {
    format!(
        r#"
name = "{name}"

[stack]
volume = {{ kind = "loop", size = "96MiB", backing_io = "buffered" }}
queue = {{ write_cache = "write back" }}
filesystem = {{ kind = "ext4" }}
mount = {{ options = ["noatime"] }}

[[factor]]
name = "barrier"
levels = {{ on = {{ mount.options = ["barrier=1"] }}, off = {{ mount.options = ["barrier=0"] }} }}

[workload]
{workload}

[decide]
metric = "{metric}"
baseline = "on"

[trials]
settle = "20ms"

# A machine that runs tests is neither quiet nor its own master.
[gates]
steal = "off"
idle = "off"
throttling = "off"
"#
    )
}

/// Rehearses an experiment and gives its trials, all of which must count; nothing may be left behind.
#[track_caller]
pub(crate) fn rehearsed(lab: &Lab, text: &str) -> Vec<Value> {
    let file = lab.write("experiment.toml", text);
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let Value::Array(trials) = lab.record()["trials"].take() else { panic!("no trials") };
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert_eq!(trial["valid"], true, "{trial:#}");
    }
    trials
}

/// A raw output that was kept of a trial.
#[track_caller]
pub(crate) fn raw(lab: &Lab, trial: &Value, name: &str) -> String {
    let path = lab.the_run().join(format!("trials/{:06}/raw/{name}", trial["number"].as_u64().unwrap()));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A figure of a trial.
#[track_caller]
pub(crate) fn figure(trial: &Value, name: &str) -> f64 {
    trial["metrics"][name].as_f64().unwrap_or_else(|| panic!("no `{name}` in {:#}", trial["metrics"]))
}

/// What a run says when it does not come to an end, with the code that it must end with.
#[track_caller]
pub(crate) fn refused(lab: &Lab, text: &str, code: i32) -> String {
    let file = lab.write("experiment.toml", text);
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    lab.assert_nothing_left();
    String::from_utf8_lossy(&output.stderr).into_owned()
}
