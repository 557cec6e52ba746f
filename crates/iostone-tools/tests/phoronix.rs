//! Result files of the Phoronix Test Suite are read: every run, with what is told of the systems.

use iostone_model::dataset::{Ending, Order};
use iostone_model::metric::{Direction, Unit};
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// `10-published` holds a result of a real run that a public repository keeps as a test. The other is rebuilt from
// `pts_result_file.php` and the schema of version 10.8, with made-up figures.
const FIXTURES: &[(&str, &str)] = &[
    ("10-published", include_str!("fixtures/phoronix/10-published.xml")),
    ("10.8-rebuilt", include_str!("fixtures/phoronix/10.8-rebuilt.xml")),
];

fn phoronix() -> &'static dyn Format {
    find("phoronix").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    phoronix().read(&mut Input::of_text("composite.xml", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(phoronix().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn every_run_is_an_observation() {
    let reading = read(fixture("10.8-rebuilt")).unwrap();
    let dbench: Vec<f64> = reading
        .observations
        .iter()
        .filter(|one| one.table.starts_with("Dbench"))
        .filter_map(|one| one.value("throughput"))
        .collect();
    assert_eq!(dbench, [409.112e6, 415.204e6, 412.801e6, 731.908e6, 735.44e6, 733.21e6]);
    assert_eq!(reading.metrics["wall_time"].better, Some(Direction::Lower));
    assert_eq!(reading.metrics["bogo_ops_s"].unit, Unit::Plain);
    assert_eq!(reading.order, Order::Unknown);
}

#[test]
fn what_is_told_of_a_system_stands_at_its_runs() {
    let one = read(fixture("10.8-rebuilt")).unwrap().observations.swap_remove(0);
    assert_eq!(one.labels["kernel"], "6.1.0-18-amd64 (x86_64)");
    assert_eq!(one.labels["filesystem"], "ext4");
    assert_eq!(one.labels["hypervisor"], "Xen HVM domU 4.11.amazon");
    assert_eq!(one.labels["date"], "2024-03-02 09:02:11");
    assert_eq!(one.facts.memory_bytes, Some(16 << 30));
    assert_eq!(one.facts.cpus, Some(8.0));
}

#[test]
fn results_without_runs_and_runs_without_results_are_told_apart() {
    let observations = read(fixture("10.8-rebuilt")).unwrap().observations;
    let of = |table: &str| observations.iter().filter(|one| one.table.starts_with(table)).collect::<Vec<_>>();
    assert!(matches!(of("Timed Linux")[3].facts.ending, Some(Ending::Failed(_))));
    assert!(of("Stress-NG")[0].facts.averaged.is_some());
    assert!(of("Disk Monitor").is_empty(), "a course over time is no figure");
}

#[test]
fn a_result_that_is_not_the_mean_of_its_runs_is_remarked() {
    let observations = read(fixture("10-published")).unwrap().observations;
    assert_eq!(observations.len(), 3);
    assert_eq!(
        observations[0].facts.remarks,
        ["the result 76.1 GB/s is not the mean of the runs that are listed, 67.5 GB/s"]
    );
}

#[test]
fn mebibytes_that_the_fio_profile_calls_megabytes_are_remarked() {
    let observations = read(fixture("10.8-rebuilt")).unwrap().observations;
    let remarked = |one: &&iostone_model::dataset::Observation| !one.facts.remarks.is_empty();
    let remarked: Vec<_> = observations.iter().filter(remarked).collect();
    assert_eq!(remarked.len(), 2, "once for each system");
    assert!(
        remarked.iter().all(|one| one.labels["test"].starts_with("pts/fio") && one.value("iops").is_none())
    );
}

#[test]
fn a_value_that_is_no_number_is_refused_with_its_line() {
    let text = fixture("10-published").replace("55966.09", "fast");
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "line 12: expected numbers with colons in between as `RawString`, found `fast`"
    );
    let none = "<PhoronixTestSuite>\n<Result>\n</Result>\n</PhoronixTestSuite>\n";
    assert_eq!(
        read(none).unwrap_err().to_string(),
        "line 4: expected a `Result` with an `Entry` that is a number, found the end of the file"
    );
}
