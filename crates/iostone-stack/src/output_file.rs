//! Output files: the report, table or log that a command writes where the user said, never over a file that iostone did
//! not make.
//!
//! What is written over is what was checked: the name is resolved once ([`Entry`]), and the file behind it stays open from
//! the check to the last byte. A new file is created with `O_EXCL`. When it is written, a file gets the mark of iostone's
//! own files (`load_file`), so that the same command can be repeated. A stream (a FIFO, a terminal, `/dev/null`,
//! `/dev/stdout`) loses nothing by being written to and is used like a shell's redirection.

mod foreign;
mod stream;

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::entry::Entry;
use crate::error::StackError;
use crate::load_file::{mark, mark_of, refuse_backing_file};
use foreign::{block_device, refusal, why_foreign};
use iostone_engine::path_of_open;
use stream::open_own_stream;

/// Files that may be written over although iostone did not make them: the user typed their names a second time.
#[derive(Debug, Clone, Default)]
pub struct Permit {
    option: Option<&'static str>,
    named: Vec<PathBuf>,
}

impl Permit {
    /// The names that were typed behind `option` ("--overwrite"), which a refusal tells the user to type.
    pub fn new(option: &'static str, named: Vec<PathBuf>) -> Self {
        Self { option: Some(option), named }
    }

    /// For commands that have no such option: only files of iostone's own are written over.
    pub fn none() -> Self {
        Self::default()
    }

    /// As typed: another spelling of the path is another name.
    fn covers(&self, path: &Path) -> bool {
        self.named.iter().any(|named| named == path)
    }
}

/// Where the text goes in a file that has content already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// In place of the content.
    Replace,
    /// Behind it.
    Append,
}

/// An output file that passed the check and can be written. One that was created and is never written is removed again.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: File,
    placing: Placing,
    /// None for a stream.
    regular: Option<Regular>,
}

/// What is known of a regular file from its check.
#[derive(Debug)]
struct Regular {
    entry: Entry,
    /// Created by this process, and not completely written yet.
    is_unfinished: bool,
    /// Its length and modification time at the check.
    found: String,
    /// Let go by name, whatever it holds.
    is_permitted: bool,
    /// All of the content will be iostone's.
    will_be_ours: bool,
    permit: Permit,
}

impl OutputFile {
    /// Opens a file for output, or creates it. What it holds stays until [`Self::write`].
    ///
    /// A FIFO is waited for until it has a reader (fifo(7)), as a shell does.
    ///
    /// # Errors
    /// [`StackError::Refused`] for a file that iostone did not make or that was changed since, unless the permit names it; for a
    /// block device, and a file below a loop device. [`StackError::Io`] when it cannot be opened or created.
    pub fn open(path: &Path, placing: Placing, permit: &Permit) -> Result<Self, StackError> {
        if let Some(stream) = open_own_stream(path) {
            let file = stream.map_err(|source| StackError::io("open", path, source))?;
            return Ok(Self { path: path.to_owned(), file, placing, regular: None });
        }
        let entry = Entry::find(path)?;
        if let Some(found) = entry.open(OFlags::PATH)? {
            return Self::existing(entry, &found, placing, permit);
        }
        match entry.create()? {
            Some(file) => Self::new(entry, file, placing, permit, None),
            // It appeared since the look.
            None => match entry.open(OFlags::PATH)? {
                Some(found) => Self::existing(entry, &found, placing, permit),
                None => Err(StackError::io("open", path, Errno::NOENT)),
            },
        }
    }

    /// Checks now what [`Self::open`] would refuse later. Nothing is opened for writing and nothing is created.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn check(path: &Path, placing: Placing, permit: &Permit) -> Result<(), StackError> {
        if let Some(stream) = open_own_stream(path) {
            return stream.map(drop).map_err(|source| StackError::io("open", path, source));
        }
        match Entry::find(path)?.open(OFlags::PATH)? {
            Some(found) => examine(path, &found, placing, permit).map(drop),
            None => Ok(()),
        }
    }

    fn existing(entry: Entry, found: &File, placing: Placing, permit: &Permit) -> Result<Self, StackError> {
        let examined = examine(entry.path(), found, placing, permit)?;
        let file = OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_NOCTTY)
            .open(path_of_open(found))
            .map_err(|source| StackError::io("open", entry.path(), source))?;
        match examined {
            Examined::Stream => Ok(Self { path: entry.path().to_owned(), file, placing, regular: None }),
            Examined::Regular { is_foreign } => Self::new(entry, file, placing, permit, Some(is_foreign)),
        }
    }

    /// `is_foreign` is none for a file that was just created.
    fn new(
        entry: Entry,
        file: File,
        placing: Placing,
        permit: &Permit,
        is_foreign: Option<bool>,
    ) -> Result<Self, StackError> {
        let path = entry.path().to_owned();
        let metadata = file.metadata().map_err(|source| StackError::io("stat", &path, source))?;
        let regular = Regular {
            entry,
            is_unfinished: is_foreign.is_none(),
            found: mark_of(&metadata),
            is_permitted: permit.covers(&path),
            will_be_ours: placing == Placing::Replace || is_foreign != Some(true),
            permit: permit.clone(),
        };
        Ok(Self { path, file, placing, regular: Some(regular) })
    }

    /// As it was typed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the text, makes it durable and marks the file as iostone's own.
    ///
    /// A file that was created for this is removed again when that fails. One of iostone's own is emptied first: its earlier
    /// content is lost when the disk is full.
    ///
    /// # Errors
    /// [`StackError::Refused`] when somebody changed the file since it was opened; [`StackError::Io`] when it cannot be
    /// written.
    pub fn write(mut self, content: impl AsRef<[u8]>) -> Result<(), StackError> {
        let content = content.as_ref();
        self.refuse_changed()?;
        let failed = |source: io::Error| StackError::io("write", &self.path, source);
        let Some(regular) = &mut self.regular else {
            return self.file.write_all(content).and_then(|()| self.file.flush()).map_err(failed);
        };
        match self.placing {
            Placing::Replace => self.file.set_len(0).map_err(failed)?,
            Placing::Append => self.file.seek(SeekFrom::End(0)).map(drop).map_err(failed)?,
        }
        // On a network filesystem the modification time may change until everything is written back.
        self.file.write_all(content).and_then(|()| self.file.sync_all()).map_err(failed)?;
        regular.is_unfinished = false;
        if regular.will_be_ours { mark(&self.file, &self.path) } else { Ok(()) }
    }

    /// Whoever wrote to the file while iostone was at work has data in it that nobody let go.
    fn refuse_changed(&mut self) -> Result<(), StackError> {
        let Some(regular) = self.regular.as_mut().filter(|regular| !regular.is_permitted) else {
            return Ok(());
        };
        let metadata = self.file.metadata().map_err(|source| StackError::io("stat", &self.path, source))?;
        if mark_of(&metadata) == regular.found {
            return Ok(());
        }
        regular.is_unfinished = false;
        let because = "another process wrote to it while iostone was running";
        Err(refusal(&self.path, metadata.len(), because.to_owned(), self.placing, &regular.permit))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(regular) = self.regular.as_ref().filter(|regular| regular.is_unfinished) {
            // An empty file that stays does no harm: the next run writes to it.
            let _ = regular.entry.remove(&self.file);
        }
    }
}

/// What may be written to.
enum Examined {
    /// Writing to it replaces nothing.
    Stream,
    /// A regular file.
    Regular {
        /// It was not iostone's, and its name was typed again.
        is_foreign: bool,
    },
}

/// Checks what a name stands for.
fn examine(path: &Path, found: &File, placing: Placing, permit: &Permit) -> Result<Examined, StackError> {
    let metadata = found.metadata().map_err(|source| StackError::io("stat", path, source))?;
    let kind = metadata.file_type();
    if kind.is_block_device() {
        return Err(block_device(path));
    }
    if kind.is_dir() {
        return Err(StackError::io("write", path, Errno::ISDIR));
    }
    if kind.is_symlink() {
        // It took the place of what was there when the path was resolved.
        return Err(StackError::io("open", path, Errno::LOOP));
    }
    if !kind.is_file() {
        return Ok(Examined::Stream);
    }
    refuse_backing_file(found, path)?;
    let why = why_foreign(found, &metadata);
    let is_foreign = why.is_some();
    match why {
        Some(because) if !permit.covers(path) => Err(refusal(path, metadata.len(), because, placing, permit)),
        _ => Ok(Examined::Regular { is_foreign }),
    }
}

#[cfg(test)]
mod tests;
