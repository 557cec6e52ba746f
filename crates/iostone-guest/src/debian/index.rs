//! The kernels that an archive has, kept for a day.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::apt::Apt;
use super::records::{Record, parse_madison, parse_show};
use super::release::{PackageSpec, Release};
use super::sources::Archives;
use super::{FRESH_FOR, ListedKernel, series_of, version};
use crate::cache::{Cache, Lock};
use crate::error::GuestError;

#[cfg(test)]
mod tests;

/// The package that a kernel is known by. In older ones it has everything; from 6.19 on it only names the next two.
const IMAGE: &str = "linux-image-";
/// The package with the image alone.
const BINARY: &str = "linux-binary-";
/// The package with the modules alone.
const MODULES: &str = "linux-modules-";
/// The package with what is known of both, such as the list of what is built in.
const BASE: &str = "linux-base-";
/// A package that takes less only names others.
const LEAST_KIB: u64 = 2048;

/// A package to download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedPackage {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) size_bytes: u64,
    pub(super) sha256: String,
}

/// A kernel in the archive, and the packages that it is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedKernel {
    pub(super) release: String,
    pub(super) version: String,
    pub(super) suite: String,
    pub(super) packages: Vec<IndexedPackage>,
}

/// The kernels of an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Index {
    /// The sources by which it was made; with others it is made anew.
    sources: String,
    pub(super) kernels: Vec<IndexedKernel>,
    /// Whether the archive was asked just now.
    #[serde(skip)]
    pub(super) just_made: bool,
}

impl IndexedKernel {
    pub(super) fn listed(&self, cached: bool) -> ListedKernel {
        let release = Release::parse(&self.release);
        ListedKernel {
            series: release.as_ref().map(Release::series).unwrap_or_default(),
            release: self.release.clone(),
            flavour: release.map_or(super::Flavour::Generic, |release| release.flavour),
            version: self.version.clone(),
            suite: self.suite.clone(),
            download_bytes: Some(self.packages.iter().map(|package| package.size_bytes).sum()),
            cached,
        }
    }
}

impl Index {
    /// The index, made anew if it is older than a day, if the machine's sources changed, or if asked to.
    ///
    /// # Errors
    /// [`GuestError::Missing`] when there is no apt, or the archive cannot be reached.
    pub(super) fn current(
        cache: &Cache,
        _lock: &Lock,
        anew: bool,
        progress: &mut dyn FnMut(&str),
        stop: &AtomicBool,
    ) -> Result<Self, GuestError> {
        let archives = Archives::of_machine()?;
        let directory = apt_directory(cache);
        let path = directory.join("kernels.json");
        let sources = archives.by_alias();
        if !anew && is_fresh(&path) {
            let kept = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Self>(&text).ok());
            if let Some(index) = kept.filter(|index| index.sources == sources) {
                return Ok(index);
            }
        }
        let apt = Apt::at(&directory)?;
        progress(&format!("reading the lists of {}", archives.name()));
        apt.update(&sources, archives.name(), stop)?;
        let codenames: BTreeSet<String> = apt.releases().into_iter().map(|(_, codename)| codename).collect();
        apt.update(&archives.complete(&codenames), archives.name(), stop)?;
        let index = Self { sources, kernels: ask(&apt, stop)?, just_made: true };
        apt.forget();
        if index.kernels.is_empty() {
            return Err(GuestError::Missing(format!(
                "the archive `{}` has no kernel for amd64; next: name one by its path",
                archives.name()
            )));
        }
        let text = serde_json::to_vec(&index).unwrap_or_default();
        std::fs::write(&path, text).map_err(|error| GuestError::io("write", &path, error))?;
        Ok(index)
    }

    /// The newest kernel that is meant.
    ///
    /// # Errors
    /// [`GuestError::Missing`] with the series that there are.
    pub(super) fn newest(&self, spec: &PackageSpec) -> Result<&IndexedKernel, GuestError> {
        let matches = |kernel: &&IndexedKernel| {
            Release::parse(&kernel.release).is_some_and(|release| spec.matches(&release))
        };
        let newest = self
            .kernels
            .iter()
            .filter(matches)
            .max_by(|one, other| version::compare(&one.version, &other.version));
        newest.ok_or_else(|| {
            let flavour = spec.flavour();
            let of_flavour = self.kernels.iter().filter(|kernel| {
                Release::parse(&kernel.release).is_some_and(|release| release.flavour == flavour)
            });
            GuestError::Missing(format!(
                "Debian's archive has no `{spec}`; it has the series {} of that flavour; next: `iostone guest kernels` lists \
                 all versions",
                series_of(of_flavour)
            ))
        })
    }
}

/// Where apt's own files of this cache lie.
pub(super) fn apt_directory(cache: &Cache) -> PathBuf {
    cache.root().join("debian")
}

fn is_fresh(path: &std::path::Path) -> bool {
    let age = std::fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|made| SystemTime::now().duration_since(made).ok());
    age.is_some_and(|age| age < FRESH_FOR)
}

/// Asks apt for all kernels there are.
fn ask(apt: &Apt, stop: &AtomicBool) -> Result<Vec<IndexedKernel>, GuestError> {
    let is_kernel = |name: &String| {
        [IMAGE, BINARY, MODULES, BASE]
            .iter()
            .any(|prefix| name.strip_prefix(prefix).and_then(Release::parse).is_some())
    };
    let names: Vec<String> = apt.names("linux-", stop)?.into_iter().filter(is_kernel).collect();
    let records = parse_show(&apt.show(&names, stop)?);
    let places = parse_madison(&apt.madison(&names, stop)?);
    Ok(assemble(&records, &places, &apt.releases().into_iter().collect()))
}

/// Kernels from records of packages: the newest version of each release whose binaries are there.
fn assemble(
    records: &[Record],
    places: &BTreeMap<(String, String), String>,
    codenames: &BTreeMap<String, String>,
) -> Vec<IndexedKernel> {
    let of = |package: String, version: &str| {
        records.iter().find(|record| record.package == package && record.version == version)
    };
    let mut kernels: BTreeMap<&str, IndexedKernel> = BTreeMap::new();
    for image in records {
        let Some(release) = image.package.strip_prefix(IMAGE) else { continue };
        let packages = if image.installed_kib >= LEAST_KIB {
            vec![image]
        } else {
            let part = |prefix: &str| of(format!("{prefix}{release}"), &image.version);
            match (part(BINARY), part(MODULES)) {
                (Some(binary), Some(modules)) => [binary, modules].into_iter().chain(part(BASE)).collect(),
                // A meta package, or one whose binaries have left the archive.
                _ => continue,
            }
        };
        let newer = |known: &IndexedKernel| version::compare(&image.version, &known.version).is_gt();
        if kernels.get(release).is_none_or(newer) {
            let place = places.get(&(image.package.clone(), image.version.clone()));
            let suite = place.map(|suite| codenames.get(suite).unwrap_or(suite).clone()).unwrap_or_default();
            let packages = packages.into_iter().map(package).collect();
            let kernel = IndexedKernel {
                release: release.to_owned(),
                version: image.version.clone(),
                suite,
                packages,
            };
            kernels.insert(release, kernel);
        }
    }
    kernels.into_values().collect()
}

fn package(record: &Record) -> IndexedPackage {
    IndexedPackage {
        name: record.package.clone(),
        version: record.version.clone(),
        size_bytes: record.size_bytes,
        sha256: record.sha256.clone(),
    }
}
