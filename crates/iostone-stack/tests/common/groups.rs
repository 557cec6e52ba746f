//! What tests of limits on programs share: programs that enter the groups, and which groups of ours there are.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "this is test code, and skipped tests say so")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use iostone_stack::{LimitControllers, TrialGroups};

/// Enters every group of a list with `:` between, and becomes another program.
const ENTER: &str = "IFS=:; for group in $1; do echo 0 > \"$group\" || exit 99; done; shift; exec \"$@\"";

/// True, with a word about it, where programs cannot be limited.
pub(crate) fn needs_limit_controllers(test: &str) -> bool {
    if super::machine::needs_root(test) {
        return true;
    }
    match LimitControllers::find() {
        Ok(found) if found.lacking.is_empty() => false,
        other => {
            eprintln!("{test} skipped: needs controllers of CPU time, memory and processors: {other:?}");
            true
        }
    }
}

/// A program that ends with the test.
pub(crate) struct Program(pub(crate) Child);

impl Program {
    /// Starts it in the groups.
    pub(crate) fn within(groups: &TrialGroups, words: &[&str]) -> Self {
        let files: Vec<&str> = groups.enter.iter().map(|path| path.to_str().unwrap()).collect();
        let child = Command::new("/bin/sh")
            .args(["-c", ENTER, "sh", &files.join(":")])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// A processor's worth of work without end.
    pub(crate) fn busy(groups: &TrialGroups) -> Self {
        Self::within(groups, &["/bin/sh", "-c", "while :; do :; done"])
    }

    pub(crate) fn cgroups(&self) -> String {
        std::fs::read_to_string(format!("/proc/{}/cgroup", self.0.id())).unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A figure of `cpu.stat`.
pub(crate) fn stat(group: &Path, name: &str) -> f64 {
    let text = std::fs::read_to_string(group.join("cpu.stat")).unwrap();
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap()
}

/// Every control group whose name begins so, in whichever hierarchy.
pub(crate) fn groups_named(beginning: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(beginning) {
                found.push(entry.path());
            } else {
                directories.push(entry.path());
            }
        }
    }
    found
}

/// A group of the test's own, removed when dropped.
pub(crate) struct TestGroup(pub(crate) PathBuf);

impl TestGroup {
    pub(crate) fn new(path: PathBuf) -> Self {
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if std::fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
