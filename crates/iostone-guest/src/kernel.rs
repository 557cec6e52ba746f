//! A kernel that a guest boots: by its path, this host's own, or a package of Debian's.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::debian::{self, PackageSpec};
use crate::error::GuestError;

mod host;
mod image;
#[cfg(test)]
mod tests;

pub(crate) use image::{digest_of, release_of};

/// A kernel that a guest boots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its image, a bzImage.
    pub image: PathBuf,
    /// The directory with its modules, as `/lib/modules/RELEASE` is one; none was found for a kernel given by its path.
    pub modules: Option<PathBuf>,
    /// What `uname -r` will say.
    pub release: String,
    /// Where it is from: `Debian linux-image-6.1.0-50-cloud-amd64 6.1.176-1`, or its path.
    pub source: String,
    /// SHA-256 of the image, in hexadecimal digits.
    pub sha256: String,
}

/// How a kernel is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelSpec {
    /// A file.
    Path(PathBuf),
    /// The kernel that runs here.
    Host,
    /// A package of Debian's.
    Debian(PackageSpec),
}

impl FromStr for KernelSpec {
    type Err = GuestError;

    fn from_str(text: &str) -> Result<Self, GuestError> {
        if text == "host" {
            return Ok(Self::Host);
        }
        if let Some(package) = text.strip_prefix("debian:") {
            return package.parse().map(Self::Debian);
        }
        if text.contains('/') {
            return Ok(Self::Path(PathBuf::from(text)));
        }
        Err(GuestError::Unsuitable(format!(
            "`{text}` does not name a kernel: give a path (`/boot/vmlinuz-6.1.0-50-amd64`), `host`, or a Debian package \
             (`debian:6.1`, `debian:6.1.0-50-cloud-amd64`)"
        )))
    }
}

/// Finds a kernel; one of Debian's is fetched unless the cache has it. `modules` is where its modules lie, if they are
/// not where they are looked for. `progress` hears of what takes time; raising `stop` ends it.
///
/// # Errors
/// [`GuestError::Unsuitable`] for a text that names none and a file that is none, [`GuestError::Missing`] when it is
/// not there and cannot be fetched, [`GuestError::Interrupted`].
pub fn find_kernel(
    spec: &str,
    modules: Option<&Path>,
    cache: &Cache,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Kernel, GuestError> {
    let mut kernel = match spec.parse()? {
        KernelSpec::Path(path) => at_path(&path).map_err(|error| error.of_key("machine.kernel"))?,
        KernelSpec::Host => host::running()?,
        KernelSpec::Debian(package) => debian::provide(&package, cache, progress, stop)?,
    };
    if let Some(modules) = modules {
        let found = modules_at(modules, &kernel.release);
        kernel.modules = Some(found.map_err(|error| error.of_key("machine.modules"))?);
    }
    Ok(kernel)
}

/// The kernel in a file, with its modules if they lie where they usually do.
pub(crate) fn at_path(path: &Path) -> Result<Kernel, GuestError> {
    let image = std::path::absolute(path).map_err(|error| GuestError::io("find", path, error))?;
    let release = release_of(&image)?;
    Ok(Kernel {
        modules: host::modules_beside(&image, &release),
        sha256: digest_of(&image)?,
        source: image.display().to_string(),
        image,
        release,
    })
}

/// The modules' directory that the user named: it, or `lib/modules/RELEASE` or `RELEASE` in it.
fn modules_at(directory: &Path, release: &str) -> Result<PathBuf, GuestError> {
    let directory =
        std::path::absolute(directory).map_err(|error| GuestError::io("find", directory, error))?;
    [directory.join("lib/modules").join(release), directory.join(release), directory.clone()]
        .into_iter()
        .find(|candidate| candidate.is_dir())
        .ok_or_else(|| GuestError::Missing(format!("there is no module directory `{}`", directory.display())))
}
