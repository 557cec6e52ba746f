//! elbencho's CSV is read in every layout it had.

use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// elbencho is in no package here. `3.1-1-published` holds the rows of a real run of 3.1-1 that a public repository keeps
// as a test, without the columns behind the latencies. The others are rebuilt from the columns in its source: 1.4 and 3.0
// with made-up figures, 3.1 with figures of a run of 3.1-2 published likewise (its CPU shares are made up).
const FIXTURES: &[(&str, &str)] = &[
    ("1.4-rebuilt", include_str!("fixtures/elbencho/1.4-rebuilt.csv")),
    ("3.0-rebuilt-mixed", include_str!("fixtures/elbencho/3.0-rebuilt-mixed.csv")),
    ("3.1-1-published", include_str!("fixtures/elbencho/3.1-1-published.csv")),
    ("3.1-rebuilt-files", include_str!("fixtures/elbencho/3.1-rebuilt-files.csv")),
];

const MIB: f64 = 1_048_576.0;

fn elbencho() -> &'static dyn Format {
    find("elbencho").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    elbencho().read(&mut Input::of_text("results.csv", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(elbencho().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn figures_are_those_when_the_last_thread_was_done() {
    let write = &read(fixture("3.1-1-published")).unwrap().observations[1];
    assert_eq!(write.value("throughput"), Some(2941.0 * MIB));
    assert_eq!(write.value("first.throughput"), Some(3494.0 * MIB));
    assert_eq!(write.value("wall_time"), Some(2784.0 * 1e-3));
    assert_eq!(write.facts.claimed_written_bytes, Some(8 << 30));
    assert_eq!(write.facts.working_set_bytes, Some(8 << 30));
    assert_eq!(write.facts.flushed, Some(true));
}

#[test]
fn reads_and_writes_of_a_mix_are_told_apart_and_added_up() {
    let reading = read(fixture("3.0-rebuilt-mixed")).unwrap();
    assert_eq!(reading.factors, ["operation"]);
    let mixed = &reading.observations[2];
    assert_eq!(mixed.value("iops"), Some(4205.0 + 1802.0));
    assert_eq!(mixed.value("read.latency_mean"), Some(10633.0 * 1e-6));
    assert_eq!(mixed.value("write.throughput"), Some(7.0 * MIB));
    assert!(mixed.value("latency_mean").is_none());
    assert_eq!(reading.observations[0].facts.working_set_bytes, Some(20 << 30));
}

#[test]
fn a_file_that_two_versions_wrote_is_read_by_its_own_headers() {
    let both = format!("{}{}", fixture("1.4-rebuilt"), fixture("3.1-rebuilt-files"));
    assert_eq!(read(&both).unwrap().observations.len(), 6);
}

#[test]
fn a_line_that_does_not_fit_its_header_is_refused() {
    let text = fixture("3.1-1-published");
    let error = |text: &str| read(text).unwrap_err().to_string();
    let short = text.trim_end().trim_end_matches(",6922");
    assert_eq!(error(short), "line 4: expected 37 cells, as the header has, found 36");
    let wrong = text.replace(",2941,3494,", ",fast,3494,");
    assert_eq!(error(&wrong), "line 3: expected a number as `IOPS [last]`, found `fast`");
    let (header, rows) = text.split_once('\n').unwrap();
    assert!(error(rows).starts_with("line 1: expected elbencho's header"));
    assert_eq!(
        error(header),
        "line 1: expected a line for each phase of elbencho, found the end of the file"
    );
}
