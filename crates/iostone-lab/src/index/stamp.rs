//! Whether a run is still as it was: time, size and inode of the files that its row was made of.
//!
//! A summary is replaced by another file, never written over, so that its inode differs even within a tick of the clock.

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::summary::SUMMARY;

/// The stamp of a run directory.
pub(super) struct Stamp(String);

impl Stamp {
    /// Of the files as they are now; one that is not there has none.
    pub(super) fn of(run: &Path) -> Self {
        let mut stamp = String::new();
        for name in [SUMMARY, "journal.jsonl", "plan.json", "verdicts.json", "import.json"] {
            match run.join(name).symlink_metadata() {
                Ok(found) => {
                    let (size, inode) = (found.size(), found.ino());
                    let changed = (found.ctime(), found.ctime_nsec(), found.mtime(), found.mtime_nsec());
                    let _ = write!(stamp, "{size}:{inode}:{changed:?};");
                }
                Err(_) => stamp.push(';'),
            }
        }
        Self(stamp)
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}
