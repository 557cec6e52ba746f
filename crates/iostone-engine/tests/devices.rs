//! Jobs on loop devices and on a full filesystem; they need root, and say so where they are skipped.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and says what it skips")]

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostone_engine::{
    Content, EngineError, Job, Operation, Outcome, Pin, Pins, Preparation, Volume, claim_device, prepare,
    prepare_pinned, run,
};
use iostone_model::load::{IoEngine, Rw};
use iostone_model::units::Bytes;
use tempfile::TempDir;

const BLOCK: u64 = 4096;

/// These tests run one after another: a process that another test is about to start holds, between fork(2) and execve(2),
/// whatever this one has open, and a filesystem with an open file cannot be unmounted.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: needs root");
    }
    root
}

fn succeed(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    if !output.status.success() {
        eprintln!("skipped: `{program}`: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device over a file of its own; gone when dropped.
struct Loop {
    device: PathBuf,
    _folder: TempDir,
}

impl Loop {
    fn attach(size: u64) -> Option<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = folder.path().join("image");
        File::create(&image).unwrap().set_len(size).unwrap();
        let device = succeed("losetup", &["--find", "--show", image.to_str()?])?;
        Some(Self { device: device.into(), _folder: folder })
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

/// Something mounted on a folder of its own; unmounted when dropped.
struct Mount {
    folder: TempDir,
    mounted: bool,
}

impl Mount {
    fn attach(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut all = arguments.to_vec();
        let path = folder.path().to_owned();
        all.push(path.to_str()?);
        succeed("mount", &all)?;
        Some(Self { folder, mounted: true })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn detach(&mut self) -> std::process::Output {
        let unmounted = Command::new("umount").arg(self.folder.path()).output().unwrap();
        self.mounted = !unmounted.status.success();
        unmounted
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted {
            self.detach();
        }
    }
}

fn measure(job: &Job) -> Outcome {
    run(job, &AtomicBool::new(false), &mut |_| ()).unwrap()
}

#[test]
fn a_block_device_is_used_whole_and_never_extended() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let Some(device) = Loop::attach(1 << 20) else { return };
    for (engine, iodepth) in [(IoEngine::Sync, 1), (IoEngine::Auto, 16)] {
        for rw in [Rw::RandWrite, Rw::Read] {
            let mut job = Job::new(&device.device, rw);
            (job.engine, job.iodepth, job.direct) = (engine, iodepth, true);
            let outcome = measure(&job);
            assert_eq!((outcome.ios(), outcome.error), (256, None));
            assert_eq!(outcome.layout.written, Bytes(0));
            job.size = Some(Bytes((1 << 20) + BLOCK));
            let message = prepare(&job).unwrap_err().to_string();
            assert!(
                message.contains("has 1MiB where 1028KiB are needed, and a block device is never extended")
            );
        }
    }
    let mut unaligned = Job::new(&device.device, Rw::Read);
    (unaligned.bs, unaligned.direct) = (Bytes(1000).into(), true);
    assert!(prepare(&unaligned).unwrap_err().to_string().contains("must be a multiple of 512B"));
}

#[test]
fn a_device_that_something_holds_is_not_written_to() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let Some(device) = Loop::attach(1 << 20) else { return };
    let holder = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&device.device).unwrap();
    let mut job = Job::new(&device.device, Rw::Write);
    let error = prepare(&job).unwrap_err();
    assert!(matches!(&error, EngineError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("`lsblk /dev/loop"), "{error}");
    job.rw = Rw::Read;
    prepare(&job).unwrap();
    drop(holder);
    job.rw = Rw::Write;
    // Whoever looks at new devices, as udev does, may hold it for a moment as well.
    let prepared = (0..100).find_map(|_| match prepare(&job) {
        Ok(prepared) => Some(prepared),
        Err(EngineError::Busy { .. }) => {
            std::thread::sleep(std::time::Duration::from_millis(20));
            None
        }
        Err(error) => panic!("{error}"),
    });
    assert!(prepared.is_some(), "it stays held");
    let claimed = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&device.device);
    assert_eq!(claimed.unwrap_err().raw_os_error(), Some(libc::EBUSY));
    drop(prepared);
}

#[test]
fn a_device_that_the_caller_has_claimed_is_written_by_its_pin() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let Some(device) = Loop::attach(1 << 20) else { return };
    let named = device.device.with_file_name("no-such-name");
    let held = OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(&device.device).unwrap();
    let pin = Pin::new(held);
    let claim = (0..100).find_map(|_| {
        let claimed = claim_device(&named, &pin);
        // Whoever looks at new devices, as udev does, may hold it for a moment.
        claimed.inspect_err(|_| std::thread::sleep(std::time::Duration::from_millis(20))).ok()
    });
    let claim = claim.unwrap();
    let mut pins = Pins::default();
    pins.insert(named.clone(), pin);
    let stop = AtomicBool::new(false);
    // Two jobs share the one claim that there can be.
    for _ in 0..2 {
        let prepared = prepare_pinned(&Job::new(&named, Rw::Write), &pins, &stop, &mut |_| ()).unwrap();
        assert!(prepared.run(&stop, &mut |_| ()).unwrap().succeeded());
    }
    assert!(fs::read(&device.device).unwrap().iter().any(|byte| *byte != 0));
    let other = || OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&device.device);
    assert_eq!(other().unwrap_err().raw_os_error(), Some(libc::EBUSY), "between two loads as well");
    drop(claim);
}

#[test]
fn a_filesystem_that_fills_up_ends_the_job_and_keeps_the_figures() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    for (engine, iodepth) in [(IoEngine::Sync, 1), (IoEngine::Auto, 8)] {
        let Some(mount) = Mount::attach(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) else { return };
        let mut job = Job::new(mount.path().join("data"), Rw::Write);
        (job.engine, job.iodepth) = (engine, iodepth);
        job.size = Some(Bytes(64 * BLOCK));
        let error = prepare(&job).unwrap_err();
        assert!(error.to_string().contains("cannot lay out `"), "{error}");
        assert!(!job.targets[0].exists(), "a layout that failed gives its space back");
        job.preparation = Preparation::Leave;
        let outcome = measure(&job);
        let fault = outcome.error.clone().unwrap();
        assert_eq!((fault.operation, fault.name.as_str()), (Operation::Write, "ENOSPC"), "{fault}");
        assert_eq!((outcome.writes.ios, fault.completed_ios), (16, 16));
        assert!(fault.offset.0 >= 16 * BLOCK);
    }
}

#[test]
fn a_filesystem_can_be_unmounted_at_once_afterwards() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let Some(device) = Loop::attach(16 << 20) else { return };
    let path = device.device.to_str().unwrap();
    if succeed("mkfs.ext4", &["-q", path]).is_none() {
        return;
    }
    for iodepth in [1, 32] {
        for direct in [false, true] {
            let Some(mut mount) = Mount::attach(&[path]) else { return };
            let mut job = Job::new(mount.path().join("data"), Rw::RandWrite);
            (job.iodepth, job.direct, job.fdatasync) = (iodepth, direct, 64);
            job.size = Some(Bytes(1 << 20));
            let outcome = measure(&job);
            assert_eq!((outcome.writes.ios, outcome.syncs.count), (256, 4));
            let unmounted = mount.detach();
            assert!(unmounted.status.success(), "{}", String::from_utf8_lossy(&unmounted.stderr));
        }
    }
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains(&format!("{path} ")));
}

#[test]
fn requests_that_the_kernel_hands_to_workers_are_noticed() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let Some(mount) = Mount::attach(&["-t", "tmpfs", "-o", "size=8m", "tmpfs"]) else { return };
    let mut job = Job::new(mount.path().join("data"), Rw::RandRead);
    job.size = Some(Bytes(64 * BLOCK));
    job.io_size = Some(Bytes(1000 * BLOCK));
    (job.engine, job.iodepth) = (IoEngine::IoUring, 8);
    match prepare(&job) {
        Err(error) => eprintln!("skipped: {error}"),
        Ok(prepared) => {
            let outcome = prepared.run(&AtomicBool::new(false), &mut |_| ()).unwrap();
            // Files on tmpfs have no way to say that a read would block, so each goes to a worker.
            assert!(outcome.punted() && outcome.io_workers > 0);
        }
    }
}

#[test]
fn devices_are_striped_as_one_volume() {
    if !is_root() {
        return;
    }
    let _alone = alone();
    let Some(devices) = (0..3).map(|_| Loop::attach(1 << 20)).collect::<Option<Vec<_>>>() else { return };
    for (engine, iodepth) in [(IoEngine::Sync, 1), (IoEngine::Auto, 16)] {
        let mut job = Job::new("/", Rw::RandWrite);
        job.targets = devices.iter().map(|device| device.device.clone()).collect();
        job.volume = Some(Volume::Raid0 { chunk: Bytes(BLOCK) });
        (job.engine, job.iodepth, job.direct) = (engine, iodepth, true);
        job.bs = Bytes(4 * BLOCK).into();
        // A pattern that begins anew with each block says where in its block a chunk belongs.
        let words = (0..2 * BLOCK).flat_map(|word| u16::to_be_bytes(u16::try_from(word).unwrap()));
        job.data.content = Content::Pattern(words.collect());
        let outcome = measure(&job);
        assert_eq!((outcome.writes.ios, outcome.error), (192, None));
        for (number, device) in devices.iter().enumerate() {
            let bytes = fs::read(&device.device).unwrap();
            for (row, chunk) in bytes.chunks(4096).enumerate() {
                let wanted = (row * 3 + number) % 4 * 2048;
                assert_eq!(usize::from(u16::from_be_bytes([chunk[0], chunk[1]])), wanted);
            }
        }
        job.volume = Some(Volume::Raid0 { chunk: Bytes(BLOCK + 256) });
        assert!(prepare(&job).unwrap_err().to_string().contains("blocks are cut at multiples of 4352B"));
    }
}
