//! The record of a test on disk, `PREFIX_record.jsonl`: appended to line by line and made durable, read back to go on.
//!
//! Each line is written whole by one write(2) and made durable by fsync(2) before anything else is done, so that a test
//! that is killed loses the point it was at and nothing else. What a crash left half written at the end is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use iostone_model::figures::counted;
use iostone_model::orion::{
    LunKind, ORION_SCHEMA, OrionEnd, OrionHeader, OrionRecord, PointRecord, RecordLine,
};
use iostone_model::units::Bytes;
use rustix::fs::{FlockOperation, OFlags, fcntl_setfl, flock};
use serde::Deserialize;

use crate::error::OrionError;
use crate::lun::Lun;

/// A record that is being written. While it lives nobody else can add to it.
#[derive(Debug)]
pub struct RecordFile {
    file: File,
    path: PathBuf,
}

impl RecordFile {
    /// Begins a record with its first line. The file must not be there yet.
    ///
    /// # Errors
    /// [`OrionError::Record`] if there is one already, [`OrionError::File`] for what the system says.
    pub fn create(path: &Path, header: &OrionHeader) -> Result<Self, OrionError> {
        let file =
            OpenOptions::new().read(true).append(true).create_new(true).open(path).map_err(|source| {
                if source.kind() == io::ErrorKind::AlreadyExists {
                    refusal(path, "is there already; `--resume` goes on with it")
                } else {
                    OrionError::file("create", path, source)
                }
            })?;
        Self::create_in(file, path, header).inspect_err(|_| {
            // A record without its first line is none.
            let _ = fs::remove_file(path);
        })
    }

    /// As [`create`](Self::create), in an empty file that the caller made and removes again if this fails.
    ///
    /// # Errors
    /// [`OrionError::File`] for what the system says.
    pub fn create_in(file: File, path: &Path, header: &OrionHeader) -> Result<Self, OrionError> {
        fcntl_setfl(&file, OFlags::APPEND).map_err(|errno| OrionError::file("open", path, errno.into()))?;
        let mut record = Self { file, path: path.to_owned() };
        record.begin(header)?;
        Ok(record)
    }

    fn begin(&mut self, header: &OrionHeader) -> Result<(), OrionError> {
        lock(&self.file, &self.path)?;
        self.append(&RecordLine::Test(Box::new(header.clone())))?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|source| OrionError::file("make durable", folder, source))
    }

    /// Takes the record of a test that was interrupted, open for reading and appending, to go on with it, and gives what it
    /// holds. A line that was left half written is cut off.
    ///
    /// # Errors
    /// As [`read`]; and [`OrionError::Record`] if another process is at it.
    pub fn reopen(mut file: File, path: &Path) -> Result<(Self, OrionRecord), OrionError> {
        lock(&file, path)?;
        let text = read_whole(&mut file, path)?;
        let (record, whole_bytes) = parse(path, &text)?;
        if whole_bytes < text.len() {
            file.set_len(whole_bytes as u64)
                .and_then(|()| file.seek(SeekFrom::End(0)))
                .and_then(|_| file.sync_all())
                .map_err(|source| OrionError::file("cut a torn line off", path, source))?;
        }
        Ok((Self { file, path: path.to_owned() }, record))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What it holds by now.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read_back(&mut self) -> Result<OrionRecord, OrionError> {
        let text = read_whole(&mut self.file, &self.path)?;
        parse(&self.path, &text).map(|(record, _)| record)
    }

    /// Adds a point, and makes it durable.
    ///
    /// # Errors
    /// [`OrionError::File`] for what the system says, a full disk for one.
    pub fn append_point(&mut self, point: &PointRecord) -> Result<(), OrionError> {
        self.append(&RecordLine::Point(Box::new(point.clone())))
    }

    /// Adds how the test ended, and makes it durable.
    ///
    /// # Errors
    /// As [`append_point`](Self::append_point).
    pub fn append_end(&mut self, end: &OrionEnd) -> Result<(), OrionError> {
        self.append(&RecordLine::End(end.clone()))
    }

    fn append(&mut self, line: &RecordLine) -> Result<(), OrionError> {
        let failed = |source| OrionError::file("write", &self.path, source);
        let mut text = serde_json::to_string(line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let before = self.file.metadata().map_err(failed)?.len();
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| {
            // Half a line would be taken for the beginning of the next one. If this fails too, it is torn.
            let _ = self.file.set_len(before);
            failed(source)
        })
    }
}

fn read_whole(file: &mut File, path: &Path) -> Result<Vec<u8>, OrionError> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.read_to_end(&mut text))
        .map_err(|source| OrionError::file("read", path, source))?;
    Ok(text)
}

/// Reads a record. A last line that was left half written is dropped.
///
/// # Errors
/// [`OrionError::File`] if it cannot be read; [`OrionError::Record`] for a foreign schema, a missing first line, and lines
/// that are broken or out of order, with their number.
pub fn read(path: &Path) -> Result<OrionRecord, OrionError> {
    let text = fs::read(path).map_err(|source| OrionError::file("read", path, source))?;
    parse(path, &text).map(|(record, _)| record)
}

/// Checks that the LUNs are those of the record: a point measured on others would not belong to the same test.
///
/// # Errors
/// [`OrionError::Changed`] names the first LUN that differs and how.
pub fn check_same(header: &OrionHeader, luns: &[Lun]) -> Result<(), OrionError> {
    if header.luns.len() != luns.len() {
        let were = counted(header.luns.len(), "LUN");
        let change = match luns.len() {
            0 => format!("{were}, and none is named now"),
            1 => format!("{were}, and 1 is named now"),
            several => format!("{were}, and {several} are named now"),
        };
        return Err(OrionError::Changed { change });
    }
    for (was, is) in header.luns.iter().zip(luns) {
        let change = if was.name != is.name {
            format!("`{}`, and the LUN in its place is `{}` now", was.name, is.name)
        } else if was.kind != is.kind {
            format!("`{}` when it was {}, and it is {} now", was.name, word(was.kind), word(is.kind))
        } else if was.bytes != is.bytes {
            format!("`{}` when it had {}, and it has {} now", was.name, Bytes(was.bytes), Bytes(is.bytes))
        } else if let Some(identity) = was.identity.as_ref().filter(|identity| !is.is_still(identity)) {
            let now = is.identity().unwrap_or_default();
            let other = match is.kind {
                LunKind::File => "another file, a copy or a restored one",
                LunKind::Device => "another device",
            };
            format!("`{}` when it was {identity}; what has its name now is {other}: {now}", was.name)
        } else {
            continue;
        };
        return Err(OrionError::Changed { change });
    }
    Ok(())
}

fn word(kind: LunKind) -> &'static str {
    match kind {
        LunKind::File => "a file",
        LunKind::Device => "a device",
    }
}

fn refusal(path: &Path, reason: impl Into<String>) -> OrionError {
    OrionError::Record { path: path.to_owned(), reason: reason.into() }
}

/// The lock goes with the open file, so that a crash leaves none behind.
fn lock(file: &File, path: &Path) -> Result<(), OrionError> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
        if error == rustix::io::Errno::WOULDBLOCK {
            refusal(path, "is being written by another iostone; wait for its end")
        } else {
            OrionError::file("lock", path, error.into())
        }
    })
}

/// The record in a text, which `path` names in messages, and how many bytes of the text are whole lines.
///
/// # Errors
/// [`OrionError::Record`], as [`read`] says.
pub fn parse(path: &Path, text: &[u8]) -> Result<(OrionRecord, usize), OrionError> {
    let mut record: Option<OrionRecord> = None;
    let mut whole_bytes = 0;
    for (number, line) in (1u32..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        let last = whole_bytes + line.len() == text.len();
        let Some(content) = line.strip_suffix(b"\n") else { break };
        match serde_json::from_slice::<serde_json::Value>(content) {
            Ok(value) => take_line(path, number, value, &mut record)?,
            // A power cut may leave a length that was never filled.
            Err(_) if last => break,
            Err(error) => return Err(refusal(path, format!("is broken in line {number}: {error}"))),
        }
        whole_bytes += line.len();
    }
    let record = record.ok_or_else(|| refusal(path, "is no record of a test: its first line is missing"))?;
    Ok((record, whole_bytes))
}

fn take_line(
    path: &Path,
    number: u32,
    value: serde_json::Value,
    record: &mut Option<OrionRecord>,
) -> Result<(), OrionError> {
    if number == 1 {
        let schema = value.get("schema").and_then(serde_json::Value::as_str);
        if schema.is_some_and(|schema| schema != ORION_SCHEMA) {
            let reason =
                format!("has the schema `{}`; expected `{ORION_SCHEMA}`", schema.unwrap_or_default());
            return Err(refusal(path, reason));
        }
    }
    let line = RecordLine::deserialize(value)
        .map_err(|error| refusal(path, format!("has a line {number} that is none of a record's: {error}")))?;
    let out_of_order = |what: String| Err(refusal(path, format!("has {what} in line {number}")));
    match (line, record) {
        (RecordLine::Test(header), empty @ None) => {
            *empty = Some(OrionRecord { header: *header, points: Vec::new(), end: None });
        }
        (RecordLine::Test(_), Some(_)) => return out_of_order("a second test".to_owned()),
        (_, None) => return Err(refusal(path, "is no record of a test: it does not begin with one")),
        (RecordLine::Point(point), Some(record)) => {
            let due = record.points.len() + 1;
            if point.number as usize != due {
                return out_of_order(format!("point {} where point {due} is due", point.number));
            }
            if record.is_finished() {
                return out_of_order("a point after the end".to_owned());
            }
            // The session that was interrupted is over, and another has begun.
            record.end = None;
            record.points.push(*point);
        }
        (RecordLine::End(end), Some(record)) => record.end = Some(end),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
