//! The archive that a guest's kernel unpacks into its first root filesystem: cpio in the `newc` format, uncompressed.
//! Engines of containers take the same members as tar ([`tarred`]).
//!
//! The format is that of the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`: an ASCII header of
//! 110 bytes for each entry, then its name and its content, each filled up with zeros to a multiple of four. Equal
//! entries make equal bytes: they are sorted by path, numbered in that order, and carry no time and no owner.

use std::collections::{BTreeMap, btree_map};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::GuestError;
use crate::open::open_file;

mod tarred;
#[cfg(test)]
mod tests;

/// The magic of `newc`.
const MAGIC: &str = "070701";
/// The name that ends an archive.
const TRAILER: &str = "TRAILER!!!";
/// The length of a header in bytes.
const HEADER_BYTES: u64 = 110;
/// A member's size is a number of 32 bits.
const LARGEST_BYTES: u64 = u32::MAX as u64;

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
/// `SYSFS_MAGIC` of `linux/magic.h`.
const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;

/// One member of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Member {
    /// A directory that everybody may read and enter.
    Directory,
    /// A symbolic link and what it holds.
    Symlink(String),
    /// A character device by its numbers.
    CharacterDevice {
        /// Its driver.
        major: u32,
        /// Which of its driver's.
        minor: u32,
    },
    /// A file of these bytes.
    Bytes {
        /// Permission bits.
        mode: u32,
        /// What it holds.
        content: Vec<u8>,
    },
    /// A file of this host, read when the archive is written.
    HostFile {
        /// Permission bits.
        mode: u32,
        /// Where it lies.
        path: PathBuf,
        /// What of it goes in.
        part: Part,
    },
}

/// What of a file of this host goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Every byte: somebody reads it as data.
    All,
    /// What the kernel and the loader need to start it.
    Running,
}

/// The members of an archive by their path, which has no slash in front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Archive {
    members: BTreeMap<String, Member>,
}

impl Archive {
    /// Adds a member and the directories above it. The first one of a path stays: what is equal need not come twice,
    /// and a link that the caller made is not replaced by a directory. A file that is started and read as data as well
    /// goes in whole.
    pub(crate) fn add(&mut self, path: &str, member: Member) {
        let path = path.trim_matches('/');
        if path.is_empty() {
            return;
        }
        for (at, _) in path.match_indices('/') {
            self.members.entry(path[..at].to_owned()).or_insert(Member::Directory);
        }
        match self.members.entry(path.to_owned()) {
            btree_map::Entry::Vacant(free) => {
                free.insert(member);
            }
            btree_map::Entry::Occupied(mut there) => {
                if let (Member::HostFile { part, .. }, Member::HostFile { part: Part::All, .. }) =
                    (there.get_mut(), member)
                {
                    *part = Part::All;
                }
            }
        }
    }

    /// What lies at a path.
    #[cfg(test)]
    pub(crate) fn get(&self, path: &str) -> Option<&Member> {
        self.members.get(path.trim_matches('/'))
    }

    /// Takes out all that lies below a directory.
    pub(crate) fn remove_below(&mut self, directory: &str) {
        let prefix = format!("{}/", directory.trim_matches('/'));
        self.members.retain(|path, _| !path.starts_with(&prefix));
    }

    /// The paths, in order.
    #[cfg(test)]
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// Writes the archive to a new file; returns its length in bytes.
    pub(crate) fn write_file(&self, path: &Path) -> Result<u64, GuestError> {
        let file = File::create(path).map_err(|error| GuestError::io("create", path, error))?;
        let mut counted = Counted { inner: BufWriter::with_capacity(1 << 18, file), written_bytes: 0 };
        self.write(&mut counted)?;
        counted.inner.flush().map_err(|error| GuestError::io("write", path, error))?;
        Ok(counted.written_bytes)
    }

    /// Writes the archive.
    pub(crate) fn write<W: Write>(&self, out: &mut Counted<W>) -> Result<(), GuestError> {
        for (number, (path, member)) in (1..).zip(&self.members) {
            let named = |error| GuestError::io("write into the archive", Path::new(path), error);
            match member {
                Member::Directory => write_member(
                    out,
                    Entry { number, mode: DIRECTORY | 0o755, path, ..Entry::default() },
                    0,
                    io::empty(),
                ),
                Member::Symlink(target) => {
                    let entry = Entry { number, mode: SYMLINK | 0o777, path, ..Entry::default() };
                    write_member(out, entry, target.len() as u64, target.as_bytes())
                }
                Member::CharacterDevice { major, minor } => {
                    let device = (*major, *minor);
                    let entry = Entry { number, mode: CHARACTER_DEVICE | 0o600, path, device };
                    write_member(out, entry, 0, io::empty())
                }
                Member::Bytes { mode, content } => {
                    let entry = Entry { number, mode: REGULAR | mode & 0o7777, path, ..Entry::default() };
                    write_member(out, entry, content.len() as u64, content.as_slice())
                }
                Member::HostFile { mode, path: host, part } => {
                    let content = HostContent::open(host, *part)?;
                    let entry = Entry { number, mode: REGULAR | mode & 0o7777, path, ..Entry::default() };
                    write_member(out, entry, content.bytes, content)
                }
            }
            .map_err(named)?;
        }
        write_member(out, Entry { path: TRAILER, ..Entry::default() }, 0, io::empty())
            .map_err(|error| GuestError::io("write into the archive", Path::new(TRAILER), error))
    }
}

/// What of a file of this host goes in: exactly as many bytes as the header before it says.
struct HostContent {
    bytes: u64,
    source: Box<dyn Read>,
    left_bytes: u64,
}

impl HostContent {
    fn open(host: &Path, part: Part) -> Result<Self, GuestError> {
        let failed = |error| GuestError::io("read", host, error);
        let mut file = open_file(host).map_err(failed)?;
        let (bytes, source): (u64, Box<dyn Read>) = match part {
            // From disk as it is written: it may be as large as memory.
            Part::All if tells_its_length(&file).map_err(failed)? => {
                (file.metadata().map_err(failed)?.len(), Box::new(file))
            }
            _ => {
                let mut content = Vec::new();
                file.read_to_end(&mut content).map_err(failed)?;
                if part == Part::Running {
                    content = crate::closure::without_sections(content);
                }
                (content.len() as u64, Box::new(io::Cursor::new(content)))
            }
        };
        Ok(Self { bytes, source, left_bytes: bytes })
    }
}

/// Whether a file is as long as it says: those that the kernel makes up, as in `/proc` and `/sys`, say 0 or a page.
fn tells_its_length(file: &File) -> io::Result<bool> {
    let kind = rustix::fs::fstatfs(file)?.f_type;
    Ok(kind != rustix::fs::PROC_SUPER_MAGIC && kind != SYSFS_MAGIC)
}

impl Read for HostContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.source.read(buffer.get_mut(..wanted).unwrap_or_default())?;
        if count == 0 && wanted > 0 {
            let reason = format!("it shrank by {} bytes while it was read", self.left_bytes);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        self.left_bytes -= count as u64;
        Ok(count)
    }
}

/// What a header says of a member beside its size.
#[derive(Debug, Clone, Copy, Default)]
struct Entry<'a> {
    number: u32,
    mode: u32,
    path: &'a str,
    device: (u32, u32),
}

fn write_member<W: Write>(
    out: &mut Counted<W>,
    entry: Entry<'_>,
    bytes: u64,
    mut content: impl Read,
) -> io::Result<()> {
    let size = u32::try_from(bytes).map_err(|_| {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{bytes} bytes, and a member has {LARGEST_BYTES} at most"),
        )
    })?;
    let name_size = entry.path.len() + 1;
    // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check.
    let links = if entry.mode & 0o170_000 == DIRECTORY { 2 } else { 1 };
    let (major, minor) = entry.device;
    write!(out, "{MAGIC}{:08x}{:08x}{:08x}{:08x}{links:08x}", entry.number, entry.mode, 0, 0)?;
    write!(out, "{:08x}{size:08x}{:08x}{:08x}{major:08x}{minor:08x}{name_size:08x}{:08x}", 0, 0, 0, 0)?;
    out.write_all(entry.path.as_bytes())?;
    out.write_all(&[0])?;
    fill(out, HEADER_BYTES + name_size as u64)?;
    io::copy(&mut content, out)?;
    fill(out, bytes)
}

/// Zeros up to the next multiple of four.
fn fill<W: Write>(out: &mut Counted<W>, length: u64) -> io::Result<()> {
    const ZEROS: [u8; 3] = [0; 3];
    let missing = usize::try_from((4 - length % 4) % 4).unwrap_or_default();
    out.write_all(ZEROS.get(..missing).unwrap_or_default())
}

/// A writer that knows how much it wrote.
#[derive(Debug)]
pub(crate) struct Counted<W> {
    pub(crate) inner: W,
    pub(crate) written_bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
