//! The names of ORION's files.

use std::path::{Path, PathBuf};

use super::Format;

pub(super) const SUMMARY: &str = "_summary.txt";
pub(super) const MBPS: &str = "_mbps.csv";
pub(super) const IOPS: &str = "_iops.csv";
pub(super) const LAT: &str = "_lat.csv";
pub(super) const TRACE: &str = "_trace.txt";
pub(super) const HIST: &str = "_hist.txt";

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
