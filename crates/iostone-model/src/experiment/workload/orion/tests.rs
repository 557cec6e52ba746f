//! The `orion` workload's two forms, its points and its figures.

use super::*;
use crate::experiment::Workload;
use crate::metric::{Direction, Unit};

const REPORT: &str = "-run advanced -testname orion-test -size_small 8 -num_disks 4 -write 20 -duration 1";

fn line(arguments: &str) -> OrionWorkload {
    OrionWorkload {
        arguments: Some(arguments.to_owned()),
        run: None,
        size: Some(Bytes(1 << 30)),
        ..OrionWorkload::new(RunLevel::Simple)
    }
}

fn keys(text: &str) -> OrionWorkload {
    toml::from_str(text).unwrap()
}

#[test]
fn both_forms_make_the_same_test() {
    let as_keys = keys("run = 'advanced'\nsize_small = '8KiB'\nnum_disks = 4\nwrite = 20\nduration = '1s'");
    let test = line(REPORT).test().unwrap();
    assert_eq!(OrionTest { test_name: "orion".to_owned(), ..test }, as_keys.test().unwrap());
    assert_eq!(line(REPORT).points(), as_keys.points());
    assert_eq!(line(REPORT).points().len(), 29);
    let spelt = line(REPORT).with_keys();
    assert_eq!((spelt.arguments.as_ref(), spelt.write, spelt.num_disks), (None, Some(20), Some(4)));
    assert_eq!(spelt.test().unwrap(), as_keys.test().unwrap());
}

#[test]
fn a_level_settles_its_options_but_not_the_time_of_a_point() {
    assert_eq!(line("-run oltp -duration 2").test().unwrap().duration, Span(Duration::from_secs(2)));
    let oltp = keys("run = 'oltp'\nduration = '500ms'\nwrite = 100\nfiles = 2");
    assert_eq!(oltp.test().unwrap().duration, Span(Duration::from_millis(500)));
    assert_eq!(oltp.disks(&oltp.test().unwrap()), 2);
    let said = |text: &str| keys(text).test().unwrap_err().to_string();
    assert!(said("run = 'oltp'\nsize_large = '2MiB'").contains("`-size_large` needs"));
    assert!(said("write = 5").contains("`-run` is required"));
    assert!(said("run = 'advanced'\nsize_small = '1000B'").contains("whole KiB"));
    assert!(said("run = 'advanced'\nwrite = 101").contains("from 0 to 100"));
    assert!(line("-run simple -duration 1 -duration 2").test().is_err());
    assert!(line("-run simple -duration").test().is_err());
    assert!(line("-run simple -duration 0").test().is_err());
}

#[test]
fn every_point_is_a_figure_and_curves_are_made_of_them() {
    let workload = Workload::Orion(Box::new(line("-run advanced -matrix max -num_small 2 -num_large 1")));
    let names: Vec<String> = workload.metrics().iter().map(|metric| metric.name.to_string()).collect();
    for name in [
        "max_iops",
        "max_throughput",
        "min_latency",
        "curve",
        "iops@2,0",
        "latency_p99@1,1",
        "throughput@0,1",
    ] {
        assert!(names.iter().any(|one| one == name), "{name} in {names:?}");
    }
    for name in &names {
        let declared = workload.metric(name).unwrap();
        assert!(workload.metrics().contains(&declared), "{name}");
    }
    for wrong in ["iops@0,1", "iops@02,0", "iops@3,0", "throughput@1,0", "iops@", "speed@1,0", "iops@1"] {
        assert_eq!(workload.metric(wrong), None, "{wrong}");
    }
    let curve = |name: &str| -> Vec<String> {
        workload.curve(name).unwrap().into_iter().map(|point| point.metric).collect()
    };
    assert_eq!(curve("iops_curve"), ["iops@1,0", "iops@2,0", "iops@1,1", "iops@2,1"]);
    assert_eq!(curve("throughput_curve"), ["throughput@0,1", "throughput@1,1", "throughput@2,1"]);
    assert_eq!(curve("curve"), [curve("iops_curve"), curve("throughput_curve")].concat());
    let latency = &workload.curve("latency_curve").unwrap()[0];
    assert_eq!(
        (latency.metric.as_str(), latency.unit, latency.direction),
        ("latency@1,0", Unit::Seconds, Direction::Lower)
    );
    assert!(workload.curve("max_iops").is_none() && workload.curve("iops@1,0").is_none());
}

#[test]
fn what_no_point_gives_is_no_figure() {
    let oltp = Workload::Orion(Box::new(keys("run = 'oltp'")));
    assert!(oltp.metric("max_throughput").is_none() && oltp.curve("throughput_curve").is_none());
    assert!(oltp.metric("max_iops").is_some() && oltp.curve("curve").is_some());
    let dss = Workload::Orion(Box::new(keys("run = 'dss'")));
    assert!(dss.metric("max_iops").is_none() && dss.metric("max_throughput").is_some());
}

#[test]
fn a_matrix_of_millions_of_points_is_not_listed() {
    let huge = keys("run = 'normal'\nnum_disks = 6000");
    assert!(huge.point_count(&huge.test().unwrap()) > MOST_POINTS && huge.points().is_empty());
}

#[test]
fn a_trial_is_told_in_a_line_and_its_time_beforehand() {
    let workload = OrionWorkload { files: 2, ..line(REPORT) };
    assert_eq!(
        workload.summary().join(", "),
        "ORION advanced, matrix basic, 29 points of 1s, 20 % writes, 2 files of 1GiB, concat"
    );
    assert_eq!(workload.asked_time(), Some(Duration::from_millis(1000 + 28 * 1100)));
    assert_eq!(workload.room(), Bytes(2 << 30));
    let sequential = keys("run = 'advanced'\ntype = 'seq'\nmatrix = 'point'\nnum_small = 0\nnum_large = 1");
    assert_eq!(sequential.asked_time(), Some(Duration::from_secs(120 + 1 + 60)));
}
