//! What shells and programs print of the time a command took is read.

use iostone_model::dataset::Ending;
use iostone_model::metric::Unit;
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here: bash 5.2 (`-de` with German numbers), GNU time 1.9, busybox 1.35, zsh 5.9 and tcsh 6.24 of Debian.
const FIXTURES: &[(&str, &str)] = &[
    ("bash-de", include_str!("fixtures/time/bash-de.txt")),
    ("bash", include_str!("fixtures/time/bash.txt")),
    ("busybox-v", include_str!("fixtures/time/busybox-v.txt")),
    ("busybox", include_str!("fixtures/time/busybox.txt")),
    ("gnu-failed", include_str!("fixtures/time/gnu-failed.txt")),
    ("gnu-v-killed", include_str!("fixtures/time/gnu-v-killed.txt")),
    ("gnu-v", include_str!("fixtures/time/gnu-v.txt")),
    ("gnu", include_str!("fixtures/time/gnu.txt")),
    ("posix", include_str!("fixtures/time/posix.txt")),
    ("tcsh", include_str!("fixtures/time/tcsh.txt")),
    ("zsh", include_str!("fixtures/time/zsh.txt")),
];

fn time() -> &'static dyn Format {
    find("time").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    time().read(&mut Input::of_text("time.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(time().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn an_exit_status_is_an_ending() {
    let ending = |name| read(fixture(name)).unwrap().observations[0].facts.ending.clone();
    let failed = |why: &str| Some(Ending::Failed(why.to_owned()));
    assert_eq!(ending("gnu-failed"), failed("exited with non-zero status 4"));
    assert_eq!(ending("gnu-v-killed"), failed("terminated by signal 9"));
    assert_eq!(ending("busybox-v"), failed("exited with non-zero status 3"));
    assert_eq!(ending("gnu-v"), Some(Ending::Completed));
    assert_eq!(ending("bash"), None);
}

#[test]
fn what_gnu_time_knows_is_in_base_units() {
    let reading = read(fixture("gnu-v")).unwrap();
    let observation = &reading.observations[0];
    assert_eq!(observation.value("outputs"), Some(102_408.0 * 512.0));
    assert_eq!(observation.value("memory_max"), Some(2656.0 * 1024.0));
    assert_eq!(reading.metrics["memory_max"].unit, Unit::Bytes);
    let command = "dd if=/dev/zero of=out bs=1M count=50 conv=fsync status=none";
    assert_eq!(observation.facts.work.as_deref(), Some(command));
}
