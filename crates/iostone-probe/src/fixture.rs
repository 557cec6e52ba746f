//! Trees of `/proc` and `/sys` files for tests, as other machines and kernels would have them.

use std::fs;
use std::os::unix::fs::symlink;

use crate::root::Root;

/// Writes `(path, text)` pairs into a new folder; it lives as long as the first value is held.
pub(crate) fn plant(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    add(&folder, files);
    let root = Root::at(folder.path());
    (folder, root)
}

/// Adds more files.
pub(crate) fn add(folder: &tempfile::TempDir, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Adds symbolic links: `(path, what it points at)`.
pub(crate) fn link(folder: &tempfile::TempDir, links: &[(&str, &str)]) {
    for (path, target) in links {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }
}
