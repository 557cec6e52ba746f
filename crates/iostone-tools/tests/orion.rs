//! The files of ORION 10.2 to 19c are read, and those of one test are put together.

use iostone_model::dataset::{Ending, Observation};
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find, join_orion_points};
use proptest::prelude::*;

const FIXTURES: &[(&str, &str)] = &[
    // A published run of 11.1 on one disk: the tables rebuilt, byte for byte, from its figures and sizes of files.
    ("11.1_iops.csv", include_str!("fixtures/orion/11.1_iops.csv")),
    ("11.1_lat.csv", include_str!("fixtures/orion/11.1_lat.csv")),
    ("11.1_mbps.csv", include_str!("fixtures/orion/11.1_mbps.csv")),
    // Published by users of those versions; blank lines are put back where a page had swallowed them.
    ("11.1_summary.txt", include_str!("fixtures/orion/11.1_summary.txt")),
    ("11.1-several_summary.txt", include_str!("fixtures/orion/11.1-several_summary.txt")),
    ("11.2-maxima.txt", include_str!("fixtures/orion/11.2-maxima.txt")),
    ("12.2-oltp.txt", include_str!("fixtures/orion/12.2-oltp.txt")),
    ("12.2-console.txt", include_str!("fixtures/orion/12.2-console.txt")),
    ("19c-console.txt", include_str!("fixtures/orion/19c-console.txt")),
    ("19c-failed.txt", include_str!("fixtures/orion/19c-failed.txt")),
    // The histogram of the run above, as a file of its own.
    ("19c_hist.txt", include_str!("fixtures/orion/19c_hist.txt")),
];

fn orion() -> &'static dyn Format {
    find("orion").expect("a format")
}

fn read(name: &str, text: &str) -> Result<Reading, ReadError> {
    orion().read(&mut Input::of_text(name, text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

fn observations(names: &[&str]) -> Vec<Observation> {
    names.iter().flat_map(|name| read(name, fixture(name)).expect("a good fixture").observations).collect()
}

#[test]
fn every_version_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(orion().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&observations(&[name])).unwrap());
    }
    assert_eq!(orion().recognise(&Head { name: "a_lat.csv", text: "a,b\n1,2\n" }), Likeness::No);
}

#[test]
fn files_of_unknown_content_are_kept_and_yield_nothing() {
    for name in ["mytest_trace.txt", "mytest_tradeoff.csv"] {
        let text = "whatever it may hold\n";
        assert_eq!(orion().recognise(&Head { name, text }), Likeness::Likely);
        assert!(read(name, text).unwrap().observations.is_empty());
    }
    assert!(read("mytest_iops.csv", "whatever\n").is_err());
}

#[test]
fn the_tables_of_a_test_become_one() {
    let all = observations(&["11.1_iops.csv", "11.1_lat.csv", "11.1_mbps.csv"]);
    assert_eq!(all.len(), 12);
    let joined = join_orion_points(all);
    insta::assert_snapshot!("joined", serde_json::to_string_pretty(&joined).unwrap());
    assert_eq!(joined.len(), 7);
    assert_eq!(joined[0].value("latency_mean"), Some(0.000_43));
    assert_eq!(
        joined[0].facts.remarks,
        ["that its latencies are in ms is told by load divided by IOPS at the same points"]
    );
    assert_eq!(joined[6].value("throughput"), Some(374_260_000.0));
}

#[test]
fn a_summary_settles_the_unit_of_latency() {
    let alone = read("t_lat.csv", fixture("11.1_lat.csv")).unwrap().observations;
    let kept = join_orion_points(alone.clone());
    assert_eq!(kept, alone, "nothing tells the unit");
    assert_eq!((kept[0].value("latency_mean"), kept[0].value("latency_unsettled")), (None, Some(0.43)));
    assert!(kept[0].facts.remarks[0].contains("does not say"));
    for (version, seconds) in [("11.1.0.7.0", 0.000_43), ("11.2.0.4.0", 0.000_000_43)] {
        let summary = fixture("11.1_summary.txt").replace("11.1.0.7.0", version);
        let mut all = alone.clone();
        all.extend(read("t_summary.txt", &summary).unwrap().observations);
        let joined = join_orion_points(all);
        assert_eq!(joined[0].value("latency_mean"), Some(seconds), "{version}");
        assert_eq!(joined[0].labels["tool_version"], version);
        assert_eq!(joined[0].facts.working_set_bytes, Some(629_143_441_920));
    }
    let mut others = alone.clone();
    others.extend(read("other_summary.txt", fixture("11.1_summary.txt")).unwrap().observations);
    assert_eq!(join_orion_points(others)[0].value("latency_mean"), None, "another test's summary");
}

#[test]
fn what_a_table_holds_is_told_by_its_content() {
    let figure = |name: &str, text: &str| {
        read(name, text).unwrap().observations[0]
            .figures
            .first_key_value()
            .map(|(name, figure)| (name.clone(), figure.value))
    };
    let told = |name: &str, value| Some((name.to_owned(), value));
    let lat = fixture("11.1_lat.csv");
    assert_eq!(figure("x_iops.csv", lat), told("latency_unsettled", 0.43));
    assert_eq!(figure("x_lat.csv", fixture("11.1_iops.csv")), told("iops", 2302.0));
    let said = format!("The values are mean latencies in microseconds\n\n{lat}");
    assert_eq!(figure("x.csv", &said), told("latency_mean", 0.000_000_43));
    let point = "Large/Small,      4\n          2,  10.50\n";
    assert_eq!(figure("x_mbps.csv", point), told("throughput", 10_500_000.0));
    assert_eq!(figure("x_lat.csv", point), told("latency_unsettled", 10.5));
    assert!(read("x.csv", point).unwrap_err().to_string().contains("expected a file name that ends in"));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let message = |name: &str, text: &str| read(name, text).unwrap_err().to_string();
    let iops = fixture("11.1_iops.csv");
    assert!(
        message("t_iops.csv", &iops.replace("2302", "23x2"))
            .starts_with("line 2: expected a value at Small=1")
    );
    assert!(
        message("t_iops.csv", &iops.replace("6210", "6210, 7000"))
            .starts_with("line 2: expected at most 5 values")
    );
    assert!(
        message("t_iops.csv", &iops.replace("          2", "          1"))
            .starts_with("line 4: expected a large load")
    );
    assert!(
        message("t_iops.csv", "Large/Small,      1\n          0\n").contains("expected at least one value")
    );
    let summary = fixture("11.1_summary.txt");
    let cut = &summary[..summary.find("Maximum").unwrap()];
    assert!(message("t_summary.txt", cut).starts_with("line 22: expected `Maximum Small IOPS=`"));
    assert!(
        message("t_summary.txt", &summary.replace("442 @", "442 at"))
            .starts_with("line 23: expected `@ Small=N")
    );
}

#[test]
fn a_table_of_what_a_test_did_not_measure_is_empty() {
    let empty =
        |name: &str, text: &str| read(name, text).is_ok_and(|reading| reading.observations.is_empty());
    let (no_rows, no_columns) = ("Large/Small,      0,      1\n", "Large/Small\n          0\n          1\n");
    assert!(empty("t_mbps.csv", no_rows) && !empty("t_mbps.csv", no_columns));
    for name in ["t_iops.csv", "t_lat.csv"] {
        assert!(empty(name, no_columns) && !empty(name, no_rows), "{name}");
    }
    assert!(!empty("x.csv", no_rows) && !empty("x.csv", no_columns));
}

#[test]
fn a_test_that_failed_says_why() {
    let observation = &observations(&["19c-failed.txt"])[0];
    assert!(
        matches!(&observation.facts.ending, Some(Ending::Failed(why)) if why.starts_with("Failure in opening .lun"))
    );
    assert!(observation.figures.is_empty());
}

proptest! {
    #[test]
    fn no_file_is_too_strange(text in "(Large/Small|Maximum Small IOPS=|Small Read Latency: |Name: )?[ -~\n]{0,120}") {
        if let Ok(reading) = read("t_lat.csv", &text) {
            let _ = join_orion_points(reading.observations);
        }
        let _ = orion().recognise(&Head { name: "x", text: &text });
    }
}
