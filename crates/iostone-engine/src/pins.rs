//! Targets that the caller found and opened: the engine opens them by that descriptor, whatever becomes of their names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open beside targets.
const OTHER_FILES: u64 = 256;

/// A file or device that is held open, if only with `O_PATH` (open(2)).
#[derive(Debug, Clone)]
pub struct Pin(Arc<File>);

impl Pin {
    /// Holds it.
    pub fn new(file: File) -> Self {
        Self(Arc::new(file))
    }

    /// The descriptor; what `O_PATH` allows is to be relied on, and no more.
    pub fn file(&self) -> &File {
        &self.0
    }

    /// A path by which this process opens that very file or device (`proc_pid_fd(5)`), for as long as it is held.
    pub fn path(&self) -> PathBuf {
        path_of_open(&self.0)
    }

    /// Opens it anew, with flags of its own.
    ///
    /// # Errors
    /// What open(2) said.
    pub fn open(&self, options: &OpenOptions) -> io::Result<File> {
        options.open(self.path())
    }
}

/// A path by which this process opens the very file or device of a descriptor anew, with flags of its own, whatever has
/// become of its names (`proc_pid_fd(5)`). It holds for as long as the descriptor is open.
pub fn path_of_open(file: impl AsFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()))
}

impl PartialEq for Pin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Pin {}

/// The pinned targets of jobs, by their paths as jobs have them. A target that is not among them is opened by its path.
#[derive(Debug, Clone, Default)]
pub struct Pins(BTreeMap<PathBuf, Pin>);

impl Pins {
    /// Has a target opened by that descriptor from now on.
    pub fn insert(&mut self, target: PathBuf, pin: Pin) {
        self.0.insert(target, pin);
    }

    /// The descriptor of a target, if it is pinned.
    pub fn get(&self, target: &Path) -> Option<&Pin> {
        self.0.get(target)
    }

    /// The path by which a target is opened.
    pub fn way_to<'a>(&self, target: &'a Path) -> Cow<'a, Path> {
        self.get(target).map_or(Cow::Borrowed(target), |pin| Cow::Owned(pin.path()))
    }
}

/// Many threads on many targets are more open files than a process gets without asking (1,024 as a rule), and far fewer than
/// it may ask for. If it may not, opening them says so.
pub fn make_room_for_files(files: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = files.saturating_add(OTHER_FILES);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let current = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum });
}

#[cfg(test)]
mod tests;
