//! The `orion` workload from its spec to a trial's figures, with records of its own making.

use std::sync::atomic::AtomicBool;

use iostone_model::experiment::{OrionWorkload, Workload};
use iostone_model::orion::{LatencyFigures, LoadFigures, OrionEnd, RunLevel, TransferFigures};
use iostone_model::units::Bytes;

use super::*;

fn spec() -> OrionWorkload {
    OrionWorkload {
        num_small: Some(2),
        num_large: Some(1),
        matrix: Some(iostone_model::orion::Matrix::Max),
        size: Some(Bytes(4 << 20)),
        files: 2,
        ..OrionWorkload::new(RunLevel::Advanced)
    }
}

fn prepared() -> PreparedOrion {
    let test = spec().test().unwrap();
    PreparedOrion { spec: spec(), test, luns: Vec::new(), laid_out: String::new(), seed: 7 }
}

fn load(ios: u64, size: u64) -> LoadFigures {
    let latency = (ios > 0).then(|| LatencyFigures { mean: 0.001, p99: 0.002, ..LatencyFigures::default() });
    let reads = TransferFigures { ios, bytes: ios * size, latency: latency.clone() };
    LoadFigures { reads, latency, ..LoadFigures::default() }
}

/// A record in which every point of the plan was measured, over two seconds each.
fn record(finished: bool, reason: Option<&str>) -> OrionRecord {
    let prepared = prepared();
    let plan = prepared.spec.points();
    let measured = |(index, point): (usize, &LoadPoint)| PointRecord {
        number: u32::try_from(index).unwrap() + 1,
        small: point.small,
        large: point.large,
        seconds: 2.0,
        small_io: (point.small > 0).then(|| load(u64::from(point.small) * 1000, 8192)),
        // The last point moves nothing.
        large_io: (point.large > 0).then(|| load(if point.small == 2 { 0 } else { 100 }, 1 << 20)),
        ..PointRecord::default()
    };
    OrionRecord {
        header: prepared.header(&plan),
        points: plan.iter().enumerate().map(measured).collect(),
        end: Some(OrionEnd {
            ended_at: String::new(),
            finished,
            reason: reason.map(str::to_owned),
            ..OrionEnd::default()
        }),
    }
}

#[test]
fn every_declared_figure_of_a_finished_matrix_is_there_or_says_why_not() {
    let measured = report::measurement(&spec(), &record(true, None), "two files");
    let workload = Workload::Orion(Box::new(spec()));
    let missing: Vec<String> = workload
        .own_metrics()
        .iter()
        .map(|metric| metric.name.to_string())
        .filter(|name| workload.curve(name).is_none() && !measured.metrics.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    // The point that moved nothing has the worst rate there is.
    assert!(measured.metrics["throughput@2,1"].abs() < f64::EPSILON && measured.report.absent.is_empty());
    for (name, value) in [
        ("iops@2,0", 1000.0),
        ("max_iops", 1000.0),
        ("latency@1,1", 0.001),
        ("latency_p99@1,0", 0.002),
        ("max_throughput", 50.0 * 1_048_576.0),
    ] {
        assert!((measured.metrics[name] - value).abs() < value * 1e-9, "{name}");
    }
    assert!(measured.metrics.keys().all(|name| workload.metric(name).is_some()));
    assert!((measured.report.measured_seconds - 12.0).abs() < 1e-9);
    assert_eq!(measured.report.claimed_read_bytes, 6000 * 8192 + 200 * (1 << 20));
    assert!(measured.report.must_reach_device && measured.report.operations_per_100ms.is_empty());
    assert_eq!(measured.report.facts["max_iops"], "1\u{202f}000 /s @ Small=2 and Large=0");
}

#[test]
fn a_matrix_in_which_nothing_completed_has_rates_of_zero_and_says_why_it_has_no_latency() {
    let mut record = record(true, None);
    for point in &mut record.points {
        point.small_io = point.small_io.take().map(|_| load(0, 8192));
        point.large_io = point.large_io.take().map(|_| load(0, 1 << 20));
    }
    let measured = report::measurement(&spec(), &record, "");
    for name in ["iops@1,0", "throughput@0,1", "max_iops", "max_throughput"] {
        assert_eq!(measured.metrics.get(name), Some(&0.0), "{name}");
    }
    assert_eq!(
        measured.report.absent["latency@1,0"],
        "at Small=1 and Large=0 nothing completed within 2.0 s"
    );
}

#[test]
fn a_time_that_orion_has_no_option_for_is_told_beside_its_command_line() {
    let mut prepared = prepared();
    prepared.spec.duration = Some("300ms".parse().unwrap());
    prepared.test = prepared.spec.test().unwrap();
    let header = prepared.header(&[]);
    assert!(!header.arguments.iter().any(|word| word == "-duration"), "{:?}", header.arguments);
    let record = OrionRecord { header, points: Vec::new(), end: None };
    let facts = report::measurement(&prepared.spec, &record, "").report.facts;
    assert_eq!(facts["point_time"], "0.3 s a point");
}

#[test]
fn a_matrix_that_failed_has_no_figures_and_keeps_what_it_measured() {
    let failed = report::measurement(&spec(), &record(false, Some("at Small=2: no space")), "");
    assert!(failed.metrics.is_empty() && !failed.interrupted);
    assert_eq!(failed.report.error.as_deref(), Some("at Small=2: no space"));
    let interrupted = report::measurement(&spec(), &record(false, Some("interrupted")), "");
    assert!(interrupted.interrupted && interrupted.report.error.is_none());
    let kept = failed.raw.iter().find(|raw| raw.name == "orion_record.jsonl").unwrap();
    assert_eq!(kept.text.lines().count(), 1 + 6 + 1);
}

#[test]
fn the_keys_stand_in_the_record_as_a_command_line() {
    let words = prepared().header(&[]).arguments;
    assert_eq!(words.join(" "), "-run advanced -matrix max -num_small 2 -num_large 1");
    assert_eq!(OrionTest::parse(&words).unwrap(), spec().test().unwrap());
}

#[test]
fn data_files_are_laid_out_whole() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place { directory: Some(folder.path().to_owned()), device: None };
    let (luns, words) = luns::prepare(&spec(), &place, 3, &AtomicBool::new(false)).unwrap();
    assert_eq!(luns.len(), 2);
    let contents: Vec<Vec<u8>> = luns.iter().map(|lun| std::fs::read(&lun.path).unwrap()).collect();
    assert!(contents.iter().all(|bytes| bytes.len() == 4 << 20));
    assert_ne!(contents[0][..4096], contents[1][..4096]);
    assert!(contents[0].chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
    assert!(words.contains("2 files of 4MiB"), "{words}");
    let nowhere = Place { directory: None, device: None };
    assert!(luns::prepare(&spec(), &nowhere, 3, &AtomicBool::new(false)).is_err());
}

#[test]
fn what_warmed_a_cache_is_in_no_figure_of_the_whole_trial() {
    let mut record = record(true, None);
    assert!(report::measurement(&spec(), &record, "").report.absent.is_empty());
    record.points[1].warming_bytes = 3 << 20;
    let absent = report::measurement(&spec(), &record, "").report.absent;
    let names: Vec<&str> = absent.keys().map(String::as_str).collect();
    assert_eq!(names, ["cpu_per_io", "read_per_claimed_byte", "written_per_claimed_byte"]);
    assert!(absent["cpu_per_io"].contains("3.00 MiB of unmeasured random I/O"), "{}", absent["cpu_per_io"]);
}
