//! What was never written is found on real files and devices, and filled without touching anything else.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_engine::NoiseStream;
use iostone_model::orion::LunKind;
use iostone_orion::OrionError;
use iostone_orion::lun::Lun;
use iostone_orion::written::{Method, Prefill, Unwritten, examine, prefill};
use rustix::fs::FallocateFlags;

const MIB: u64 = 1 << 20;

fn lun(path: &Path, kind: LunKind) -> Lun {
    let bytes = File::open(path).unwrap().seek(SeekFrom::End(0)).unwrap();
    Lun { name: path.display().to_string(), path: path.to_owned(), kind, bytes, pin: None }
}

/// A file that such a piece of work was done to.
fn file(directory: &Path, make: impl FnOnce(&mut File)) -> Lun {
    let path = directory.join("lun");
    let mut file = File::create(&path).unwrap();
    make(&mut file);
    lun(&path, LunKind::File)
}

fn random(file: &mut File, mebibytes: u64) {
    let mut noise = NoiseStream::new(5);
    for _ in 0..mebibytes {
        file.write_all(noise.next_chunk()).unwrap();
    }
}

fn fill(lun: &Lun, what: Prefill) -> u64 {
    prefill(lun, what, 9, &AtomicBool::new(false), &mut |_, _| {}).unwrap()
}

/// Temporary files beside the crate's own: in memory (`/tmp` may be) there are no unwritten extents.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn random_data_passes() {
    let directory = directory();
    let written = examine(&file(directory.path(), |file| random(file, 4)), 1).unwrap();
    assert_eq!((written.unwritten_bytes, written.sampled, written.zeros), (0, 256, 0));
    assert_eq!(written.verdict(), Ok(()));
}

#[test]
fn a_file_that_was_only_made_long_is_refused_and_filled() {
    let directory = directory();
    let lun = file(directory.path(), |file| file.set_len(3 * MIB + 5000).unwrap());
    let written = examine(&lun, 1).unwrap();
    assert_eq!((written.unwritten_bytes, written.sampled), (3 * MIB + 5000, 0));
    let message = written.verdict().unwrap_err().to_string();
    assert!(message.starts_with("all ") && message.contains("` were never written, by"), "{message}");
    assert!(message.contains("`--prefill`") && message.contains("`--allow-unwritten`"), "{message}");
    let mut heard = Vec::new();
    let filled = prefill(&lun, Prefill::NeverWritten, 9, &AtomicBool::new(false), &mut |done, total| {
        heard.push((done, total));
    });
    assert_eq!(filled.unwrap(), 3 * MIB + 5000);
    assert_eq!(heard.last(), Some(&(lun.bytes, lun.bytes)));
    assert_eq!(fs::metadata(&lun.path).unwrap().len(), lun.bytes, "it has not grown");
    let written = examine(&lun, 1).unwrap();
    assert_eq!((written.unwritten_bytes, written.zeros), (0, 0));
    assert_eq!(written.verdict(), Ok(()));
    assert_eq!(fill(&lun, Prefill::ZerosToo), 0, "nothing is left to fill");
}

#[test]
fn space_that_was_only_reserved_is_refused_and_filled() {
    let directory = directory();
    let lun = file(directory.path(), |file| {
        rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, 4 * MIB).unwrap();
    });
    assert!(fs::metadata(&lun.path).unwrap().blocks() * 512 >= 4 * MIB, "it takes its space");
    let written = examine(&lun, 1).unwrap();
    if written.unwritten_bytes == 0 {
        eprintln!("skipped: this filesystem writes what it reserves ({:?})", written.method);
        return;
    }
    assert_eq!(written.unwritten_bytes, 4 * MIB);
    assert!(matches!(written.verdict(), Err(Unwritten::Holes { percent, .. }) if percent > 99.9));
    assert_eq!(fill(&lun, Prefill::NeverWritten), 4 * MIB);
    assert_eq!(examine(&lun, 1).unwrap().verdict(), Ok(()));
}

#[test]
fn zeros_are_refused_and_replaced_on_request_alone() {
    let directory = directory();
    let lun = file(directory.path(), |file| file.write_all(&vec![0; 4 << 20]).unwrap());
    let written = examine(&lun, 1).unwrap();
    assert_eq!((written.unwritten_bytes, written.sampled, written.zeros), (0, 256, 256));
    let message = written.verdict().unwrap_err().to_string();
    assert!(message.contains("256 of 256 blocks read are nothing but zeros"), "{message}");
    assert_eq!(fill(&lun, Prefill::NeverWritten), 0);
    assert_eq!(fill(&lun, Prefill::ZerosToo), 4 * MIB);
    assert_eq!(examine(&lun, 1).unwrap().verdict(), Ok(()));
}

#[test]
fn data_between_holes_and_zeros_is_kept() {
    let directory = directory();
    let lun = file(directory.path(), |file| {
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(&[7; 8192], 2 * MIB + 4096).unwrap();
        file.write_all_at(&vec![0; 1 << 20], 5 * MIB).unwrap();
        file.write_all_at(b"x", 6 * MIB).unwrap();
    });
    let before = examine(&lun, 1).unwrap();
    assert!(before.unwritten_bytes > 6 * MIB && before.unwritten_bytes < 7 * MIB, "{before:?}");
    assert_eq!(fill(&lun, Prefill::NeverWritten), before.unwritten_bytes);
    let read = |at: u64, length: usize| {
        let mut bytes = vec![0; length];
        File::open(&lun.path).unwrap().read_exact_at(&mut bytes, at).unwrap();
        bytes
    };
    assert_eq!(read(2 * MIB + 4096, 8192), [7; 8192]);
    assert_eq!(read(5 * MIB, 1 << 20), vec![0; 1 << 20]);
    assert_eq!(fill(&lun, Prefill::ZerosToo), MIB);
    assert_eq!(read(2 * MIB + 4096, 8192), [7; 8192]);
    assert_eq!(read(6 * MIB, 1), b"x");
    assert!(read(5 * MIB, 4096).iter().any(|byte| *byte != 0));
    assert_eq!(examine(&lun, 1).unwrap().unwritten_bytes, 0);
}

#[test]
fn many_extents_are_all_seen() {
    let directory = directory();
    let lun = file(directory.path(), |file| {
        file.set_len(700 * 65_536).unwrap();
        for number in 0..700 {
            file.write_all_at(&[1; 4096], number * 65_536).unwrap();
        }
    });
    let written = examine(&lun, 1).unwrap();
    if written.method == Method::Fiemap {
        assert_eq!(written.unwritten_bytes, 700 * (65_536 - 4096));
    }
    assert!(written.unwritten_bytes > 0);
}

#[test]
fn a_filesystem_in_memory_tells_its_holes() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: there is no /dev/shm");
        return;
    };
    let lun = file(directory.path(), |file| {
        random(file, 1);
        file.set_len(2 * MIB).unwrap();
    });
    let written = examine(&lun, 1).unwrap();
    assert_eq!((written.unwritten_bytes, written.method), (MIB, Method::SeekHole));
    assert_eq!(fill(&lun, Prefill::NeverWritten), MIB);
    assert_eq!(examine(&lun, 1).unwrap().verdict(), Ok(()));
}

#[test]
fn an_interruption_ends_it_and_a_second_attempt_goes_on() {
    let directory = directory();
    let lun = file(directory.path(), |file| file.set_len(4 * MIB).unwrap());
    let stop = AtomicBool::new(false);
    let interrupted = prefill(&lun, Prefill::NeverWritten, 9, &stop, &mut |done, _| {
        stop.store(done >= 2 * MIB, Ordering::Relaxed);
    });
    assert!(matches!(interrupted, Err(OrionError::Interrupted)));
    assert_eq!(fill(&lun, Prefill::NeverWritten), 2 * MIB);
}

#[test]
fn two_luns_of_a_seed_hold_different_data() {
    let directory = directory();
    let first = file(directory.path(), |file| file.set_len(MIB).unwrap());
    fs::rename(&first.path, directory.path().join("first")).unwrap();
    let first = lun(&directory.path().join("first"), LunKind::File);
    let second = file(directory.path(), |file| file.set_len(MIB).unwrap());
    let content = |lun: &Lun| {
        fill(lun, Prefill::NeverWritten);
        let mut bytes = Vec::new();
        File::open(&lun.path).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    assert_ne!(content(&first), content(&second));
}

/// A loop device that is gone with it.
struct LoopDevice(PathBuf);

impl LoopDevice {
    fn over(path: &Path) -> Option<Self> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        output.status.success().then(|| Self(String::from_utf8(output.stdout).unwrap().trim().into()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn zeros_of_a_device_are_found_and_replaced() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let directory = directory();
    let backing = file(directory.path(), |file| {
        file.set_len(8 * MIB).unwrap();
        file.write_all_at(b"kept", 3 * MIB + 17).unwrap();
    });
    let Some(device) = LoopDevice::over(&backing.path) else {
        eprintln!("skipped: no loop device can be had");
        return;
    };
    let lun = lun(&device.0, LunKind::Device);
    let written = examine(&lun, 1).unwrap();
    assert_eq!((written.unwritten_bytes, written.method), (0, Method::Sample));
    assert!(matches!(written.verdict(), Err(Unwritten::Zeros { sampled: 256, .. })));
    assert_eq!(fill(&lun, Prefill::NeverWritten), 0, "a device has no holes");
    assert_eq!(fill(&lun, Prefill::ZerosToo), 7 * MIB);
    assert_eq!(examine(&lun, 1).unwrap().verdict(), Ok(()));
    let mut kept = [0; 4];
    File::open(&device.0).unwrap().read_exact_at(&mut kept, 3 * MIB + 17).unwrap();
    assert_eq!(&kept, b"kept");
}
