//! Run directories on their way: packed on the host, unpacked here as if whoever packed them meant harm.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path};

use iostone_model::fleet::{Archive, Manifest};
use rustix::fs::sync;
use tar::{Builder, EntryType, Header};

use crate::error::FleetError;
use crate::manifest::{self, MANIFEST};

/// How much a host may deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of one file.
    pub file: u64,
    /// Bytes of all files.
    pub total: u64,
    /// Files and directories.
    pub entries: usize,
}

impl Default for Bounds {
    /// Far above what a run records, far below what would fill a disk.
    fn default() -> Self {
        Self { file: 256 << 20, total: 1 << 30, entries: 200_000 }
    }
}

/// What a run directory consists of, at its top.
const FILES: [&str; 8] = [
    "experiment.toml",
    "plan.json",
    "journal.jsonl",
    "verdicts.json",
    "summary.json",
    "report.html",
    "manifest.json",
    "manifest.json.sig",
];
const DIRECTORIES: [&str; 3] = ["trials", "pilots", "failed-warm-up"];
/// `trials/000001/raw/NAME`
const DEEPEST: usize = 4;
const LONGEST_NAME: usize = 255;

/// Whether a name, relative to a run directory, is one that a run records under: what else lies there is not carried along.
pub(crate) fn is_kept(name: &str) -> bool {
    let mut parts = name.split('/');
    let Some(first) = parts.next() else { return false };
    let depth = name.split('/').count();
    let plain = |part: &str| {
        !part.is_empty()
            && part.len() <= LONGEST_NAME
            && !part.starts_with('.')
            && !part.chars().any(|character| character.is_control() || matches!(character, '\\' | '/'))
    };
    if depth > DEEPEST || !name.split('/').all(plain) {
        return false;
    }
    let environment = |name: &str| {
        name.starts_with("environment") && Path::new(name).extension().is_some_and(|end| end == "json")
    };
    DIRECTORIES.contains(&first) || depth == 1 && (FILES.contains(&first) || environment(first))
}

/// Writes the manifest of a run directory and packs both into `archive`.
///
/// # Errors
/// The file system's.
pub fn seal(run: &Path, archive: &Path, fleet_id: &str, host: &str) -> Result<Archive, FleetError> {
    manifest::write(run, fleet_id, host)?;
    let new = archive.with_extension("new");
    let failed = |error| FleetError::file("writing", &new, error);
    let mut builder = Builder::new(File::create(&new).map_err(failed)?);
    for (name, path) in manifest::list(run, &Bounds::default())? {
        let mut file = File::open(&path).map_err(|error| FleetError::file("reading", &path, error))?;
        let mut header = Header::new_gnu();
        header.set_size(file.metadata().map_err(|error| FleetError::file("reading", &path, error))?.len());
        header.set_mode(0o644);
        builder.append_data(&mut header, &name, &mut file).map_err(failed)?;
    }
    let mut file = builder.into_inner().map_err(failed)?;
    file.flush().and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&new, archive).map_err(failed)?;
    let digest = manifest::digest_file(archive, u64::MAX)?;
    Ok(Archive { bytes: digest.bytes, sha256: digest.sha256 })
}

/// Unpacks what a host packed into a new directory, and holds it against its manifest.
///
/// # Errors
/// Anything that a run directory has not: names that lead elsewhere, links, devices, too much, files changed or added. What was
/// unpacked until then lies in `directory`, which is the caller's to remove.
pub fn unpack(archive: &Path, directory: &Path, bounds: &Bounds) -> Result<Manifest, FleetError> {
    let file = File::open(archive).map_err(|error| FleetError::file("reading", archive, error))?;
    // What tar itself holds in memory of long names is bounded by what it may read at all.
    let room = bounds.total.saturating_add(bounds.entries as u64 * 2048);
    let mut tar = tar::Archive::new(BufReader::new(file).take(room));
    fs::create_dir_all(directory).map_err(|error| FleetError::file("making", directory, error))?;
    let mut left = bounds.total;
    let mut seen = BTreeSet::new();
    let broken = |error: io::Error| FleetError::Refused(format!("the archive cannot be read: {error}"));
    for (count, entry) in tar.entries().map_err(broken)?.enumerate() {
        let mut entry = entry.map_err(broken)?;
        if count >= bounds.entries {
            return Err(FleetError::Refused(format!("the archive has more than {} entries", bounds.entries)));
        }
        let name = name_of(&entry.path_bytes())?;
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::Directory => continue,
            other => {
                return Err(FleetError::Refused(format!("`{name}` is no file but {}", kind_in_words(other))));
            }
        }
        let size = entry.size();
        if size > bounds.file || size > left {
            return Err(FleetError::Refused(format!(
                "`{name}` has {size} bytes, more than a host may deliver"
            )));
        }
        left -= size;
        if !seen.insert(name.clone()) {
            return Err(FleetError::Refused(format!("`{name}` is in the archive twice")));
        }
        let path = directory.join(&name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| FleetError::file("making", parent, error))?;
        }
        let failed = |error| FleetError::file("writing", &path, error);
        let mut file = File::options().write(true).create_new(true).open(&path).map_err(failed)?;
        io::copy(&mut entry, &mut file).map_err(failed)?;
    }
    // One call for all files: each by itself would cost a flush a file.
    sync();
    manifest::check(directory, bounds)?
        .ok_or_else(|| FleetError::Refused(format!("the archive has no `{MANIFEST}`")))
}

/// The name of an entry, if it is one of a run directory's.
fn name_of(bytes: &[u8]) -> Result<String, FleetError> {
    let shown = || String::from_utf8_lossy(bytes).chars().take(80).collect::<String>();
    let refused =
        || FleetError::Refused(format!("the archive has an entry `{}` that no run directory has", shown()));
    let name = std::str::from_utf8(bytes).map_err(|_| refused())?;
    let name = name.trim_end_matches('/');
    let leads_within = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if leads_within && is_kept(name) { Ok(name.to_owned()) } else { Err(refused()) }
}

fn kind_in_words(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one entry more than a good one, as a hostile host would write it.
    fn hostile(place: &Path, change: impl FnOnce(&mut Builder<File>)) -> Result<Manifest, FleetError> {
        let run = place.join("run");
        fs::create_dir_all(run.join("trials/000001")).unwrap();
        fs::write(run.join("plan.json"), "{}").unwrap();
        fs::write(run.join("trials/000001/trial.json"), "{}").unwrap();
        let archive = place.join("result.tar");
        seal(&run, &archive, "abcd1234", "db1").unwrap();
        let mut builder = Builder::new(File::create(place.join("hostile.tar")).unwrap());
        for name in ["plan.json", "trials/000001/trial.json", MANIFEST] {
            builder.append_path_with_name(run.join(name), name).unwrap();
        }
        change(&mut builder);
        builder.into_inner().unwrap();
        let bounds = Bounds { file: 4096, total: 8192, entries: 10 };
        let unpacked = unpack(&place.join("hostile.tar"), &place.join("unpacked"), &bounds);
        assert!(!place.join("escaped").exists());
        unpacked
    }

    fn entry(name: &str, kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        // Past the checks of the library, as another program would write it.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        header
    }

    #[test]
    fn what_was_sealed_comes_out_the_same() {
        let place = tempfile::tempdir().unwrap();
        let manifest = hostile(place.path(), |_| {}).unwrap();
        assert_eq!((manifest.host.as_str(), manifest.files.len()), ("db1", 2));
        let unpacked = place.path().join("unpacked");
        assert_eq!(
            manifest::content_digest(&unpacked, &Bounds::default()).unwrap(),
            manifest::content_digest(&place.path().join("run"), &Bounds::default()).unwrap()
        );
    }

    #[test]
    fn what_a_hostile_host_packs_is_refused() {
        for (name, kind, size, word) in [
            ("../escaped", EntryType::Regular, 0, "no run directory has"),
            ("/escaped", EntryType::Regular, 0, "no run directory has"),
            ("trials/../../escaped", EntryType::Regular, 0, "no run directory has"),
            ("fleet.json", EntryType::Regular, 0, "no run directory has"),
            ("trials/.hidden", EntryType::Regular, 0, "no run directory has"),
            ("trials/a/b/c/d", EntryType::Regular, 0, "no run directory has"),
            ("trials/link", EntryType::Symlink, 0, "a link"),
            ("trials/hard", EntryType::Link, 0, "a link"),
            ("trials/device", EntryType::Block, 0, "a device"),
            ("trials/pipe", EntryType::Fifo, 0, "a pipe"),
            ("trials/huge", EntryType::Regular, 1 << 40, "more than a host may deliver"),
            ("plan.json", EntryType::Regular, 0, "twice"),
            ("trials/added", EntryType::Regular, 0, "the manifest lacks it"),
        ] {
            let place = tempfile::tempdir().unwrap();
            let refused = hostile(place.path(), |builder| {
                builder.append(&entry(name, kind, size), io::empty()).unwrap();
            });
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(word), "{name}: {refused}");
        }
    }

    #[test]
    fn a_changed_file_and_too_many_files_are_refused() {
        let place = tempfile::tempdir().unwrap();
        hostile(place.path(), |_| {}).unwrap();
        let unpacked = place.path().join("unpacked");
        fs::write(unpacked.join("plan.json"), "[]").unwrap();
        let refused = manifest::check(&unpacked, &Bounds::default()).unwrap_err().to_string();
        assert!(refused.contains("`plan.json` was changed"), "{refused}");
        std::os::unix::fs::symlink("/etc/passwd", unpacked.join("trials/000001/raw")).unwrap();
        let refused = manifest::check(&unpacked, &Bounds::default()).unwrap_err().to_string();
        assert!(refused.contains("a link"), "{refused}");
        let place = tempfile::tempdir().unwrap();
        let refused = hostile(place.path(), |builder| {
            for number in 0..20 {
                builder
                    .append(&entry(&format!("trials/{number}"), EntryType::Regular, 0), io::empty())
                    .unwrap();
            }
        });
        assert!(refused.unwrap_err().to_string().contains("more than 10 entries"));
    }
}
