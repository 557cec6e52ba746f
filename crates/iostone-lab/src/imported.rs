//! Run directories of figures that were measured elsewhere: the record of the import, and the files as they came.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use iostone_model::dataset::Dataset;
use iostone_model::run::{IMPORT_SCHEMA, ImportRecord};
use sha2::{Digest, Sha256};

use crate::directory::{hexadecimal, read_json, sync_directory, write_json};
use crate::error::{LabError, refuse_exposed};
use crate::plan::run_id;
use crate::summary;

/// The file that makes a directory an import.
pub(crate) const RECORD: &str = "import.json";

/// Makes a run directory of a dataset and the files that it was read from, and returns where it is. It appears below
/// `parent` whole, or not at all. Each file is where it lies now, and its name as in [`Dataset::files`].
///
/// # Errors
/// The file system's, or a file that has changed since it was read.
pub fn write_import<'a>(
    parent: &Path,
    dataset: Dataset,
    files: impl IntoIterator<Item = (&'a Path, &'a str)>,
    by: Option<String>,
) -> Result<PathBuf, LabError> {
    let created_at = jiff::Timestamp::now().to_string();
    let run_id = run_id(crate::plan::random());
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = dataset.name.chars().take(64).map(plain).collect();
    let directory = format!("{}-{name}-{run_id}", created_at.get(..10).unwrap_or("undated"));
    let record = ImportRecord {
        schema: IMPORT_SCHEMA.to_owned(),
        run_id,
        created_at,
        iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
        by,
        dataset,
    };
    refuse_exposed(parent)?;
    fs::create_dir_all(parent).map_err(|error| LabError::file("making", parent, error))?;
    // Once more: what was missing may have been made by another.
    refuse_exposed(parent)?;
    let unfinished = Unfinished(parent.join(format!(".{directory}.new")));
    let raw = unfinished.0.join("raw");
    fs::create_dir_all(&raw).map_err(|error| LabError::file("making", &raw, error))?;
    for (path, name) in files {
        let known = record.dataset.files.iter().find(|known| known.name == name);
        copy(path, name, &raw, known.map_or("", |known| known.sha256.as_str()))?;
    }
    sync_directory(&raw)?;
    write_json(&unfinished.0.join(RECORD), &record)?;
    summary::write_of_import(&unfinished.0, &record)?;
    let path = parent.join(directory);
    fs::rename(&unfinished.0, &path).map_err(|error| LabError::file("making", &path, error))?;
    sync_directory(parent)?;
    Ok(path)
}

/// A directory that is removed again unless it was given its name.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Gone already where everything went well.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a file durably, and makes sure that it is the one that was read.
fn copy(path: &Path, name: &str, raw: &Path, sha256: &str) -> Result<(), LabError> {
    let to = raw.join(Path::new(name).file_name().unwrap_or("file".as_ref()));
    let mut source = File::open(path).map_err(|error| LabError::file("reading", path, error))?;
    let mut copy = File::create_new(&to).map_err(|error| LabError::file("writing", &to, error))?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = source.read(&mut buffer).map_err(|error| LabError::file("reading", path, error))?;
        let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else { break };
        digest.update(read);
        copy.write_all(read).map_err(|error| LabError::file("writing", &to, error))?;
    }
    copy.sync_all().map_err(|error| LabError::file("writing", &to, error))?;
    let digest = hexadecimal(&digest.finalize());
    if !sha256.is_empty() && digest != sha256 {
        let reason = "it was changed while it was being imported; import it again once it is complete";
        return Err(LabError::Damaged { path: path.to_owned(), reason: reason.to_owned() });
    }
    Ok(())
}

/// Whether a directory holds an import.
pub fn is_import(path: &Path) -> bool {
    path.join(RECORD).exists()
}

/// Reads an import back.
///
/// # Errors
/// Not an import, damaged, or of another version.
pub fn read_import(path: &Path) -> Result<ImportRecord, LabError> {
    let record_path = path.join(RECORD);
    let record: ImportRecord = read_json(&record_path)?;
    if record.schema != IMPORT_SCHEMA {
        let reason =
            format!("it is of version `{}`, and this iostone reads `{IMPORT_SCHEMA}`", record.schema);
        return Err(LabError::Damaged { path: record_path, reason });
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::dataset::SourceFile;

    fn dataset(sha256: &str) -> Dataset {
        let file = SourceFile {
            name: "on-1.log".to_owned(),
            tool: "dbench".to_owned(),
            bytes: 5,
            sha256: sha256.to_owned(),
        };
        Dataset { files: vec![file], ..Dataset::new("barrier logs") }
    }

    #[test]
    fn an_import_comes_back_as_it_went_in_with_its_files() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("here.log");
        fs::write(&path, "hello").unwrap();
        let files = [(path.as_path(), "on-1.log")];
        let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let run = write_import(place.path(), dataset(sha256), files, None).unwrap();
        assert!(is_import(&run));
        assert!(run.file_name().unwrap().to_string_lossy().contains("-barrier-logs-"));
        assert_eq!(read_import(&run).unwrap().dataset, dataset(sha256));
        assert_eq!(fs::read_to_string(run.join("raw/on-1.log")).unwrap(), "hello");
    }

    #[test]
    fn a_file_that_has_changed_leaves_nothing_behind() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("here.log");
        fs::write(&path, "hullo").unwrap();
        let runs = place.path().join("runs");
        let files = [(path.as_path(), "on-1.log")];
        let error = write_import(&runs, dataset("00"), files, None).unwrap_err();
        assert!(error.to_string().contains("changed while it was being imported"));
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
    }
}
