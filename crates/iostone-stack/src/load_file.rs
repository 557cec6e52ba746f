//! Files that a load is put on: those that iostone made may be written over, all others hold somebody's data.
//!
//! A file of ours carries the extended attribute `user.iostone` (xattr(7)) with the length and the modification time
//! that the file had when iostone was done with it. Whoever writes to it afterwards changes one of them, and the file
//! is theirs from then on: the mark lasts no longer than the content that it vouches for. On a filesystem without such
//! attributes nothing can be told apart, so there every file that exists is somebody else's. While iostone writes to a file,
//! the mark says so ([`mark_writing`]), for the case that it is killed.

mod backing;
mod mark;
mod writing;

use std::fs::File;
use std::path::Path;

use crate::device::size_in_words;
use crate::entry::Entry;
use crate::error::{Refusal, RefusalReason, StackError};
pub(crate) use backing::refuse_backing_file;
use backing::refuse_written_file;
use mark::mark_on;
pub(crate) use mark::{MARK, mark, mark_of};
pub use writing::{Writing, file_writing, keeps_marks, mark_writing, unmark_file};

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// Nobody's: a device or another special file, which has a guard of its own.
    Nobody,
    /// Made by iostone, and not written by anybody else since: it may be laid out and written over.
    Ours,
    /// Anybody else's, with so many bytes; an empty one too, for somebody made it for a purpose.
    Foreign {
        /// Its length.
        bytes: u64,
    },
}

/// Finds out whose an open file is, which messages call `name`.
///
/// # Errors
/// [`StackError::Io`] when it cannot be looked at.
pub fn file_owner(file: &File, name: &Path) -> Result<FileOwner, StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", name, error))?;
    if !metadata.is_file() {
        return Ok(FileOwner::Nobody);
    }
    let ours = mark_on(file).is_some_and(|mark| mark == mark_of(&metadata).as_bytes());
    Ok(if ours { FileOwner::Ours } else { FileOwner::Foreign { bytes: metadata.len() } })
}

/// Marks an open file as ours with the content that it has now. To be called after each load that wrote to a file which
/// was ours before ([`create_own_file`], [`FileOwner::Ours`]) or whose content the user let go; without it, the file counts
/// as somebody else's.
///
/// # Errors
/// [`StackError::Io`] when it cannot be synced. A filesystem without extended attributes is no error.
pub fn mark_own_file(file: &File, name: &Path) -> Result<(), StackError> {
    // On a network filesystem the time may still change when what is cached is written.
    file.sync_all().map_err(|error| StackError::io("fsync", name, error))?;
    mark(file, name)
}

/// Makes an empty file and marks it as ours; gives it open for reading and writing, and none if there is something already.
///
/// # Errors
/// [`StackError::Io`] when it cannot be made. A filesystem without extended attributes is no error.
pub fn create_own_file(entry: &Entry) -> Result<Option<File>, StackError> {
    let Some(file) = entry.create()? else { return Ok(None) };
    mark(&file, entry.path())?;
    Ok(Some(file))
}

/// Refuses a file that something else uses: a loop device stands on it, or another process may write to it.
///
/// # Errors
/// [`StackError::Refused`] with what uses it, and [`StackError::Io`] when it cannot be looked at.
pub fn refuse_file_in_use(file: &File, path: &Path) -> Result<(), StackError> {
    refuse_backing_file(file, path)?;
    refuse_written_file(file, path)
}

/// Refuses to write over an open file that iostone did not make, unless its name, as it was typed, was typed once more in
/// `destroy`.
///
/// # Errors
/// [`StackError::Refused`], and [`StackError::Io`] when it cannot be looked at.
pub fn guard_file(file: &File, path: &Path, destroy: Option<&Path>) -> Result<(), StackError> {
    refuse_file_in_use(file, path)?;
    let FileOwner::Foreign { bytes } = file_owner(file, path)? else { return Ok(()) };
    if destroy == Some(path) {
        return Ok(());
    }
    let loses = if bytes == 0 { Vec::new() } else { vec![format!("all {} of it", size_in_words(bytes))] };
    let identity =
        if bytes == 0 { "an empty file".to_owned() } else { format!("a file of {}", size_in_words(bytes)) };
    Err(StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity,
        reason: RefusalReason::ForeignFile,
        because: "iostone did not create it, or it was changed since, and the load would overwrite it"
            .to_owned(),
        loses,
        next: vec!["name a file that does not exist yet".to_owned()],
        destroy: Some(path.display().to_string()),
    })))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn owner(path: &Path) -> FileOwner {
        file_owner(&File::open(path).unwrap(), path).unwrap()
    }

    fn guard(path: &Path, destroy: Option<&Path>) -> Result<(), StackError> {
        guard_file(&File::open(path).unwrap(), path, destroy)
    }

    /// Makes a file of ours with that content; none where files cannot be marked.
    fn own(path: &Path, content: &str) -> Option<File> {
        let file = create_own_file(&Entry::find(path).unwrap()).unwrap().unwrap();
        fs::write(path, content).unwrap();
        mark_own_file(&file, path).unwrap();
        if owner(path) != FileOwner::Ours {
            eprintln!("skipped: needs a filesystem with extended attributes");
            return None;
        }
        Some(file)
    }

    #[test]
    fn a_file_of_somebody_elses_is_refused_until_its_name_is_typed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("thesis");
        fs::write(&path, "years of work").unwrap();
        let refused = guard(&path, None).unwrap_err();
        assert!(
            matches!(&refused, StackError::Refused(refusal) if refusal.reason == RefusalReason::ForeignFile)
        );
        let StackError::Refused(refusal) = &refused else { panic!("{refused}") };
        assert_eq!(refusal.destroy.as_deref(), path.to_str());
        assert!(guard(&path, Some(Path::new("other"))).is_err());
        assert!(guard(&path, Some(&path)).is_ok());
    }

    #[test]
    fn an_own_file_may_be_written_over_and_an_existing_one_is_not_claimed() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("own");
        let Some(_file) = own(&path, "load") else { return };
        let other = folder.path().join("other");
        fs::write(&other, "data").unwrap();
        assert!(create_own_file(&Entry::find(&other).unwrap()).unwrap().is_none());
        assert_eq!(owner(&other), FileOwner::Foreign { bytes: 4 });
    }

    #[test]
    fn a_file_of_ours_that_somebody_wrote_to_is_theirs() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("own");
        for precious in ["precious", "load"] {
            let _ = fs::remove_file(&path);
            let Some(_file) = own(&path, "load") else { return };
            // The kernel's clock for files may stand still for a few milliseconds.
            let marked = fs::metadata(&path).unwrap().modified().unwrap();
            while fs::metadata(&path).unwrap().modified().unwrap() == marked {
                fs::write(&path, precious).unwrap();
            }
            assert_eq!(owner(&path), FileOwner::Foreign { bytes: precious.len() as u64 }, "{precious}");
            assert!(guard(&path, None).is_err());
        }
    }

    #[test]
    fn it_is_the_open_file_that_is_judged_and_marked_and_not_its_name() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("own");
        let Some(file) = own(&path, "load") else { return };
        fs::rename(&path, folder.path().join("moved")).unwrap();
        fs::write(&path, "thesis").unwrap();
        assert!(guard_file(&file, &path, None).is_ok());
        mark_own_file(&file, &path).unwrap();
        assert_eq!(owner(&path), FileOwner::Foreign { bytes: 6 });
    }

    #[test]
    fn an_empty_file_of_somebody_elses_is_refused_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, "").unwrap();
        assert_eq!(owner(&path), FileOwner::Foreign { bytes: 0 });
        let refused = guard(&path, None).unwrap_err().to_string();
        assert!(refused.contains("an empty file") && !refused.contains("0 bytes"), "{refused}");
    }
}
