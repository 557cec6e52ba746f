//! A loop device over a file of a test's, with a filesystem if need be; both are gone when the test is, whatever
//! became of it.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::lab::{Lab, words};

/// A device of a test's own.
pub(crate) struct Disk {
    /// The device: `/dev/loop7`.
    pub(crate) device: String,
    /// The file behind it.
    pub(crate) image: PathBuf,
    mounted: Option<PathBuf>,
    /// Where the file is, if not with the test's other things.
    memory: Option<tempfile::TempDir>,
}

/// Runs a tool and gives what it printed.
#[track_caller]
pub(crate) fn tool(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", words(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Disk {
    /// A device over a new file of holes.
    pub(crate) fn new(lab: &Lab, bytes: u64) -> Self {
        Self::over(lab.path().join("disk.img"), bytes)
    }

    /// A device over a file in memory, where there is a place for such: it answers in microseconds.
    pub(crate) fn in_memory(lab: &Lab, bytes: u64) -> Self {
        match tempfile::tempdir_in("/dev/shm") {
            Ok(memory) => {
                let image = memory.path().join("disk.img");
                let mut disk = Self::over(image, bytes);
                disk.memory = Some(memory);
                disk
            }
            Err(_) => Self::new(lab, bytes),
        }
    }

    fn over(image: PathBuf, bytes: u64) -> Self {
        File::create_new(&image).unwrap().set_len(bytes).unwrap();
        // Direct I/O where the filesystem below has it, so that limits and stalls are the device's own.
        let device = tool("losetup", &["--find", "--show", "--direct-io=on", image.to_str().unwrap()]);
        Self { device, image, mounted: None, memory: None }
    }

    /// Makes an ext4 on it and mounts it; where.
    pub(crate) fn mount(&mut self, lab: &Lab) -> PathBuf {
        tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &self.device]);
        let place = lab.path().join("mounted");
        std::fs::create_dir(&place).unwrap();
        tool("mount", &[&self.device, place.to_str().unwrap()]);
        self.mounted = Some(place.clone());
        place
    }

    /// Cuts off the end of the file behind it, whose place the device then has no data for.
    pub(crate) fn cut(&self, bytes: u64) {
        File::options().write(true).open(&self.image).unwrap().set_len(bytes).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let run = |program: &str, arguments: &[&Path]| {
            let _ = Command::new(program).args(arguments).output();
        };
        if let Some(place) = &self.mounted {
            // A filesystem that a failed test left frozen could not be unmounted.
            run("fsfreeze", &[Path::new("-u"), place]);
            run("umount", &[place]);
        }
        run("losetup", &[Path::new("-d"), Path::new(&self.device)]);
        drop(self.memory.take());
    }
}

/// What the jobs of a load did; it must have ended with that code.
#[track_caller]
pub(crate) fn jobs(lab: &Lab, arguments: &[&str], code: i32) -> Vec<Value> {
    let output = lab.iostone(&[&["io"], arguments, &["--json"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    match document["jobs"].take() {
        Value::Array(jobs) => jobs,
        other => panic!("`jobs` is {other}"),
    }
}

/// I/Os of a job: reads, writes, discards.
pub(crate) fn ios(job: &Value) -> [u64; 3] {
    ["reads", "writes", "trims"].map(|kind| job[kind]["ios"].as_u64().unwrap())
}
