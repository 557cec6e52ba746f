//! The names of ORION's files, and how each is put in its place as a whole.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use iostone_model::orion::OrionHeader;

use super::Format;
use crate::error::OrionError;

pub(super) const SUMMARY: &str = "_summary.txt";
pub(super) const MBPS: &str = "_mbps.csv";
pub(super) const IOPS: &str = "_iops.csv";
pub(super) const LAT: &str = "_lat.csv";
pub(super) const TRACE: &str = "_trace.txt";
pub(super) const HIST: &str = "_hist.txt";

/// The prefix of a test's files: `NAME_YYYYMMDD_HHMM`, the time being that of its begin where it ran. NAME may hold a path.
pub fn prefix_of(header: &OrionHeader) -> PathBuf {
    // `2018-09-13T00:34:05+02:00[Europe/Berlin]`: the digits up to the minutes are local time.
    let digits: String = header.started_at.chars().filter(char::is_ascii_digit).take(12).collect();
    let (date, time) = digits.split_at_checked(8).unwrap_or((&digits, ""));
    PathBuf::from(format!("{}_{date}_{time}", header.test.test_name))
}

/// The paths of the files that a layout has, in the order in which they are written.
pub fn paths(prefix: &Path, format: Format) -> Vec<PathBuf> {
    endings(format).iter().map(|ending| with_ending(prefix, ending)).collect()
}

/// Histograms came with 12.
pub(super) fn endings(format: Format) -> &'static [&'static str] {
    match format {
        Format::V11_1 => &[SUMMARY, MBPS, IOPS, LAT, TRACE],
        Format::V12 => &[SUMMARY, MBPS, IOPS, LAT, TRACE, HIST],
    }
}

pub(super) fn with_ending(prefix: &Path, ending: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Writes a file beside its place, makes it durable and renames it.
///
/// # Errors
/// [`OrionError::File`], with the path that it would have had; nothing of it is left then.
pub fn write_whole(path: &Path, text: &str) -> Result<(), OrionError> {
    let beside = with_ending(path, ".part");
    let write = || {
        // A leftover of a test that was killed; whatever else it is, a link above all, is not written through.
        let _ = fs::remove_file(&beside);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        // What failed is told; a leftover is all that could be added to it.
        let _ = fs::remove_file(&beside);
        OrionError::file("write", path, error)
    })
}
