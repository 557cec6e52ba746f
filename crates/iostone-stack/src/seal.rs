//! The seal on undo journals: a key that only this user can read, and a code behind each line that chains it to the one
//! before.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::Sha256;

use crate::error::{Refusal, RefusalReason, StackError};
use crate::journal::{random_bytes, random_hex, sync_directory};
use crate::tool::quote;

/// The key's file in the state directory.
pub(crate) const KEY_NAME: &str = "key";
const KEY_BYTES: usize = 32;
const CODE_BYTES: usize = 32;
/// What stands behind a line's JSON: a blank and the code in hexadecimal.
const SEAL_BYTES: usize = 1 + 2 * CODE_BYTES;
/// Keeps codes of journals apart from any other use of the key.
const PURPOSE: &[u8] = b"iostone undo journal 1";

/// The key of a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key([u8; KEY_BYTES]);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

impl Key {
    /// The key of the registry in a state directory, made at the first start. Of two first starts at once, both take
    /// the key of whoever was first.
    ///
    /// # Errors
    /// [`StackError::Io`] when it can be neither read nor made, [`StackError::Refused`] for a file that is not this user's
    /// alone.
    pub(crate) fn of(state_directory: &Path) -> Result<Self, StackError> {
        let path = state_directory.join(KEY_NAME);
        if let Some(key) = Self::read(&path)? {
            return Ok(key);
        }
        make(state_directory, &path)?;
        Self::read(&path)?.ok_or_else(|| StackError::unexpected(&path, "it keeps disappearing"))
    }

    /// Checks the key that is there, if any.
    ///
    /// # Errors
    /// As [`Key::of`].
    pub(crate) fn check(state_directory: &Path) -> Result<(), StackError> {
        Self::read(&state_directory.join(KEY_NAME)).map(drop)
    }

    fn read(path: &Path) -> Result<Option<Self>, StackError> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let wrong = |what: &str| {
            Err(StackError::Refused(Box::new(Refusal {
                device: path.to_owned(),
                identity: "key of the undo journals".to_owned(),
                reason: RefusalReason::Exposed,
                because: format!("{what}, so others can have sealed the journals"),
                loses: Vec::new(),
                next: vec![format!(
                    "`rm {}`, after which journals sealed with it are only listed",
                    quote(path.as_os_str())
                )],
                destroy: None,
            })))
        };
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return wrong("it is a symbolic link"),
            Err(source) => return Err(StackError::io("open", path, source)),
        };
        let metadata = file.metadata().map_err(|source| StackError::io("stat", path, source))?;
        if !metadata.is_file() || metadata.nlink() != 1 {
            return wrong("it is not a regular file with one name");
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
            return wrong("other users own it or can open it");
        }
        let mut bytes = Vec::new();
        file.take(KEY_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| StackError::io("read", path, source))?;
        <[u8; KEY_BYTES]>::try_from(bytes)
            .map_or_else(|_| wrong("it does not have 32 bytes"), |key| Ok(Some(Self(key))))
    }

    /// HMAC of RFC 2104 with SHA-256, over the parts one after the other.
    fn code_of(&self, parts: &[&[u8]]) -> [u8; CODE_BYTES] {
        // A key is filled up with zeros to a block of the hash.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        for (place, byte) in block.iter_mut().zip(self.0) {
            *place = byte;
        }
        let mut code = Hmac::<Sha256>::new(&block);
        for part in parts {
            code.update(part);
        }
        code.finalize().into_bytes().into()
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self([7; KEY_BYTES])
    }
}

/// Makes the file of a key whole and under its name at once; one that is there already stays.
fn make(state_directory: &Path, path: &Path) -> Result<(), StackError> {
    let temporary = state_directory.join(format!(".new-key-{}", random_hex()?));
    let written = write_new(&temporary).and_then(|()| {
        match renameat_with(CWD, &temporary, CWD, path, RenameFlags::NOREPLACE) {
            Ok(()) => sync_directory(state_directory),
            Err(rustix::io::Errno::EXIST) => {
                fs::remove_file(&temporary).map_err(|source| StackError::io("remove", &temporary, source))
            }
            Err(errno) => Err(StackError::io("rename", path, errno)),
        }
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &Path) -> Result<(), StackError> {
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .map_err(|source| StackError::io("create", path, source))?;
    file.write_all(&random_bytes::<KEY_BYTES>()?)
        .and_then(|()| file.sync_all())
        .map_err(|source| StackError::io("write", path, source))
}

/// The codes of one journal's lines, in their order. Each covers the journal's name, the line's number, the code of the
/// line before and the line, so that none can be changed, left out, moved or taken to another journal. Lines at the end
/// can be left out: that is what a crash leaves, too.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    key: Key,
    name: String,
    number: u64,
    last: [u8; CODE_BYTES],
}

impl Chain {
    /// That of the journal with that file name, before its first line.
    pub(crate) fn new(key: &Key, name: &str) -> Self {
        Self { key: key.clone(), name: name.to_owned(), number: 0, last: [0; CODE_BYTES] }
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// The next line with its seal and the newline, and the chain after it.
    pub(crate) fn seal(&self, json: &[u8]) -> (Vec<u8>, Self) {
        let next = self.after(json);
        let mut line = json.to_vec();
        line.push(b' ');
        line.extend(hexadecimal(&next.last));
        line.push(b'\n');
        (line, next)
    }

    /// The JSON of the next line, which comes without its newline; none if its seal is not right.
    pub(crate) fn open<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let (json, seal) = line.split_at_checked(line.len().checked_sub(SEAL_BYTES)?)?;
        let next = self.after(json);
        // Nobody who could measure how long this takes can write the file, so the time need not be constant.
        if seal.split_first()? != (&b' ', hexadecimal(&next.last).as_slice()) {
            return None;
        }
        *self = next;
        Some(json)
    }

    fn after(&self, json: &[u8]) -> Self {
        let length = (self.name.len() as u64).to_be_bytes();
        let number = self.number.to_be_bytes();
        let parts = [PURPOSE, &length, self.name.as_bytes(), &number, &self.last, json];
        Self { last: self.key.code_of(&parts), number: self.number + 1, ..self.clone() }
    }
}

fn hexadecimal(code: &[u8; CODE_BYTES]) -> Vec<u8> {
    code.iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .map(|digit| b"0123456789abcdef"[usize::from(digit)])
        .collect()
}

/// The whole file of a journal with these lines.
#[cfg(test)]
pub(crate) fn sealed(key: &Key, name: &str, lines: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut chain = Chain::new(key, name);
    let mut bytes = Vec::new();
    for line in lines {
        let (text, next) = chain.seal(line.as_ref());
        bytes.extend(text);
        chain = next;
    }
    bytes
}

#[cfg(test)]
mod tests;
