//! The tree that facts are read from: this machine's `/`, or a fixture that looks like another machine's.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use iostone_model::mountinfo::{self, Mount};

/// More than the mount table of a host with ten thousand containers; a bound so that no file can eat the memory.
const LARGEST_TEXT_BYTES: u64 = 16 << 20;

/// Where `/proc`, `/sys` and `/etc` are looked for. All reads give `None` for what is absent or unreadable:
/// which facts a machine offers differs, and none of them is worth failing for.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self::live()
    }
}

impl Root {
    /// This machine.
    pub fn live() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A tree below `path` that holds `proc/`, `sys/`, `etc/` of some machine.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Whether this is the running machine, so that system calls may answer as well as files.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// The path of an absolute path within the tree.
    pub fn join(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.0.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The first 16 MiB of a file.
    pub fn bytes(&self, absolute: impl AsRef<Path>) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = File::open(self.join(absolute)).ok()?;
        file.take(LARGEST_TEXT_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// A file as text; what is not UTF-8 becomes U+FFFD.
    pub fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        self.bytes(absolute).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The mounts that the calling process sees, in the kernel's order; empty where there is no `/proc`.
    pub fn mounts(&self) -> Vec<Mount> {
        self.bytes("/proc/self/mountinfo").map(|table| mountinfo::parse(&table)).unwrap_or_default()
    }

    /// A file's text without white space (and NUL, which device trees end their strings with) around it;
    /// `None` when nothing is left.
    pub fn word(&self, absolute: impl AsRef<Path>) -> Option<String> {
        let text = self.text(absolute)?;
        let word = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// A file that holds one number.
    pub fn number<T: FromStr>(&self, absolute: impl AsRef<Path>) -> Option<T> {
        self.word(absolute)?.parse().ok()
    }

    /// Whether something is there.
    pub fn exists(&self, absolute: impl AsRef<Path>) -> bool {
        self.join(absolute).exists()
    }

    /// The names in a directory, sorted; empty where there is no such directory.
    pub fn entries(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        let Ok(directory) = fs::read_dir(self.join(absolute)) else {
            return Vec::new();
        };
        let mut names: Vec<String> =
            directory.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The last part of what a symbolic link points at: sysfs names drivers and parents that way.
    pub fn link_name(&self, absolute: impl AsRef<Path>) -> Option<String> {
        let target = fs::read_link(self.join(absolute)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    /// What a symbolic link points at, as it is written.
    pub fn link(&self, absolute: impl AsRef<Path>) -> Option<PathBuf> {
        fs::read_link(self.join(absolute)).ok()
    }
}
