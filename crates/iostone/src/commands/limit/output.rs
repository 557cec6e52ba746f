//! The file that the figures of `iostone limit` go to, opened before the command runs.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// A file that can be written. What it held stays until it is.
pub(super) struct Output<'a> {
    path: &'a Path,
    file: File,
    /// It was not there before, and nothing was written yet.
    is_new_and_empty: bool,
}

impl<'a> Output<'a> {
    /// Opens it, and makes it if it is not there.
    ///
    /// # Errors
    /// Not a place that can be written.
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let cannot = || format!("cannot write `{}`; nothing was run", path.display());
        let new = OpenOptions::new().write(true).create_new(true).open(path);
        let (file, is_new_and_empty) = match new {
            Ok(file) => (file, true),
            // A file, a named pipe, a terminal: whatever the reason, opening what is there tells it best.
            Err(_) => (
                OpenOptions::new()
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .open(path)
                    .with_context(cannot)?,
                false,
            ),
        };
        Ok(Self { path, file, is_new_and_empty })
    }

    /// Puts the text in place of what it held.
    ///
    /// # Errors
    /// A full disk, and the like.
    pub(super) fn write(&mut self, text: &str) -> Result<()> {
        self.is_new_and_empty = false;
        let has_length = self.file.metadata().is_ok_and(|about| about.is_file());
        let emptied = if has_length { self.file.set_len(0) } else { Ok(()) };
        emptied
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write `{}`", self.path.display()))
    }
}

impl Drop for Output<'_> {
    /// A command that could not be begun leaves no empty file behind.
    fn drop(&mut self) {
        if self.is_new_and_empty {
            // Best effort: it does no harm.
            let _ = fs::remove_file(self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_there_is_something_better() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        fs::write(&old, "a long text of before").unwrap();
        drop((Output::open(&old).unwrap(), Output::open(&new).unwrap()));
        assert_eq!(fs::read_to_string(&old).unwrap(), "a long text of before");
        assert!(!new.exists(), "nothing was written");
        for path in [&old, &new] {
            Output::open(path).unwrap().write("figures").unwrap();
            assert_eq!(fs::read_to_string(path).unwrap(), "figures");
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_found_before_and_a_full_one_after() {
        let directory = tempfile::tempdir().unwrap();
        for place in [directory.path().to_path_buf(), directory.path().join("no/such")] {
            let said = format!("{:#}", Output::open(&place).err().unwrap());
            assert!(said.contains("nothing was run"), "{said}");
        }
        assert!(Output::open(Path::new("/dev/full")).unwrap().write("figures").is_err());
    }
}
