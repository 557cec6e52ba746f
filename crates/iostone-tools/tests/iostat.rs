//! iostat's reports of every version, as text and as JSON, are read by their headers.

use iostone_model::dataset::Observation;
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here with iostat of sysstat 12.6.1 of Debian, in several locales; and with 9.1.5, 10.2.0, 11.4.11, 12.0.6 and
// 12.7.9 built from their sources.
const FIXTURES: &[(&str, &str)] = &[
    ("10.2-xt", include_str!("fixtures/iostat/10.2-xt.txt")),
    ("11.4-dxm", include_str!("fixtures/iostat/11.4-dxm.txt")),
    ("11.4-xt", include_str!("fixtures/iostat/11.4-xt.txt")),
    ("12.0-xt", include_str!("fixtures/iostat/12.0-xt.txt")),
    ("12.6-de", include_str!("fixtures/iostat/12.6-de.txt")),
    ("12.6-dxy", include_str!("fixtures/iostat/12.6-dxy.txt")),
    ("12.6-hx", include_str!("fixtures/iostat/12.6-hx.txt")),
    ("12.6-iso", include_str!("fixtures/iostat/12.6-iso.txt")),
    ("12.6-ja", include_str!("fixtures/iostat/12.6-ja.txt")),
    ("12.6-m", include_str!("fixtures/iostat/12.6-m.txt")),
    ("12.6-once", include_str!("fixtures/iostat/12.6-once.txt")),
    ("12.6-x", include_str!("fixtures/iostat/12.6-x.txt")),
    ("12.6-xs", include_str!("fixtures/iostat/12.6-xs.txt")),
    ("12.6-xt-json", include_str!("fixtures/iostat/12.6-xt.json")),
    ("12.6-json", include_str!("fixtures/iostat/12.6.json")),
    ("12.6", include_str!("fixtures/iostat/12.6.txt")),
    ("12.7-xt", include_str!("fixtures/iostat/12.7-xt.txt")),
    ("9.1-xt", include_str!("fixtures/iostat/9.1-xt.txt")),
    ("9.1", include_str!("fixtures/iostat/9.1.txt")),
];

fn iostat() -> &'static dyn Format {
    find("iostat").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    iostat().read(&mut Input::of_text("iostat.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(iostat().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn text_and_json_of_the_same_seconds_say_the_same() {
    // Both ran at once: the first of two reports is dropped, so the samples cover nearly the same time.
    let text = read(fixture("12.6-x")).unwrap().observations;
    let json = read(fixture("12.6-xt-json")).unwrap().observations;
    let figures = |observations: &[Observation]| -> Vec<(String, Vec<String>)> {
        let of_vda =
            observations.iter().filter(|one| one.labels.get("device").is_none_or(|device| device == "vda"));
        let named =
            of_vda.map(|one| (one.condition(&["device".to_owned()]), one.figures.keys().cloned().collect()));
        named.collect()
    };
    assert_eq!(figures(&text), figures(&json));
}

#[test]
fn the_figures_of_a_report_are_those_that_were_printed() {
    let reading = read(fixture("12.6-dxy")).unwrap();
    // Without `-y` in the log, the first report is taken for the one since boot.
    assert_eq!(reading.observations[0].series["reads"].values.len(), 1);
    let reading = read(&format!("$ iostat -dxy vda 1 2\n{}", fixture("12.6-dxy"))).unwrap();
    let observation = &reading.observations[0];
    assert_eq!(observation.series["reads"].values.len(), 2);
    let rows: Vec<Vec<f64>> = fixture("12.6-dxy")
        .lines()
        .filter_map(|line| line.strip_prefix("vda "))
        .map(|row| row.split_whitespace().map(|field| field.parse().unwrap()).collect())
        .collect();
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
    assert!((observation.value("write.throughput").unwrap() - mean(7) * 1024.0).abs() < 1e-6);
    assert!((observation.value("utilisation").unwrap() - mean(21) / 100.0).abs() < 1e-9);
}

#[test]
fn a_json_that_is_cut_off_is_malformed() {
    let text = fixture("12.6-xt-json");
    let error = read(&text[..text.len() / 2]).unwrap_err().to_string();
    assert!(error.ends_with("found the end of the file"), "{error}");
}
