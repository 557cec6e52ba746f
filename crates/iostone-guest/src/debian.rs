//! Kernels of Debian's: asked for at the archive that this machine's own apt uses, without touching apt's own files.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::Serialize;

use crate::cache::{Cache, CachedKernel, Lock};
use crate::error::GuestError;
use crate::kernel::Kernel;

mod apt;
mod fetch;
mod index;
mod records;
mod release;
mod sources;
mod version;

pub use release::{Flavour, PackageSpec};

use index::{Index, IndexedKernel};
use release::Release;

/// The lists of the archive are used for so long.
const FRESH_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A kernel that can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedKernel {
    /// The first two numbers of its version: `6.1`.
    pub series: String,
    /// What `uname -r` will say.
    pub release: String,
    /// Which build it is.
    pub flavour: Flavour,
    /// The version of its package.
    pub version: String,
    /// The release of Debian that has it: `bookworm-security`.
    pub suite: String,
    /// What is downloaded, in bytes; none for one that is only in the cache.
    pub download_bytes: Option<u64>,
    /// Whether the cache has it.
    pub cached: bool,
}

/// What [`list_kernels`] is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// With the archive's lists, read anew if they are older than a day.
    Usual,
    /// With the archive's lists, read anew.
    Refreshed,
    /// What the cache has, without the network.
    Cached,
}

/// The kernels that can be had, the newest first.
///
/// # Errors
/// [`GuestError::Missing`] when there is no apt, or the archive cannot be reached; [`GuestError::Interrupted`].
pub fn list_kernels(
    cache: &Cache,
    listing: Listing,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Vec<ListedKernel>, GuestError> {
    let cached = cache.kernels();
    let mut listed = Vec::new();
    if listing != Listing::Cached {
        let lock = cache.lock(progress, stop)?;
        let index = Index::current(cache, &lock, listing == Listing::Refreshed, progress, stop)?;
        for kernel in &index.kernels {
            let is_cached =
                cached.iter().any(|have| have.release == kernel.release && have.version == kernel.version);
            listed.push(kernel.listed(is_cached));
        }
    }
    for kernel in &cached {
        let known = listed.iter().any(|other| other.release == kernel.release && other.cached);
        if let (false, Some(release)) = (known, Release::parse(&kernel.release)) {
            listed.push(ListedKernel {
                series: release.series(),
                release: kernel.release.clone(),
                flavour: release.flavour,
                version: kernel.version.clone(),
                suite: kernel.suite.clone(),
                download_bytes: None,
                cached: true,
            });
        }
    }
    listed.sort_by(|one, other| {
        let by_version = version::compare(&other.version, &one.version);
        by_version.then_with(|| one.flavour.cmp(&other.flavour))
    });
    Ok(listed)
}

/// Fetches the newest kernel that a specification (`debian:6.1`, or `6.1`) names, unless the cache has it.
///
/// # Errors
/// As [`crate::find_kernel`].
pub fn fetch_kernel(
    spec: &PackageSpec,
    cache: &Cache,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Kernel, GuestError> {
    provide(spec, cache, progress, stop)
}

/// Removes the kernels of the cache that a specification names; returns their releases.
///
/// # Errors
/// [`GuestError::Io`] when one cannot be removed, [`GuestError::Interrupted`].
pub fn remove_kernel(
    spec: &PackageSpec,
    cache: &Cache,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Vec<String>, GuestError> {
    let lock = cache.lock(progress, stop)?;
    let mut removed = Vec::new();
    for kernel in matching(cache, spec) {
        if cache.remove(&lock, &kernel.release)? {
            removed.push(kernel.release);
        }
    }
    Ok(removed)
}

/// The newest kernel that a specification names: from the cache, or fetched into it.
pub(crate) fn provide(
    spec: &PackageSpec,
    cache: &Cache,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Kernel, GuestError> {
    let cached = matching(cache, spec);
    // A whole release means that and no newer one: the archive need not be asked.
    let exact = cached.iter().find(|kernel| spec.names(&kernel.release));
    if let Some(kernel) = exact.and_then(|kernel| cache.verified(kernel)) {
        return Ok(kernel);
    }
    let lock = cache.lock(progress, stop)?;
    let index = match Index::current(cache, &lock, false, progress, stop) {
        Ok(index) => index,
        Err(GuestError::Interrupted) => return Err(GuestError::Interrupted),
        Err(error) => return newest_of(cache, &cached, progress, &error).ok_or(error),
    };
    let chosen = index.newest(spec)?;
    let have = cache.kernel(&chosen.release).filter(|have| have.version == chosen.version);
    if let Some(kernel) = have.and_then(|have| cache.verified(&have)) {
        return Ok(kernel);
    }
    match fetch::fetch(chosen, cache, &lock, progress, stop) {
        // Versions leave the archive when newer ones come.
        Err(GuestError::Missing(_)) if !index.just_made => again(spec, cache, &lock, progress, stop),
        fetched => fetched,
    }
}

fn again(
    spec: &PackageSpec,
    cache: &Cache,
    lock: &Lock,
    progress: &mut dyn FnMut(&str),
    stop: &AtomicBool,
) -> Result<Kernel, GuestError> {
    let index = Index::current(cache, lock, true, progress, stop)?;
    fetch::fetch(index.newest(spec)?, cache, lock, progress, stop)
}

/// What the cache has of a specification.
fn matching(cache: &Cache, spec: &PackageSpec) -> Vec<CachedKernel> {
    let matches = |kernel: &CachedKernel| Release::parse(&kernel.release).is_some_and(|it| spec.matches(&it));
    cache.kernels().into_iter().filter(matches).collect()
}

/// The newest of some kernels in the cache, where the archive cannot be asked for a newer one.
fn newest_of(
    cache: &Cache,
    cached: &[CachedKernel],
    progress: &mut dyn FnMut(&str),
    reason: &GuestError,
) -> Option<Kernel> {
    let newest = cached.iter().max_by(|one, other| version::compare(&one.version, &other.version))?;
    let kernel = cache.verified(newest)?;
    progress(&format!("using {} from the cache: {reason}", newest.release));
    Some(kernel)
}

/// The series of some kernels, for a message.
fn series_of<'a>(kernels: impl Iterator<Item = &'a IndexedKernel>) -> String {
    let series: BTreeSet<(u64, u64, String)> = kernels
        .filter_map(|kernel| Release::parse(&kernel.release))
        .map(|release| {
            let series = release.series();
            let mut numbers = series.split('.').map(|number| number.parse().unwrap_or(0));
            (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), series)
        })
        .collect();
    series.into_iter().map(|(.., series)| series).collect::<Vec<_>>().join(", ")
}
