//! The probe over fixture files that change while it runs, and on this machine.

use std::fs;

use super::*;
use crate::fixture::{add, plant};

const MEMINFO: &str = "MemTotal: 1000 kB\nDirty: 4 kB\nWriteback: 0 kB\n";
const IDLE: &str = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
const BUSY: &str = "10 0 80 5 20 0 160 9 1 14 14 0 0 0 0 3 1\n";

fn plan(root: &Root, names: &[&str], interval: Duration) -> ProbePlan {
    let devices =
        names.iter().map(|name| WatchedDevice { name: (*name).to_owned(), role: Role::Stack }).collect();
    ProbePlan { devices, interval, groups: WatchedGroups::default(), root: root.clone() }
}

/// So seldom that no sample comes but those that are asked for.
const NEVER: Duration = Duration::from_secs(86_400);

#[test]
fn what_lies_between_the_marks_is_what_counts() {
    let (folder, root) = plant(&[
        ("proc/stat", "cpu  100 0 0 100 0 0 0 0\n"),
        ("proc/meminfo", MEMINFO),
        ("sys/class/block/vda/stat", IDLE),
    ]);
    let probe = Probe::start_with(&plan(&root, &["vda"], NEVER)).unwrap();
    add(&folder, &[("sys/class/block/vda/stat", BUSY), ("proc/meminfo", "Dirty: 999 kB\nWriteback: 0 kB\n")]);
    probe.mark_start();
    add(
        &folder,
        &[
            ("sys/class/block/vda/stat", "15 0 120 5 20 0 176 9 0 20 14 0 0 0 0 7 1\n"),
            ("proc/stat", "cpu  120 0 10 160 0 0 0 10\n"),
            ("proc/meminfo", "Dirty: 8 kB\nWriteback: 0 kB\n"),
        ],
    );
    probe.mark_end();
    add(&folder, &[("sys/class/block/vda/stat", "99 0 990 5 99 0 990 9 0 20 14 0 0 0 0 99 1\n")]);
    let recording = probe.stop();
    let served = recording.summary.devices[0].served;
    assert_eq!((served.reads, served.read_bytes), (5, 40 * 512));
    assert_eq!((served.writes, served.written_bytes), (0, 16 * 512));
    assert_eq!((served.flushes, served.busy_ms, served.in_flight), (4, 6, 0));
    assert_eq!(recording.summary.samples, 2);
    assert_eq!(recording.samples.len(), 3);
    assert!((recording.summary.steal.unwrap() - 0.1).abs() < 1e-12);
    assert!((recording.summary.cpu_busy - 0.3).abs() < 1e-12);
    assert_eq!(recording.summary.dirty_peak_bytes, 999 * 1024);
    assert_eq!((recording.summary.throttled, recording.summary.io_pressure), (None, None));
    assert_eq!(recording.measured_ns, (recording.samples[1].at_ns, recording.samples[2].at_ns));
    assert_eq!(recording.summary.devices[0].role, "stack");
    assert!(recording.losses.is_empty());
}

#[test]
fn without_marks_all_of_it_counts() {
    let (folder, root) = plant(&[
        ("proc/stat", "cpu  1 0 0 1\n"),
        ("proc/meminfo", MEMINFO),
        ("sys/class/block/vda/stat", IDLE),
    ]);
    let probe = Probe::start_with(&plan(&root, &["vda"], NEVER)).unwrap();
    add(&folder, &[("sys/class/block/vda/stat", BUSY)]);
    let recording = probe.stop();
    assert_eq!(recording.summary.devices[0].served.written_bytes, 160 * 512);
    assert_eq!(recording.summary.samples, 2);
}

#[test]
fn a_second_beginning_forgets_the_first_and_the_end() {
    let (folder, root) = plant(&[
        ("proc/stat", "cpu  1 0 0 1\n"),
        ("proc/meminfo", MEMINFO),
        ("sys/class/block/vda/stat", IDLE),
    ]);
    let probe = Probe::start_with(&plan(&root, &["vda"], NEVER)).unwrap();
    probe.mark_start();
    probe.mark_end();
    add(&folder, &[("sys/class/block/vda/stat", BUSY)]);
    probe.mark_start();
    let recording = probe.stop();
    assert_eq!(recording.summary.devices[0].served.reads, 0);
    assert_eq!(recording.summary.devices[0].served.in_flight, 1);
}

#[test]
fn a_device_that_vanishes_ends_its_series_and_not_the_probe() {
    let (folder, root) = plant(&[
        ("proc/stat", "cpu  1 0 0 1\n"),
        ("proc/meminfo", MEMINFO),
        ("sys/class/block/vda/stat", IDLE),
        ("sys/class/block/vdb/stat", IDLE),
    ]);
    let probe = Probe::start_with(&plan(&root, &["vda", "vdb"], NEVER)).unwrap();
    add(&folder, &[("sys/class/block/vda/stat", ""), ("sys/class/block/vdb/stat", BUSY)]);
    probe.mark_end();
    let recording = probe.stop();
    assert!(recording.devices[0].ended.is_some());
    assert_eq!(recording.devices[1].ended, None);
    assert_eq!(recording.summary.devices[1].served.reads, 10);
    assert_eq!(recording.losses.len(), 1);
    assert!(recording.samples.iter().all(|sample| sample.disks.len() == 2));
}

#[test]
fn a_lost_signal_keeps_its_value_and_is_told_once() {
    let (folder, root) = plant(&[("proc/stat", "cpu  7 0 0 1\n"), ("proc/meminfo", MEMINFO)]);
    let probe = Probe::start_with(&plan(&root, &[], NEVER)).unwrap();
    fs::write(folder.path().join("proc/stat"), "").unwrap();
    probe.mark_start();
    probe.mark_end();
    let recording = probe.stop();
    assert_eq!(recording.losses.len(), 1, "{:?}", recording.losses);
    assert!(recording.samples[2].cpu.user_ns > 0);
}

#[test]
fn a_quota_is_watched() {
    let (folder, root) = plant(&[
        ("proc/stat", "cpu  1 0 0 1\n"),
        ("proc/meminfo", MEMINFO),
        ("group/cpu.max", "30000 100000\n"),
        ("group/cpu.stat", "nr_periods 10\nnr_throttled 0\nthrottled_usec 0\n"),
    ]);
    let groups = WatchedGroups { quota: Some("/group".into()), ..WatchedGroups::default() };
    let plan = ProbePlan { groups, ..plan(&root, &[], NEVER) };
    let probe = Probe::start_with(&plan).unwrap();
    add(&folder, &[("group/cpu.stat", "nr_periods 20\nnr_throttled 9\nthrottled_usec 7\n")]);
    assert_eq!(probe.stop().summary.throttled, Some(0.9));
}

#[test]
fn what_cannot_be_watched_is_refused_at_the_start() {
    let (_folder, root) = plant(&[("proc/stat", "cpu  1 0 0 1\n"), ("proc/meminfo", MEMINFO)]);
    let unknown = Probe::start_with(&plan(&root, &["vdz"], NEVER)).unwrap_err();
    assert!(matches!(unknown, ProbeError::UnknownDevice { .. }), "{unknown}");
    let zero = Probe::start_with(&plan(&root, &[], Duration::ZERO)).unwrap_err();
    assert!(matches!(zero, ProbeError::ZeroInterval), "{zero}");
    let (_folder, empty) = plant(&[]);
    let nothing = Probe::start_with(&plan(&empty, &[], NEVER)).unwrap_err();
    assert!(matches!(nothing, ProbeError::Unreadable { .. }), "{nothing}");
}

#[test]
fn this_machine_is_sampled_in_order_of_time() {
    let devices: Vec<WatchedDevice> = Root::live()
        .entries("/sys/class/block")
        .into_iter()
        .take(8)
        .map(|name| WatchedDevice { name, role: Role::Below })
        .collect();
    let probe = Probe::start(&devices, Duration::from_millis(2)).unwrap();
    probe.mark_start();
    std::thread::sleep(Duration::from_millis(400));
    probe.mark_end();
    let recording = probe.stop();
    assert!(recording.samples.len() >= 3);
    assert!(recording.samples.is_sorted_by(|one, next| one.at_ns < next.at_ns));
    assert!(recording.samples.iter().all(|sample| sample.disks.len() == devices.len()));
    assert!(recording.summary.steal.is_none_or(|share| (0.0..=1.0).contains(&share)));
    assert!(recording.summary.seconds > 0.0 && recording.summary.probe_cpu_seconds > 0.0);
    assert!(recording.summary.clock_jump_seconds.abs() < 3600.0);
    assert_eq!(recording.summary.devices.len(), devices.len());
    assert!(recording.losses.iter().all(|loss| loss.contains("iostats")), "{:?}", recording.losses);
}
