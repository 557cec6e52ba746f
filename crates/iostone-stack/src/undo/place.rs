//! Finding the session's own directories again after somebody renamed them, or a directory above them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::journal::Journal;
use crate::mountinfo;
use crate::site::own_directory_name;
use crate::step::{FileIdentity, Step};
use crate::volume::attached_loops;

/// Turns the journal's paths to where its directories are now, as far as the kernel tells: it follows renames in the
/// path of a mount point and in that of the file under a loop device.
pub(super) fn follow_renames(journal: &mut Journal) {
    let name = own_directory_name(&journal.owner.token);
    for number in 0..journal.entries.len() {
        let Some(entry) = journal.entries.get(number).filter(|entry| !entry.undone) else { continue };
        let Step::Directory { path, content_is_ours: true } = &entry.step else { continue };
        let Some(made) = entry.made.filter(|_| path.ends_with(&name)) else { continue };
        if identity_of(path).is_some_and(|now| now.ino == made.ino) {
            continue;
        }
        let path = path.clone();
        if let Some(now) = candidates(&name).into_iter().find(|now| identity_of(now) == Some(made)) {
            let (from, to) = without_common_end(&path, &now);
            journal.relocate(from, to);
        }
    }
}

fn identity_of(directory: &Path) -> Option<FileIdentity> {
    let metadata = fs::symlink_metadata(directory).ok().filter(fs::Metadata::is_dir)?;
    Some(FileIdentity { dev: metadata.dev(), ino: metadata.ino() })
}

/// Every directory of that name on the way to a mount point or to the file of a loop device.
fn candidates(name: &str) -> Vec<PathBuf> {
    let targets = mountinfo::own_mounts().unwrap_or_default().into_iter().map(|mounted| mounted.target);
    let files =
        attached_loops().unwrap_or_default().into_iter().map(|attached| PathBuf::from(attached.backing_file));
    targets
        .chain(files)
        .filter_map(|path| path.ancestors().find(|above| above.ends_with(name)).map(Path::to_owned))
        .collect()
}

/// The two paths up to where they differ, seen from their ends: a renamed directory keeps the names below it.
fn without_common_end<'a>(from: &'a Path, to: &'a Path) -> (&'a Path, &'a Path) {
    let (mut from, mut to) = (from, to);
    while from.file_name().is_some() && from.file_name() == to.file_name() {
        let (Some(from_parent), Some(to_parent)) = (from.parent(), to.parent()) else { break };
        // All paths begin with the root: only the directory itself is known to have moved from it.
        if from_parent == to_parent || from_parent == Path::new("/") {
            break;
        }
        (from, to) = (from_parent, to_parent);
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_renamed_directory_is_told_from_the_names_below_it() {
        let ends = |from: &str, to: &str| {
            let (from, to) = without_common_end(Path::new(from), Path::new(to));
            (from.display().to_string(), to.display().to_string())
        };
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(ends("/runs/a/images/own", "/runs/b/images/own"), pair("/runs/a", "/runs/b"));
        assert_eq!(ends("/own", "/mnt/own"), pair("/own", "/mnt/own"));
        assert_eq!(ends("/runs/own", "/own"), pair("/runs", "/"));
        assert_eq!(ends("/runs/own", "/runs/other"), pair("/runs/own", "/runs/other"));
    }
}
