//! The reader of ORION's files reads every file back to the figures of the record.

use std::fs;
use std::path::{Path, PathBuf};

use iostone_model::dataset::Observation;
use iostone_model::orion::OrionRecord;
use iostone_orion::files::{Format, files_of, paths};
use iostone_tools::{Head, Input, Likeness, find, join_orion_points};

use super::records::{measured, published};

fn read(path: &Path) -> Vec<Observation> {
    let orion = find("orion").expect("a format");
    let text = fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert_ne!(orion.recognise(&Head { name, text: &text }), Likeness::No, "{name}");
    orion
        .read(&mut Input::of_text(name, &text))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .observations
}

fn written(record: &OrionRecord, format: Format) -> Vec<Observation> {
    let directory = tempfile::tempdir().unwrap();
    let prefix = directory.path().join("mytest_20180913_0034");
    let texts = files_of(record, &prefix, format);
    for (path, text) in &texts {
        fs::write(path, text).unwrap();
    }
    let files: Vec<PathBuf> = texts.into_iter().map(|(path, _)| path).collect();
    assert_eq!(files, paths(&prefix, format));
    join_orion_points(files.iter().flat_map(|path| read(path)).collect())
}

fn assert_close(observation: &Observation, name: &str, expected: Option<f64>, step: f64) {
    let found = observation.value(name);
    match (found, expected) {
        (None, None) => {}
        (Some(found), Some(expected)) if (found - expected).abs() <= step * 0.500_001 => {}
        _ => panic!("{name} at {:?} is {found:?}, not {expected:?}", observation.labels),
    }
}

fn check(record: &OrionRecord, format: Format) {
    let joined = written(record, format);
    let latency_step = if format == Format::V11_1 { 1e-5 } else { 1e-8 };
    let points: Vec<&Observation> =
        joined.iter().filter(|observation| observation.labels.contains_key("small")).collect();
    let loaded = record.points.iter().filter(|point| point.small + point.large > 0);
    assert_eq!(points.len(), loaded.clone().count());
    for point in loaded {
        let loads = [point.small.to_string(), point.large.to_string()];
        let observation = points
            .iter()
            .find(|observation| ["small", "large"].map(|label| observation.labels[label].clone()) == loads);
        let observation = observation.expect("every point");
        assert_close(observation, "iops", point.iops(), 1.0);
        assert_close(observation, "latency_mean", point.latency(), latency_step);
        assert_close(observation, "throughput", point.throughput(), 1e4);
        assert!(observation.value("latency_unsettled").is_none());
    }
    let summary = joined.iter().find(|observation| !observation.labels.contains_key("small")).unwrap();
    let maxima = record.maxima();
    assert_close(summary, "max_iops", maxima.iops.map(|most| most.value), 1.0);
    assert_close(summary, "max_throughput", maxima.throughput.map(|most| most.value), 1e4);
    let step = if format == Format::V11_1 { 1e-5 } else { 1e-9 };
    assert_close(summary, "min_latency", maxima.latency.map(|least| least.value), step);
    assert_eq!(summary.facts.working_set_bytes, Some(629_143_441_920));
    assert_eq!(summary.facts.command, Some(format!("orion {}", record.header.arguments.join(" "))));
}

#[test]
fn every_file_is_read_back_to_the_same_figures() {
    for format in [Format::V11_1, Format::V12] {
        check(&published(), format);
        for words in [
            "-run simple -num_disks 8",
            "-run normal -num_disks 2",
            "-run oltp -write 50",
            "-run dss -num_disks 4",
            "-run advanced -matrix detailed -write 20 -num_disks 2",
            "-run advanced -matrix detailed -write 100 -type seq",
            "-run advanced -matrix point -num_small 4 -num_large 3",
            "-run advanced -matrix col -num_small 2",
            "-run advanced -matrix max -num_small 30 -num_large 3",
        ] {
            check(&measured(words, 1), format);
        }
    }
}

#[test]
fn histograms_are_read_back_with_every_direction() {
    let record = measured("-run advanced -matrix detailed -write 20", 1);
    let joined = written(&record, Format::V12);
    let point = joined.iter().find(|point| {
        point.labels.get("small").is_some_and(|small| small == "3")
            && point.labels.get("large").is_some_and(|large| large == "2")
    });
    let point = point.expect("the point");
    for kind in ["read", "write", "large_read", "large_write"] {
        let p50 = point.value(&format!("{kind}.latency_p50_below")).expect("a median");
        let p99 = point.value(&format!("{kind}.latency_p99_below")).expect("a percentile");
        assert!(p50 < p99, "{kind}");
    }
}

#[test]
fn files_are_named_by_their_prefix() {
    let prefix = Path::new("/root/x_20180913_0034");
    let names =
        |format| paths(prefix, format).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    assert_eq!(
        names(Format::V11_1),
        ["summary.txt", "mbps.csv", "iops.csv", "lat.csv", "trace.txt"]
            .map(|ending| format!("/root/x_20180913_0034_{ending}"))
    );
    assert_eq!(names(Format::V12).last().unwrap(), "/root/x_20180913_0034_hist.txt");
}
