//! What sysbench of every version prints is read, with the options it echoes.

use iostone_model::dataset::Ending;
use iostone_tools::{Format, Head, Input, Likeness, ReadError, Reading, find};

// Ran here with sysbench 1.0.20 of Debian, and with the last commit of the 0.4 branch built from its source. 0.4.12 and
// 1.1 are rebuilt from the layouts in their sources, with figures of the runs above.
const FIXTURES: &[(&str, &str)] = &[
    ("0.4.12-rebuilt", include_str!("fixtures/sysbench/0.4.12-rebuilt.txt")),
    ("1.1-rebuilt", include_str!("fixtures/sysbench/1.1-rebuilt.txt")),
    ("0.4", include_str!("fixtures/sysbench/0.4.txt")),
    ("1.0.20-cpu", include_str!("fixtures/sysbench/1.0.20-cpu.txt")),
    ("1.0.20-fatal", include_str!("fixtures/sysbench/1.0.20-fatal.txt")),
    ("1.0.20-histogram", include_str!("fixtures/sysbench/1.0.20-histogram.txt")),
    ("1.0.20-no-files", include_str!("fixtures/sysbench/1.0.20-no-files.txt")),
    ("1.0.20-others", include_str!("fixtures/sysbench/1.0.20-others.txt")),
    ("1.0.20-prepare", include_str!("fixtures/sysbench/1.0.20-prepare.txt")),
    ("1.0.20-rndrw", include_str!("fixtures/sysbench/1.0.20-rndrw.txt")),
    ("1.0.20-several", include_str!("fixtures/sysbench/1.0.20-several.txt")),
];

fn sysbench() -> &'static dyn Format {
    find("sysbench").expect("a format")
}

fn read(text: &str) -> Result<Reading, ReadError> {
    sysbench().read(&mut Input::of_text("sysbench.log", text))
}

fn fixture(name: &str) -> &'static str {
    FIXTURES.iter().find(|(other, _)| *other == name).expect("a fixture").1
}

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, text) in FIXTURES {
        assert_eq!(sysbench().recognise(&Head { name: "x", text }), Likeness::Certain, "{name}");
        let reading = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let told = (&reading.factors, &reading.metrics, &reading.observations);
        insta::assert_snapshot!(*name, serde_json::to_string_pretty(&told).unwrap());
    }
}

#[test]
fn figures_are_those_that_were_printed() {
    let observation = &read(fixture("1.0.20-rndrw")).unwrap().observations[0];
    let printed = |key: &str| -> f64 {
        let line = fixture("1.0.20-rndrw").lines().find(|line| line.trim().starts_with(key)).unwrap();
        line.rsplit(':').next().unwrap().trim().trim_end_matches('s').parse().unwrap()
    };
    assert_eq!(observation.value("reads"), Some(printed("reads/s:")));
    assert_eq!(observation.value("write.throughput"), Some(printed("written, MiB/s:") * 1_048_576.0));
    assert_eq!(observation.value("latency_p95"), Some(printed("95th percentile:") * 1e-3));
    assert_eq!(observation.value("wall_time"), Some(printed("total time:")));
    assert_eq!(observation.facts.working_set_bytes, Some(64 << 20));
    assert_eq!(observation.series["read.throughput"].values.len(), 2);
}

#[test]
fn several_runs_differ_in_what_was_varied() {
    let reading = read(fixture("1.0.20-several")).unwrap();
    assert_eq!(reading.factors, ["mode", "threads"]);
    assert_eq!(reading.observations.len(), 4);
    assert!(reading.observations.iter().all(|one| one.facts.direct == Some(true)));
}

#[test]
fn what_is_fatal_is_an_ending() {
    for name in ["1.0.20-fatal", "1.0.20-no-files"] {
        let observations = read(fixture(name)).unwrap().observations;
        assert!(matches!(observations[0].facts.ending, Some(Ending::Failed(_))), "{name}");
    }
}

#[test]
fn a_log_that_is_cut_off_is_refused() {
    let whole = include_str!("fixtures/sysbench/1.0.20-rndrw.txt");
    let cut = |end: &str| &whole[..whole.find(end).unwrap() + end.len()];
    for end in [
        "reads/s:                      338",
        "2257.90\n",
        "total time:                          2.0",
        "avg:                                    0.03\n",
        "[ 2s ] reads: 582.04 MiB/s writes: 388.04 MiB/s fsyncs: 2485.43/s latency (ms,95%): 0.007\n",
    ] {
        let error = read(cut(end)).unwrap_err().to_string();
        assert!(
            error.contains("cut off") || error.contains("ends with `s`") || error.contains("to their end"),
            "{end}: {error}"
        );
        if !end.ends_with('\n') {
            continue;
        }
        // A whole run after it is used; of the one that broke off only that.
        let observations = match read(&format!("{}\n{whole}", cut(end))) {
            Ok(reading) => reading.observations,
            Err(error) => panic!("{end}: {error}"),
        };
        assert_eq!(observations.len(), 2, "{end}");
        assert!(observations[0].figures.is_empty() && observations[0].facts.ending.is_some(), "{end}");
    }
    assert_eq!(read(whole.trim_end()).unwrap().observations.len(), 1);
}
