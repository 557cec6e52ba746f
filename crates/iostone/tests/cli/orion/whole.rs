//! Whole tests: what they print, and the files they leave.

use std::fs;

use serde_json::Value;

use super::{bench_with, point, prefix, results};
use crate::support::Bench;

const FILES_OF_11: [&str; 7] =
    ["iops.csv", "lat.csv", "mbps.csv", "record.jsonl", "report.html", "summary.txt", "trace.txt"];

#[test]
fn the_command_of_field_report_5_works_as_it_was_typed() {
    let bench = Bench::new();
    bench.write("orion-test.lun", "a.data\nb.data\n");
    let typed = "orion -run advanced -testname orion-test -size_small 8 -num_disks 4 -write 20 -duration 1";
    let words: Vec<&str> = typed.split(' ').chain(["--create", "32MiB", "-verbose"]).collect();
    let said = bench.iostone(&words).ended_with(0);
    for line in [
        "in the manner of ORION 12.2",
        "Calibration will take approximately 1 minutes.",
        "Using a large value for -cache_size may take longer.",
        "Running point: Small=1, Large=0\nPoint 2 out of 29\n",
        "Maximum Large MBPS=",
        "Maximum Small IOPS=",
        "Small Read Latency: avg=",
        "Small Write Latency: avg=",
        "Minimum Small Latency=",
    ] {
        assert!(said.stdout.contains(line), "`{line}` is not in:\n{}", said.stdout);
    }
    let prefix = prefix(&bench);
    let mut files: Vec<&str> = FILES_OF_11.to_vec();
    files.insert(0, "hist.txt");
    assert_eq!(results(&bench, "orion-test"), files);
    let summary = fs::read_to_string(bench.path(&format!("{prefix}_summary.txt"))).unwrap();
    assert!(summary.contains("Total Data Points: 29"), "{summary}");
    let page = fs::read_to_string(bench.path(&format!("{prefix}_report.html"))).unwrap();
    assert!(page.contains("</html>"));
}

#[test]
fn the_layout_of_11_has_its_files_and_a_second_test_never_touches_them() {
    let bench = bench_with(&["a"]);
    point(&bench, &["--format", "11.1"]).ended_with(0);
    assert_eq!(results(&bench, "orion"), FILES_OF_11);
    let first: Vec<(String, Vec<u8>)> =
        bench.names().into_iter().map(|name| (name.clone(), fs::read(bench.path(&name)).unwrap())).collect();
    point(&bench, &["--format", "11.1"]).ended_with(0);
    assert_eq!(bench.names().len(), first.len() + FILES_OF_11.len());
    for (name, content) in first {
        assert_eq!(fs::read(bench.path(&name)).unwrap(), content, "{name}");
    }
}

#[test]
fn the_document_is_all_there_is_on_standard_output() {
    let bench = bench_with(&["a"]);
    let said = point(&bench, &["--json", "-verbose", "--seed", "5", "--until", "50%"]).ended_with(0);
    said.complains_of("Running point: Small=1, Large=0");
    let document = said.json();
    assert_eq!(document["schema"], "iostone/orion-result/1");
    assert_eq!(document["header"]["seed"], 5);
    assert!(document["maxima"]["iops"]["value"].as_f64().unwrap() > 0.0);
    let latency = &document["points"][0]["small_io"]["latency"];
    assert!(latency["p99_99"].as_f64().unwrap() >= latency["p50"].as_f64().unwrap());
    assert_eq!(latency["histogram"], Value::Null);
    assert_eq!(document["files"].as_array().unwrap().len(), 8);
}

#[test]
fn a_quiet_test_prints_its_results_alone() {
    let bench = bench_with(&["a"]);
    for quiet in ["--quiet", "-q"] {
        let said = point(&bench, &[quiet, "--buffered"]).ended_with(0);
        assert_eq!(said.stderr, "");
        for unasked in ["in the manner of", "approximately", "counted too"] {
            assert!(!said.stdout.contains(unasked), "{}", said.stdout);
        }
        assert!(said.stdout.contains("Maximum Small IOPS="), "{}", said.stdout);
    }
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_announced() {
    let bench = bench_with(&["a", "b"]);
    let words = ["orion", "-run", "advanced", "-simulate", "raid0", "-stripe", "67108864", "-duration", "1"];
    let said = bench.iostone(&words).ended_with(2);
    said.complains_of("`-stripe 67108864` is 64 GiB, longer than `a` with 2 MiB");
    assert_eq!(said.stdout, "");
    assert_eq!(results(&bench, "orion"), Vec::<String>::new());
}

#[test]
fn results_are_printed_even_where_no_file_can_be_written() {
    let bench = bench_with(&["a"]);
    point(&bench, &["--format", "11.1"]).ended_with(0);
    let prefix = prefix(&bench);
    let lat = bench.path(&format!("{prefix}_lat.csv"));
    fs::remove_file(&lat).unwrap();
    // A directory is in the way.
    fs::create_dir(&lat).unwrap();
    fs::write(lat.join("x"), "").unwrap();
    let said = bench.iostone(&["orion", "--resume", &prefix, "--format", "11.1"]).ended_with(4);
    said.complains_of("write `orion_").complains_of("_lat.csv`: Is a directory");
    assert!(said.stdout.contains("Maximum Small IOPS=") && !said.stderr.contains(".tmp"), "{said:?}");
}
