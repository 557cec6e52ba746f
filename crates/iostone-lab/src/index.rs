//! An index over run directories: `SQLite` in the user's cache directory, so that a list of a thousand runs reads no run.
//!
//! The directories are the truth. An index that is missing, corrupt, locked, read-only or somebody else's is made again or
//! passed by, and is never an error. It holds a row for each run, keyed by its directory, with a stamp of the files that the
//! row was made of; a run with another stamp is read again.

mod database;
mod filter;
mod shelf;
mod stamp;

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use iostone_model::summary::{RunListing, RunSummary};
use rustix::fs::{FlockOperation, OFlags, flock};

use crate::directory::read_plan;
use crate::error::LabError;
use crate::imported::is_import;
use crate::summary::read_or_make;
use database::{Database, Known};
use stamp::Stamp;

pub use filter::{RunFilter, moment};
pub use shelf::{Shelf, ShownRuns};

/// An index, or nothing in its place.
pub struct Index {
    database: Option<Database>,
    /// A file that is not there yet, made when there is something to keep.
    missing: Option<PathBuf>,
}

/// The runs of a directory.
#[derive(Debug, Default)]
pub struct FoundRuns {
    /// Those that can be read, the oldest first.
    pub runs: Vec<RunListing>,
    /// What is wrong with the others, which may be meant.
    pub damaged: Vec<LabError>,
}

impl Index {
    /// The index in that file, which is made when there is something to keep.
    pub fn at(file: &Path) -> Self {
        match file.symlink_metadata() {
            Ok(_) => Self { database: Database::open(file), missing: None },
            Err(_) => Self { database: None, missing: Some(file.to_owned()) },
        }
    }

    /// None: every run is read.
    pub fn none() -> Self {
        Self { database: None, missing: None }
    }

    /// The runs below a directory. Those that changed, or are not known yet, are read; rows of those that are gone are dropped.
    ///
    /// # Errors
    /// The directory itself cannot be read.
    pub fn runs(&mut self, parent: &Path) -> Result<FoundRuns, LabError> {
        let entries = match fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(FoundRuns::default()),
            Err(error) => return Err(LabError::file("reading", parent, error)),
        };
        let whole = fs::canonicalize(parent).map_err(|error| LabError::file("reading", parent, error))?;
        let mut known = self.known(&whole);
        let mut found = FoundRuns::default();
        let mut fresh = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = parent.join(entry.file_name());
            // What begins with a point is an import that was cut short.
            if !(path.join("plan.json").exists() || is_import(&path) && !name.starts_with('.')) {
                continue;
            }
            let stamp = Stamp::of(&path);
            let listing = match known.remove(&name) {
                Some(Known { stamp: of_row, listing }) if of_row == stamp.text() => Ok(listing),
                _ => read(&path).map(|summary| {
                    let listing = RunListing::of(&name, &summary);
                    fresh.push((name, stamp, listing.clone(), summary));
                    listing
                }),
            };
            match listing {
                Ok(mut listing) => {
                    listing.live = !listing.finished && is_at_work(&path);
                    found.runs.push(listing);
                }
                Err(error) => found.damaged.push(error),
            }
        }
        let gone: Vec<String> = known.into_keys().collect();
        self.keep(&whole, &fresh, &gone);
        found.runs.sort_by(|left, right| left.created_at.cmp(&right.created_at));
        Ok(found)
    }

    /// The summary of a run: of the index where that has it as it stands, else of its directory.
    ///
    /// # Errors
    /// Not a run, or damaged.
    pub fn summary(&mut self, path: &Path) -> Result<RunSummary, LabError> {
        let stamp = Stamp::of(path);
        let kept = fs::canonicalize(path).ok().and_then(|whole| {
            let (parent, name) = (whole.parent()?, whole.file_name()?.to_string_lossy());
            self.database.as_ref()?.summary(parent, &name, stamp.text())
        });
        kept.map_or_else(|| read(path), Ok)
    }

    fn known(&mut self, parent: &Path) -> std::collections::BTreeMap<String, Known> {
        self.database.as_mut().and_then(|database| database.known(parent)).unwrap_or_default()
    }

    /// Keeps what was read. What cannot be kept is read again the next time.
    fn keep(&mut self, parent: &Path, fresh: &[database::Fresh], gone: &[String]) {
        if fresh.is_empty() && gone.is_empty() {
            return;
        }
        if let Some(file) = self.missing.take() {
            self.database = Database::open(&file);
        }
        if let Some(database) = &mut self.database {
            database.keep(parent, fresh, gone);
        }
    }
}

/// A run that the index does not know as it stands. That its plan can be read is made sure of, for its report takes more than
/// the summary.
fn read(path: &Path) -> Result<RunSummary, LabError> {
    if !is_import(path) {
        read_plan(path)?;
    }
    read_or_make(path)
}

/// Whether a process is at work on a run.
pub fn is_at_work(run: &Path) -> bool {
    is_locked(&run.join("journal.jsonl"))
}

/// What tells whether a run directory is still as it was.
pub fn stamp_of_run(path: &Path) -> String {
    Stamp::of(path).text().to_owned()
}

/// Whether a process holds the journal, which each does for as long as it conducts the run. A lock that is shared would be in
/// the way of one that begins just then, but for no longer than this takes.
fn is_locked(journal: &Path) -> bool {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let Ok(journal) = File::options().read(true).custom_flags(flags).open(journal) else { return false };
    flock(&journal, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// Where the index lies in a cache directory.
pub fn index_file(cache: &Path) -> PathBuf {
    cache.join(database::FILE_NAME)
}

#[cfg(test)]
mod tests;
