//! Discards of files, memory devices and (with root) a loop device.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use iostone_model::load::Direction;
use tempfile::TempDir;

use super::*;

const SIZE: u32 = 1 << 20;
const HALF: u32 = SIZE / 2;

const HALF_OF_IT: Request =
    Request { direction: Direction::Trim, target: 0, offset_bytes: HALF as u64, length_bytes: HALF };

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn fill(file: &File) {
    file.write_all_at(&vec![7; SIZE as usize], 0).unwrap();
    file.sync_all().unwrap();
}

fn assert_half_is_gone(file: &File) {
    let mut bytes = vec![1; SIZE as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let (kept, gone) = bytes.split_at(HALF as usize);
    assert!(kept.iter().all(|byte| *byte == 7));
    assert!(gone.iter().all(|byte| *byte == 0));
}

/// A loop device over a file of its own; gone when dropped.
struct Loop {
    device: PathBuf,
    folder: TempDir,
}

impl Loop {
    fn attach() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(SIZE.into()).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().ok()?;
        if !output.status.success() {
            eprintln!("skipped: `losetup`: {}", String::from_utf8_lossy(&output.stderr));
            return None;
        }
        let device = String::from_utf8_lossy(&output.stdout).trim().into();
        Some(Self { device, folder })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

#[test]
fn a_discard_of_a_file_punches_a_hole_and_keeps_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, b"").unwrap();
    let file = open(&path);
    fill(&file);
    let before = file.metadata().unwrap();
    assert_eq!(discard(&file, &HALF_OF_IT), HALF.cast_signed());
    let after = file.metadata().unwrap();
    assert_eq!(after.len(), before.len());
    assert!(after.blocks() < before.blocks());
    assert_half_is_gone(&file);
}

#[test]
fn a_discard_of_a_device_reaches_what_is_under_it() {
    let Some(device) = Loop::attach() else { return };
    let file = open(&device.device);
    fill(&file);
    let image = || std::fs::metadata(device.folder.path().join("image")).unwrap().blocks();
    let before = image();
    assert_eq!(discard(&file, &HALF_OF_IT), HALF.cast_signed());
    assert_half_is_gone(&file);
    assert!(image() < before);
    let unaligned = Request { offset_bytes: 100, ..HALF_OF_IT };
    assert_eq!(discard(&file, &unaligned), -libc::EINVAL);
    let outside = Request { offset_bytes: SIZE.into(), ..HALF_OF_IT };
    assert_eq!(discard(&file, &outside), -libc::EINVAL);
    assert_eq!(discard(&File::open(&device.device).unwrap(), &HALF_OF_IT), -libc::EBADF);
}

#[test]
fn what_cannot_be_discarded_is_an_errno() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
    assert_eq!(discard(&open(Path::new("/dev/null")), &HALF_OF_IT), -libc::EOPNOTSUPP);
    assert_eq!(discard(&File::open(&path).unwrap(), &HALF_OF_IT), -libc::EBADF);
    assert_eq!(discard(&open(&path), &Request { length_bytes: 0, ..HALF_OF_IT }), -libc::EINVAL);
}
