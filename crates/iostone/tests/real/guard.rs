//! The guard through the binary: exit code 3, and not a byte changed.

use std::process::Command;

use crate::lab::{Lab, needs_root, words};

/// A loop device that a test attaches itself, standing for a user's disk.
pub(crate) struct Disk {
    pub(crate) path: String,
    image: std::path::PathBuf,
}

impl Disk {
    pub(crate) fn attach(lab: &Lab) -> Self {
        let image = lab.path().join("users-disk");
        std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        Self { path: String::from_utf8(output.stdout).unwrap().trim().to_owned(), image }
    }

    pub(crate) fn content(&self) -> Vec<u8> {
        std::fs::read(&self.image).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).output();
        let _ = Command::new("losetup").args(["--detach", &self.path]).output();
    }
}

fn experiment(device: &str) -> String {
    format!(
        r#"
name = "block"
[stack]
volume = {{ kind = "block", devices = ["{device}"] }}
filesystem = {{ kind = "ext4" }}
[[factor]]
name = "barrier"
levels = {{ on = {{ mount.options = ["barrier=1"] }}, off = {{ mount.options = ["barrier=0"] }} }}
[workload]
kind = "io"
rw = "randwrite"
size = "8MiB"
fdatasync = 1
runtime = "100ms"
[decide]
metric = "iops"
baseline = "on"
blocks = {{ min = 6, max = 6 }}
[trials]
settle = "10ms"
[gates]
steal = "off"
idle = "off"
"#
    )
}

fn refused(lab: &Lab, device: &str) -> String {
    let file = lab.write("experiment.toml", &experiment(device));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(
        !lab.runs().exists() || std::fs::read_dir(lab.runs()).unwrap().next().is_none(),
        "no run was made"
    );
    words(&output)
}

#[test]
fn a_device_with_a_filesystem_is_refused_mounted_or_not_and_not_a_byte_changes() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    assert!(Command::new("mkfs.ext4").args(["-q", "-L", "precious", &disk.path]).status().unwrap().success());
    Command::new("sync").status().unwrap();
    let before = disk.content();
    let said = refused(&lab, &disk.path);
    assert!(said.contains("ext4") && said.contains("precious"), "{said}");
    assert_eq!(disk.content(), before);

    let mount = lab.path().join("mounted");
    std::fs::create_dir(&mount).unwrap();
    // Read-only, so that mounting itself changes nothing.
    let status = Command::new("mount").args(["-o", "ro,noload", &disk.path]).arg(&mount).status().unwrap();
    assert!(status.success());
    let said = refused(&lab, &disk.path);
    assert!(said.contains("mounted") && said.contains("umount"), "{said}");
    assert!(Command::new("umount").arg(&mount).status().unwrap().success());
    assert_eq!(disk.content(), before);
}

#[test]
fn the_root_disk_is_refused() {
    needs_root!();
    let lab = Lab::new();
    let output = Command::new("findmnt").args(["-n", "-o", "SOURCE", "/"]).output().unwrap();
    let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    if !device.starts_with("/dev/") {
        eprintln!("skipped: / is on {device}, no block device");
        return;
    }
    let said = refused(&lab, &device);
    assert!(said.contains("root") || said.contains('/'), "{said}");
    let output =
        lab.iostone(&["io", "--filename", &device, "--rw", "write", "--runtime", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
}

#[test]
fn a_blank_device_is_used_and_left_blank() {
    needs_root!();
    let lab = Lab::new();
    let disk = Disk::attach(&lab);
    let file = lab.write("experiment.toml", &experiment(&disk.path));
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let output = Command::new("blkid").args(["-p", &disk.path]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "no signature is left: {}", words(&output));
    // Blank again, so it can be used again.
    std::fs::remove_dir_all(lab.runs()).unwrap();
    let output = lab.iostone(&["run", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    drop(disk);
    lab.assert_nothing_left();
}
