//! Reading a journal: nothing of it is believed before all of it is known to be ours.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::admissible::{self, Known};
use super::{Claim, Entry, Journal, Line, file_name, is_linked, relocate_places, try_lock};
use crate::error::StackError;
use crate::owner::Owner;
use crate::seal::{Chain, Key};

/// A journal of a session grows by a few kilobytes with each trial; what is larger is none.
const LARGEST_BYTES: u64 = 1 << 30;

/// What was found at the path of a journal.
pub(crate) enum Opened {
    /// A journal, now locked by us.
    Journal(Box<Journal>),
    /// Somebody holds its lock.
    Locked,
    /// It went away meanwhile.
    Gone,
    /// It is no journal of this user's that this version understands: the reason.
    Unreadable(String),
}

impl Journal {
    /// Opens and locks a journal that may be another's. A torn last line, as a crash leaves it, is cut off: its step
    /// was not begun.
    ///
    /// # Errors
    /// [`StackError::Io`] when the file cannot be read.
    pub(crate) fn open(path: &Path, key: &Key) -> Result<Opened, StackError> {
        let mut file = match open_file(path, true) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Opened::Gone),
            Err(source) => return Err(StackError::io("open", path, source)),
        };
        if let Some(reason) = problem_of(&file).map_err(|source| StackError::io("stat", path, source))? {
            return Ok(Opened::Unreadable(reason));
        }
        if !try_lock(&file, path)? {
            return Ok(Opened::Locked);
        }
        // Another cleanup may have finished and removed it between our open and our lock.
        if !is_linked(&file, path)? {
            return Ok(Opened::Gone);
        }
        let bytes = read(&mut file).map_err(|source| StackError::io("read", path, source))?;
        let (read, chain) = match read_sealed(&bytes, path, key) {
            Ok(read) => read,
            Err(reason) => return Ok(Opened::Unreadable(reason)),
        };
        if read.whole_bytes < bytes.len() {
            file.set_len(read.whole_bytes as u64)
                .map_err(|source| StackError::io("truncate", path, source))?;
        }
        Ok(Opened::Journal(Box::new(Self {
            file,
            length: read.whole_bytes as u64,
            chain,
            path: path.to_owned(),
            owner: read.owner,
            places: read.places,
            claims: read.claims,
            entries: read.entries,
            released: read.released,
        })))
    }
}

/// The owner and the steps of a journal, without taking its lock; none if it cannot be read or is not ours.
pub(crate) fn peek(path: &Path, key: &Key) -> Option<(Owner, Vec<Entry>)> {
    let mut file = open_file(path, false).ok()?;
    if problem_of(&file).ok()?.is_some() {
        return None;
    }
    let (content, _) = read_sealed(&read(&mut file).ok()?, path, key).ok()?;
    Some((content.owner, content.entries))
}

/// Opens without waiting, whatever the name stands for: a FIFO would wait for a writer.
fn open_file(path: &Path, write: bool) -> std::io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)
}

/// Why a file can be no journal of this user's.
fn problem_of(file: &File) -> std::io::Result<Option<String>> {
    let metadata = file.metadata()?;
    let problem = if !metadata.is_file() {
        "it is not a regular file"
    } else if metadata.uid() != rustix::process::geteuid().as_raw() {
        "another user owns it"
    } else if metadata.mode() & 0o022 != 0 {
        "other users can write it"
    } else if metadata.nlink() > 1 {
        "it has another name too"
    } else if metadata.len() > LARGEST_BYTES {
        "it is too large for a journal"
    } else {
        return Ok(None);
    };
    Ok(Some(problem.to_owned()))
}

fn read(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a journal says.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) owner: Owner,
    places: Vec<PathBuf>,
    claims: Vec<Claim>,
    pub(crate) entries: Vec<Entry>,
    released: bool,
    /// How many of the bytes are whole lines.
    pub(crate) whole_bytes: usize,
}

/// Reads the bytes of a journal at a path; gives the chain behind its last line too, or the reason why it is none of ours.
fn read_sealed(bytes: &[u8], path: &Path, key: &Key) -> Result<(Content, Chain), String> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let mut chain = Chain::new(key, name);
    let content = read_lines(bytes, |line| chain.open(line).ok_or_else(unsealed))?;
    if name != file_name(&content.owner.token) {
        return Err(format!(
            "its name differs from that of its owner's journal, `{}`",
            file_name(&content.owner.token)
        ));
    }
    Ok((content, chain))
}

fn unsealed() -> String {
    "its seal does not match: it was changed, or was written with another registry's key".to_owned()
}

/// As [`Journal::open`] reads, with lines that carry no seal; for what only looks at the format.
///
/// # Errors
/// The reason why it is no journal.
pub(crate) fn read_unsealed(bytes: &[u8]) -> Result<Content, String> {
    read_lines(bytes, Ok)
}

fn read_lines<'a>(
    bytes: &'a [u8],
    mut open: impl FnMut(&'a [u8]) -> Result<&'a [u8], String>,
) -> Result<Content, String> {
    let whole_bytes = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let whole = bytes.get(..whole_bytes).unwrap_or_default();
    let mut lines =
        whole.strip_suffix(b"\n").map(|whole| whole.split(|&byte| byte == b'\n')).into_iter().flatten();
    let first = lines.next().ok_or("it has no first line")?;
    let Ok(Line::Owner(owner)) =
        serde_json::from_slice(open(first).map_err(|reason| format!("line 1: {reason}"))?)
    else {
        return Err("its first line names no owner".to_owned());
    };
    admissible::check_owner(&owner)?;
    let places = owner.places();
    let mut content =
        Content { owner, places, claims: Vec::new(), entries: Vec::new(), released: false, whole_bytes };
    for (index, line) in lines.enumerate() {
        let number = index + 2;
        let json = open(line).map_err(|reason| format!("line {number}: {reason}"))?;
        let unreadable =
            |reason: String| format!("line {number} of iostone {}: {reason}", content.owner.version);
        let line = serde_json::from_slice(json).map_err(|error| unreadable(error.to_string()))?;
        content.take(line).map_err(|reason| format!("line {number}: {reason}"))?;
    }
    Ok(content)
}

impl Content {
    fn take(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Do { number, scope, step } if number == self.entries.len() => {
                self.known().check(&step)?;
                self.entries.push(Entry::new(scope, step));
            }
            Line::Claimed(claim) => {
                admissible::check_number(claim.number)?;
                self.claims.push(claim);
            }
            Line::Moved { from, to } => self.relocate(&from, &to)?,
            Line::Released => self.released = true,
            Line::Made { number, identity } => self.entry(number)?.made = Some(identity),
            Line::Shared { number, because } => self.entry(number)?.shared = Some(because),
            Line::Undoing { number } => self.entry(number)?.undoing = true,
            Line::Kept { number } => self.entry(number)?.undoing = false,
            Line::Undone { number } => self.entry(number)?.undone = true,
            Line::Do { .. } | Line::Owner(_) => return Err(out_of_order()),
        }
        Ok(())
    }

    fn entry(&mut self, number: usize) -> Result<&mut Entry, String> {
        self.entries.get_mut(number).ok_or_else(out_of_order)
    }

    fn known(&self) -> Known<'_> {
        Known { owner: &self.owner, places: &self.places, claims: &self.claims, entries: &self.entries }
    }

    /// Follows a directory of the session's own that was found elsewhere; all steps have to be the session's then too.
    fn relocate(&mut self, from: &Path, to: &Path) -> Result<(), String> {
        self.known().check_move(from, to)?;
        for entry in &mut self.entries {
            entry.step.relocate(from, to);
        }
        relocate_places(&mut self.places, from, to);
        let known = self.known();
        self.entries.iter().try_for_each(|entry| known.check(&entry.step))
    }
}

fn out_of_order() -> String {
    "it is out of order".to_owned()
}
