//! The undo journal of one session: a line before each step, flushed to the disk, and a line when it is undone.
//!
//! Write-ahead as in any database: a step that is not in the journal was not begun, so whatever the moment of a
//! crash, undoing the listed steps backwards leaves nothing. The owner holds an exclusive flock(2) on the file for as
//! long as it lives.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::error::StackError;
use crate::owner::Owner;
use crate::step::{FileIdentity, Scope, Step};

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    /// Always the first.
    Owner(Owner),
    /// About to be done.
    Do { number: usize, scope: Scope, step: Step },
    /// Done, and this is the object that came of it.
    Made { number: usize, identity: FileIdentity },
    /// Done, but others have used what came of it, so it is left alone.
    Shared { number: usize, because: String },
    /// Whatever lay below the one directory lies below the other now.
    Moved { from: PathBuf, to: PathBuf },
    /// About to be undone by us: should it be found gone later, it was not somebody else.
    Undoing { number: usize },
    /// It could not be undone, and is still there.
    Kept { number: usize },
    /// Undone, or never done.
    Undone { number: usize },
    /// The owner gave up: whoever obtains the lock may replay, even while the owner's process goes on.
    Released,
}

/// A step in the journal with what became of it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) scope: Scope,
    pub(crate) step: Step,
    /// The object made, once that is known.
    pub(crate) made: Option<FileIdentity>,
    /// Why what was made may hold somebody else's data by now.
    pub(crate) shared: Option<String>,
    /// Somebody of ours was about to undo it, and did not come to say what became of that.
    pub(crate) undoing: bool,
    pub(crate) undone: bool,
}

impl Entry {
    fn new(scope: Scope, step: Step) -> Self {
        Self { scope, step, made: None, shared: None, undoing: false, undone: false }
    }
}

/// A journal, locked for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    pub(crate) entries: Vec<Entry>,
    pub(crate) released: bool,
}

/// What was found at the path of a journal.
pub(crate) enum Opened {
    /// A journal, now locked by us.
    Journal(Box<Journal>),
    /// Somebody holds its lock.
    Locked,
    /// It went away meanwhile.
    Gone,
    /// It is no journal that this version understands: the reason.
    Unreadable(String),
}

impl Journal {
    /// When its last line was written: by its owner, as long as nothing was undone.
    pub(crate) fn last_line_at(&self) -> Option<SystemTime> {
        self.file.metadata().ok()?.modified().ok()
    }

    /// Makes a new journal in `directory` and locks it. It appears under its name only once its first line is on
    /// the disk, so nobody ever sees one without an owner.
    ///
    /// # Errors
    /// [`StackError::Io`] when the directory cannot be written.
    pub(crate) fn create(directory: &Path, owner: &Owner) -> Result<Self, StackError> {
        let path = directory.join(format!("{}.jsonl", owner.token));
        loop {
            let temporary = directory.join(format!(".new-{}", random_hex()?));
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW)
                .open(&temporary)
                .map_err(|source| StackError::io("create", &temporary, source))?;
            // A cleanup may have taken the file for an orphan between its creation and our lock.
            let ours = try_lock(&file, &temporary)? && is_linked(&file, &temporary)?;
            if !ours {
                continue;
            }
            let mut journal =
                Self { file, path: path.clone(), owner: owner.clone(), entries: Vec::new(), released: false };
            let written = journal.write(&Line::Owner(owner.clone())).and_then(|()| {
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    &temporary,
                    rustix::fs::CWD,
                    &path,
                    rustix::fs::RenameFlags::NOREPLACE,
                )
                .map_err(|source| StackError::io("rename", &path, source))
            });
            if let Err(error) = written {
                // Best effort: the orphan would also be removed by the next cleanup.
                let _ = std::fs::remove_file(&temporary);
                return Err(error);
            }
            sync_directory(directory)?;
            return Ok(journal);
        }
    }

    /// Opens and locks a journal that may be another's. A torn last line, as a crash leaves it, is cut off: its step
    /// was not begun.
    ///
    /// # Errors
    /// [`StackError::Io`] when the file cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Opened, StackError> {
        let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Opened::Gone),
            Err(source) => return Err(StackError::io("open", path, source)),
        };
        if !file.metadata().map_err(|source| StackError::io("stat", path, source))?.is_file() {
            return Ok(Opened::Unreadable("it is not a regular file".to_owned()));
        }
        if !try_lock(&file, path)? {
            return Ok(Opened::Locked);
        }
        // Another cleanup may have finished and removed it between our open and our lock.
        if !is_linked(&file, path)? {
            return Ok(Opened::Gone);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|source| StackError::io("read", path, source))?;
        let (owner, entries, released, whole_bytes) = match parse(&bytes) {
            Ok(parsed) => parsed,
            Err(reason) => return Ok(Opened::Unreadable(reason)),
        };
        if whole_bytes < bytes.len() {
            file.set_len(whole_bytes as u64).map_err(|source| StackError::io("truncate", path, source))?;
        }
        file.seek(SeekFrom::End(0)).map_err(|source| StackError::io("seek", path, source))?;
        Ok(Opened::Journal(Box::new(Self { file, path: path.to_owned(), owner, entries, released })))
    }

    /// Writes down a step that is about to be done; it is on the disk when this returns. Gives its number.
    pub(crate) fn begin(&mut self, scope: Scope, step: Step) -> Result<usize, StackError> {
        let number = self.entries.len();
        self.write(&Line::Do { number, scope, step: step.clone() })?;
        self.entries.push(Entry::new(scope, step));
        Ok(number)
    }

    /// Writes down which object a step made, so that undoing touches no other at the same place.
    pub(crate) fn confirm(&mut self, number: usize, identity: FileIdentity) -> Result<(), StackError> {
        self.write(&Line::Made { number, identity })?;
        if let Some(entry) = self.entries.get_mut(number) {
            entry.made = Some(identity);
        }
        Ok(())
    }

    /// Writes down that somebody else has used what a step made, and how that was seen; the first sight counts.
    pub(crate) fn mark_shared(&mut self, number: usize, because: String) {
        if let Some(entry) = self.entries.get_mut(number)
            && entry.shared.is_none()
        {
            entry.shared = Some(because.clone());
            // A lost line costs the knowledge; the disk that cannot take it will hardly take anything else either.
            let _ = self.write(&Line::Shared { number, because });
        }
    }

    /// Writes down that the session's things were found elsewhere: the evidence may be gone at the next replay.
    pub(crate) fn relocate(&mut self, from: &Path, to: &Path) {
        for entry in &mut self.entries {
            entry.step.relocate(from, to);
        }
        let _ = self.write(&Line::Moved { from: from.to_owned(), to: to.to_owned() });
    }

    /// Writes down that a step is about to be undone: a crash between that and [`Journal::mark_undone`] must not look as
    /// if somebody else had done it.
    pub(crate) fn mark_undoing(&mut self, number: usize) {
        if let Some(entry) = self.entries.get_mut(number).filter(|entry| !entry.undoing) {
            entry.undoing = true;
            // A lost line makes the next replay more careful than need be, no more.
            let _ = self.write(&Line::Undoing { number });
        }
    }

    /// Writes down that a step could not be undone: whoever does it now is somebody else again.
    pub(crate) fn mark_kept(&mut self, number: usize) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.undoing = false;
            let _ = self.write(&Line::Kept { number });
        }
    }

    /// Writes down that a step's effect is gone, or never came to be.
    pub(crate) fn mark_undone(&mut self, number: usize) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.undone = true;
        }
        // A lost line costs nothing: the next replay finds the step's effect gone.
        let _ = self.write(&Line::Undone { number });
    }

    /// Lets anybody who obtains the lock replay the rest, even while this process lives on.
    pub(crate) fn release(&mut self) {
        self.released = true;
        // Best effort: without the line, the journal is replayed once this process is gone.
        let _ = self.write(&Line::Released);
    }

    /// Removes the journal: everything in it is undone.
    pub(crate) fn remove(self) -> Result<(), StackError> {
        std::fs::remove_file(&self.path).map_err(|source| StackError::io("remove", &self.path, source))?;
        match self.path.parent() {
            Some(directory) => sync_directory(directory),
            None => Ok(()),
        }
    }

    fn write(&mut self, line: &Line) -> Result<(), StackError> {
        let mut text = serde_json::to_vec(line)
            .map_err(|error| StackError::unexpected(&self.path, error.to_string()))?;
        text.push(b'\n');
        self.file
            .write_all(&text)
            .and_then(|()| self.file.sync_data())
            .map_err(|source| StackError::io("write", &self.path, source))
    }
}

pub(crate) type Parsed = (Owner, Vec<Entry>, bool, usize);

/// Reads a journal's bytes; gives the length of its whole lines too, or the reason why it is none.
pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed, String> {
    let whole_bytes = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let mut lines = bytes[..whole_bytes].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let first = lines.next().ok_or("it has no first line")?;
    let Ok(Line::Owner(owner)) = serde_json::from_slice(first) else {
        return Err("its first line names no owner".to_owned());
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut released = false;
    for (index, line) in lines.enumerate() {
        let unreadable =
            |reason: String| format!("line {} of iostone {}: {reason}", index + 2, owner.version);
        match serde_json::from_slice(line).map_err(|error| unreadable(error.to_string()))? {
            Line::Do { number, scope, step } if number == entries.len() => {
                entries.push(Entry::new(scope, step));
            }
            Line::Made { number, identity } if number < entries.len() => {
                entries[number].made = Some(identity);
            }
            Line::Shared { number, because } if number < entries.len() => {
                entries[number].shared = Some(because);
            }
            Line::Moved { from, to } => {
                for entry in &mut entries {
                    entry.step.relocate(&from, &to);
                }
            }
            Line::Undoing { number } if number < entries.len() => entries[number].undoing = true,
            Line::Kept { number } if number < entries.len() => entries[number].undoing = false,
            Line::Undone { number } if number < entries.len() => entries[number].undone = true,
            Line::Released => released = true,
            _ => return Err(unreadable("it is out of order".to_owned())),
        }
    }
    Ok((owner, entries, released, whole_bytes))
}

fn try_lock(file: &File, path: &Path) -> Result<bool, StackError> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(source) => Err(StackError::io("flock", path, source)),
    }
}

fn is_linked(file: &File, path: &Path) -> Result<bool, StackError> {
    let metadata = file.metadata().map_err(|source| StackError::io("stat", path, source))?;
    Ok(metadata.nlink() > 0)
}

/// Makes names in a directory durable (fsync(2): the file's own fsync does not).
pub(crate) fn sync_directory(directory: &Path) -> Result<(), StackError> {
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| StackError::io("fsync", directory, source))
}

/// Removes a journal that was never finished being made; false if its maker is still at it.
pub(crate) fn remove_unborn(path: &Path) -> bool {
    let Ok(file) = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path) else {
        return false;
    };
    matches!(try_lock(&file, path), Ok(true)) && std::fs::remove_file(path).is_ok()
}

/// The owner and the steps of a journal, without taking its lock; none if they cannot be read.
pub(crate) fn peek(path: &Path) -> Option<(Owner, Vec<Entry>)> {
    let (owner, entries, ..) = parse(&std::fs::read(path).ok()?).ok()?;
    Some((owner, entries))
}

/// Whose a journal is, without taking its lock; none if that cannot be read.
pub(crate) fn peek_owner(path: &Path) -> Option<Owner> {
    let bytes = std::fs::read(path).ok()?;
    match serde_json::from_slice(bytes.split(|&byte| byte == b'\n').next()?) {
        Ok(Line::Owner(owner)) => Some(owner),
        _ => None,
    }
}

/// 64 random bits in hexadecimal.
pub(crate) fn random_hex() -> Result<String, StackError> {
    let bytes = random_bytes::<8>()?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// Random bytes of the kernel (getrandom(2)).
pub(crate) fn random_bytes<const COUNT: usize>() -> Result<[u8; COUNT], StackError> {
    let mut bytes = [0; COUNT];
    let mut filled = 0;
    while filled < COUNT {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            .map_err(|source| StackError::io("getrandom", "random bytes", source))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
