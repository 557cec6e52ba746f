//! The `.lun` file: one file or block device a line, and the classic mistakes in it.

mod error;
mod identity;
mod joined;
mod text;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iostone_engine::{Pin, Pins, make_room_for_files};
use iostone_model::orion::{LunKind, LunRecord, OrionTest};
use iostone_model::units::Bytes;

pub use error::{EntryFault, LunError};
pub use text::{LunLine, parse_lun_text};

/// No list of names is longer; what is, is the data file itself.
const LONGEST_LIST_BYTES: u64 = 1 << 20;

/// A file or device under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// As it was written in the `.lun` file.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// A file or a device.
    pub kind: LunKind,
    /// Its size.
    pub bytes: u64,
    /// Holds it open: what was looked at is what is used. A LUN without is opened by its path.
    pub pin: Option<Pin>,
}

impl Lun {
    /// The path by which it is opened, whatever has become of its name.
    pub fn way(&self) -> Cow<'_, Path> {
        self.pin.as_ref().map_or(Cow::Borrowed(&self.path), |pin| Cow::Owned(pin.path()))
    }

    /// As it is kept in the record of a test.
    pub fn to_record(&self) -> LunRecord {
        LunRecord { name: self.name.clone(), kind: self.kind, bytes: self.bytes, identity: self.identity() }
    }
}

/// The `.lun` file of a test name, which may hold a path: `NAME.lun`.
pub fn lun_file_of(test_name: &str) -> PathBuf {
    PathBuf::from(format!("{test_name}.lun"))
}

/// The pins of those LUNs that have one, for the engine's jobs.
pub(crate) fn pins_of(luns: &[Lun]) -> Pins {
    let mut pins = Pins::default();
    for lun in luns {
        if let Some(pin) = &lun.pin {
            pins.insert(lun.path.clone(), pin.clone());
        }
    }
    pins
}

/// Opens what a name stands for, if only with `O_PATH` (open(2)).
pub type OpenLun<'a> = &'a mut dyn FnMut(&Path) -> io::Result<Pin>;

/// Reads `NAME.lun` and looks at everything that it names. Relative names are taken from the current directory, as ORION
/// does, wherever the `.lun` file lies. Links are followed, whosever they are.
///
/// # Errors
/// See [`LunError`]: each classic mistake is named, with what to do next.
pub fn read_lun_file(test_name: &str) -> Result<Vec<Lun>, LunError> {
    open_luns(test_name, &mut |path| {
        let flags = libc::O_PATH;
        OpenOptions::new().read(true).custom_flags(flags).open(path).map(Pin::new)
    })
}

/// As [`read_lun_file`], with what is named opened by `open`.
///
/// # Errors
/// See [`LunError`]; what `open` says of a name that is not found (`ENOENT`, `ENOTDIR`) is told by what is wrong with it.
pub fn open_luns(test_name: &str, open: OpenLun<'_>) -> Result<Vec<Lun>, LunError> {
    let (file, lines) = read_lines(test_name)?;
    make_room_for_files(4 * lines.len() as u64);
    let mut seen = HashMap::new();
    lines
        .iter()
        .map(|line| {
            look_at(line, open, &mut seen).map_err(|fault| LunError::entry(&file, line.number, fault))
        })
        .collect()
}

/// The names in `NAME.lun` that do not exist although the directory they lie in does: the files that may be made.
///
/// # Errors
/// See [`LunError`]: of the `.lun` file itself, and of a missing name that is two joined ones or a slip of the pen, which no
/// file is to be made for.
pub fn missing_luns(test_name: &str) -> Result<Vec<PathBuf>, LunError> {
    let (file, lines) = read_lines(test_name)?;
    let mut missing: Vec<PathBuf> = Vec::new();
    for line in &lines {
        let path = PathBuf::from(&line.name);
        if path.symlink_metadata().is_ok() || missing.contains(&path) {
            continue;
        }
        match joined::fault_of_missing(&line.name) {
            EntryFault::Missing { .. } => missing.push(path),
            EntryFault::NoDirectory { .. } => {}
            fault => return Err(LunError::entry(&file, line.number, fault)),
        }
    }
    Ok(missing)
}

/// The disks that scale the loads of a test: as many as LUNs, unless it says otherwise.
pub fn disks_of(test: &OrionTest, luns: usize) -> u32 {
    test.num_disks.unwrap_or_else(|| u32::try_from(luns).unwrap_or(u32::MAX))
}

/// Refuses LUNs that are smaller than the largest I/O that a point of the test does.
///
/// # Errors
/// [`LunError::Small`], with both sizes and the option to lower.
pub fn check_sizes(luns: &[Lun], test: &OrionTest) -> Result<(), LunError> {
    let used = test.sizes_used(disks_of(test, luns.len()));
    let Some((option, largest_io)) = used.into_iter().max_by_key(|(_, size)| *size) else { return Ok(()) };
    match luns.iter().find(|lun| lun.bytes < largest_io.0) {
        Some(lun) => {
            let (name, size) = (lun.name.clone(), Bytes(lun.bytes));
            Err(LunError::Small { name, size, largest_io, option })
        }
        None => Ok(()),
    }
}

/// The path of the `.lun` file, for messages, and its lines.
fn read_lines(test_name: &str) -> Result<(String, Vec<LunLine>), LunError> {
    let path = lun_file_of(test_name);
    let file = path.display().to_string();
    let opened = open_list(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing_list(test_name, &file),
        _ => LunError::Unreadable { file: file.clone(), reason: error },
    })?;
    let mut text = Vec::new();
    let read = opened.take(LONGEST_LIST_BYTES + 1).read_to_end(&mut text);
    if path.is_dir() {
        return Err(LunError::IsDirectory { file });
    }
    read.map_err(|reason| LunError::Unreadable { file: file.clone(), reason })?;
    if text.len() as u64 > LONGEST_LIST_BYTES {
        return Err(LunError::NoList { file });
    }
    let lines = parse_lun_text(&file, &text)?;
    Ok((file, lines))
}

/// A FIFO is refused, as open(2) would wait for its writer.
fn open_list(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::FileTypeExt;
    if path.metadata()?.file_type().is_fifo() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a FIFO, not a file"));
    }
    File::open(path)
}

fn missing_list(test_name: &str, file: &str) -> LunError {
    match test_name.strip_suffix(".lun") {
        Some(name) if !name.is_empty() => {
            LunError::EndingTwice { file: file.to_owned(), name: name.to_owned() }
        }
        _ => LunError::Missing { file: file.to_owned(), name: test_name.to_owned() },
    }
}

/// What makes two names one LUN: the device's number, or the file's filesystem and inode.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Device(u64),
    File(u64, u64),
}

fn look_at(
    line: &LunLine,
    open: OpenLun<'_>,
    seen: &mut HashMap<Identity, LunLine>,
) -> Result<Lun, EntryFault> {
    let name = line.name.clone();
    let path = PathBuf::from(&name);
    let (pin, metadata) = match open(&path).and_then(|pin| Ok((pin.file().metadata()?, pin))) {
        Ok((metadata, pin)) => (pin, metadata),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Err(joined::fault_of_missing(&name));
        }
        Err(reason) => return Err(EntryFault::Unreadable { name, reason }),
    };
    let kind = metadata.file_type();
    let (kind, identity) = if kind.is_file() {
        (LunKind::File, Identity::File(metadata.dev(), metadata.ino()))
    } else if kind.is_block_device() {
        (LunKind::Device, Identity::Device(metadata.rdev()))
    } else if kind.is_dir() {
        return Err(EntryFault::Directory { name });
    } else if kind.is_char_device() {
        return Err(EntryFault::CharacterDevice { name });
    } else {
        return Err(EntryFault::Other { name, what: if kind.is_fifo() { "named pipe" } else { "socket" } });
    };
    let bytes = size_of(&pin.path(), kind, metadata.len())
        .map_err(|reason| EntryFault::Unreadable { name: name.clone(), reason })?;
    if bytes == 0 {
        return Err(EntryFault::Empty { name, kind });
    }
    if let Some(first) = seen.insert(identity, line.clone()) {
        return Err(EntryFault::Twice { name, first: first.name, line: first.number });
    }
    Ok(Lun { name, path, kind, bytes, pin: Some(pin) })
}

/// Opens it, so that what cannot be read is found before the first point.
fn size_of(path: &Path, kind: LunKind, length: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    match kind {
        LunKind::File => Ok(length),
        LunKind::Device => file.seek(SeekFrom::End(0)),
    }
}
