//! The files that are touched: those of the image, or laid out beforehand.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_model::experiment::{CopyUpWorkload, LARGE_FILE, small_file};

use super::{Noise, forget};
use crate::{WorkloadError, dd};

/// Where the files came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// They lay there already: an image brought them.
    Image,
    /// They were laid out in this place; their names are in the kernel's cache since then.
    LaidOut,
}

/// Sees to it that all files lie there.
///
/// Of small files that lie there only the names are read: looking at one would be the first touch that is to be measured.
///
/// # Errors
/// What keeps them from being laid out, and a directory with some of the files only, or with a large one of another size.
pub(super) fn prepare(
    touches: &CopyUpWorkload,
    directory: &Path,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Origin, WorkloadError> {
    let large = directory.join(LARGE_FILE);
    let origin = if lie_there(touches, directory)? {
        Origin::Image
    } else {
        lay_out(touches, directory, seed, stop)?;
        Origin::LaidOut
    };
    forget(&large).map_err(|source| WorkloadError::Make { path: large, source })?;
    Ok(origin)
}

/// Whether all of the files lie there; false where none does.
fn lie_there(touches: &CopyUpWorkload, directory: &Path) -> Result<bool, WorkloadError> {
    let read = || -> io::Result<BTreeSet<OsString>> {
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    };
    let names = read().map_err(|source| WorkloadError::Make { path: directory.to_owned(), source })?;
    let refuse = |what: String| {
        let reason = format!("`{}`: {what}; the image is of another workload", directory.display());
        Err(WorkloadError::Preparation(reason))
    };
    let missing =
        (0..touches.files).map(small_file).find(|name| !names.contains(name.as_ref() as &std::ffi::OsStr));
    if !names.contains(std::ffi::OsStr::new(LARGE_FILE)) {
        let small =
            (0..touches.files).map(small_file).any(|name| names.contains(name.as_ref() as &std::ffi::OsStr));
        return if small {
            refuse(format!("there are small files and no `{LARGE_FILE}`"))
        } else {
            Ok(false)
        };
    }
    if let Some(missing) = missing {
        return refuse(format!("there is no `{missing}` beside `{LARGE_FILE}`"));
    }
    let path = directory.join(LARGE_FILE);
    let found = fs::symlink_metadata(&path).map_err(|source| WorkloadError::Make { path, source })?;
    if !found.is_file() || found.len() != touches.size.0 {
        return refuse(format!(
            "`{LARGE_FILE}` has {} bytes and should have {}",
            found.len(),
            touches.size.0
        ));
    }
    Ok(true)
}

/// Lays them out with incompressible data and makes them durable.
fn lay_out(
    touches: &CopyUpWorkload,
    directory: &Path,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(), WorkloadError> {
    dd::lay_out(&directory.join(LARGE_FILE), touches.size, seed, stop)?;
    let mut noise = Noise::new(seed.wrapping_add(1));
    let mut data = vec![0; usize::try_from(touches.file_size.0).unwrap_or(usize::MAX)];
    for number in 0..touches.files {
        if stop.load(Ordering::Relaxed) {
            return Err(WorkloadError::Interrupted);
        }
        noise.fill(&mut data);
        let path = directory.join(small_file(number));
        let written = File::create_new(&path).and_then(|mut file| file.write_all(&data));
        written.map_err(|source| WorkloadError::Make { path, source })?;
    }
    // One call for all of them: fsync(2) of each would take a journal's commit each.
    let synced = File::open(directory).and_then(|opened| Ok(rustix::fs::syncfs(&opened)?));
    synced.map_err(|source| WorkloadError::Make { path: directory.to_owned(), source })
}
