//! ioping through the binary: figures are those that it prints, request by request.

use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool};
use crate::tools::{experiment, figure, raw, rehearsed};

#[test]
fn the_figures_of_ioping_are_those_that_it_prints() {
    needs_root!();
    needs_tool!("ioping");
    let lab = Lab::new();
    let workload = "kind = \"ioping\"\ncount = 8\ninterval = \"10ms\"\ndirect = true\nwrite = true";
    for trial in rehearsed(&lab, &experiment("small-ioping", "latency_mean", workload)) {
        let printed: Value = serde_json::from_str(&raw(&lab, &trial, "stdout.txt")).unwrap();
        let statistics = &printed.as_array().unwrap().last().unwrap()["stat"];
        let seconds = |name: &str| statistics[name].as_f64().unwrap() / 1e9;
        for (name, field) in [("latency_mean", "avg"), ("latency_min", "min"), ("latency_max", "max")] {
            assert!((figure(&trial, name) - seconds(field)).abs() < 1e-12, "{name}");
        }
        let counted = statistics["count"].as_u64().unwrap();
        let histogram = trial["workload"]["latency_histogram"].as_array().unwrap();
        assert_eq!(histogram.iter().map(|bin| bin[1].as_u64().unwrap()).sum::<u64>(), counted);
        assert_eq!(trial["workload"]["claimed_written_bytes"], counted * 4096);
    }
}

#[test]
fn requests_without_a_pause_are_told_in_one_line() {
    needs_root!();
    needs_tool!("ioping");
    let lab = Lab::new();
    let workload = "kind = \"ioping\"\nruntime = \"300ms\"\ninterval = \"0s\"\ncached = true";
    for trial in rehearsed(&lab, &experiment("fast-ioping", "iops", workload)) {
        let printed = raw(&lab, &trial, "stdout.txt");
        let mean: f64 = printed.split_whitespace().nth(5).unwrap().parse().unwrap();
        assert!((figure(&trial, "latency_mean") * 1e9 - mean).abs() < 1.0, "{printed}");
    }
}
