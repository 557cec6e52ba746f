//! A server, `nbdfuse`, a loop device and ext4, one on the other, and all of it gone with the test, however it ends.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_disk::{ControlReply, Counters};
use serde_json::Value;

use crate::lab::{Lab, words};

pub(super) const BLOCK: usize = 4096;
const PATIENCE: Duration = Duration::from_secs(20);

/// A served volume of 64 MiB in memory, and what stands on it.
pub(super) struct Rig {
    attached: Option<Attached>,
    serving: Child,
    _said: BufReader<ChildStderr>,
    lab: Lab,
}

/// The volume as a block device, and the place of its filesystem.
struct Attached {
    showing: Child,
    file: PathBuf,
    device: Option<String>,
    mount: PathBuf,
}

impl Rig {
    /// Starts a server of a volume with these properties.
    pub(super) fn serve(properties: &[&str]) -> Self {
        let lab = Lab::new();
        let arguments = ["disk", "serve", "--socket", "v", "--memory", "--size", "64MiB"];
        let mut command = first(&lab.iostone(&[&arguments, properties].concat()));
        let mut serving = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(serving.stderr.take().unwrap());
        let mut text = String::new();
        while !text.contains("Ctrl-C stops it") {
            assert_ne!(said.read_line(&mut text).unwrap(), 0, "{text}");
        }
        Self { attached: None, serving, _said: said, lab }
    }

    /// As [`serve`](Self::serve), with a new ext4 that is mounted.
    pub(super) fn with_ext4(properties: &[&str]) -> Self {
        let mut rig = Self::serve(properties);
        rig.attach();
        rig.make_ext4();
        assert!(rig.mount("barrier=1"), "a new filesystem is mounted");
        rig
    }

    /// `iostone disk control`: what the server answers.
    pub(super) fn control(&self, arguments: &[&str]) -> ControlReply {
        let begin = ["disk", "control", "v.control", "--json"];
        let output = self.lab.iostone(&[&begin, arguments].concat()).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What the volume has done since it began, or since `reset`.
    pub(super) fn counters(&self) -> Counters {
        match self.control(&["counters"]) {
            ControlReply::Counters(mut report) => report.volumes.remove(0).counters,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a block device of the volume.
    pub(super) fn attach(&mut self) {
        let file = self.lab.path().join("shown");
        File::create(&file).unwrap();
        let mut command = Command::new("nbdfuse");
        command.arg(&file).arg("--unix").arg(self.lab.path().join("v"));
        let showing = first(&command).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mount = self.lab.path().join("mounted");
        std::fs::create_dir_all(&mount).unwrap();
        let attached = self.attached.insert(Attached { showing, file, device: None, mount });
        let deadline = Instant::now() + PATIENCE;
        while std::fs::metadata(&attached.file).unwrap().len() != 64 << 20 {
            assert!(Instant::now() < deadline, "`nbdfuse` shows no file");
            sleep(Duration::from_millis(2));
        }
        attached.device = Some(said_by(
            Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(&attached.file),
        ));
    }

    pub(super) fn device(&self) -> &str {
        self.attached.as_ref().and_then(|attached| attached.device.as_deref()).unwrap()
    }

    /// Where the filesystem is.
    pub(super) fn path(&self) -> &Path {
        &self.attached.as_ref().unwrap().mount
    }

    pub(super) fn make_ext4(&self) {
        // All of it now: nothing is to be written behind a test's back.
        let extended = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        said_by(Command::new("mkfs.ext4").args(["-q", "-F", "-b", "4096", "-E", extended, self.device()]));
    }

    /// Mounts the filesystem, which replays its journal. False if it cannot be mounted.
    pub(super) fn mount(&self, options: &str) -> bool {
        let mut command = Command::new("mount");
        command.args(["-t", "ext4", "-o", options, self.device()]).arg(self.path());
        command.output().unwrap().status.success()
    }

    /// Takes everything off the server again.
    pub(super) fn detach(&mut self) {
        drop(self.attached.take());
    }

    /// Whether the filesystem, which is not mounted, is whole.
    pub(super) fn is_whole(&self) -> bool {
        let output = Command::new("e2fsck").args(["-f", "-n", self.device()]).output().unwrap();
        output.status.success()
    }

    /// A file on the filesystem, written in full and synced.
    pub(super) fn write_file(&self, size_bytes: usize) -> PathBuf {
        let path = self.path().join("file");
        std::fs::write(&path, vec![0x5a; size_bytes]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        path
    }

    /// `iostone io` with these options: its one job.
    pub(super) fn io(&self, options: &[&str]) -> Value {
        let output =
            self.lab.iostone(&[&["io", "--json", "--eta=never"], options].concat()).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["jobs"][0].take()
    }

    /// Ends the server in its own way, and looks whether anything is left.
    pub(super) fn end(mut self) {
        self.detach();
        assert_eq!(self.control(&["end"]), ControlReply::Done);
        assert!(self.serving.wait().unwrap().success());
        self.lab.assert_nothing_left();
        assert!(!self.lab.path().join("v").exists());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.detach();
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Without power a plain umount fails where there is something to write; lazily it does not.
        let _ = Command::new("umount").arg("--lazy").arg(&self.mount).output();
        if let Some(device) = &self.device {
            let _ = Command::new("losetup").args(["--detach", device]).output();
            let backing = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("loop");
            let deadline = Instant::now() + PATIENCE;
            while backing.exists() && Instant::now() < deadline {
                sleep(Duration::from_millis(1));
            }
        }
        // The driver lets go of the file a moment after it says so.
        let deadline = Instant::now() + PATIENCE;
        let unmounts =
            || Command::new("umount").arg(&self.file).output().is_ok_and(|said| said.status.success());
        while !unmounts() && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        let _ = Command::new("umount").arg("--lazy").arg(&self.file).output();
        let deadline = Instant::now() + PATIENCE;
        while self.showing.try_wait().is_ok_and(|ended| ended.is_none()) && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        let _ = self.showing.kill();
        let _ = self.showing.wait();
    }
}

/// The same command, served before everybody else by the scheduler: tests run beside each other, and beside builds.
fn first(command: &Command) -> Command {
    let mut first = Command::new("chrt");
    first.args(["--rr", "1"]).arg(command.get_program()).args(command.get_args());
    first.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(directory) = command.get_current_dir() {
        first.current_dir(directory);
    }
    first
}

/// A block's worth of memory that starts where `O_DIRECT` wants it to.
pub(super) struct Aligned(Vec<u8>, usize);

impl Aligned {
    pub(super) fn new() -> Self {
        let storage = vec![0; 2 * BLOCK];
        let skip = storage.as_ptr().align_offset(BLOCK);
        Self(storage, skip)
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.0[self.1..self.1 + BLOCK]
    }
}

/// A file for reads and writes past the page cache.
pub(super) fn open_direct(path: &Path) -> File {
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(direct).open(path).unwrap()
}

/// Reads a block past the page cache.
pub(super) fn read_block(file: &File, number: u64, buffer: &mut Aligned) -> std::io::Result<()> {
    file.read_exact_at(buffer.bytes(), number * BLOCK as u64)
}

/// What a command that has to succeed says.
pub(super) fn said_by(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", words(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
