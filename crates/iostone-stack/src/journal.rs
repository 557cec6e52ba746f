//! The undo journal of one session: a line before each step, flushed to the disk, and a line when it is undone.
//!
//! Write-ahead as in any database: a step that is not in the journal was not begun, so whatever the moment of a
//! crash, undoing the listed steps backwards leaves nothing. The owner holds an exclusive flock(2) on the file for as
//! long as it lives.
//!
//! A journal is believed only if it is this user's own: each line carries a [seal](crate::seal), and each step is one that
//! iostone can have made ([`admissible`]).

mod admissible;
mod reading;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::device::{BlockDevice, DeviceNumber};
use crate::error::StackError;
use crate::owner::Owner;
use crate::seal::{Chain, Key};
use crate::step::{FileIdentity, Scope, Step, relocate};

pub(crate) use reading::{Opened, peek, read_unsealed};

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    /// Always the first.
    Owner(Owner),
    /// About to be done.
    Do { number: usize, scope: Scope, step: Step },
    /// A device of the user's that the session may write.
    Claimed(Claim),
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

/// A device of the user's that a session has claimed: its number, and what tells it from others that had that number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) number: DeviceNumber,
    pub(crate) diskseq: Option<u64>,
}

impl Claim {
    pub(crate) fn of(device: &BlockDevice) -> Self {
        Self { number: device.number, diskseq: device.diskseq() }
    }
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
    /// Bytes of its whole lines.
    length: u64,
    chain: Chain,
    pub(crate) path: PathBuf,
    pub(crate) owner: Owner,
    /// The run's directory and the one to work in, where they are now.
    places: Vec<PathBuf>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) released: bool,
}

impl Journal {
    /// When its last line was written: by its owner, as long as nothing was undone.
    pub(crate) fn last_line_at(&self) -> Option<SystemTime> {
        self.file.metadata().ok()?.modified().ok()
    }

    /// When it was begun: what the session made is younger. None where the filesystem does not tell.
    pub(crate) fn begun_at(&self) -> Option<SystemTime> {
        self.file.metadata().ok()?.created().ok()
    }

    /// The key that it is sealed with.
    pub(crate) fn key(&self) -> &Key {
        self.chain.key()
    }

    /// Makes a new journal in `directory` and locks it. It appears under its name only once its first line is on
    /// the disk, so nobody ever sees one without an owner.
    ///
    /// # Errors
    /// [`StackError::Io`] when the directory cannot be written, [`StackError::Unexpected`] for an owner whose journal no
    /// cleanup would take.
    pub(crate) fn create(directory: &Path, owner: &Owner, key: &Key) -> Result<Self, StackError> {
        let name = file_name(&owner.token);
        let path = directory.join(&name);
        admissible::check_owner(owner).map_err(|reason| StackError::unexpected(&path, reason))?;
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
            let mut journal = Self {
                file,
                length: 0,
                chain: Chain::new(key, &name),
                path: path.clone(),
                owner: owner.clone(),
                places: owner.places(),
                claims: Vec::new(),
                entries: Vec::new(),
                released: false,
            };
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

    /// Writes down a step that is about to be done; it is on the disk when this returns. Gives its number.
    ///
    /// # Errors
    /// [`StackError::Io`] when it cannot be written, [`StackError::Unexpected`] for a step that no cleanup would take.
    pub(crate) fn begin(&mut self, scope: Scope, step: Step) -> Result<usize, StackError> {
        let number = self.entries.len();
        let known = admissible::Known {
            owner: &self.owner,
            places: &self.places,
            claims: &self.claims,
            entries: &self.entries,
        };
        known.check(&step).map_err(|reason| StackError::unexpected(&self.path, reason))?;
        self.write(&Line::Do { number, scope, step: step.clone() })?;
        self.entries.push(Entry::new(scope, step));
        Ok(number)
    }

    /// Writes down that the session may write a device of the user's.
    pub(crate) fn claim(&mut self, claim: Claim) -> Result<(), StackError> {
        if !self.claims.contains(&claim) {
            self.write(&Line::Claimed(claim))?;
            self.claims.push(claim);
        }
        Ok(())
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
        relocate_places(&mut self.places, from, to);
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
        let json = serde_json::to_vec(line)
            .map_err(|error| StackError::unexpected(&self.path, error.to_string()))?;
        let (text, chain) = self.chain.seal(&json);
        let written = self.file.write_all_at(&text, self.length).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // What follows is sealed as the successor of the last whole line, so a part of this one may not stay.
            let _ = self.file.set_len(self.length);
            return Err(StackError::io("write", &self.path, source));
        }
        self.length += text.len() as u64;
        self.chain = chain;
        Ok(())
    }
}

/// The name of the journal of the session with that token.
fn file_name(token: &str) -> String {
    format!("{token}.jsonl")
}

fn relocate_places(places: &mut [PathBuf], from: &Path, to: &Path) {
    for place in places {
        relocate(place, from, to);
    }
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

/// Removes a journal that was never finished being made; false if its maker is still at it, or it is no such file.
pub(crate) fn remove_unborn(path: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else {
        return false;
    };
    file.metadata().is_ok_and(|metadata| metadata.is_file())
        && matches!(try_lock(&file, path), Ok(true))
        && std::fs::remove_file(path).is_ok()
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
