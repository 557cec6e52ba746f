//! A place of its own for each test: runs and journals apart from everybody else's, and a look at what is left.
#![allow(dead_code, unused_macros, unused_imports, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_stack::ThrottleController;
use serde_json::Value;

/// A test's own runs and registry, on the disk that the build lies on: flushes cost nothing in memory.
pub(crate) struct Lab {
    directory: tempfile::TempDir,
}

/// Skips a test by name where it cannot run.
macro_rules! needs_root {
    () => {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
    };
}
pub(crate) use needs_root;

/// Skips a test by name where a foreign program is not installed.
macro_rules! needs_tool {
    ($program:literal) => {
        if !["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin", "/sbin", "/bin"]
            .iter()
            .any(|folder| std::path::Path::new(folder).join($program).is_file())
        {
            eprintln!("skipped: needs {}", $program);
            return;
        }
    };
}
pub(crate) use needs_tool;

impl Lab {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.path().join("runs")
    }

    /// `iostone` with everything of its own.
    pub(crate) fn iostone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostone"));
        command
            .args(arguments)
            .current_dir(self.path())
            .env("IOSTONE_STATE_DIR", self.path().join("state"))
            .env("IOSTONE_INDEX", "off")
            .env("IOSTONE_RUNS", self.runs())
            .env("NO_COLOR", "1");
        command
    }

    /// Writes an experiment file and gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The one run there is.
    pub(crate) fn the_run(&self) -> PathBuf {
        let mut runs: Vec<PathBuf> =
            std::fs::read_dir(self.runs()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// The whole record of the one run.
    pub(crate) fn record(&self) -> Value {
        let run = self.the_run().display().to_string();
        let output = self.iostone(&["show", &run, "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Fails if a loop device, a mount, a journal or an image of this lab is left.
    pub(crate) fn assert_nothing_left(&self) {
        let here = self.path().display().to_string();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&here), "a mount is left:\n{mounts}");
        // A device that was detached goes when the last who has it open lets go of it: another test's look at all devices too.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.attached_loops().is_empty() && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
        assert_eq!(self.attached_loops(), Vec::<String>::new(), "a loop device is left");
        let journals = self.path().join("state/journals");
        let left: Vec<_> =
            std::fs::read_dir(&journals).map(|entries| entries.flatten().collect()).unwrap_or_default();
        assert!(left.is_empty(), "a journal is left: {left:?}");
        for entry in walk(self.path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            assert!(name != "volume.img" && !name.starts_with("iostone-"), "{} is left", entry.display());
        }
    }

    /// Backing files of loop devices that lie in this lab, the deleted ones too.
    pub(crate) fn attached_loops(&self) -> Vec<String> {
        let here = self.path().display().to_string();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
            if let Ok(backing) = std::fs::read_to_string(entry.path().join("loop/backing_file"))
                && backing.starts_with(&here)
            {
                found.push(backing.trim().to_owned());
            }
        }
        found
    }
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(walk(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

/// What a command said, for a failing test's message.
pub(crate) fn words(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The barrier question in small: a trial takes well under two seconds.
pub(crate) fn small_barrier(write_cache: &str, blocks: u32) -> String {
    format!(
        r#"
name = "small-barrier"
question = "Does ext4 run faster without write barriers on this small disk?"

[stack]
volume = {{ kind = "loop", size = "48MiB", backing_io = "buffered" }}
queue = {{ write_cache = "{write_cache}" }}
filesystem = {{ kind = "ext4" }}
mount = {{ options = ["noatime"] }}

[[factor]]
name = "barrier"
levels = {{ on = {{ mount.options = ["barrier=1"] }}, off = {{ mount.options = ["barrier=0"] }} }}

[workload]
kind = "io"
rw = "randwrite"
bs = "4KiB"
size = "8MiB"
fdatasync = 1
ramp_time = "100ms"
runtime = "400ms"

[decide]
metric = "iops"
baseline = "on"
blocks = {{ min = 6, max = {blocks} }}

[trials]
settle = "20ms"

# A machine that runs tests is neither quiet nor its own master.
[gates]
steal = "off"
idle = "off"
throttling = "off"
"#
    )
}

/// The end of an experiment that is about machinery: trials without rest, on a machine that may be busy.
pub(crate) const UNGATED: &str = "[trials]
settle = \"1ms\"
warmups = 0
[gates]
steal = \"off\"
throttling = \"off\"
served = \"off\"
idle = \"off\"
clock = \"off\"
";

/// True, with a word about it, where volumes cannot be limited.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn cannot_limit() -> bool {
    let found = ThrottleController::find();
    if let Err(error) = &found {
        eprintln!("skipped: {error}");
    }
    found.is_err()
}

/// Waits for something that a run does, which must not end before: a busy machine takes long to do it.
#[track_caller]
pub(crate) fn wait_until(child: &mut Child, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !is_so() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        assert!(Instant::now() < deadline, "it did not come to it");
        sleep(Duration::from_millis(5));
    }
}

/// A loop device that a test attaches itself, standing for a user's disk.
pub(crate) struct Disk {
    pub(crate) path: String,
    image: PathBuf,
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

/// Flushes that the loop device completed, by configuration.
pub(crate) fn flushes(record: &Value, configuration: &str) -> Vec<u64> {
    record["trials"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|trial| trial["configuration"] == configuration)
        .map(|trial| trial["signals"]["devices"][0]["served"]["flushes"].as_u64().unwrap())
        .collect()
}
