//! What loads run on and through: files with holes, memory devices, mappings, nothing at all.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::{bytes, filled, ios, job};
use crate::support::Bench;

#[test]
fn discards_leave_holes_in_a_file() {
    let bench = Bench::new();
    job(&bench, &["--filename=data", "--rw=write", "--size=1MiB", "--end_fsync=1"]);
    let before = bench.path("data").metadata().unwrap().blocks();
    let load = ["--filename=data", "--rw=trim", "--offset=256KiB", "--size=256KiB", "--bs=16KiB"];
    let trimmed = job(&bench, &load);
    assert_eq!((ios(&trimmed), bytes(&trimmed)), ([0, 0, 16], [0, 0, 256 << 10]));
    assert_eq!(trimmed["trims"]["latency"]["count"], 16);
    let content = fs::read(bench.path("data")).unwrap();
    assert_eq!((content.len(), filled(&content)), (1 << 20, vec![(0, 256 << 10), (512 << 10, 1 << 20)]));
    let after = bench.path("data").metadata().unwrap().blocks();
    assert!(after + 512 <= before, "{before} sectors were allocated, and {after} are");
}

#[test]
fn blocks_are_discarded_before_they_are_written() {
    let bench = Bench::new();
    let done = job(&bench, &["--filename=data", "--rw=trimwrite", "--size=64KiB"]);
    assert_eq!(ios(&done), [0, 16, 16]);
    assert_eq!(filled(&fs::read(bench.path("data")).unwrap()), [(0, 64 << 10)]);
    let done = job(&bench, &["--filename=data", "--rw=randtrimwrite", "--size=64KiB"]);
    assert_eq!(ios(&done), [0, 16, 16]);
    assert_eq!(filled(&fs::read(bench.path("data")).unwrap()), [(0, 64 << 10)]);
}

#[test]
fn a_mapping_writes_what_other_engines_read() {
    let bench = Bench::new();
    let load = ["--filename=data", "--size=256KiB", "--verify=crc32c", "--ledger=ledger"];
    let mapped = job(&bench, &[&load[..], &["--rw=randwrite", "--ioengine=mmap"]].concat());
    assert_eq!((ios(&mapped), &mapped["engine"]["kind"]), ([0, 64, 0], &"mmap".into()));
    let read = job(&bench, &[&load[..], &["--rw=randread", "--ioengine=psync"]].concat());
    assert_eq!(
        (&read["verify"]["units_checked"], &read["verify"]["mismatch_count"]),
        (&64.into(), &0.into())
    );
    let read = job(&bench, &["--filename=data", "--size=256KiB", "--rw=read", "--ioengine=mmap"]);
    assert_eq!(ios(&read), [64, 0, 0]);
}

#[test]
fn an_engine_that_does_nothing_touches_nothing() {
    let bench = Bench::new();
    let load =
        ["--name=n", "--ioengine=null", "--rw=randrw", "--size=1GiB", "--number_ios=1000", "--iodepth=8"];
    let done = job(&bench, &load);
    assert_eq!((ios(&done), &done["engine"]["kind"]), ([500, 500, 0], &"null".into()));
    for name in bench.names() {
        assert_eq!(bench.path(&name).metadata().unwrap().blocks(), 0, "`{name}` has something in it");
    }
}

#[test]
fn memory_devices_need_a_size() {
    let bench = Bench::new();
    let done = job(&bench, &["--filename=/dev/null", "--rw=write", "--size=1MiB"]);
    assert_eq!(ios(&done), [0, 256, 0]);
    let done = job(&bench, &["--filename=/dev/zero", "--rw=read", "--size=1MiB", "--bs=64k"]);
    assert_eq!(ios(&done), [16, 0, 0]);
    bench
        .iostone(&["io", "--filename=/dev/zero", "--rw=read"])
        .ended_with(2)
        .complains_of("`size` is required");
}

#[test]
fn files_are_laid_out_as_fio_says() {
    let bench = Bench::new();
    let sectors = |way: &str| {
        let name = format!("--filename={way}");
        let way_of = format!("--fallocate={way}");
        job(&bench, &[&name, "--rw=write", "--size=1MiB", "--number_ios=1", &way_of, "--end_fsync=1"]);
        let metadata = bench.path(way).metadata().unwrap();
        (metadata.len(), metadata.blocks())
    };
    let (length, allocated) = sectors("native");
    assert!(length == 1 << 20 && allocated >= 2048, "{length} bytes, {allocated} sectors");
    let (length, allocated) = sectors("keep");
    assert!(length == 4096 && allocated >= 2048, "{length} bytes, {allocated} sectors");
    let (length, allocated) = sectors("truncate");
    assert!(length == 1 << 20 && allocated < 64, "{length} bytes, {allocated} sectors");
    let (length, allocated) = sectors("none");
    assert!(length == 4096 && allocated < 64, "{length} bytes, {allocated} sectors");
    // What is to be read is there, in data that no device can make up.
    let read = job(&bench, &["--filename=new", "--rw=read", "--size=1MiB"]);
    assert_eq!((ios(&read), &read["layout"]["written"]), ([256, 0, 0], &"1MiB".into()));
    assert_eq!(filled(&fs::read(bench.path("new")).unwrap()), [(0, 1 << 20)]);
}
