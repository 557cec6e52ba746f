//! Files of a run directory: each is there whole after a crash, or not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use iostone_model::sample::Sample;
use iostone_stack::write_whole_file;
use iostone_workload::RawOutput;
use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::LabError;

/// No record is larger: what is has another content than iostone's.
const LARGEST_RECORD_BYTES: u64 = 256 << 20;

/// Reads a record of a run, which may be anybody's: a regular file, not linked to, of a bounded size. Nothing else is waited
/// for or read without end.
pub(crate) fn read_record(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let refuse = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return refuse("it is not a regular file");
    }
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return refuse("it is larger than any record");
    }
    Ok(bytes)
}

/// Reads a record that is text, as [`read_record`].
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_record(path, LARGEST_RECORD_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a document.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, LabError> {
    let text =
        read_record(path, LARGEST_RECORD_BYTES).map_err(|error| LabError::file("reading", path, error))?;
    serde_json::from_slice(&text)
        .map_err(|error| LabError::Damaged { path: path.to_owned(), reason: error.to_string() })
}

/// Writes a document for people to read as well.
pub(crate) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), LabError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| LabError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    text.push(b'\n');
    write_durably(path, &text)
}

/// Writes a document for programs, as small as it goes.
pub(crate) fn write_compact<T: Serialize>(path: &Path, value: &T) -> Result<(), LabError> {
    let mut text = serde_json::to_vec(value)
        .map_err(|error| LabError::Damaged { path: path.to_owned(), reason: error.to_string() })?;
    text.push(b'\n');
    write_durably(path, &text)
}

/// Writes a file so that after a crash it is there whole, or not at all.
pub(super) fn write_durably(path: &Path, content: &[u8]) -> Result<(), LabError> {
    write_whole_file(path, content, 0o666).map_err(|error| LabError::file("writing", path, error))
}

/// Writes what a trial or a pilot left below `parent`: samples, raw output, and last the record.
pub(super) fn write_measured<T: Serialize>(
    parent: &Path,
    number: u32,
    record_name: &str,
    record: &T,
    samples: &[Sample],
    raw: &[RawOutput],
) -> Result<(), LabError> {
    let directory = parent.join(format!("{number:06}"));
    // One that a crash cut short left no record; its number is used again.
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(|error| LabError::file("clearing", &directory, error))?;
    }
    fs::create_dir_all(&directory).map_err(|error| LabError::file("making", &directory, error))?;
    let mut lines = Vec::new();
    for sample in samples {
        serde_json::to_writer(&mut lines, sample)
            .map_err(|error| LabError::file("writing", &directory, error))?;
        lines.push(b'\n');
    }
    write_durably(&directory.join("samples.jsonl"), &lines)?;
    if !raw.is_empty() {
        write_raw(&directory.join("raw"), raw)?;
    }
    write_json(&directory.join(record_name), record)?;
    sync_directory(&directory)?;
    sync_directory(parent)
}

/// Writes what programs printed, a file each.
pub(super) fn write_raw(directory: &Path, raw: &[RawOutput]) -> Result<(), LabError> {
    fs::create_dir_all(directory).map_err(|error| LabError::file("making", directory, error))?;
    for output in raw {
        // The name is ours, but it may have come over the wire.
        let name = Path::new(&output.name).file_name().unwrap_or("raw".as_ref());
        write_durably(&directory.join(name), output.text.as_bytes())?;
    }
    Ok(())
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), LabError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| LabError::file("syncing", path, error))
}
