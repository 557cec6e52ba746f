//! I/O that fails on real devices and filesystems: errno, offset and count are said, the figures until then are kept,
//! and the code is 1.

use std::fs;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::lab::{Lab, needs_root, words};
use crate::loop_disk::{Disk, ios};

const MIB: u64 = 1 << 20;

/// Starts a load without an end, does something to what it stands on once its threads are there, and waits until it
/// has failed; what its first job did.
fn fails_once(lab: &Lab, arguments: &[&str], harm: impl FnOnce()) -> (Output, Value) {
    let endless = ["--time_based", "--runtime=10min", "--thinktime=1ms", "--json"];
    let mut command = lab.iostone(&[&["io"], arguments, &endless[..]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    while fs::read_dir(&tasks).is_ok_and(|threads| threads.count() < 2) {
        std::thread::yield_now();
    }
    harm();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    (output, document["jobs"][0].clone())
}

#[test]
fn a_device_that_loses_its_end_gives_eio_where_the_end_was() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::new(&lab, 8 * MIB);
    let load = ["--filename", &disk.device, "--rw=read", "--bs=64KiB", "--direct=1"];
    let (output, job) = fails_once(&lab, &load, || disk.cut(4 * MIB));
    let said = words(&output);
    assert!(said.contains("error: EIO when reading 65536 bytes at offset 4194304 of `/dev/loop"), "{said}");
    assert_eq!((&job["error"]["errno"], &job["error"]["offset"]), (&5.into(), &"4MiB".into()));
    assert_eq!(job["error"]["completed_ios"], ios(&job)[0]);
    assert!(said.contains(&format!(", after {} I/Os", ios(&job)[0])), "{said}");
}

#[test]
fn a_device_that_is_gone_fails_every_engine() {
    needs_root!();
    for engine in ["psync", "io_uring", "mmap"] {
        if engine == "io_uring" && iostone_engine::uring_available().is_err() {
            continue;
        }
        let lab = Lab::new();
        let disk = Disk::new(&lab, 8 * MIB);
        let direct = if engine == "mmap" { "--direct=0" } else { "--direct=1" };
        let load = ["--filename", &disk.device, "--rw=randread", direct, "--ioengine", engine];
        let (output, job) = fails_once(&lab, &load, || disk.cut(0));
        assert_eq!(job["error"]["name"], "EIO", "{engine}: {}", words(&output));
    }
}

#[test]
fn a_filesystem_that_fills_up_gives_enospc_and_keeps_the_figures() {
    needs_root!();
    let lab = Lab::new();
    let mut disk = Disk::new(&lab, 16 * MIB);
    let place = disk.mount(&lab);
    // Each would find room alone, which is what is looked at before; both do not.
    let file = lab.write(
        "two.fio",
        &format!(
            "[global]\ndirectory={}\nrw=write\nbs=64k\nsize=8m\nfallocate=none\n[a]\n[b]\n",
            place.display()
        ),
    );
    let output = lab.iostone(&["io", &file, "--json"]).output().unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: ENOSPC when writing 65536 bytes at offset "), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failed = document["jobs"].as_array().unwrap().iter().find(|job| !job["error"].is_null()).unwrap();
    let [_, writes, _] = ios(failed);
    assert!(writes > 0, "{said}");
    assert_eq!((&failed["error"]["errno"], &failed["error"]["completed_ios"]), (&28.into(), &writes.into()));
    // One that is too large by itself is told so before.
    let file = format!("--filename={}/c", place.display());
    let output = lab.iostone(&["io", &file, "--rw=write", "--size=32MiB"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(!place.join("c").exists());
}

#[test]
fn a_filesystem_that_turns_read_only_is_no_crash() {
    needs_root!();
    let lab = Lab::new();
    let mut disk = Disk::new(&lab, 16 * MIB);
    let place = disk.mount(&lab);
    let filename = format!("--filename={}/data", place.display());
    let load = [filename.as_str(), "--rw=write", "--size=1MiB", "--fsync=1"];
    let (output, job) = fails_once(&lab, &load, || {
        // As after an error: open files stay open, and writes to them fail.
        crate::loop_disk::tool("mount", &["-o", "remount,abort", place.to_str().unwrap()]);
    });
    let name = job["error"]["name"].as_str().unwrap();
    assert!(["EROFS", "EIO", "EUCLEAN", "ESHUTDOWN"].contains(&name), "{}", words(&output));
}
