//! What ioping of every version prints is read: for people, raw and as JSON.

use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here with ioping 1.3 of Debian, and with 0.6, 0.8, 0.9, 1.0, 1.2 and the commit after 1.3 built from their sources.
const FIXTURES: &[(&str, &str)] = &[
    ("0.6", include_str!("fixtures/ioping/0.6.txt")),
    ("0.8", include_str!("fixtures/ioping/0.8.txt")),
    ("0.9-B", include_str!("fixtures/ioping/0.9-B.txt")),
    ("0.9", include_str!("fixtures/ioping/0.9.txt")),
    ("1.0", include_str!("fixtures/ioping/1.0.txt")),
    ("1.2", include_str!("fixtures/ioping/1.2.txt")),
    ("1.3-B", include_str!("fixtures/ioping/1.3-B.txt")),
    ("1.3-R", include_str!("fixtures/ioping/1.3-R.txt")),
    ("1.3-W", include_str!("fixtures/ioping/1.3-W.txt")),
    ("1.3-device", include_str!("fixtures/ioping/1.3-device.txt")),
    ("1.3-p", include_str!("fixtures/ioping/1.3-p.txt")),
    ("1.3-q", include_str!("fixtures/ioping/1.3-q.txt")),
    ("1.3-json", include_str!("fixtures/ioping/1.3.json")),
    ("1.3", include_str!("fixtures/ioping/1.3.txt")),
    ("after-1.3-json", include_str!("fixtures/ioping/after-1.3.json")),
];

fn ioping() -> &'static dyn Format {
    find("ioping").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    ioping().read(&mut Input::of_text("ioping.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert!(ioping().recognise(&Head { name: "x", text }) >= Likeness::Likely, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn raw_and_text_say_the_same_whatever_the_version() {
    for (raw, text) in [("0.9-B", "0.9"), ("1.3-B", "1.3-q")] {
        let mean = |name| read(fixture(name)).unwrap().observations[0].value("latency_mean").unwrap();
        let ratio = mean(raw) / mean(text);
        // Two runs of the same on an idle disk: the same unit, not the same figure.
        assert!((0.02..50.0).contains(&ratio), "{raw}: {ratio}");
    }
}

#[test]
fn figures_are_those_that_were_printed() {
    let observation = &read(fixture("1.3-device")).unwrap().observations[0];
    assert_eq!(observation.value("latency_mean"), Some(81.7 * 1e-6));
    assert_eq!(observation.value("latency_mdev"), Some(861.0 * 1e-9));
    assert_eq!(observation.value("iops"), Some(12_200.0));
    assert_eq!(observation.facts.claimed_read_bytes, Some(8192));
    assert_eq!(observation.facts.volume_bytes, Some(16 << 20));
    let observation = &read(fixture("0.6")).unwrap().observations[0];
    assert_eq!(observation.figures.get("iops").map(|figure| figure.step), Some(1.0));
}
