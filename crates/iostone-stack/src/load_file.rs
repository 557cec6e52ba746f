//! Files that a load is put on: those that iostone made may be written over, all others hold somebody's data.
//!
//! A file of ours carries the extended attribute `user.iostone` (xattr(7)) with the length and the modification time
//! that the file had when iostone was done with it. Whoever writes to it afterwards changes one of them, and the file
//! is theirs from then on: the mark lasts no longer than the content that it vouches for. On a filesystem without such
//! attributes nothing can be told apart, so there every file that exists is somebody else's. While iostone writes to a file,
//! the mark says so ([`mark_writing`]), for the case that it is killed.

mod backing;
mod writing;

use std::fs::{self, File, Metadata, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{XattrFlags, fsetxattr, getxattr};

use crate::device::size_in_words;
use crate::error::{Refusal, RefusalReason, StackError};
pub(crate) use backing::refuse_backing_file;
pub use writing::{Writing, file_writing, keeps_marks, mark_writing, unmark_file};

pub(crate) const MARK: &str = "user.iostone";

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// There is none yet.
    Nobody,
    /// Made by iostone, and not written by anybody else since: it may be laid out and written over.
    Ours,
    /// Anybody else's, with so many bytes; an empty one too, for somebody made it for a purpose.
    Foreign {
        /// Its length.
        bytes: u64,
    },
}

/// Finds out whose a file is. Devices and other special files are nobody's here; they have guards of their own.
///
/// # Errors
/// [`StackError::Io`] when it cannot be looked at.
pub fn file_owner(path: &Path) -> Result<FileOwner, StackError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(FileOwner::Nobody),
        Err(error) => return Err(StackError::io("looking at", path, error)),
    };
    if !metadata.is_file() {
        return Ok(FileOwner::Nobody);
    }
    let ours = mark_on(path).is_some_and(|mark| mark == mark_of(&metadata).as_bytes());
    Ok(if ours { FileOwner::Ours } else { FileOwner::Foreign { bytes: metadata.len() } })
}

/// The mark that a file carries, of whichever kind.
fn mark_on(path: &Path) -> Option<Vec<u8>> {
    let mut value = [0u8; 256];
    let length = getxattr(path, MARK, &mut value).ok()?;
    value.get(..length).map(<[u8]>::to_vec)
}

/// Length in bytes and modification time in seconds and nanoseconds.
pub(crate) fn mark_of(metadata: &Metadata) -> String {
    format!("{} {}.{:09}", metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

/// Marks a file as ours with the content that it has now. To be called after each load that wrote to a file which was
/// ours before ([`create_own_file`], [`FileOwner::Ours`]) or whose content the user let go; without it, the file counts
/// as somebody else's.
///
/// # Errors
/// [`StackError::Io`] when it cannot be opened or synced. A filesystem without extended attributes is no error.
pub fn mark_own_file(path: &Path) -> Result<(), StackError> {
    let file = File::open(path).map_err(|error| StackError::io("open", path, error))?;
    // On a network filesystem the time may still change when what is cached is written.
    file.sync_all().map_err(|error| StackError::io("fsync", path, error))?;
    mark(&file, path)
}

pub(crate) fn mark(file: &File, path: &Path) -> Result<(), StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", path, error))?;
    // Without attributes the file counts as somebody else's next time, which harms nobody.
    let _ = fsetxattr(file, MARK, mark_of(&metadata).as_bytes(), XattrFlags::empty());
    Ok(())
}

/// Makes an empty file and marks it as ours. Nothing happens to one that exists.
///
/// # Errors
/// [`StackError::Io`] when it cannot be made. A filesystem without extended attributes is no error.
pub fn create_own_file(path: &Path) -> Result<(), StackError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => mark(&file, path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StackError::io("making", path, error)),
    }
}

/// Refuses to write over a file that iostone did not make, unless its name was typed once more in `destroy`.
///
/// # Errors
/// [`StackError::Refused`], and [`StackError::Io`] when it cannot be looked at.
pub fn guard_file(path: &Path, destroy: Option<&Path>) -> Result<(), StackError> {
    refuse_backing_file(path)?;
    let FileOwner::Foreign { bytes } = file_owner(path)? else { return Ok(()) };
    if destroy == Some(path) {
        return Ok(());
    }
    let name = path.display();
    let loses = if bytes == 0 { Vec::new() } else { vec![format!("all {} of it", size_in_words(bytes))] };
    let identity =
        if bytes == 0 { "an empty file".to_owned() } else { format!("a file of {}", size_in_words(bytes)) };
    Err(StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity,
        reason: RefusalReason::ForeignFile,
        because: "it was not made by iostone, or somebody wrote to it since, and the load would replace its content"
            .to_owned(),
        loses,
        next: vec![
            "name a file that does not exist yet".to_owned(),
            format!("`--destroy {name}` if its content may go"),
        ],
        destroy: Some(name.to_string()),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_somebody_elses_is_refused_until_its_name_is_typed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("thesis");
        fs::write(&path, "years of work").unwrap();
        let refused = guard_file(&path, None).unwrap_err();
        assert!(
            matches!(&refused, StackError::Refused(refusal) if refusal.reason == RefusalReason::ForeignFile)
        );
        assert!(refused.to_string().contains("--destroy"), "{refused}");
        assert!(guard_file(&path, Some(Path::new("other"))).is_err());
        assert!(guard_file(&path, Some(&path)).is_ok());
    }

    #[test]
    fn an_own_file_may_be_written_over_and_an_existing_one_is_not_claimed() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let own = folder.path().join("own");
        create_own_file(&own).unwrap();
        if file_owner(&own).unwrap() != FileOwner::Ours {
            eprintln!("skipped: needs a filesystem with extended attributes");
            return;
        }
        fs::write(&own, "load").unwrap();
        mark_own_file(&own).unwrap();
        assert_eq!(file_owner(&own).unwrap(), FileOwner::Ours);
        let other = folder.path().join("other");
        fs::write(&other, "data").unwrap();
        create_own_file(&other).unwrap();
        assert_eq!(file_owner(&other).unwrap(), FileOwner::Foreign { bytes: 4 });
    }

    #[test]
    fn a_file_of_ours_that_somebody_wrote_to_is_theirs() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let own = folder.path().join("own");
        for precious in ["precious", "load"] {
            let _ = fs::remove_file(&own);
            create_own_file(&own).unwrap();
            fs::write(&own, "load").unwrap();
            mark_own_file(&own).unwrap();
            // The kernel's clock for files may stand still for a few milliseconds.
            let marked = fs::metadata(&own).unwrap().modified().unwrap();
            while fs::metadata(&own).unwrap().modified().unwrap() == marked {
                fs::write(&own, precious).unwrap();
            }
            assert_eq!(
                file_owner(&own).unwrap(),
                FileOwner::Foreign { bytes: precious.len() as u64 },
                "{precious}"
            );
            assert!(guard_file(&own, None).is_err());
        }
    }

    #[test]
    fn an_empty_file_of_somebody_elses_is_refused_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, "").unwrap();
        assert_eq!(file_owner(&path).unwrap(), FileOwner::Foreign { bytes: 0 });
        let refused = guard_file(&path, None).unwrap_err().to_string();
        assert!(refused.contains("an empty file") && !refused.contains("0 bytes"), "{refused}");
    }
}
