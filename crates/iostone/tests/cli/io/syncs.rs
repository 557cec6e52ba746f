//! Durability: how often what was written is synced, and how files are opened.

use super::{ios, job};
use crate::support::Bench;

/// Syncs of a job of 256 writes.
fn syncs(words: &[&str]) -> u64 {
    let bench = Bench::new();
    let done = job(&bench, &[&["--filename=data", "--rw=write", "--size=1MiB"], words].concat());
    assert_eq!(ios(&done), [0, 256, 0]);
    let count = done["syncs"]["count"].as_u64().unwrap();
    assert_eq!(done["syncs"]["latency"]["count"], count);
    count
}

#[test]
fn syncs_come_as_often_as_asked() {
    assert_eq!(syncs(&[]), 0);
    assert_eq!(syncs(&["--fsync=4"]), 64);
    assert_eq!(syncs(&["--fdatasync=100"]), 2);
    // Where both fall due, the stronger covers both.
    assert_eq!(syncs(&["--fsync=64", "--fdatasync=16"]), 16);
    assert_eq!(syncs(&["--sync_file_range=wait_before,write:32"]), 8);
    assert_eq!(syncs(&["--fsync=4", "--iodepth=8"]), 64);
    assert_eq!(syncs(&["--fsync=4", "--ioengine=mmap"]), 64);
}

#[test]
fn a_sync_at_the_end_is_one_of_each_file() {
    // As in fio it is no part of the figures, or it is one more.
    assert_eq!(syncs(&["--end_fsync=1"]), 1);
    assert_eq!(syncs(&["--end_fsync=1", "--fsync=100"]), 3);
    assert_eq!(syncs(&["--fsync_on_close=1"]), 1);
    // What was synced with the last write is not synced again.
    assert_eq!(syncs(&["--end_fsync=1", "--fsync=256"]), 1);
    let bench = Bench::new();
    let two = job(&bench, &["--filename=a:b", "--rw=write", "--size=64KiB", "--end_fsync=1"]);
    assert_eq!(two["syncs"]["count"], 2);
}

#[test]
fn reads_are_not_synced() {
    let bench = Bench::new();
    let read = job(&bench, &["--filename=data", "--rw=read", "--size=64KiB", "--fsync=1", "--end_fsync=1"]);
    assert_eq!((ios(&read), &read["syncs"]["count"]), ([16, 0, 0], &0.into()));
    // In a mix only the writes count.
    let load = ["--filename=data", "--rw=randrw", "--size=1MiB", "--number_ios=200", "--fsync=10"];
    let mixed = job(&bench, &load);
    assert_eq!((ios(&mixed), &mixed["syncs"]["count"]), ([100, 100, 0], &10.into()));
}

#[test]
fn the_flags_of_the_open_file_are_read_back() {
    let bench = Bench::new();
    let flags = |words: &[&str]| {
        let load = ["--filename=data", "--rw=write", "--size=64KiB"];
        job(&bench, &[&load[..], words].concat())["open_flags"].to_string()
    };
    assert_eq!(flags(&[]), "[]");
    assert_eq!(flags(&["--sync=dsync"]), r#"["O_DSYNC"]"#);
    assert_eq!(flags(&["--sync=1"]), r#"["O_SYNC"]"#);
    assert_eq!(flags(&["--direct=1"]), r#"["O_DIRECT"]"#);
}

#[test]
fn a_write_with_its_sync_has_a_latency_of_its_own() {
    let bench = Bench::new();
    let load = ["--filename=data", "--rw=randwrite", "--size=256KiB", "--fdatasync=1"];
    let durable = job(&bench, &load);
    assert_eq!(durable["durable_write_latency"]["count"], 64);
    let write = durable["writes"]["latency"]["p50_ns"].as_u64().unwrap();
    let both = durable["durable_write_latency"]["p50_ns"].as_u64().unwrap();
    assert!(both > write, "{both} ns with the sync, {write} ns without");
}
