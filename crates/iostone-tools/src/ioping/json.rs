//! ioping's JSON (`-J`, 1.2 and later): a list of requests and statistics.

use iostone_model::dataset::{Figure, Observation};
use serde_json::Value;

use super::{LONGEST_COURSE, Run};
use crate::error::Malformed;
use crate::json_stream;
use crate::{Input, ReadError};

pub(super) fn read(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut run = Run { line: Some(1), ..Run::default() };
    let mut start = None;
    let mut statistics = 0u32;
    json_stream::walk(input.reader(), &[], "ioping's list of requests and statistics", |_, element| {
        let now = element.get("timestamp").and_then(Value::as_f64);
        let start = *start.get_or_insert(now.unwrap_or(0.0));
        target(&element, &mut run);
        if let Some(request) = element.get("io") {
            let time = request.get("time").and_then(Value::as_f64).ok_or("a request without `time`")?;
            if request.get("ignored").and_then(Value::as_bool) != Some(true) {
                let at_seconds = (now.unwrap_or(start) - start).max(0.0);
                run.latencies.push(at_seconds, time * 1e-9, LONGEST_COURSE);
            }
            if let Some(operation) = request.get("operation").and_then(Value::as_str) {
                run.labels.entry("operation".to_owned()).or_insert_with(|| operation.to_owned());
            }
        }
        if let Some(stat) = element.get("stat") {
            // With `-p` each period has its own: those of the last one stand, as ioping ends with them.
            statistics += 1;
            figures(stat, &mut run)?;
        }
        Ok(())
    })?;
    if statistics == 0 {
        return Err(Malformed::at_end(1, "an element with `stat` (was ioping interrupted?)").into());
    }
    if statistics > 1 {
        run.remarks.push(format!(
            "ioping printed statistics of {statistics} periods; the figures are of the last one"
        ));
    }
    Ok(vec![run.into_observation()])
}

/// Where it went: path, filesystem, device and its size.
fn target(element: &Value, run: &mut Run) {
    let Some(target) = element.get("target") else { return };
    for (key, label) in [("path", "target"), ("fstype", "filesystem"), ("device", "device")] {
        if let Some(text) = target.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            run.labels.insert(label.to_owned(), text.to_owned());
        }
    }
    run.volume_bytes = target.get("device_size").and_then(Value::as_u64).filter(|bytes| *bytes > 0);
}

/// The statistics, whose times are in nanoseconds (ioping(1)).
fn figures(stat: &Value, run: &mut Run) -> Result<(), String> {
    let number =
        |key: &str| stat.get(key).and_then(Value::as_f64).ok_or_else(|| format!("`stat` without `{key}`"));
    run.set("iops", Figure { value: number("iops")?, step: 1e-6 });
    run.set("throughput", Figure { value: number("bps")?, step: 1.0 });
    for (key, name) in
        [("min", "latency_min"), ("avg", "latency_mean"), ("max", "latency_max"), ("mdev", "latency_mdev")]
    {
        run.set(name, Figure { value: number(key)? * 1e-9, step: 1e-9 });
    }
    let bytes = stat.get("size").and_then(Value::as_u64);
    match run.labels.get("operation").map(String::as_str) {
        Some("read") => run.read_bytes = bytes,
        Some("write") => run.written_bytes = bytes,
        _ => {}
    }
    Ok(())
}
