//! The output of other tools: each is read or refused at a line that is there, and what is read can be kept and exported.
#![no_main]

use std::path::{Component, Path};

use iostone_fuzz::assert_survives_json;
use iostone_model::dataset::Dataset;
use iostone_tools::by::Pattern;
use iostone_tools::described::read_described;
use iostone_tools::detect::detect;
use iostone_tools::{
    FORMATS, Format, Head, Input, Likeness, ReadError, Reading, bonnie_csv, fio_json, join_orion_points,
};
use libfuzzer_sys::fuzz_target;

/// ORION's files are told apart by their names.
const NAMES: &[&str] =
    &["output.txt", "run_summary.txt", "run_iops.csv", "run_lat.csv", "run_mbps.csv", "run_hist.txt"];

fuzz_target!(|bytes: &[u8]| {
    // The first byte picks the format, `A` the first one; the second the file's name, from `0`.
    let [format, name, content @ ..] = bytes else { return };
    let name = NAMES[usize::from(name.wrapping_sub(b'0')) % NAMES.len()];
    let text = String::from_utf8_lossy(content);
    let head = Head { name, text: &text };
    match FORMATS.get(usize::from(format.wrapping_sub(b'A'))) {
        Some(format) => check(*format, name, content),
        None if *format == b'a' => describe(content),
        None if *format == b'b' => name_files(&text),
        None => {
            // As an import does: whatever is sure that the file is its own reads it.
            let _ = detect(&head);
            for format in FORMATS.iter().filter(|format| format.recognise(&head) > Likeness::Perhaps) {
                check(*format, name, content);
            }
        }
    }
});

fn check(format: &dyn Format, name: &str, content: &[u8]) {
    let lines = content.split(|byte| *byte == b'\n').count() as u64;
    match format.read(&mut Input::new(name, content)) {
        Ok(reading) => use_reading(format.name(), reading, lines),
        Err(ReadError::Malformed(malformed)) => {
            // One past the last where something is missing at the end.
            assert!(malformed.line <= lines + 1, "{}: {malformed} of {lines} lines", format.name());
            assert!(!malformed.expected.is_empty() && !malformed.found.is_empty(), "{malformed:?}");
        }
        Err(ReadError::Io(error)) => panic!("{}: {error} from memory", format.name()),
    }
}

fn use_reading(format: &str, reading: Reading, lines: u64) {
    for observation in &reading.observations {
        for (name, figure) in &observation.figures {
            assert!(figure.value.is_finite() && figure.step.is_finite(), "{format}: {name} {figure:?}");
        }
        for (name, series) in &observation.series {
            assert_eq!(series.at_seconds.len(), series.values.len(), "{format}: {name}");
            let finite = series.at_seconds.iter().chain(&series.values).all(|value| value.is_finite());
            assert!(finite, "{format}: {name}");
        }
        assert!(observation.order.is_none_or(f64::is_finite), "{format}");
        assert!(
            observation.line.is_none_or(|line| (1..=lines).contains(&line)),
            "{format}: {:?}",
            observation.line
        );
    }
    let observations: Vec<_> = reading.observations.iter().collect();
    let _ = (bonnie_csv(&observations), fio_json(&observations));
    let mut dataset = Dataset::new("fuzz");
    dataset.order = reading.order;
    dataset.factors = reading.factors;
    dataset.metrics = reading.metrics;
    dataset.observations = join_orion_points(reading.observations);
    assert_survives_json(&dataset);
}

/// A described dataset and after a NUL the file of every table that it names.
fn describe(content: &[u8]) {
    let mut parts = content.splitn(2, |byte| *byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let table = parts.next().unwrap_or_default();
    let open = |file: &str| {
        let within =
            Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        assert!(within, "{file} is not within its folder");
        Ok(table.to_vec())
    };
    match read_described(&text, "fuzz.toml", &open) {
        Ok(described) => assert_survives_json(&described.dataset),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A pattern and after a NUL the path of a file.
fn name_files(text: &str) {
    let (pattern, path) = text.split_once('\0').unwrap_or((text, "a-1.log"));
    if let Ok(pattern) = pattern.parse::<Pattern>() {
        let again = pattern.to_string().parse::<Pattern>();
        assert!(again.is_ok(), "{pattern} is written as none");
        let _ = pattern.read(Path::new(path));
    }
}
