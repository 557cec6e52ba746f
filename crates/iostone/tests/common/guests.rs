//! What tests with guests need: a kernel to boot, a place of the test's own, and proof that nothing is left.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use iostone_guest::{Cache, Qemu};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_iostone");
/// The smallest kernels; the name that is fetched where the cache has none.
pub(crate) const FETCHED: &str = "debian:6.1";

/// The image, the modules and the release of a kernel.
#[derive(Debug, Clone)]
pub(crate) struct BootableKernel {
    pub(crate) image: PathBuf,
    pub(crate) modules: PathBuf,
    pub(crate) release: String,
}

/// A kernel of the cache, found once for all tests; fetched if there is none.
pub(crate) fn kernel() -> Option<&'static BootableKernel> {
    static KERNEL: OnceLock<Option<BootableKernel>> = OnceLock::new();
    KERNEL.get_or_init(find_kernel).as_ref()
}

fn find_kernel() -> Option<BootableKernel> {
    if !rustix::process::geteuid().is_root() || Qemu::find().is_err() {
        return None;
    }
    let cache = Cache::of_user().ok()?;
    let cached = || {
        cache.kernels().into_iter().find(|kernel| kernel.release.contains("cloud")).map(|kernel| {
            let place = cache.root().join("kernels").join(&kernel.release);
            let (image, modules) = (place.join("vmlinuz"), place.join("modules"));
            BootableKernel { image, modules, release: kernel.release }
        })
    };
    cached().or_else(|| {
        let fetched = Command::new(PROGRAM).args(["guest", "kernels", "--fetch", FETCHED]).output().ok()?;
        fetched.status.success().then(cached).flatten()
    })
}

/// Ends the test by name where there is nothing to boot.
macro_rules! needs_kernel {
    () => {
        match $crate::guests::kernel() {
            Some(kernel) => kernel,
            None => {
                eprintln!(
                    "skipped: needs root, QEMU and a kernel (`iostone guest kernels --fetch {}`)",
                    $crate::guests::FETCHED
                );
                return;
            }
        }
    };
}

/// A place for runs and journals of its own.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn iostone(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .current_dir(self.directory.path())
            .env("IOSTONE_STATE_DIR", self.directory.path().join("state"))
            .env("IOSTONE_INDEX", "off")
            .env("TMPDIR", self.directory.path())
            .stdin(Stdio::null());
        command
    }

    /// Writes a file; gives its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let file = self.directory.path().join(name);
        fs::write(&file, text).unwrap();
        file.display().to_string()
    }

    pub(crate) fn trials(&self) -> Vec<(PathBuf, Value)> {
        let mut found = Vec::new();
        for run in fs::read_dir(self.directory.path().join("runs")).into_iter().flatten().flatten() {
            for trial in fs::read_dir(run.path().join("trials")).into_iter().flatten().flatten() {
                if let Ok(text) = fs::read(trial.path().join("trial.json")) {
                    found.push((trial.path(), serde_json::from_slice(&text).unwrap()));
                }
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    }

    pub(crate) fn journals(&self) -> usize {
        fs::read_dir(self.directory.path().join("state/journals")).map_or(0, Iterator::count)
    }

    /// No journal, no image, no process that names a file of ours.
    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.journals(), 0);
        let images = files_below(self.directory.path(), &|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("iostone-"))
        });
        assert!(images.is_empty(), "{images:?}");
        let place = self.directory.path().display().to_string();
        assert_eq!(processes_with(&place), Vec::<String>::new());
        let loops = fs::read_to_string("/proc/mounts").unwrap();
        assert!(!loops.contains(&place));
    }
}

fn files_below(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if wanted(&entry.path()) {
            found.push(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path(), wanted));
        }
    }
    found
}

/// Command lines that hold a text.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if let Ok(line) = fs::read(entry.path().join("cmdline")) {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(text) {
                found.push(line);
            }
        }
    }
    found
}

pub(crate) fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

pub(crate) use needs_kernel;
