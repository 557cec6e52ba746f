//! What dd prints in every version and language is read, and what is read is what stands there.

use iostone_model::dataset::{DataKind, Ending};
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran with dd of coreutils 9.1 of Debian, with its own translations, on a small machine. What other versions print is
// rebuilt from their layout, line by line, beside the reader.
const FIXTURES: &[(&str, &str)] = &[
    ("9.1-disk-full", include_str!("fixtures/dd/9.1-disk-full.txt")),
    ("9.1-languages", include_str!("fixtures/dd/9.1-languages.txt")),
    ("9.1-progress", include_str!("fixtures/dd/9.1-progress.txt")),
    ("9.1-set-x", include_str!("fixtures/dd/9.1-set-x.txt")),
    ("9.1-sigusr1", include_str!("fixtures/dd/9.1-sigusr1.txt")),
    ("9.1-small", include_str!("fixtures/dd/9.1-small.txt")),
];

fn dd() -> &'static dyn Format {
    find("dd").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    dd().read(&mut Input::of_text("dd.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(dd().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn a_full_disk_is_an_ending_in_any_language() {
    let observations = read(fixture("9.1-disk-full")).unwrap().observations;
    assert_eq!(observations.len(), 2);
    for observation in observations {
        assert_eq!(observation.facts.ending, Some(Ending::DiskFull));
    }
}

#[test]
fn bytes_and_seconds_are_those_that_were_printed() {
    let observations = read(fixture("9.1-languages")).unwrap().observations;
    assert_eq!(observations.len(), 11);
    for observation in observations {
        let (rate, seconds) =
            (observation.value("throughput").unwrap(), observation.value("wall_time").unwrap());
        assert!((rate * seconds - 25_165_824.0).abs() < 1.0);
        assert!(observation.facts.remarks.is_empty(), "{:?}", observation.facts.remarks);
    }
}

#[test]
fn only_the_last_status_of_a_dd_counts() {
    let observations = read(fixture("9.1-sigusr1")).unwrap().observations;
    assert_eq!(observations.len(), 1);
    assert_eq!(observations[0].value("wall_time"), Some(0.879_961));
    assert_eq!(observations[0].series["throughput"].values.len(), 2);
    let observations = read(fixture("9.1-progress")).unwrap().observations;
    assert_eq!(observations.len(), 1);
    assert_eq!(observations[0].series["throughput"].values.first(), Some(&45_925_269_504.0));
}

#[test]
fn equal_copies_one_after_another_stay_apart() {
    let text = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB) copied, 20.1 s, 53.4 MB/s\n";
    let slower = text.replace("20.1 s, 53.4", "20.2 s, 53.2");
    let larger =
        "2048+0 records in\n2048+0 records out\n2147483648 bytes (2.1 GB) copied, 40.2 s, 53.4 MB/s\n";
    assert_eq!(read(&format!("{text}{slower}{larger}")).unwrap().observations.len(), 3);
    // Lines that were filtered out of a log, without their records.
    let lines: Vec<&str> = [text, &slower].iter().filter_map(|text| text.lines().last()).collect();
    assert_eq!(read(&lines.join("\n")).unwrap().observations.len(), 2);
}

#[test]
fn the_command_tells_what_was_copied() {
    let reading = read(fixture("9.1-set-x")).unwrap();
    assert_eq!(reading.factors, ["block_size", "flags"]);
    let flushed: Vec<Option<bool>> = reading.observations.iter().map(|one| one.facts.flushed).collect();
    assert_eq!(flushed, [Some(true), Some(false), Some(true), Some(true)]);
    assert!(reading.observations.iter().all(|one| one.facts.data == Some(DataKind::Zeros)));
}

#[test]
fn a_dd_that_prints_no_time_is_told() {
    let error = read("8+0 records in\n8+0 records out\n").unwrap_err().to_string();
    assert!(
        error.starts_with("line 2: expected dd's line of bytes and seconds after its records"),
        "{error}"
    );
}
