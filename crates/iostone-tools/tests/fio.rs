//! fio's JSON, JSON+, terse lines and text of versions 2 and 3 are read, and tell the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::fs;
use std::path::Path;

use iostone_model::dataset::{Ending, Observation};
use iostone_tools::{Format, Head, Input, Likeness, Reading, find};

// Ran here with fio 3.33 of Debian, and with 2.1.11, 2.16, 3.1 and 3.41 built from their tags; a host's name is
// replaced. The job file of those that are called after a version alone:
//     [global] size=2m ioengine=psync filename=data
//     [randread] rw=randread bs=4k
//     [mix] stonewall rw=randrw rwmixread=70 bs=8k fsync=64
// (3.33: size=4m ioengine=libaio iodepth=4). `3.33-full` wrote to a full tmpfs, `3.33-client` ran through a server.
const FOLDER: &str = "tests/fixtures/fio";

fn fio() -> &'static dyn Format {
    find("fio").unwrap()
}

fn text_of(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(name)).unwrap()
}

fn read(name: &str) -> Reading {
    fio().read(&mut Input::of_text(name, &text_of(name))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn refusal(text: &str) -> String {
    fio().read(&mut Input::of_text("x", text)).unwrap_err().to_string()
}

#[test]
fn every_fixture_is_recognised_and_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() > 30);
    for name in &names {
        let text = text_of(name);
        assert_eq!(fio().recognise(&Head { name: "x", text: &text }), Likeness::Certain, "{name}");
        let reading = read(name);
        assert!(reading.metrics.is_empty(), "{name}");
        let told = (&reading.factors, &reading.observations);
        insta::assert_snapshot!(name.as_str(), serde_json::to_string_pretty(&told).unwrap());
    }
}

/// The number that follows a key in text, of its first appearance.
fn printed(text: &str, key: &str) -> f64 {
    let rest = text.split_once(key).unwrap_or_else(|| panic!("no `{key}`")).1;
    let rest = rest.trim_start_matches([':', ' ', '"']);
    let end = rest.find(|char: char| !(char.is_ascii_digit() || char == '.')).unwrap();
    rest[..end].parse().unwrap()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

#[test]
fn the_figures_are_those_of_the_raw_output() {
    for (version, unit, rate, factor) in [
        ("2.1.11", 1e-6, "\"bw\"", 1024.0),
        ("2.16", 1e-6, "\"bw\"", 1024.0),
        ("3.33", 1e-9, "\"bw_bytes\"", 1.0),
    ] {
        let name = format!("{version}.json");
        let text = text_of(&name);
        let first = &read(&name).observations[0];
        assert!(close(first.value("throughput").unwrap(), printed(&text, rate) * factor), "{version}");
        assert!(close(first.value("read.iops").unwrap(), printed(&text, "\"iops\"")), "{version}");
        assert!(
            close(first.value("latency_p99").unwrap(), printed(&text, "\"99.000000\"") * unit),
            "{version}"
        );
        let claimed = first.facts.claimed_read_bytes.unwrap();
        assert_eq!(claimed, if version == "3.33" { 4 << 20 } else { 2 << 20 }, "{version}");
    }
}

#[test]
fn the_forms_of_one_version_tell_the_same_of_the_work() {
    for version in ["2.1.11", "2.16", "3.1", "3.33", "3.41"] {
        let json = read(&format!("{version}.json"));
        let mut others = vec![read(&format!("{version}.txt"))];
        if version != "3.41" {
            others.push(read(&format!("{version}-terse3.txt")));
            others.push(read(&format!("{version}-terse4.txt")));
        }
        for other in &others {
            assert_eq!(json.factors, other.factors);
            assert_eq!(json.observations.len(), other.observations.len(), "{version}");
            for (one, two) in json.observations.iter().zip(&other.observations) {
                let names =
                    |observation: &Observation| observation.figures.keys().cloned().collect::<Vec<_>>();
                let names: (Vec<_>, Vec<_>) = (
                    names(one).into_iter().filter(|name| !name.starts_with("sync.")).collect(),
                    names(two).into_iter().filter(|name| !name.starts_with("sync.")).collect(),
                );
                assert_eq!(names.0, names.1, "{version}");
                assert_eq!(one.labels["job"], two.labels["job"]);
                let bytes = |observation: &Observation| observation.facts.claimed_read_bytes.unwrap() as f64;
                // Text has four digits.
                assert!((bytes(one) / bytes(two) - 1.0).abs() < 1e-3, "{version}");
            }
        }
    }
}

#[test]
fn percentiles_that_were_not_listed_come_from_the_bins() {
    let listed = &read("3.33-plus.json").observations[0];
    let own = &read("3.33-plus-own-percentiles.json").observations[0];
    for name in ["latency_p50", "latency_p99", "latency_p99_99"] {
        assert!(listed.value(name).is_some() && own.value(name).is_some(), "{name}");
    }
    // The middle of the highest bin.
    assert!(close(own.value("latency_p99_99").unwrap(), 257_024e-9));
}

#[test]
fn only_the_last_state_of_a_run_counts() {
    for name in ["3.33-status-interval.json", "3.33-status-interval.txt"] {
        let observations = read(name).observations;
        let text = text_of(name);
        assert!(text.matches("groupid").count() > 1);
        assert_eq!(observations.len(), 1, "{name}");
    }
}

#[test]
fn runs_in_one_file_are_told_apart() {
    let text = format!("fio: a warning\n{}\n{}", text_of("3.33.json"), text_of("3.41.json"));
    let reading = fio().read(&mut Input::of_text("x", &text)).unwrap();
    let runs: Vec<_> =
        reading.observations.iter().map(|observation| observation.run.clone().unwrap()).collect();
    assert_eq!(runs, ["1", "1", "2", "2"]);
    assert_eq!(reading.observations[0].line, Some(2));
}

#[test]
fn a_full_disk_is_the_ending_of_a_job() {
    for name in ["3.33-full.json", "3.33-full.txt"] {
        assert_eq!(read(name).observations[0].facts.ending, Some(Ending::DiskFull), "{name}");
    }
}

#[test]
fn clones_are_told_apart_and_groups_are_whole() {
    let clones = read("3.33-clones.json").observations;
    assert_eq!((clones[0].labels["clone"].as_str(), clones[1].labels["clone"].as_str()), ("1", "2"));
    assert_eq!((clones[0].facts.direct, clones[0].facts.flushed), (Some(true), Some(true)));
    assert_eq!(clones[0].facts.working_set_bytes, Some(1 << 20));
    let group = read("3.33-group.json").observations;
    assert_eq!((group.len(), group[0].facts.working_set_bytes), (1, Some(2 << 20)));
}

#[test]
fn what_a_disk_served_is_known_of_one_job_that_took_long_enough() {
    let text = text_of("3.41-one.json").replace("\"runtime\" : ", "\"runtime\" : 10000");
    let text = text.replace("\"read_sectors\" : 0", "\"read_sectors\" : 8192");
    let reading = fio().read(&mut Input::of_text("x", &text)).unwrap();
    assert_eq!(reading.observations[0].facts.served_read_bytes, Some(4 << 20));
    assert_eq!(read("3.41-one.json").observations[0].facts.served_read_bytes, None);
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let json = text_of("3.33.json");
    let torn = &json[..json.len() / 2];
    assert!(
        refusal(torn).ends_with("expected the rest of the JSON, found the end of the file"),
        "{}",
        refusal(torn)
    );
    let wrong = json.replacen("\"runtime\" : ", "\"runtime\" : fast", 1);
    let line = 1 + wrong.lines().position(|line| line.contains("fast")).unwrap();
    assert!(refusal(&wrong).starts_with(&format!("line {line}: expected")), "{}", refusal(&wrong));
    assert_eq!(
        refusal("{\"a\": 1}"),
        "line 1: expected fio's `jobs` or `client_stats`, found a document without them"
    );
    assert_eq!(
        refusal("nothing\nof it\n"),
        "line 3: expected the results of a job of fio, found the end of the file"
    );
    let terse = text_of("3.33-terse3.txt").replacen("%=", "?", 1);
    assert!(
        refusal(&terse).starts_with("line 1: expected a percentile with its latency"),
        "{}",
        refusal(&terse)
    );
}
