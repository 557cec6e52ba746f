//! Bringing a kernel of Debian's into the cache: download, verify, unpack, keep what a guest needs.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::apt::{Apt, unpack};
use super::index::{IndexedKernel, apt_directory};
use crate::cache::{Cache, CachedKernel, Lock, make_directory};
use crate::error::GuestError;
use crate::kernel::{Kernel, digest_of, release_of};

/// Fetches a kernel into the cache.
///
/// # Errors
/// [`GuestError::Missing`] when the archive does not give it, [`GuestError::Unsuitable`] when its packages do not hold
/// what they should, [`GuestError::Interrupted`].
pub(super) fn fetch(
    kernel: &IndexedKernel,
    cache: &Cache,
    lock: &Lock,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Kernel, GuestError> {
    let apt = Apt::at(&apt_directory(cache))?;
    let workshop = cache.workshop(lock, &kernel.release)?;
    let root = workshop.directory.join("root");
    let mut archives = Vec::new();
    for package in &kernel.packages {
        progress(&format!(
            "fetching {} {} ({:.1} MB)",
            package.name,
            package.version,
            package.size_bytes as f64 / 1e6
        ));
        let into = workshop.directory.join(&package.name);
        let archive = apt.download(&package.name, &package.version, &into, stop)?;
        let digest = digest_of(&archive)?;
        if digest != package.sha256 {
            return Err(GuestError::Missing(format!(
                "the download of `{}` {} does not match the archive's index (SHA-256 {digest} for {}); next: \
                 `iostone guest kernels --refresh`",
                package.name, package.version, package.sha256
            )));
        }
        unpack(&archive, &root, stop)?;
        let file = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archives.push((file, digest));
    }
    // Left out of the cache's index by now, it would be in the way of the next question about space.
    apt.forget();
    let made = workshop.directory.join("made");
    make_directory(&made)?;
    let image = made.join("vmlinuz");
    take(&root, &image_places(&kernel.release), &image, kernel)?;
    take(&root, &module_places(&kernel.release), &made.join("modules"), kernel)?;
    let release = release_of(&image)?;
    if release != kernel.release {
        return Err(GuestError::Unsuitable(format!(
            "the package of {} holds the kernel {release}",
            kernel.release
        )));
    }
    let described = CachedKernel {
        release,
        package: format!("linux-image-{}", kernel.release),
        version: kernel.version.clone(),
        suite: kernel.suite.clone(),
        sha256: digest_of(&image)?,
        archives,
    };
    cache.keep(lock, &workshop, &made, &described)?;
    cache.verified(&described).ok_or_else(|| {
        GuestError::Unsuitable(format!(
            "the kernel {} is damaged in the cache `{}`",
            kernel.release,
            cache.root().display()
        ))
    })
}

/// Where packages have had the image, newer ones first.
fn image_places(release: &str) -> Vec<PathBuf> {
    vec![
        PathBuf::from(format!("usr/lib/modules/{release}/vmlinuz")),
        PathBuf::from(format!("lib/modules/{release}/vmlinuz")),
        PathBuf::from(format!("boot/vmlinuz-{release}")),
    ]
}

/// Where packages have had the modules.
fn module_places(release: &str) -> Vec<PathBuf> {
    vec![PathBuf::from(format!("usr/lib/modules/{release}")), PathBuf::from(format!("lib/modules/{release}"))]
}

/// Moves the first of these places that is there.
fn take(root: &Path, places: &[PathBuf], to: &Path, kernel: &IndexedKernel) -> Result<(), GuestError> {
    let found = places.iter().map(|place| root.join(place)).find(|path| path.exists());
    let found = found.ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| format!("`{}`", place.display())).collect();
        GuestError::Unsuitable(format!(
            "the packages of {} have none of {}",
            kernel.release,
            places.join(", ")
        ))
    })?;
    std::fs::rename(&found, to).map_err(|error| GuestError::io("move", &found, error))
}
