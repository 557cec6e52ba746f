//! The cache of kernels: complete or absent, shared by all processes of a user.
//!
//! `kernels/RELEASE/` has `vmlinuz`, `modules/` and `kernel.json`; it is made beside and renamed, so that it is there
//! only when it is complete. `debian/` has what apt needs to be asked without touching the machine's own lists.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::GuestError;
use crate::kernel::{Kernel, digest_of};

#[cfg(test)]
mod tests;

/// Names another place of the cache.
const VARIABLE: &str = "IOSTONE_CACHE";
/// The cache of root (FHS 5.5).
const OF_ROOT: &str = "/var/cache/iostone";
/// How often a lock that another process holds is tried.
const TICK: Duration = Duration::from_millis(100);
/// What is being made begins with it; without its lock it is what an ended process left.
const IN_THE_MAKING: &str = ".making-";

/// Where kernels are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

/// A kernel in the cache, as `kernel.json` tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedKernel {
    /// What `uname -r` will say.
    pub release: String,
    /// The package with the image: `linux-image-6.1.0-50-cloud-amd64`.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// The release of Debian that it is from: `bookworm-security`.
    pub suite: String,
    /// SHA-256 of the image, in hexadecimal digits.
    pub sha256: String,
    /// The packages that were unpacked: file name and SHA-256, as the archive's index states it and apt verified it.
    pub archives: Vec<(String, String)>,
}

impl Cache {
    /// The cache of this user: `IOSTONE_CACHE` if set, `/var/cache/iostone` for root, else `$XDG_CACHE_HOME/iostone` or
    /// `~/.cache/iostone` (XDG base directory specification). Nothing is made until something is kept.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when none of them is known.
    pub fn of_user() -> Result<Self, GuestError> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        place(variable, rustix::process::geteuid().is_root()).map(Self::at)
    }

    /// A cache at a place of the caller's.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The complete kernels, in the order of their releases. One that cannot be read is as good as absent.
    pub fn kernels(&self) -> Vec<CachedKernel> {
        let Ok(entries) = std::fs::read_dir(self.kernel_directory()) else { return Vec::new() };
        let mut kernels: Vec<CachedKernel> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|release| self.kernel(&release))
            .collect();
        kernels.sort_by(|one, other| one.release.cmp(&other.release));
        kernels
    }

    /// The kernel of that release, if it is there.
    pub(crate) fn kernel(&self, release: &str) -> Option<CachedKernel> {
        if !is_plain(release) {
            return None;
        }
        let text = std::fs::read(self.directory_of(release).join("kernel.json")).ok()?;
        serde_json::from_slice::<CachedKernel>(&text).ok().filter(|kernel| kernel.release == release)
    }

    /// A kernel of the cache, if its image is still what was put there.
    pub(crate) fn verified(&self, cached: &CachedKernel) -> Option<Kernel> {
        let directory = self.directory_of(&cached.release);
        let (image, modules) = (directory.join("vmlinuz"), directory.join("modules"));
        let intact = digest_of(&image).is_ok_and(|digest| digest == cached.sha256) && modules.is_dir();
        intact.then(|| Kernel {
            image,
            modules: Some(modules),
            release: cached.release.clone(),
            source: format!("Debian {} {}", cached.package, cached.version),
            sha256: cached.sha256.clone(),
        })
    }

    /// Takes a kernel out; says whether it was there.
    pub(crate) fn remove(&self, _lock: &Lock, release: &str) -> Result<bool, GuestError> {
        let directory = self.directory_of(release);
        if !is_plain(release) || !directory.exists() {
            return Ok(false);
        }
        // Renamed first: what is there is complete, also while it is being removed.
        let aside = self.kernel_directory().join(format!("{IN_THE_MAKING}removed-{release}"));
        std::fs::rename(&directory, &aside).map_err(|error| GuestError::io("remove", &directory, error))?;
        std::fs::remove_dir_all(&aside).map_err(|error| GuestError::io("remove", &aside, error))?;
        Ok(true)
    }

    /// An empty directory to make a kernel in.
    pub(crate) fn workshop(&self, _lock: &Lock, release: &str) -> Result<Workshop, GuestError> {
        let directory = self.kernel_directory().join(format!("{IN_THE_MAKING}{release}"));
        make_directory(&directory)?;
        Ok(Workshop { directory })
    }

    /// Puts a kernel that was made into its place, over a former one.
    pub(crate) fn keep(
        &self,
        lock: &Lock,
        workshop: &Workshop,
        made: &Path,
        kernel: &CachedKernel,
    ) -> Result<(), GuestError> {
        let description = made.join("kernel.json");
        let text = serde_json::to_vec_pretty(kernel).unwrap_or_default();
        std::fs::write(&description, text).map_err(|error| GuestError::io("write", &description, error))?;
        // A directory that is there after a power failure has to be whole.
        let everything = File::open(&workshop.directory)
            .and_then(|directory| rustix::fs::syncfs(&directory).map_err(Into::into));
        everything.map_err(|error| GuestError::io("sync", made, error))?;
        self.remove(lock, &kernel.release)?;
        let place = self.directory_of(&kernel.release);
        std::fs::rename(made, &place).map_err(|error| GuestError::io("rename to", &place, error))
    }

    /// Waits until no other process works on the cache, and removes what ended ones left half-made.
    ///
    /// # Errors
    /// [`GuestError::Io`] when the cache cannot be written, [`GuestError::Interrupted`].
    pub(crate) fn lock(&self, progress: &mut dyn FnMut(&str), stop: &AtomicBool) -> Result<Lock, GuestError> {
        let kernels = self.kernel_directory();
        make_directory(&kernels)?;
        let path = self.root.join("lock");
        let file = File::create(&path).map_err(|error| GuestError::io("open", &path, error))?;
        let mut told = false;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(GuestError::io("lock", &path, error.into())),
            }
            if stop.load(Ordering::Relaxed) {
                return Err(GuestError::Interrupted);
            }
            if !told {
                progress("waiting for another iostone process that is fetching a kernel");
                told = true;
            }
            std::thread::sleep(TICK);
        }
        for entry in std::fs::read_dir(&kernels).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(IN_THE_MAKING) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        Ok(Lock { _file: file })
    }

    fn kernel_directory(&self) -> PathBuf {
        self.root.join("kernels")
    }

    pub(crate) fn directory_of(&self, release: &str) -> PathBuf {
        self.kernel_directory().join(release)
    }
}

/// The right to change the cache; given back when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// A directory in which something is being made; removed when dropped.
#[derive(Debug)]
pub(crate) struct Workshop {
    pub(crate) directory: PathBuf,
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A name of a directory in the cache, and no way out of it.
fn is_plain(release: &str) -> bool {
    !release.is_empty() && !release.starts_with('.') && !release.contains(['/', '\0'])
}

pub(crate) fn make_directory(path: &Path) -> Result<(), GuestError> {
    std::fs::create_dir_all(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => GuestError::Unsuitable(format!(
            "the kernel cache `{}` cannot be written ({error}); next: set {VARIABLE} to a writable directory",
            path.display()
        )),
        _ => GuestError::io("create", path, error),
    })
}

fn place(variable: impl Fn(&str) -> Option<PathBuf>, root: bool) -> Result<PathBuf, GuestError> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    if let Some(path) = variable(VARIABLE).filter(|path| !path.as_os_str().is_empty()) {
        return std::path::absolute(&path).map_err(|error| GuestError::io("find", &path, error));
    }
    if root {
        return Ok(PathBuf::from(OF_ROOT));
    }
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|directory| directory.join("iostone"))
        .ok_or_else(|| {
            GuestError::Missing(format!(
                "no directory for the kernel cache: HOME is not set; next: set {VARIABLE} to a directory"
            ))
        })
}
