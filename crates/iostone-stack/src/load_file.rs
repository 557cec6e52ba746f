//! Files that a load is put on: those that iostone made may be written over, all others hold somebody's data.
//!
//! A file of ours carries the extended attribute `user.iostone` (xattr(7)). On a filesystem without such attributes
//! nothing can be told apart, so there every file that exists is somebody else's.

use std::fs::{self, OpenOptions};
use std::path::Path;

use rustix::fs::{XattrFlags, getxattr, setxattr};

use crate::device::size_in_words;
use crate::error::{Refusal, RefusalReason, StackError};

const MARK: &str = "user.iostone";

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// There is none yet.
    Nobody,
    /// Made by iostone, or empty: it may be laid out and written over.
    Ours,
    /// Anybody else's, with so many bytes.
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
    let mut value = [0u8; 8];
    let ours = metadata.len() == 0 || getxattr(path, MARK, &mut value).is_ok();
    Ok(if ours { FileOwner::Ours } else { FileOwner::Foreign { bytes: metadata.len() } })
}

/// Makes an empty file and marks it as ours. Nothing happens to one that exists.
///
/// # Errors
/// [`StackError::Io`] when it cannot be made. A filesystem without extended attributes is no error.
pub fn create_own_file(path: &Path) -> Result<(), StackError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => {
            let _ = setxattr(path, MARK, b"1", XattrFlags::empty());
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StackError::io("making", path, error)),
    }
}

/// Refuses to write over a file that iostone did not make, unless its name was typed once more in `destroy`.
///
/// # Errors
/// [`StackError::Refused`], and [`StackError::Io`] when it cannot be looked at.
pub fn guard_file(path: &Path, destroy: Option<&Path>) -> Result<(), StackError> {
    let FileOwner::Foreign { bytes } = file_owner(path)? else { return Ok(()) };
    if destroy == Some(path) {
        return Ok(());
    }
    let name = path.display();
    Err(StackError::Refused(Box::new(Refusal {
        device: path.to_owned(),
        identity: format!("a file of {}", size_in_words(bytes)),
        reason: RefusalReason::ForeignFile,
        because: "it was not made by iostone, and writing would replace its content".to_owned(),
        loses: vec![format!("all {} of it", size_in_words(bytes))],
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
        fs::write(&own, "load").unwrap();
        if file_owner(&own).unwrap() != FileOwner::Ours {
            eprintln!("skipped: needs a filesystem with extended attributes");
            return;
        }
        let other = folder.path().join("other");
        fs::write(&other, "data").unwrap();
        create_own_file(&other).unwrap();
        assert_eq!(file_owner(&other).unwrap(), FileOwner::Foreign { bytes: 4 });
    }
}
