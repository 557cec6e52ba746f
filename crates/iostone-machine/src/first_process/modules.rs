//! Loading the kernel's modules that were carried in, in the order of their names, which is that of their needs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::wrong;
use crate::failure::Failure;

/// Where the archive has them: `000-scsi_common.ko`, `001-...`.
const DIRECTORY: &str = "/iostone/modules";

/// Loads them all; `say` is told of those that this machine has nothing for.
///
/// # Errors
/// A module that the kernel refuses, with its name.
pub(super) fn load_all(say: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    for path in carried(Path::new(DIRECTORY)) {
        let name = name_of(&path);
        let loaded = File::open(&path)
            .map_err(|error| wrong(&format!("the module `{name}`"), &error))
            .map(|file| rustix::system::finit_module(&file, c"", 0))?;
        match loaded {
            Ok(()) | Err(Errno::EXIST) => {}
            // A driver for what is not here: an instruction of the processor, for one.
            Err(Errno::NODEV) => say(&format!("the module `{name}` finds no device and is skipped")),
            Err(error) => {
                return Err(wrong(&format!("the module `{name}` could not be loaded"), &error.into()));
            }
        }
    }
    Ok(())
}

fn carried(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ko"))
        .collect();
    paths.sort();
    paths
}

/// `virtio_blk` of `004-virtio_blk.ko`.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.split_once('-').map_or_else(|| stem.to_string(), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_loaded_in_the_order_of_their_numbers() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["010-ext4.ko", "002-jbd2.ko", "list", "001-mbcache.ko"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let names: Vec<String> = carried(directory.path()).iter().map(|path| name_of(path)).collect();
        assert_eq!(names, ["mbcache", "jbd2", "ext4"]);
    }
}
