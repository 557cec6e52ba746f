//! Files that the command line names: a pipe without a writer is told at once and not waited for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Below these lie what the process was handed: `/dev/stdin`, and what a shell puts for `<(program)`.
const HANDED_OVER: [&str; 2] = ["/dev", "/proc"];

/// Opens a file for reading. A FIFO somewhere else than among the process's own descriptors is refused, because open(2) and
/// read(2) would wait for a writer through every signal that iostone undoes its work on.
///
/// # Errors
/// The system's reason, or that it is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if HANDED_OVER.iter().any(|folder| path.starts_with(folder)) {
        return File::open(path);
    }
    iostone_guest::open_file(path)
}

/// Refuses a FIFO where a file or a device may be named.
///
/// # Errors
/// That it is a FIFO. What cannot be looked at is told by who opens it.
pub(crate) fn refuse_fifo(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(metadata) if metadata.file_type().is_fifo() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a FIFO, not a file"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_is_refused_and_what_was_handed_over_is_read() {
        let place = tempfile::tempdir().unwrap();
        let fifo = place.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(open(&fifo).unwrap_err().to_string(), "it is a FIFO, not a file");
        assert!(refuse_fifo(&fifo).is_err() && refuse_fifo(place.path()).is_ok());
        assert!(open(Path::new("/dev/null")).is_ok());
    }
}
