//! What the tests need of the machine: a registry and a work directory of their own, small filesystems, loop devices.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iostone_model::experiment::{BackingIo, Ext4, Filesystem, LoopVolume, Mount, Stack, Volume};
use iostone_model::units::Bytes;
use iostone_stack::{Registry, Session, SessionOptions};

/// 2^20 bytes.
pub(crate) const MIB: u64 = 1 << 20;

/// True, with a word about it, where the test cannot run.
pub(crate) fn needs_root(test: &str) -> bool {
    let skipped = !rustix::process::geteuid().is_root();
    if skipped {
        eprintln!("{test} skipped: needs root");
    }
    skipped
}

/// A place of the test's own with its own registry.
pub(crate) struct Machine {
    directory: tempfile::TempDir,
    pub(crate) registry: Registry,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let directory =
            tempfile::Builder::new().prefix("iostone-stack-test-").tempdir_in("/var/tmp").unwrap();
        let registry = Registry::at(&directory.path().join("state")).unwrap();
        Self { directory, registry }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Does not exist until a session makes it.
    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("run/work")
    }

    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions {
            run_token: "test".to_owned(),
            run_directory: self.path().join("run"),
            work_directory: self.work(),
            ..SessionOptions::default()
        }
    }

    pub(crate) fn session(&self) -> Session {
        Session::begin(&self.registry, self.options()).unwrap()
    }

    pub(crate) fn interruptible_session(&self) -> (Session, Arc<AtomicBool>) {
        let flag = Arc::new(AtomicBool::new(false));
        let options = SessionOptions { interrupt: Some(flag.clone()), ..self.options() };
        (Session::begin(&self.registry, options).unwrap(), flag)
    }

    pub(crate) fn journals(&self) -> usize {
        fs::read_dir(self.registry.directory()).unwrap().count()
    }

    pub(crate) fn image(&self) -> PathBuf {
        find_image(&self.work())
    }

    /// Nothing is left: no loop device, no mount, no journal, no directory.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(loops_under(self.path()), 0, "loop devices");
        assert_eq!(mounts_under(self.path()), 0, "mounts");
        assert_eq!(self.journals(), 0, "journals");
        assert!(!self.path().join("run").exists(), "the work directory");
    }

    /// An ext4 of that size in a file of the test's own, mounted.
    pub(crate) fn small_filesystem(&self, size_bytes: u64) -> TestMount {
        let image = self.path().join("small.img");
        let device = TestLoop::new(&image, size_bytes);
        run("mkfs.ext4", &["-F", "-q", "-m", "0", device.path.to_str().unwrap()]);
        let target = self.path().join("small");
        fs::create_dir(&target).unwrap();
        run("mount", &[device.path.to_str().unwrap(), target.to_str().unwrap()]);
        TestMount { target, device: Some(device) }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Only needed when a test failed: whatever is left under the test's own directory.
        for target in mount_targets_under(self.path()) {
            let _ = Command::new("umount").arg("--lazy").arg(target).status();
        }
        for path in loop_paths_under(self.path()) {
            let _ = Command::new("losetup").arg("--detach").arg(path).status();
        }
    }
}

/// A loop device over a file of the test's own, detached when dropped.
pub(crate) struct TestLoop {
    pub(crate) path: PathBuf,
    pub(crate) image: PathBuf,
}

impl TestLoop {
    pub(crate) fn new(image: &Path, size_bytes: u64) -> Self {
        fs::File::create(image).unwrap().set_len(size_bytes).unwrap();
        Self::over(image)
    }

    pub(crate) fn over(image: &Path) -> Self {
        let output = run("losetup", &["--find", "--show", "--partscan", image.to_str().unwrap()]);
        Self { path: PathBuf::from(output.trim()), image: image.to_owned() }
    }

    /// Over a part of a file or of a device.
    pub(crate) fn over_part(image: &Path, offset_bytes: u64, size_bytes: u64) -> Self {
        let (offset, limit) = (offset_bytes.to_string(), size_bytes.to_string());
        let window =
            ["--find", "--show", "--offset", &offset, "--sizelimit", &limit, image.to_str().unwrap()];
        Self { path: PathBuf::from(run("losetup", &window).trim()), image: image.to_owned() }
    }

    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap().to_string_lossy().into_owned()
    }
}

impl Drop for TestLoop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
        // A process that another test just forked may hold a copy of a descriptor until its exec; the kernel detaches
        // on the last close.
        let directory = self.image.parent().unwrap();
        for _ in 0..500 {
            if !loop_paths_under(directory).contains(&self.path) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A mount of the test's own, unmounted when dropped.
pub(crate) struct TestMount {
    pub(crate) target: PathBuf,
    pub(crate) device: Option<TestLoop>,
}

impl Drop for TestMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.target).status();
    }
}

/// Runs a program that has to succeed; gives what it printed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What comes about by itself has done so by then, also on a machine that does much else.
const WAIT: Duration = Duration::from_secs(120);

/// Waits until the machine is as asked. Fails when that does not come about, or the child ends of which it is expected.
pub(crate) fn wait_for(what: &str, mut child: Option<&mut Child>, mut as_asked: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !as_asked() {
        let ended = child.as_mut().and_then(|child| child.try_wait().unwrap());
        // It may have come about just before the end.
        assert!(ended.is_none() || as_asked(), "{what}: its process ended by itself, {ended:?}");
        assert!(Instant::now() < deadline, "{what}: not within {} s", WAIT.as_secs());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a program is on this machine.
pub(crate) fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

pub(crate) fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// The one image under a work directory.
pub(crate) fn find_image(work: &Path) -> PathBuf {
    let mut found = images(work);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

pub(crate) fn has_image(work: &Path) -> bool {
    !images(work).is_empty()
}

fn images(work: &Path) -> Vec<PathBuf> {
    fs::read_dir(work)
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.path().join("volume.img"))
                .filter(|path| path.exists())
                .collect()
        })
        .unwrap_or_default()
}

pub(crate) fn mounts_under(directory: &Path) -> usize {
    mount_targets_under(directory).len()
}

fn mount_targets_under(directory: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let targets = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from);
    let mut targets: Vec<_> = targets.filter(|target| target.starts_with(directory)).collect();
    targets.reverse();
    targets
}

/// Loop devices over files under the directory, removed files too.
pub(crate) fn loops_under(directory: &Path) -> usize {
    loop_paths_under(directory).len()
}

fn loop_paths_under(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir("/sys/block").unwrap().flatten();
    entries
        .filter(|entry| {
            fs::read_to_string(entry.path().join("loop/backing_file"))
                .is_ok_and(|file| Path::new(file.trim()).starts_with(directory))
        })
        .map(|entry| Path::new("/dev").join(entry.file_name()))
        .collect()
}

/// ext4 on a volume, mounted with options.
pub(crate) fn ext4_on(volume: Volume, options: &[&str]) -> Stack {
    Stack {
        filesystem: Filesystem::Ext4(Ext4::default()),
        mount: Mount { options: options.iter().map(|option| (*option).to_owned()).collect() },
        ..Stack::of(volume)
    }
}

/// ext4 on a filled loop device, mounted with options.
pub(crate) fn loop_stack(size_bytes: u64, options: &[&str]) -> Stack {
    let volume = LoopVolume { backing_io: Some(BackingIo::Buffered), ..LoopVolume::new(Bytes(size_bytes)) };
    ext4_on(Volume::Loop(volume), options)
}
