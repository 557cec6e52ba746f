//! What is counted and shown: the JSON, the table for people, the series over time.

use serde_json::Value;

use super::{bytes, ios, job};
use crate::support::Bench;

#[test]
fn every_request_is_counted_in_json() {
    let bench = Bench::new();
    let write = ["io", "--filename", "data", "--rw", "write", "--size", "1MiB", "--fsync", "4", "--json"];
    let document = bench.iostone(&write).ended_with(0).json();
    assert_eq!(document["schema"], "iostone/io/2");
    let written = &document["jobs"][0];
    assert_eq!((ios(written), bytes(written)), ([0, 256, 0], [0, 1 << 20, 0]));
    assert_eq!(written["writes"]["latency"]["count"], 256);
    assert_eq!(written["syncs"]["count"], 64);
    assert_eq!(bench.path("data").metadata().unwrap().len(), 1 << 20);

    let read = job(&bench, &["--filename=data", "--rw=randread", "--bs=8KiB", "--io_size=256KiB"]);
    assert_eq!((ios(&read), bytes(&read)), ([32, 0, 0], [256 << 10, 0, 0]));
    assert_eq!(read["error"], Value::Null);
    assert_eq!(bench.names(), ["data"]);
}

#[test]
fn the_same_seed_writes_the_same_data() {
    let write = |seed: &str| {
        let bench = Bench::new();
        job(
            &bench,
            &["--filename=data", "--rw=randwrite", "--size=1MiB", "--io_size=64KiB", "--randseed", seed],
        );
        std::fs::read(bench.path("data")).unwrap()
    };
    assert!(write("7") == write("7"), "the data differ");
    assert!(write("7") != write("8"), "the seed is ignored");
}

#[test]
fn people_read_rates_latencies_and_costs() {
    let bench = Bench::new();
    let job = ["io", "--filename=data", "--rw=write", "--size=1MiB", "--fdatasync=1"];
    let said = bench.iostone(&job).ended_with(0);
    for words in [
        "256 writes of 4096 bytes each in ",
        "\nwrites ",
        "\nsyncs ",
        "\nwrite + sync ",
        " of CPU time an operation",
    ] {
        assert!(said.stdout.contains(words), "`{words}` is not in:\n{}", said.stdout);
    }
    assert_eq!(said.stderr, "");
    let read = bench.iostone(&["io", "--filename=new", "--rw=read", "--size=1MiB"]).ended_with(0);
    assert!(read.stdout.contains("\nlaid out 1.00 MiB with random data first\n"), "{}", read.stdout);
}

/// Sums of a series' I/Os and bytes; zeros where there is none.
fn sums(series: &Value) -> [u64; 2] {
    ["ios", "bytes"].map(|key| {
        let list = series[key].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().map(|number| number.as_u64().unwrap()).sum()
    })
}

#[test]
fn what_each_100_ms_hold_adds_up_to_the_totals() {
    let bench = Bench::new();
    let job = job(
        &bench,
        &[
            "--filename=data",
            "--rw=randrw",
            "--rwmixread=70",
            "--bssplit=4k/50:16k/50",
            "--size=1MiB",
            "--time_based",
            "--runtime=450ms",
            "--ramp_time=500ms",
            "--thinktime=1ms",
            "--thinktime_blocks=8",
        ],
    );
    let series = &job["per_100ms"];
    let [reads, writes, trims] = ios(&job);
    let [read_bytes, written_bytes, _] = bytes(&job);
    assert_eq!(sums(&series["all"]), [reads + writes, read_bytes + written_bytes]);
    assert_eq!(sums(&series["read"]), [reads, read_bytes]);
    assert_eq!(sums(&series["write"]), [writes, written_bytes]);
    assert_eq!((trims, &series["trim"]), (0, &Value::Null));
    assert_eq!(series["all"]["ios"].as_array().unwrap().len(), 5);
    assert_eq!(job["elapsed_seconds"], 0.45);
    assert!(job["ramp_ios"].as_u64().unwrap() > 0);
    for (name, count) in [("reads", reads), ("writes", writes)] {
        assert_eq!(job[name]["latency"]["count"], count);
    }
}

#[test]
fn response_times_are_there_in_an_open_loop_only() {
    let bench = Bench::new();
    let load = ["--filename=data", "--rw=randread", "--size=1MiB"];
    let open = job(&bench, &[&load[..], &["--rate_iops=500", "--time_based", "--runtime=400ms"]].concat());
    assert_eq!(open["loop"], "open");
    // Whatever the machine does, each of the 200 that were due has a response time.
    let due = open["reads"]["response"]["count"].as_u64().unwrap();
    assert!((199..=201).contains(&due), "{due}");
    let closed = job(&bench, &load);
    assert_eq!(closed["loop"], "closed");
    assert_eq!(
        (&closed["reads"]["response"]["count"], &closed["reads"]["response"]["p99_ns"]),
        (&0.into(), &Value::Null)
    );
    let said = bench.iostone(&[&["io"], &load[..]].concat()).ended_with(0);
    assert!(!said.stdout.contains("response"), "{}", said.stdout);
}

#[test]
fn poisson_arrivals_are_as_many_on_average() {
    let bench = Bench::new();
    let job = job(
        &bench,
        &[
            "--filename=data",
            "--rw=randread",
            "--size=1MiB",
            "--rate_iops=4000",
            "--rate_process=poisson",
            "--time_based",
            "--runtime=1s",
        ],
    );
    let due = job["reads"]["response"]["count"].as_f64().unwrap();
    // Four standard deviations of a count of 4000 are 6 %; the seed is always the same.
    assert!((3750.0..4250.0).contains(&due), "{due}");
}

#[test]
fn own_options_stand_before_and_behind_the_load() {
    let bench = Bench::new();
    bench.write("data", vec![0; 8192]);
    let load = ["--filename=data", "--rw=read"];
    for own in [&["--json"][..], &["--output-format=json"], &["--output-format", "json+"]] {
        let before = bench.iostone(&[&["io"], own, &load[..]].concat()).ended_with(0).json();
        let behind = bench.iostone(&[&["io"], &load[..], own].concat()).ended_with(0).json();
        for document in [before, behind] {
            assert_eq!(document["jobs"].as_array().unwrap().len(), 1, "{own:?}: {document}");
        }
    }
    bench.write("other", vec![0; 8192]);
    let both = [
        "io",
        "--destroy",
        "data",
        "--filename=data:other",
        "--size=16k",
        "--rw=write",
        "--destroy",
        "other",
    ];
    bench.iostone(&both).ended_with(0);
    let both = ["io", "--json", "--filename=data", "--rw=read", "--output-format=terse"];
    bench.iostone(&both).ended_with(2).complains_of("leave one of them out");
}

#[test]
fn output_goes_to_a_file_that_is_named() {
    let bench = Bench::new();
    let load = ["io", "--filename=data", "--rw=write", "--size=64KiB", "--json", "--output", "result.json"];
    let said = bench.iostone(&load).ended_with(0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""));
    let written: Value = serde_json::from_slice(&std::fs::read(bench.path("result.json")).unwrap()).unwrap();
    assert_eq!(written["jobs"][0]["writes"]["ios"], 16);
}
