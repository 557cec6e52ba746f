//! What sar and sadf print of CPUs, devices and I/O is read, in any locale.

use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here with sar and sadf of sysstat 12.6.1 of Debian, in several locales; and with 9.1.5 and 10.2.0 built from their
// sources.
const FIXTURES: &[(&str, &str)] = &[
    ("10.2-u-d", include_str!("fixtures/sar/10.2-u-d.txt")),
    ("12.6-A", include_str!("fixtures/sar/12.6-A.txt")),
    ("12.6-P-all", include_str!("fixtures/sar/12.6-P-all.txt")),
    ("12.6-b", include_str!("fixtures/sar/12.6-b.txt")),
    ("12.6-d-p", include_str!("fixtures/sar/12.6-d-p.txt")),
    ("12.6-de", include_str!("fixtures/sar/12.6-de.txt")),
    ("12.6-fr", include_str!("fixtures/sar/12.6-fr.txt")),
    ("12.6-sadf-d-d", include_str!("fixtures/sar/12.6-sadf-d-d.txt")),
    ("12.6-sadf-d-u", include_str!("fixtures/sar/12.6-sadf-d-u.txt")),
    ("12.6-sadf-j-json", include_str!("fixtures/sar/12.6-sadf-j.json")),
    ("12.6-u-all", include_str!("fixtures/sar/12.6-u-all.txt")),
    ("12.6-u-d-b", include_str!("fixtures/sar/12.6-u-d-b.txt")),
    ("12.6-u", include_str!("fixtures/sar/12.6-u.txt")),
    ("12.6-us", include_str!("fixtures/sar/12.6-us.txt")),
    ("12.6-zh", include_str!("fixtures/sar/12.6-zh.txt")),
    ("9.1-u-d", include_str!("fixtures/sar/9.1-u-d.txt")),
];

fn sar() -> &'static dyn Format {
    find("sar").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    sar().read(&mut Input::of_text("sar.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(sar().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn the_means_are_the_averages_that_sar_prints() {
    for name in ["12.6-u", "12.6-de", "12.6-fr", "12.6-zh", "12.6-us"] {
        let text = fixture(name);
        let average = text.lines().rev().find(|line| line.contains(" all ")).unwrap();
        let printed: Vec<f64> =
            average.split_whitespace().filter_map(|field| field.replace(',', ".").parse().ok()).collect();
        let observation = &read(text).unwrap().observations[0];
        for (name, printed) in
            ["cpu_user", "cpu_nice", "cpu_system", "io_wait", "steal", "cpu_idle"].iter().zip(printed)
        {
            // sar averages the counters, not the rounded shares.
            assert!((observation.value(name).unwrap() * 100.0 - printed).abs() < 0.6, "{name}: {printed}");
        }
    }
}

#[test]
fn sadf_says_the_same_in_columns_and_in_json() {
    let json = read(fixture("12.6-sadf-j-json")).unwrap().observations;
    let cpu = read(fixture("12.6-sadf-d-u")).unwrap().observations;
    let disk = read(fixture("12.6-sadf-d-d")).unwrap().observations;
    assert_eq!(json[0].series, cpu[0].series);
    assert_eq!(json[1].labels, {
        let mut labels = disk[0].labels.clone();
        labels.insert("kernel".to_owned(), json[1].labels["kernel"].clone());
        labels
    });
    assert_eq!(json[1].figures, disk[0].figures);
}

#[test]
fn all_cpus_are_a_condition_beside_each() {
    let reading = read(fixture("12.6-P-all")).unwrap();
    let cpus: Vec<_> = reading.observations.iter().map(|one| one.labels["cpu"].as_str()).collect();
    assert_eq!(cpus, ["all", "0", "1"]);
    assert_eq!(reading.factors, ["cpu"]);
    assert!(!read(fixture("12.6-u")).unwrap().observations[0].labels.contains_key("cpu"));
}

#[test]
fn colours_change_nothing() {
    for name in ["12.6-u", "12.6-d-p", "12.6-us"] {
        let coloured: Vec<String> = fixture(name)
            .lines()
            .map(|line| {
                if line.is_empty() {
                    line.to_owned()
                } else {
                    line.replace(' ', " \u{1b}[32;22m") + "\u{1b}[0m\r"
                }
            })
            .collect();
        let coloured = coloured.join("\n") + "\n";
        assert_eq!(read(&coloured).unwrap(), read(fixture(name)).unwrap(), "{name}");
    }
}
