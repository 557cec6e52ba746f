//! The mark of a file that iostone is writing to: what it is known by if iostone is killed meanwhile.
//!
//! `writing WRITER INODE LENGTH SECONDS`: who writes, in which file and how large it is, since when (Unix time). A file that
//! another one's attributes were copied to has another inode, and one that was written anew mostly another length.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use super::mark::{MARK, mark_on};
use crate::error::StackError;

const WORD: &str = "writing";

/// What the mark says of a file that iostone was writing to when it was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writing {
    /// Who was writing, as it called itself.
    pub writer: String,
    /// When that mark was made.
    pub since: SystemTime,
    /// When the file was last written to, by whomever.
    pub modified: SystemTime,
}

impl Writing {
    /// Whether the last write came so soon behind the writer's last sign of life (its mark, or what else it left at
    /// `last_sign`) that it may well be its own. A later one is somebody else's; an earlier one cannot be told apart.
    pub fn is_its_own(&self, last_sign: SystemTime, within: Duration) -> bool {
        self.since.max(last_sign).checked_add(within).is_none_or(|latest| self.modified <= latest)
    }
}

/// Marks an open file as one that `writer`, a word without spaces, is writing to from now on, durably. It counts as somebody
/// else's for everybody but that writer until [`mark_own_file`](super::mark_own_file) marks it as done.
///
/// # Errors
/// [`StackError::Io`] when it cannot be synced. A filesystem without extended attributes is no error.
pub fn mark_writing(file: &File, name: &Path, writer: &str) -> Result<(), StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", name, error))?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let value = format!("{WORD} {writer} {} {} {since}", metadata.ino(), metadata.len());
    if fsetxattr(file, MARK, value.as_bytes(), XattrFlags::empty()).is_ok() {
        file.sync_all().map_err(|error| StackError::io("fsync", name, error))?;
    }
    Ok(())
}

/// The mark of an open file that iostone was writing to and did not come to an end with; none for any other file.
///
/// # Errors
/// [`StackError::Io`] when it cannot be looked at.
pub fn file_writing(file: &File, name: &Path) -> Result<Option<Writing>, StackError> {
    let metadata = file.metadata().map_err(|error| StackError::io("looking at", name, error))?;
    let Some((writer, inode, bytes, since)) = mark_on(file).as_deref().and_then(parse) else {
        return Ok(None);
    };
    let modified = metadata.modified().map_err(|error| StackError::io("looking at", name, error))?;
    let same = metadata.is_file() && inode == metadata.ino() && bytes == metadata.len();
    let since = UNIX_EPOCH.checked_add(Duration::from_secs(since));
    Ok(since.filter(|_| same).map(|since| Writing { writer, since, modified }))
}

/// Takes the mark off a file that is not iostone's after all. One without a mark stays as it is.
pub fn unmark_file(file: &File) {
    let _ = fremovexattr(file, MARK);
}

/// Whether files can be marked where this one lies; without that, none is ever iostone's.
pub fn keeps_marks(file: &File) -> bool {
    let mut value = [0u8; 1];
    // That there is none, or that it is longer, is the answer of a filesystem that has them, getxattr(2).
    !matches!(fgetxattr(file, MARK, &mut value), Err(Errno::OPNOTSUPP | Errno::NOSYS))
}

fn parse(value: &[u8]) -> Option<(String, u64, u64, u64)> {
    let mut words = std::str::from_utf8(value).ok()?.split(' ');
    if words.next() != Some(WORD) {
        return None;
    }
    let writer = words.next()?.to_owned();
    let mut number = || words.next()?.parse().ok();
    let (inode, bytes, since) = (number()?, number()?, number()?);
    words.next().is_none().then_some((writer, inode, bytes, since))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{FileOwner, create_own_file, file_owner, mark_own_file};
    use super::*;
    use crate::entry::Entry;

    #[test]
    fn a_file_that_was_being_written_to_is_known_by_its_writer() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("own");
        let file = create_own_file(&Entry::find(&path).unwrap()).unwrap().unwrap();
        if file_owner(&file, &path).unwrap() != FileOwner::Ours {
            eprintln!("skipped: needs a filesystem with extended attributes");
            return;
        }
        assert_eq!(file_writing(&file, &path).unwrap(), None);
        mark_writing(&file, &path, "test/1").unwrap();
        assert_eq!(file_owner(&file, &path).unwrap(), FileOwner::Foreign { bytes: 0 });
        let writing = file_writing(&file, &path).unwrap().unwrap();
        assert_eq!(writing.writer, "test/1");
        assert!(writing.is_its_own(UNIX_EPOCH, Duration::from_secs(10)));
        // Another length is another content.
        fs::write(&path, "thesis").unwrap();
        assert_eq!(file_writing(&file, &path).unwrap(), None);
        mark_writing(&file, &path, "test/1").unwrap();
        mark_own_file(&file, &path).unwrap();
        assert_eq!(
            (file_writing(&file, &path).unwrap(), file_owner(&file, &path).unwrap()),
            (None, FileOwner::Ours)
        );
        unmark_file(&file);
        assert_eq!(file_owner(&file, &path).unwrap(), FileOwner::Foreign { bytes: 6 });
        assert!(keeps_marks(&file));
    }

    #[test]
    fn a_write_long_after_the_last_sign_of_life_is_somebody_elses() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let writing = Writing { writer: "w".to_owned(), since: at(100), modified: at(150) };
        let within = Duration::from_secs(10);
        assert!(writing.is_its_own(at(140), within));
        assert!(!writing.is_its_own(at(139), within));
        assert!(!writing.is_its_own(at(0), within));
    }

    #[test]
    fn other_marks_are_none_of_a_writer() {
        for value in [&b"4096 1.0"[..], b"writing a 1 2", b"writing a 1 2 3 4", b"writing a x 2 3", b"\xff"] {
            assert_eq!(parse(value), None);
        }
        assert_eq!(parse(b"writing a 1 2 3"), Some(("a".to_owned(), 1, 2, 3)));
    }
}
