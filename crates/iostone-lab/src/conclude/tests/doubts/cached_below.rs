//! Reads that a loop device served out of the memory of its host.

use iostone_model::sample::DiskCounters;
use iostone_model::trial::DeviceActivity;

use super::*;

const MIB: u64 = 1 << 20;

/// A trial of each level: mebibytes read and written by the loop device, and read by the disk below it.
fn told(plan: &Plan, on: [u64; 3], off: [u64; 3]) -> Option<String> {
    let one = |position: u32, name: &str, [read, written, below]: [u64; 3]| {
        let mut made = trial(position + 1, 0, position, name, 1.0, 0);
        let counters = |read_bytes, written_bytes| DiskCounters {
            read_bytes: read_bytes * MIB,
            written_bytes: written_bytes * MIB,
            ..DiskCounters::default()
        };
        let own = &mut made.signals.devices;
        own[0].served = counters(read, written);
        own.push(DeviceActivity {
            name: "vda".to_owned(),
            role: "below".to_owned(),
            served: counters(below, 0),
            ..DeviceActivity::default()
        });
        made
    };
    let trials = [one(0, "on", on), one(1, "off", off)];
    messages(plan, &trials, &one_block(), "cached-below").pop()
}

#[test]
fn reads_that_no_disk_served_are_the_hosts_memory() {
    let message = told(&plan("", ""), [1000, 0, 10], [900, 0, 45]).unwrap();
    assert!(
        message.starts_with("under on loop0 read 1.05 GB but vda below it served 10.5 MB: 99 %"),
        "{message}"
    );
    assert!(message.contains("likewise under one configuration more; alike on both sides"), "{message}");
    assert_eq!(told(&plan("", ""), [1000, 0, 1000], [900, 0, 1200]), None);
}

#[test]
fn shares_that_differ_are_in_the_ratio() {
    let message = told(&plan("", ""), [1000, 0, 10], [1000, 0, 970]).unwrap();
    assert!(
        message.contains("; 3 % under off against 99 % under on: the ratio between them holds"),
        "{message}"
    );
}

#[test]
fn writes_with_the_metadata_they_read_are_no_reads() {
    assert_eq!(told(&plan("", ""), [20, 1000, 0], [20, 1000, 0]), None);
    assert_eq!(told(&plan("", ""), [0, 0, 0], [0, 0, 0]), None);
}

#[test]
fn a_file_past_memory_has_none_between() {
    let direct = plan("backing_io = \"buffered\"", "backing_io = \"direct\"");
    assert_eq!(told(&direct, [1000, 0, 10], [900, 0, 45]), None);
}
