//! Loads on block devices: several jobs on one, discards, and what the guard keeps them from.

use std::os::unix::fs::MetadataExt;

use crate::lab::{Lab, needs_root, words};
use crate::loop_disk::{Disk, ios, jobs};

const MIB: u64 = 1 << 20;

#[test]
fn jobs_and_clones_share_a_device() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::new(&lab, 16 * MIB);
    let filename = format!("--filename={}", disk.device);
    let clones = jobs(
        &lab,
        &[&filename, "--rw=randwrite", "--size=1MiB", "--numjobs=4", "--offset_increment=25%", "--direct=1"],
        0,
    );
    assert_eq!(clones.iter().map(ios).collect::<Vec<_>>(), [[0, 256, 0]; 4]);
    let one_after_the_other = [
        "--size=50%",
        &filename,
        "--name=fill",
        "--rw=write",
        "--bs=64k",
        "--name=look",
        "--stonewall",
        "--rw=randread",
        "--name=mix",
        "--rw=randrw",
    ];
    let done = jobs(&lab, &one_after_the_other, 0);
    assert_eq!((ios(&done[0]), ios(&done[1])), ([0, 128, 0], [2048, 0, 0]));
    assert_eq!(ios(&done[2]).iter().sum::<u64>(), 2048);
}

#[test]
fn discards_reach_the_device() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::new(&lab, 8 * MIB);
    let filename = format!("--filename={}", disk.device);
    let sectors = || disk.image.metadata().unwrap().blocks();
    jobs(&lab, &[&filename, "--rw=write", "--bs=1MiB", "--direct=1"], 0);
    assert!(sectors() >= 16384);
    let done = jobs(&lab, &[&filename, "--rw=randtrim", "--bs=64KiB", "--offset=2MiB", "--size=4MiB"], 0);
    assert_eq!((ios(&done[0]), &done[0]["trims"]["bytes"]), ([0, 0, 64], &(4 * MIB).into()));
    assert!(sectors() <= 8192 + 64, "{} sectors are left", sectors());
    let done = jobs(&lab, &[&filename, "--rw=trimwrite", "--bs=64KiB", "--direct=1"], 0);
    assert_eq!(ios(&done[0]), [0, 128, 128]);
    assert!(sectors() >= 16384);
}

#[test]
fn a_verified_device_is_checked_by_another_process() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::new(&lab, 16 * MIB);
    let filename = format!("--filename={}", disk.device);
    let load =
        [&filename, "--rw=randwrite", "--size=4MiB", "--direct=1", "--verify=crc32c", "--ledger=ledger"];
    for _ in 0..2 {
        assert_eq!(jobs(&lab, &load, 0)[0]["verify"]["units_checked"], 1024);
    }
    assert_eq!(jobs(&lab, &[&load[..], &["--verify_only"]].concat(), 0)[0]["verify"]["units_checked"], 1024);
}

#[test]
fn a_device_with_something_on_it_is_read_and_not_written() {
    needs_root!();
    let lab = Lab::new();
    let mut disk = Disk::new(&lab, 16 * MIB);
    disk.mount(&lab);
    let filename = format!("--filename={}", disk.device);
    for rw in ["randwrite", "rw", "trim", "trimwrite"] {
        let output = lab.iostone(&["io", &filename, "--rw", rw, "--size=1MiB"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{rw}: {}", words(&output));
        assert!(words(&output).contains("it is mounted on"), "{}", words(&output));
    }
    jobs(&lab, &[&filename, "--rw=randread", "--size=1MiB"], 0);
    // Among several targets too, and before anything is done to the others.
    let both = format!("--filename=new:{}", disk.device);
    let output = lab.iostone(&["io", &both, "--rw=write", "--size=2MiB"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(!lab.path().join("new").exists());
}

#[test]
fn the_file_below_a_device_is_never_written_over() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::new(&lab, 16 * MIB);
    let image = disk.image.to_str().unwrap();
    let load = ["io", "--filename", image, "--rw=randwrite", "--size=1MiB", "--destroy", image];
    let output = lab.iostone(&load).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(words(&output).contains(&format!("it backs the loop device `{}`", disk.device)));
}

#[test]
fn a_size_beyond_a_device_is_cut_to_it_as_by_fio_and_that_is_said() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::new(&lab, 8 * MIB);
    let filename = format!("--filename={}", disk.device);
    let load = ["io", &filename, "--rw=write", "--size=9MiB", "--bs=1MiB", "--json"];
    let output = lab.iostone(&load).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(words(&output).contains("warning: "), "{}", words(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["jobs"][0]["writes"]["ios"], 8);
}
