//! The installed fio through the binary: figures are those of its JSON, and a job stays in its directory.

use serde_json::Value;

use crate::lab::{Lab, needs_root, needs_tool};
use crate::tools::{experiment, figure, raw, refused, rehearsed};

#[test]
fn the_figures_of_fio_are_those_of_its_json() {
    needs_root!();
    needs_tool!("fio");
    let lab = Lab::new();
    let workload = "kind = \"fio\"\njob = '''\n[global]\nbs=4k\nsize=8M\ndirect=1\n[reads]\nrw=randread\n[more]\n\
                    rw=randread\n'''";
    for trial in rehearsed(&lab, &experiment("small-fio", "latency_p99", workload)) {
        let document: Value = serde_json::from_str(&raw(&lab, &trial, "fio.json")).unwrap();
        let jobs = document["jobs"].as_array().unwrap();
        let sum = |field: &str| jobs.iter().map(|job| job["read"][field].as_f64().unwrap()).sum::<f64>();
        assert_eq!(jobs.len(), 2);
        assert!((figure(&trial, "throughput") / sum("bw_bytes") - 1.0).abs() < 1e-9);
        assert!((figure(&trial, "read.iops") / sum("iops") - 1.0).abs() < 1e-9);
        let slowest =
            jobs.iter().map(|job| job["read"]["clat_ns"]["max"].as_f64().unwrap()).fold(0.0, f64::max);
        assert!((figure(&trial, "latency_max") * 1e9 - slowest).abs() < 1.0);
        let p99 = |job: &Value| job["read"]["clat_ns"]["percentile"]["99.000000"].as_f64().unwrap();
        let range = jobs.iter().map(p99).fold((f64::INFINITY, 0.0_f64), |(a, b), ns| (a.min(ns), b.max(ns)));
        let merged = figure(&trial, "latency_p99") * 1e9;
        assert!(merged >= range.0 - 1.0 && merged <= range.1 + 1.0, "{merged} of {range:?}");
        // Every job is direct, so that the claim is held against the device.
        assert_eq!(trial["workload"]["must_reach_device"], true);
        assert_eq!(trial["workload"]["claimed_read_bytes"], 16 << 20);
        assert!(raw(&lab, &trial, "job.fio").starts_with("[global]\nbs=4k\n"));
    }
}

#[test]
fn a_job_that_would_leave_its_directory_is_refused_with_its_line() {
    needs_root!();
    needs_tool!("fio");
    let lab = Lab::new();
    let workload = "kind = \"fio\"\njob = '''\n[a]\nrw=write\nsize=1M\nfilename=/dev/nothing-here\n'''";
    let said = refused(&lab, &experiment("bad-fio", "throughput", workload), 3);
    assert!(said.contains("workload.job:4:1") && said.contains("`filename=/dev/nothing-here`"), "{said}");
}

#[test]
fn a_full_volume_fails_the_trial_in_fios_words() {
    needs_root!();
    needs_tool!("fio");
    let lab = Lab::new();
    let workload = "kind = \"fio\"\njob = '''\n[a]\nrw=write\nsize=200M\nbs=64k\nfallocate=none\n'''";
    let said = refused(&lab, &experiment("full-fio", "throughput", workload), 1);
    assert!(said.contains("No space left on device"), "{said}");
}

#[test]
fn a_figure_that_a_mix_has_twice_is_said_to_be_missing_and_which_there_are() {
    needs_root!();
    needs_tool!("fio");
    let lab = Lab::new();
    let workload = "kind = \"fio\"\njob = '''\n[a]\nrw=randrw\nsize=4M\nbs=4k\n'''";
    let said = refused(&lab, &experiment("mixed-fio", "latency_p99", workload), 1);
    assert!(said.contains("`read.latency_p99` or `write.latency_p99`"), "{said}");
}
