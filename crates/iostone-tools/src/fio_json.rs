//! Figures as fio's JSON, for the many programs that read that: a job for each observation.
//!
//! Keys and units are those of fio 3 (`stat.c`): `bw` in KiB/s, `bw_bytes` in bytes a second, latencies in
//! nanoseconds. As in fio's own output, a direction that did nothing is there with zeros.

use iostone_model::dataset::Observation;
use serde_json::{Map, Value, json};

/// Percentiles that figures have, with fio's names of them.
const PERCENTILES: &[(&str, &str)] = &[
    ("latency_p50", "50.000000"),
    ("latency_p90", "90.000000"),
    ("latency_p99", "99.000000"),
    ("latency_p99_9", "99.900000"),
    ("latency_p99_99", "99.990000"),
];

/// fio's tables of latencies, by their upper bounds.
const SPREADS: &[(&str, &[&str])] = &[
    ("latency_ns", &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"]),
    ("latency_us", &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"]),
    ("latency_ms", &["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"]),
];

/// The document that fio would have printed with `--output-format=json`, as far as the observations tell.
///
/// Figures without a direction count as reads, unless the label `rw` says that only writes were done.
pub fn fio_json(observations: &[&Observation]) -> Value {
    let jobs: Vec<Value> = observations.iter().enumerate().map(|(index, o)| job(index, o)).collect();
    json!({
        "fio version": "fio-3.33",
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "",
        "global options": {},
        "jobs": jobs,
        "disk_util": [],
    })
}

fn job(index: usize, observation: &Observation) -> Value {
    let label = |name: &str| observation.labels.get(name).cloned();
    // Readers look these up without asking whether they are there; fio leaves out what has its default.
    let defaults = [("bs", "4k"), ("iodepth", "1"), ("numjobs", "1"), ("rw", "read")];
    let mut options: Map<String, Value> =
        defaults.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
    let own = ["job", "tool_version", "host"];
    let labels = observation.labels.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    options.extend(labels.map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
    let undirected = if label("rw").is_some_and(|rw| rw.ends_with("write")) { "write" } else { "read" };
    let mut document = Map::new();
    let name = label("job").unwrap_or_else(|| observation.condition(&known_labels(observation)));
    document.insert("jobname".to_owned(), name.into());
    document.insert("groupid".to_owned(), index.into());
    document.insert("error".to_owned(), 0.into());
    for key in ["eta", "elapsed", "job_runtime", "usr_cpu", "sys_cpu", "ctx", "majf", "minf"] {
        document.insert(key.to_owned(), 0.into());
    }
    document.insert("job options".to_owned(), Value::Object(options));
    // How latencies spread is not known beyond the percentiles; fio writes zeros for what did not happen.
    for (unit, buckets) in SPREADS {
        let buckets = buckets.iter().map(|bucket| ((*bucket).to_owned(), Value::from(0.0)));
        document.insert((*unit).to_owned(), Value::Object(buckets.collect()));
    }
    for direction in ["read", "write", "trim"] {
        document.insert(direction.to_owned(), side(observation, direction, direction == undirected));
    }
    Value::Object(document)
}

fn known_labels(observation: &Observation) -> Vec<String> {
    observation.labels.keys().cloned().collect()
}

/// What one direction did.
fn side(observation: &Observation, direction: &str, takes_undirected: bool) -> Value {
    let figure = |name: &str| {
        let own = observation.value(&format!("{direction}.{name}"));
        own.or_else(|| observation.value(name).filter(|_| takes_undirected && !is_directed(observation)))
    };
    let rate = figure("throughput").unwrap_or(0.0);
    let nanoseconds = |name: &str| figure(name).unwrap_or(0.0) * 1e9;
    let claimed = match direction {
        "read" => observation.facts.claimed_read_bytes,
        "write" => observation.facts.claimed_written_bytes,
        _ => None,
    };
    let percentiles: Map<String, Value> = PERCENTILES
        .iter()
        .filter_map(|(name, fio)| Some(((*fio).to_owned(), whole(figure(name)? * 1e9))))
        .collect();
    let latency = json!({
        "min": whole(nanoseconds("latency_min")),
        "max": whole(nanoseconds("latency_max")),
        "mean": nanoseconds("latency_mean"),
        "stddev": 0.0,
        "N": 0,
    });
    let mut completion = latency.clone();
    if let Some(fields) = completion.as_object_mut().filter(|_| !percentiles.is_empty()) {
        fields.insert("percentile".to_owned(), Value::Object(percentiles));
    }
    json!({
        "io_bytes": claimed.unwrap_or(0),
        "io_kbytes": claimed.unwrap_or(0) / 1024,
        "bw_bytes": whole(rate),
        "bw": whole(rate / 1024.0),
        "iops": figure("iops").unwrap_or(0.0),
        "runtime": 0,
        "total_ios": 0,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 },
        "clat_ns": completion,
        "lat_ns": latency,
        "bw_min": 0,
        "bw_max": 0,
        "bw_agg": 0.0,
        "bw_mean": rate / 1024.0,
        "bw_dev": 0.0,
        "bw_samples": 0,
        "iops_min": 0,
        "iops_max": 0,
        "iops_mean": figure("iops").unwrap_or(0.0),
        "iops_stddev": 0.0,
        "iops_samples": 0,
    })
}

/// Whether its figures are told by direction, so that those without one are sums.
fn is_directed(observation: &Observation) -> bool {
    observation.figures.keys().any(|name| name.starts_with("read.") || name.starts_with("write."))
}

/// A count: figures are far below 2^53.
fn whole(value: f64) -> Value {
    let rounded = value.max(0.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, saturates above"
    )]
    Value::from(rounded as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_job_has_fios_keys_and_units() {
        let observation = Observation {
            labels: BTreeMap::from([
                ("job".to_owned(), "db".to_owned()),
                ("rw".to_owned(), "randwrite".to_owned()),
            ]),
            figures: BTreeMap::from([
                ("iops".to_owned(), 1000.0.into()),
                ("throughput".to_owned(), 4_096_000.0.into()),
                ("latency_p99".to_owned(), 0.0021.into()),
            ]),
            ..Observation::default()
        };
        let document = fio_json(&[&observation]);
        let write = &document["jobs"][0]["write"];
        assert_eq!(document["jobs"][0]["jobname"], "db");
        assert_eq!(write["bw"], 4000);
        assert_eq!(write["iops"], 1000.0);
        assert_eq!(write["clat_ns"]["percentile"]["99.000000"], 2_100_000);
        assert_eq!(document["jobs"][0]["read"]["iops"], 0.0);
    }

    #[test]
    fn sums_are_not_taken_for_a_direction() {
        let figures = [("iops", 3.0), ("read.iops", 2.0), ("write.iops", 1.0)];
        let observation = Observation {
            figures: figures.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
            ..Observation::default()
        };
        let document = fio_json(&[&observation]);
        assert_eq!(document["jobs"][0]["read"]["iops"], 2.0);
        assert_eq!(document["jobs"][0]["write"]["iops"], 1.0);
    }
}
