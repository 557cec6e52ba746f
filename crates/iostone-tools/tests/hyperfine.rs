//! What hyperfine exports is read: every run of its JSON, the means of its CSV.

use iostone_model::dataset::Ending;
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here with hyperfine 1.15.0 of Debian. 1.8 is rebuilt from the fields of its `BenchmarkResult` (one `parameter`, no
// exit codes), with the figures of a run above.
const FIXTURES: &[(&str, &str)] = &[
    ("1.15-failing.csv", include_str!("fixtures/hyperfine/1.15-failing.csv")),
    ("1.15-failing.json", include_str!("fixtures/hyperfine/1.15-failing.json")),
    ("1.15-one-run.csv", include_str!("fixtures/hyperfine/1.15-one-run.csv")),
    ("1.15-one-run.json", include_str!("fixtures/hyperfine/1.15-one-run.json")),
    ("1.15-scan.csv", include_str!("fixtures/hyperfine/1.15-scan.csv")),
    ("1.15-scan.json", include_str!("fixtures/hyperfine/1.15-scan.json")),
    ("1.15-two-parameters.csv", include_str!("fixtures/hyperfine/1.15-two-parameters.csv")),
    ("1.15-two-parameters.json", include_str!("fixtures/hyperfine/1.15-two-parameters.json")),
    ("1.8-rebuilt.json", include_str!("fixtures/hyperfine/1.8-rebuilt.json")),
];

fn hyperfine() -> &'static dyn Format {
    find("hyperfine").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    hyperfine().read(&mut Input::of_text("export", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(hyperfine().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        insta::assert_snapshot!(
            *name,
            serde_json::to_string_pretty(&(&reading.factors, &reading.observations)).unwrap()
        );
    }
}

#[test]
fn every_time_is_a_run_of_its_own() {
    let text = fixture("1.15-two-parameters.json");
    let reading = read(text).unwrap();
    let printed: serde_json::Value = serde_json::from_str(text).unwrap();
    let results = printed["results"].as_array().unwrap();
    let times: Vec<f64> = results
        .iter()
        .flat_map(|result| result["times"].as_array().unwrap())
        .map(|time| time.as_f64().unwrap())
        .collect();
    let read: Vec<f64> = reading.observations.iter().filter_map(|one| one.value("wall_time")).collect();
    assert_eq!(read, times);
    assert_eq!(reading.factors, ["mode", "size"]);
    assert_eq!(reading.observations[1].run.as_deref(), Some("2"));
}

#[test]
fn what_failed_is_told() {
    let reading = read(fixture("1.15-failing.json")).unwrap();
    assert_eq!(reading.factors, ["command"]);
    assert_eq!(reading.observations[0].facts.ending, Some(Ending::Failed("exit status 1".to_owned())));
    assert_eq!(reading.observations[8].facts.ending, Some(Ending::Completed));
}

#[test]
fn a_line_of_means_is_an_average_unless_there_was_one_run() {
    let means = read(fixture("1.15-scan.csv")).unwrap();
    assert!(means.observations.iter().all(|one| one.facts.averaged.is_some_and(|of| of.spread_known)));
    assert_eq!(means.factors, ["n"]);
    let single = read(fixture("1.15-one-run.csv")).unwrap();
    assert_eq!(single.observations[0].facts.averaged, None);
}
