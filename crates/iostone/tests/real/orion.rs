//! ORION's loads as a workload: limits come out as they were set and are named, and a report's command line runs as it is.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::Value;

use crate::lab::{Disk, Lab, cannot_limit, needs_root, words};
use crate::tools::{experiment, figure, raw, rehearsed};

/// A volume of 2,000 reads and 500 writes a second and 64 MB/s each way, under loads that reach its limits also where other
/// tests leave the processors little time. One block: `decide.time` is over after it.
///
/// Points take two seconds, because version 1 grants limits in slices of 100 ms. Large I/O is of 256 KiB, so that a mix has
/// enough of them to be one: a fifth of 80 is a fifth give or take a fifth.
const THROTTLED: &str = r#"
name = "small-orion"

[stack]
volume = { kind = "loop", size = "32MiB", read_iops = 2000, write_iops = 500, throughput = "64MB/s" }

[[factor]]
name = "load"
[factor.levels]
reads = { workload = { write = 0 } }
mix = { workload = { write = 20 } }
writes = { workload = { write = 100 } }
few_writes = { workload = { write = 100, num_small = 6 } }
large_reads = { workload = { write = 0, num_small = 0, num_large = 8 } }
large_mix = { workload = { write = 20, num_small = 0, num_large = 8 } }
large_writes = { workload = { write = 100, num_small = 0, num_large = 8 } }

[workload]
kind = "orion"
run = "advanced"
matrix = "point"
num_small = 24
num_large = 0
size_large = "256KiB"
duration = "2s"

[decide]
metric = "curve"
baseline = "reads"
time = "1s"

[trials]
settle = "20ms"
warmups = 0

[gates]
steal = "off"
idle = "off"
throttling = "off"
"#;

/// What each load must come to. Of a mix both directions bind: 2,000 reads are 80 % of 2,500, and 64 MB/s of reads 80 % of
/// 80 MB/s. Writes alone stay where they are whatever the load, the flat curve of field report 5.
const EXPECTED: [(&str, &str, f64); 7] = [
    ("reads", "max_iops", 2000.0),
    ("mix", "max_iops", 2500.0),
    ("writes", "max_iops", 500.0),
    ("few_writes", "max_iops", 500.0),
    ("large_reads", "max_throughput", 64e6),
    ("large_mix", "max_throughput", 80e6),
    ("large_writes", "max_throughput", 64e6),
];

/// How often the block is measured at most: a machine that runs other tests beside may give a load less than its limit.
const ATTEMPTS: usize = 4;

fn fact(trial: &Value, name: &str) -> String {
    trial["workload"]["facts"][name].as_str().unwrap_or_default().to_owned()
}

fn memory_takes_direct() -> bool {
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let opens = |file: &Path| File::options().read(true).custom_flags(direct).open(file).is_ok();
    tempfile::NamedTempFile::new_in("/dev/shm").is_ok_and(|file| opens(file.path()))
}

/// One block under limits: its trials.
fn measured() -> Vec<Value> {
    let lab = Lab::new();
    // In memory where that takes direct I/O, so that nothing but the limits is slow.
    let volume = if memory_takes_direct() { "volume = { directory = \"/dev/shm\"," } else { "volume = {" };
    let file = lab.write("experiment.toml", &THROTTLED.replace("volume = {", volume));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let Value::Array(trials) = lab.record()["trials"].take() else { panic!("no trials") };
    assert_eq!(trials.len(), EXPECTED.len());
    for trial in &trials {
        assert_eq!(trial["valid"], true, "{trial:#}");
        assert!(raw(&lab, trial, "orion_summary.txt").contains("Maximum "), "{trial:#}");
    }
    trials
}

#[test]
fn a_limited_volume_shows_its_limits_at_every_share_of_writes() {
    needs_root!();
    if cannot_limit() {
        return;
    }
    let mut left = EXPECTED.to_vec();
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let trials = measured();
        left.retain(|(load, metric, expected)| {
            let trial = trials.iter().find(|trial| trial["configuration"] == *load).unwrap();
            let value = figure(trial, metric);
            let ceiling = if *metric == "max_iops" { "ceiling_small" } else { "ceiling_large" };
            let ceiling = fact(trial, ceiling);
            seen.push(format!("{load}: {value} of {expected}: {ceiling}"));
            let is_near = (value / expected - 1.0).abs() < 0.03;
            // At its limit a load must say which one that is.
            assert!(!is_near || (ceiling.contains("bind") && ceiling.contains("loop")), "{seen:#?}");
            !is_near
        });
        if left.is_empty() {
            return;
        }
    }
    panic!("not within 3 %: {left:?} in {seen:#?}");
}

#[test]
fn the_command_line_of_a_report_runs_as_it_is() {
    needs_root!();
    let lab = Lab::new();
    let workload = "kind = \"orion\"\nfiles = 2\nsize = \"24MiB\"\n\
        arguments = \"-run advanced -testname orion-test -size_small 8 -num_disks 4 -write 20 -duration 1\"";
    for trial in rehearsed(&lab, &experiment("report-orion", "curve", workload)) {
        assert_eq!(fact(&trial, "points"), "29 of 29");
        for point in ["iops@1,0", "iops@20,0", "latency@20,0", "latency_p99@7,0", "throughput@0,8"] {
            assert!(figure(&trial, point) > 0.0, "{point}");
        }
        let claimed = |name: &str| trial["workload"][name].as_f64().unwrap();
        let (read, written) = (claimed("claimed_read_bytes"), claimed("claimed_written_bytes"));
        // Each I/O is drawn by itself, and the large ones count most: five standard deviations of their share.
        let large_ios = (read + written) / f64::from(1 << 20);
        let within = 5.0 * (0.2 * 0.8 / large_ios).sqrt() + 0.02;
        assert!((written / (read + written) - 0.2).abs() < within, "{written} of {}", read + written);
        let maximum = figure(&trial, "max_iops");
        let best = (1..=20).map(|load| figure(&trial, &format!("iops@{load},0"))).fold(0.0, f64::max);
        assert!((maximum - best).abs() < best * 1e-9);
        // What ORION's own readers take out of its files is what the trial says.
        let table = raw(&lab, &trial, "orion_iops.csv");
        let row = table.lines().rfind(|line| line.trim_start().starts_with("0,")).unwrap();
        let last: f64 = row.rsplit(',').next().unwrap().trim().parse().unwrap();
        assert!((last - figure(&trial, "iops@20,0")).abs() <= 1.0, "{row}");
        let kept = raw(&lab, &trial, "orion_record.jsonl");
        assert_eq!(kept.lines().count(), 1 + 29 + 1);
    }
}

#[test]
fn a_device_is_written_to_once_its_content_was_let_go_in_the_words_of_the_refusal() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let made = std::process::Command::new("mkfs.ext4").args(["-q", "-L", "precious", &disk.path]).status();
    assert!(made.unwrap().success());
    std::process::Command::new("sync").status().unwrap();
    lab.write("orion.lun", &format!("{}\n", disk.path));
    let before = disk.content();
    let point =
        "orion -run advanced -matrix point -num_small 2 -num_large 0 -duration 1 -write 20 --allow-unwritten";
    let point: Vec<&str> = point.split(' ').collect();
    let refused = lab.iostone(&point).output().unwrap();
    let said = words(&refused);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    assert!(said.contains("precious"), "{said}");
    let (_, behind) = said.split_once("--destroy '").unwrap_or_else(|| panic!("{said}"));
    let (identity, _) = behind.split_once('\'').unwrap();
    for wrong in ["elsewhere", &disk.path] {
        let refused = lab.iostone(&[&point[..], &["--destroy", wrong]].concat()).output().unwrap();
        let code = if wrong == disk.path { 3 } else { 2 };
        assert_eq!(refused.status.code(), Some(code), "{}", words(&refused));
    }
    assert_eq!(disk.content(), before);
    let ran = lab.iostone(&[&point[..], &["--destroy", identity]].concat()).output().unwrap();
    assert!(ran.status.success(), "{}", words(&ran));
    assert_ne!(disk.content(), before);
}
