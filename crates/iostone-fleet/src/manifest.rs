//! The manifest of a run directory: every file with its size and digest, so that a change on the way is found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use iostone_model::fleet::{FileDigest, MANIFEST_SCHEMA, Manifest};
use iostone_stack::write_whole_file;
use sha2::{Digest, Sha256};

use crate::archive::{Bounds, is_kept};
use crate::error::FleetError;
use crate::signature::SIGNATURE;

/// Its name in a run directory.
pub const MANIFEST: &str = "manifest.json";

/// A manifest is a line or so a file.
const LARGEST_MANIFEST: u64 = 64 << 20;

/// Writes the manifest of a run directory as it stands.
///
/// # Errors
/// The file system's, and what is not a regular file where one is expected.
pub fn write(run: &Path, fleet_id: &str, host: &str) -> Result<Manifest, FleetError> {
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        fleet_id: fleet_id.to_owned(),
        host: host.to_owned(),
        files: digests(run, &Bounds::default())?,
    };
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(|error| FleetError::damaged(run, error))?;
    text.push(b'\n');
    let path = run.join(MANIFEST);
    write_whole_file(&path, &text, 0o666).map_err(|error| FleetError::file("writing", &path, error))?;
    Ok(manifest)
}

/// Reads the manifest of a run directory and holds every file against it; none where the directory has no manifest.
///
/// # Errors
/// A file that is missing, changed, or not in the manifest.
pub fn check(run: &Path, bounds: &Bounds) -> Result<Option<Manifest>, FleetError> {
    let path = run.join(MANIFEST);
    if !fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let file = File::open(&path).map_err(|error| FleetError::file("reading", &path, error))?;
    let mut text = Vec::new();
    file.take(LARGEST_MANIFEST)
        .read_to_end(&mut text)
        .map_err(|error| FleetError::file("reading", &path, error))?;
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| FleetError::damaged(&path, error))?;
    let found = digests(run, bounds)?;
    for (name, digest) in &manifest.files {
        match found.get(name) {
            None => return Err(FleetError::Refused(format!("`{name}` is in the manifest and not there"))),
            Some(found) if found != digest => {
                return Err(FleetError::Refused(format!(
                    "`{name}` was changed after the run: its digest differs"
                )));
            }
            Some(_) => {}
        }
    }
    match found.keys().find(|name| !manifest.files.contains_key(*name)) {
        Some(added) => {
            Err(FleetError::Refused(format!("`{added}` was added after the run: the manifest lacks it")))
        }
        None => Ok(Some(manifest)),
    }
}

/// SHA-256 over the names and digests of a run directory's files: the same wherever a copy of it lies.
///
/// # Errors
/// The file system's, and what is not a regular file.
pub fn content_digest(run: &Path, bounds: &Bounds) -> Result<String, FleetError> {
    Ok(digest_of(&digests(run, bounds)?))
}

/// The digest of a manifest's files. A report is drawn from the rest, and says nothing of where a run was measured.
pub(crate) fn digest_of(files: &BTreeMap<String, FileDigest>) -> String {
    let mut whole = Sha256::new();
    for (name, digest) in files.iter().filter(|(name, _)| *name != "report.html") {
        whole.update(name.as_bytes());
        whole.update([0]);
        whole.update(digest.sha256.as_bytes());
        whole.update([0]);
    }
    hexadecimal(&whole.finalize())
}

fn digests(run: &Path, bounds: &Bounds) -> Result<BTreeMap<String, FileDigest>, FleetError> {
    let mut files = BTreeMap::new();
    let mut total = 0_u64;
    for (name, path) in list(run, bounds)? {
        if name == MANIFEST || name == SIGNATURE {
            continue;
        }
        let digest = digest_file(&path, bounds.file)?;
        total = total.saturating_add(digest.bytes);
        if total > bounds.total {
            return Err(FleetError::Refused(format!(
                "its files are larger than {} bytes together",
                bounds.total
            )));
        }
        files.insert(name, digest);
    }
    Ok(files)
}

/// The first entry of a directory that is none of a run's, and so in no manifest.
///
/// # Errors
/// The file system's.
pub(crate) fn uncovered(run: &Path, bounds: &Bounds) -> Result<Option<String>, FleetError> {
    let covered: Vec<String> = list(run, bounds)?.into_iter().map(|(name, _)| name).collect();
    let mut waiting = vec![(String::new(), run.to_owned())];
    while let Some((prefix, directory)) = waiting.pop() {
        let entries =
            fs::read_dir(&directory).map_err(|error| FleetError::file("reading", &directory, error))?;
        for entry in entries.filter_map(Result::ok) {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let is_own = name == MANIFEST || name == SIGNATURE;
            if entry.path().symlink_metadata().is_ok_and(|found| found.is_dir())
                && is_kept(&format!("{name}/x"))
            {
                waiting.push((format!("{name}/"), entry.path()));
            } else if !is_own && covered.binary_search(&name).is_err() {
                return Ok(Some(name));
            }
        }
    }
    Ok(None)
}

/// The files of a run directory that belong to it, with their names relative to it. Links, devices and the like are refused.
pub(crate) fn list(run: &Path, bounds: &Bounds) -> Result<Vec<(String, PathBuf)>, FleetError> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), run.to_owned())];
    while let Some((prefix, directory)) = waiting.pop() {
        let entries =
            fs::read_dir(&directory).map_err(|error| FleetError::file("reading", &directory, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| FleetError::file("reading", &directory, error))?;
            let Ok(name) = entry.file_name().into_string() else {
                return Err(FleetError::Refused(format!("a file in `{prefix}` has a name that is not text")));
            };
            let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            if !is_kept(&name) {
                continue;
            }
            let kind =
                entry.file_type().map_err(|error| FleetError::file("reading", &entry.path(), error))?;
            if kind.is_dir() {
                waiting.push((name, entry.path()));
            } else if kind.is_file() {
                found.push((name, entry.path()));
            } else {
                return Err(FleetError::Refused(format!("`{name}` is a link or a device, not a file")));
            }
            if found.len() + waiting.len() > bounds.entries {
                return Err(FleetError::Refused(format!("it has more than {} files", bounds.entries)));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The digest of a file's bytes, of which there may be so many.
pub(crate) fn digest_file(path: &Path, most: u64) -> Result<FileDigest, FleetError> {
    let failed = |error| FleetError::file("reading", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut digest = Sha256::new();
    let mut bytes = 0_u64;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            return Ok(FileDigest { bytes, sha256: hexadecimal(&digest.finalize()) });
        }
        bytes += read as u64;
        if bytes > most {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(FleetError::Refused(format!("`{name}` is larger than {most} bytes")));
        }
        digest.update(buffer.get(..read).unwrap_or_default());
    }
}

/// Bytes as a digest is written.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
