//! dbench logs of every version are read, and what they say is what stands in them.

use std::fmt::Write as _;

use iostone_model::dataset::Ending;
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran with dbench 4.00 of Debian on a small machine. The versions 3.04 and 5.0 were built from the project's own source
// (5.0: its last commit; 3.04: that of November 2006) and ran there with the loadfile of Debian's package.
const FIXTURES: &[(&str, &str)] = &[
    ("3.04", include_str!("fixtures/dbench/3.04.txt")),
    ("4.00", include_str!("fixtures/dbench/4.00.txt")),
    ("4.00-one-second", include_str!("fixtures/dbench/4.00-one-second.txt")),
    ("4.00-sync", include_str!("fixtures/dbench/4.00-sync.txt")),
    ("4.00-per-client", include_str!("fixtures/dbench/4.00-per-client.txt")),
    ("4.00-failed", include_str!("fixtures/dbench/4.00-failed.txt")),
    ("4.00-disk-full", include_str!("fixtures/dbench/4.00-disk-full.txt")),
    ("5.0", include_str!("fixtures/dbench/5.0.txt")),
    ("5.0-machine", include_str!("fixtures/dbench/5.0-machine.txt")),
    // Three of the runs above one after another, as a script that appends to one log leaves them.
    ("several", include_str!("fixtures/dbench/several.txt")),
];

fn dbench() -> &'static dyn Format {
    find("dbench").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    dbench().read(&mut Input::of_text("dbench.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_version_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(dbench().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap();
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&reading.observations).unwrap());
    }
    assert_eq!(dbench().recognise(&Head { name: "dbench.log", text: "hello\n" }), Likeness::No);
}

#[test]
fn the_throughput_alone_is_a_run() {
    let text =
        "Throughput 61.7 MB/sec  5 clients  5 procs  max_latency=1.5 ms\nThroughput 62.1 MB/sec 5 procs\n";
    assert_eq!(dbench().recognise(&Head { name: "x", text }), Likeness::Certain);
    let observations = read(text).unwrap().observations;
    assert_eq!(observations.len(), 2);
    assert_eq!(observations[0].value("throughput"), Some(61_700_000.0));
    assert_eq!(observations[0].value("latency_max"), Some(0.0015));
    assert_eq!(observations[1].labels["clients"], "5");
}

#[test]
fn the_time_of_a_pass_follows_from_the_line_counter() {
    let observation = &read(fixture("4.00")).unwrap().observations[0];
    let expected = 458_344.0 * 10.0 / f64::from(851_394 - 176_229);
    assert!((observation.value("pass_time").unwrap() - expected).abs() < 1e-9);
}

#[test]
fn the_machine_readable_zero_is_not_believed() {
    let observation = &read(fixture("5.0-machine")).unwrap().observations[0];
    assert_eq!(observation.value("throughput"), Some(519_480_000.0));
    assert!(observation.facts.remarks[0].contains("throughput of 0"));
    assert!(observation.figures.contains_key("Qpathinfo.latency_mean"));
}

#[test]
fn a_full_disk_is_told() {
    assert_eq!(read(fixture("4.00-disk-full")).unwrap().observations[0].facts.ending, Some(Ending::DiskFull));
    let failed = &read(fixture("4.00-failed")).unwrap().observations[0];
    assert_eq!(failed.facts.ending, Some(Ending::Failed("Child failed with status 1".to_owned())));
    assert!(failed.figures.is_empty());
}

#[test]
fn a_log_that_was_cut_off_is_malformed() {
    let whole = fixture("4.00");
    let cut = &whole[..whole.find("Throughput").unwrap()];
    let message = read(cut).unwrap_err().to_string();
    assert!(message.starts_with("line 42: expected `Throughput N MB/sec … procs`"), "{message}");
    let twice = format!("{cut}{whole}");
    let message = read(&twice).unwrap_err().to_string();
    assert!(
        message.ends_with("found `dbench version 4.00 - Copyright Andrew Tridgell 1999-2004`"),
        "{message}"
    );
    let broken = whole.replace("   2    246444   710.58 MB/sec", "   2    246444   710,58 MB/sec");
    assert!(read(&broken).unwrap_err().to_string().starts_with("line 10: expected `CLIENTS LINE"));
    let broken = whole.replace("Close         204705     0.001     1.115", "Close         204705     0.001");
    assert!(read(&broken).unwrap_err().to_string().starts_with("line 26: expected an operation"));
    assert!(read("").is_err());
}

#[test]
fn a_log_of_a_hundred_thousand_seconds_is_read() {
    let mut text = fixture("4.00").split("releasing clients\n").next().unwrap().to_owned();
    text.push_str("releasing clients\n");
    for second in 1..=100_000_i64 {
        writeln!(
            text,
            "   2 {:9}   700.00 MB/sec  execute {second:3} sec  latency 5.000 ms",
            second * 20_000
        )
        .unwrap();
    }
    text.push_str("   2 -21474836   700.00 MB/sec  execute 100001 sec  latency 5.000 ms\n");
    text.push_str("\nThroughput 700 MB/sec  2 clients  2 procs  max_latency=5.000 ms\n");
    let observations = read(&text).unwrap().observations;
    assert_eq!(observations[0].series["throughput"].values.len(), 100_001);
    assert_eq!(observations[0].value("pass_time"), None, "the counter ran over");
}

#[test]
fn a_write_that_fell_short_means_a_full_volume() {
    // Rebuilt from the message in fileio.c of version 4.0.
    let text = include_str!("fixtures/dbench/4.00-disk-full.txt").replace(
        "write failed on handle 9941 (No space left on device)",
        "wrote 4096 bytes, expected to write 65536 bytes on handle 9941",
    );
    let observations = find("dbench").unwrap().read(&mut Input::of_text("x", &text)).unwrap().observations;
    assert_eq!(observations[0].facts.ending, Some(Ending::DiskFull));
}
