//! What vmstat samples is read by its header.

use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here with vmstat of procps-ng 4.0.2, without a hypervisor that steals.
const FIXTURES: &[(&str, &str)] = &[
    ("4.0-n-a-Sm", include_str!("fixtures/vmstat/4.0-n-a-Sm.txt")),
    ("4.0-once", include_str!("fixtures/vmstat/4.0-once.txt")),
    ("4.0-t", include_str!("fixtures/vmstat/4.0-t.txt")),
    ("4.0-w", include_str!("fixtures/vmstat/4.0-w.txt")),
    ("4.0", include_str!("fixtures/vmstat/4.0.txt")),
];

fn vmstat() -> &'static dyn Format {
    find("vmstat").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    vmstat().read(&mut Input::of_text("vmstat.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(vmstat().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn totals_are_refused() {
    for text in [include_str!("fixtures/vmstat/4.0-d.txt"), include_str!("fixtures/vmstat/4.0-s.txt")] {
        assert!(read(text).is_err());
    }
}

#[test]
fn means_are_those_of_the_rows_after_the_first() {
    let text = fixture("4.0");
    let rows: Vec<Vec<f64>> = text.lines().skip(3).map(numbers).collect();
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
    let observation = &read(text).unwrap().observations[0];
    assert!((observation.value("block_out").unwrap() - mean(9) * 1024.0).abs() < 1e-6);
    assert!((observation.value("cpu_system").unwrap() - mean(13) / 100.0).abs() < 1e-9);
    assert_eq!(observation.series["steal"].values.len(), rows.len());
}

fn numbers(row: &str) -> Vec<f64> {
    row.split_whitespace().map(|field| field.parse().expect("a number")).collect()
}
